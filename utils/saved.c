// SPDX-License-Identifier: GPL-2.0
/*
 * rdmafsctl save, load: all settings to a file, and back.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "config.h"
#include "rdmafsctl.h"

static int parse_file(int argc, char **argv, const char **file)
{
	static const struct option none[] = { { } };

	if (getopt_long(argc, argv, "", none, NULL) != -1)
		return EX_BAD;
	if (argc - optind > 1)
		return usage_error("this is too much", argv[optind + 1]);
	*file = argc > optind ? argv[optind] : DEFAULT_FILE;
	return EX_OK;
}

/* fill_temp(), sync_dir_of(), replace_file(): 0, or -errno. */

static int fill_temp(char *tmp, const struct config *cfg)
{
	int err = 0, fd = mkostemp(tmp, O_CLOEXEC);	/* mode 0600 */
	FILE *f;

	if (fd < 0)
		return -errno;
	f = must(fdopen(fd, "w"));
	config_write(f, cfg);
	if (fflush(f) || fsync(fd))
		err = -errno;
	if (fclose(f) && !err)
		err = -errno;
	if (err)
		unlink(tmp);
	return err;
}

static int sync_dir_of(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *dir = must(slash ? strndup(file, slash - file + 1) : strdup("."));
	int err = 0, fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd))
		err = -errno;
	if (fd >= 0)
		close(fd);
	free(dir);
	return err;
}

/* A crash leaves the old file or the new one.  Only the owner may read the new one. */
static int replace_file(const char *file, const struct config *cfg)
{
	char *tmp;
	int err;

	if (asprintf(&tmp, "%s.XXXXXX", file) < 0)
		tmp = NULL;
	must(tmp);
	err = fill_temp(tmp, cfg);
	if (!err && rename(tmp, file)) {
		err = -errno;
		unlink(tmp);
	}
	free(tmp);
	return err ? err : sync_dir_of(file);
}

static int write_file(const char *file, const struct config *cfg)
{
	int err;

	if (!strcmp(file, DEFAULT_FILE))
		mkdir(DEFAULT_DIR, 0755);
	err = replace_file(file, cfg);
	if (!err)
		return EX_OK;
	complain("%s: %s", file, strerror(-err));
	return EX_REFUSED;
}

static int check_writable(const struct config *cfg)
{
	const char *why;
	size_t i;

	for (i = 0; i < cfg->nr_exports; i++) {
		const struct export *exp = &cfg->exports[i];

		if (!*exp->attr[ATTR_PATH]) {
			complain("export %s: not saved: it has no path", exp->name);
			return EX_REFUSED;
		}
		why = name_check(exp->name);
		if (!why)
			why = attr_check(ATTR_PATH, exp->attr[ATTR_PATH]);
		if (why) {
			complain("export %s: can't be saved: %s", exp->name, why);
			return EX_REFUSED;
		}
	}
	return EX_OK;
}

/**
 * settings_save - write the settings to a file
 * @argc: number of arguments
 * @argv: the command's last word, and its arguments
 *
 * Return: an exit status.
 */
int settings_save(int argc, char **argv)
{
	struct config have = { };
	const char *file;
	int rc;

	rc = parse_file(argc, argv, &file);
	if (!rc)
		rc = configfs_begin(false);
	if (!rc)
		rc = configfs_read(&have, true);
	if (!rc)
		rc = check_writable(&have);
	if (!rc && !strcmp(file, "-"))
		config_write(stdout, &have);
	else if (!rc)
		rc = write_file(file, &have);
	config_free(&have);
	return rc;
}

static int read_file(const char *file, struct config *cfg)
{
	FILE *f = strcmp(file, "-") ? fopen(file, "re") : stdin;
	int err;

	if (!f) {
		complain("%s: %s", file, strerror(errno));
		return EX_REFUSED;
	}
	err = config_parse(f, file, cfg);
	if (f != stdin)
		fclose(f);
	if (err)
		complain("%s: nothing of it was loaded", file);
	return err == -EINVAL ? EX_BAD : err ? EX_REFUSED : EX_OK;
}

/**
 * struct tally - how far a file was loaded
 * @tried:   exports, ports and the server's limits that had to be set or removed
 * @failed:  of @tried, those that are not as the file says
 * @refused: of @failed, those of which nothing was done
 */
struct tally {
	size_t tried;
	size_t failed;
	size_t refused;
};

static void count(struct tally *t, int rc)
{
	t->tried++;
	t->failed += !!rc;
	t->refused += rc && rc != EX_PARTLY;
}

/*
 * Remove what the file does not have.  This comes first, so that other exports can have the names
 * and the ids of the removed ones.
 */
static void load_removals(struct config *want, const struct config *have, struct tally *t)
{
	size_t i;

	for (i = 0; i < have->nr_exports; i++)
		if (!config_find(want, have->exports[i].name))
			count(t, configfs_export_remove(&have->exports[i]));
	/* A file without ports leaves them as "start" and "stop" have left them. */
	for (i = 0; want->nr_ports && i < have->nr_ports; i++)
		if (!config_find_port(want, have->ports[i].number))
			count(t, configfs_port_stop(have->ports[i].number));
}

static int load_port(const struct port *want, const struct port *have)
{
	if (want->enable)
		return configfs_port_set(have, want);
	return have ? configfs_port_stop(have->number) : EX_OK;
}

/* Do everything that can be done, whatever fails: 0 or an exit status. */
static int load_config(struct config *want, struct config *have)
{
	struct tally t = { };
	size_t i;

	if (want->limits.nr)
		count(&t, configfs_limits_set(NULL, &have->limits, &want->limits));
	load_removals(want, have, &t);
	for (i = 0; i < want->nr_exports; i++) {
		const struct export *old = config_find(have, want->exports[i].name);

		count(&t, old ? configfs_export_update(old, &want->exports[i]) :
				configfs_export_create(&want->exports[i], true));
	}
	for (i = 0; i < want->nr_ports; i++)
		count(&t, load_port(&want->ports[i],
				    config_find_port(have, want->ports[i].number)));
	if (!t.failed)
		return EX_OK;
	if (t.refused == t.tried)
		return EX_REFUSED;
	complain("%zu of %zu exports and ports are not as the file says%s", t.failed, t.tried,
		 t.failed < t.tried ? "; the others are" : "");
	return EX_PARTLY;
}

/**
 * settings_load - make the settings what a file says
 * @argc: number of arguments
 * @argv: the command's last word, and its arguments
 *
 * Return: an exit status.
 */
int settings_load(int argc, char **argv)
{
	struct config want = { }, have = { };
	const char *file;
	int rc;

	rc = parse_file(argc, argv, &file);
	if (!rc)
		rc = read_file(file, &want);
	if (!rc)
		rc = configfs_begin(true);
	if (!rc)
		rc = configfs_read(&have, true);
	if (!rc)
		rc = load_config(&want, &have);
	config_free(&want);
	config_free(&have);
	return rc;
}
