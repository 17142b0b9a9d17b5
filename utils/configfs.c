// SPDX-License-Identifier: GPL-2.0
/*
 * The server's settings in the kernel: /sys/kernel/config/rdmafs.
 *
 * There is one directory for each export and one for each port, with one value in
 * each file.  The values of an export can be written only while it is not enabled.
 * Commands that change something exclude each other by a lock on the base
 * directory.
 *
 * The base may be any directory, so that the tool can be tested without a kernel
 * that has the server.  configfs makes the files of an item itself; elsewhere they
 * are made here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "config.h"

#define CONFIGFS_MAGIC	0x62656570
#define CONFIGFS_DIR	"/sys/kernel/config"

static const char default_base[] = CONFIGFS_DIR "/rdmafs";

const char *configfs_base = default_base;
static bool real;	/* @configfs_base lies in configfs */
static bool want_secrets;
static int locked = -1;	/* the base directory while it is locked, else -1 */

/* Exports that this process has removed or disabled, and that may not have ended yet. */
static struct ending {
	char *name;
	char *id;
	struct ending *next;
} *ending;

static char *path_of(const char *dir, const char *label, const char *file)
{
	char *path;

	if (asprintf(&path, "%s/%s/%s%s%s", configfs_base, dir, label, file ? "/" : "",
		     file ? file : "") < 0)
		path = NULL;
	return must(path);
}

/* Read a file without the newline at its end into *@value, to be freed: 0, or -errno. */
static int read_value(const char *path, char **value)
{
	char buf[8192];
	size_t len = 0;
	ssize_t n = 0;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (len < sizeof(buf) - 1) {
		n = read(fd, buf + len, sizeof(buf) - 1 - len);
		if (n <= 0)
			break;
		len += n;
	}
	if (n < 0) {
		n = -errno;
		close(fd);
		return n;
	}
	close(fd);
	if (len && buf[len - 1] == '\n')
		len--;
	buf[len] = '\0';
	*value = must(strdup(buf));
	return 0;
}

/* Write a file by one write(2), which configfs takes as a whole value: 0, or -errno. */
static int write_value(const char *path, const char *value)
{
	size_t len = strlen(value);
	char *line;
	ssize_t n;
	int fd, err = 0;

	fd = open(path, O_WRONLY | O_CLOEXEC | (real ? 0 : O_CREAT | O_TRUNC), 0644);
	if (fd < 0)
		return -errno;
	line = must(malloc(len + 2));
	memcpy(line, value, len);
	line[len] = '\n';
	n = write(fd, line, len + 1);
	if (n < 0)
		err = -errno;
	else if ((size_t)n != len + 1)
		err = -EIO;
	free(line);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* ------------------------------------------------------------------- set-up */

static void run(const char *program, const char *arg)
{
	pid_t pid = fork();

	if (!pid) {
		execl(program, program, "-q", arg, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static bool is_configfs(const char *dir)
{
	struct statfs st;

	return !statfs(dir, &st) && (unsigned long)st.f_type == CONFIGFS_MAGIC;
}

/* Mount configfs and load the server's module, unless that has been done already. */
static int provide_base(void)
{
	if (!access(configfs_base, F_OK))
		return 0;
	if (!is_configfs(CONFIGFS_DIR)) {
		run("/sbin/modprobe", "configfs");
		/* systemd may have mounted it when the module was loaded */
		if (!is_configfs(CONFIGFS_DIR) &&
		    mount("configfs", CONFIGFS_DIR, "configfs", 0, NULL)) {
			complain("%s: can't mount configfs: %s", CONFIGFS_DIR, strerror(errno));
			return 3;
		}
	}
	if (access(configfs_base, F_OK))
		run("/sbin/modprobe", "rdmafsd");
	if (access(configfs_base, F_OK)) {
		complain("%s: %s: modprobe could not load the server's module, rdmafsd",
			 configfs_base, strerror(errno));
		return 3;
	}
	return 0;
}

/**
 * configfs_begin - find the server's settings
 * @change: the caller will change them: load the server if it is not there, and lock the
 *	    settings against other processes until configfs_end() or the end of this process
 *
 * Return: 0, or an exit status after a message.
 */
int configfs_begin(bool change)
{
	int fd, rc;

	if (change && configfs_base == default_base) {
		rc = provide_base();
		if (rc)
			return rc;
	}
	fd = open(configfs_base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		complain("%s: %s%s", configfs_base, strerror(errno),
			 errno == ENOENT ? ": the server is not loaded" : "");
		return 3;
	}
	real = is_configfs(configfs_base);
	if (change && flock(fd, LOCK_EX)) {
		complain("%s: can't lock: %s", configfs_base, strerror(errno));
		close(fd);
		return 2;
	}
	if (change)
		locked = fd;
	else
		close(fd);
	return 0;
}

/* ------------------------------------------------------------------ reading */

static int read_attr(const char *dir, const char *label, const char *file, char **value)
{
	char *path = path_of(dir, label, file);
	int err = read_value(path, value);

	if (err)
		complain("%s: %s", path, strerror(-err));
	free(path);
	return err ? 2 : 0;
}

static int read_enable(const char *dir, const char *label, bool *enable)
{
	char *value = NULL;
	int rc = read_attr(dir, label, "enable", &value);

	if (!rc)
		*enable = !strcmp(value, "1");
	free(value);
	return rc;
}

static int read_export(struct config *cfg, const char *label)
{
	struct export *exp;
	char *name = NULL;
	int a, rc;

	rc = read_attr("exports", label, "name", &name);
	if (rc)
		return rc;
	exp = config_add_export(cfg, name);
	free(name);
	exp->label = must(strdup(label));
	for (a = 0; a < NR_ATTRS && !rc; a++)
		if (a != ATTR_SECRET || want_secrets)
			rc = read_attr("exports", label, attr_names[a], &exp->attr[a]);
	if (!rc)
		rc = read_enable("exports", label, &exp->enable);
	return rc;
}

/* For path_of(): the base itself, where the limits for all ports are. */
static const char here[] = ".";

/* Read the limits for which the kernel has files. */
static int read_limits(struct limits *limits, const char *dir, const char *label)
{
	char *path = path_of(dir, label, NULL), *value;
	struct dirent **list = NULL;
	int i, n, rc = 0;

	n = scandir(path, &list, NULL, alphasort);
	for (i = 0; i < n; i++) {
		value = NULL;
		if (!rc && is_limit(list[i]->d_name)) {
			rc = read_attr(dir, label, list[i]->d_name, &value);
			if (!rc)
				limit_set(limits, list[i]->d_name, value);
		}
		free(value);
		free(list[i]);
	}
	free(list);
	free(path);
	return rc;
}

static int read_port(struct config *cfg, const char *label)
{
	uint16_t number;
	bool enable;
	int rc;

	if (parse_port(label, &number))
		return 0;
	rc = read_enable("ports", label, &enable);
	if (!rc)
		rc = read_limits(&config_add_port(cfg, number, enable)->limits, "ports", label);
	return rc;
}

static int read_items(struct config *cfg, const char *dir,
		      int (*fn)(struct config *cfg, const char *label))
{
	char *path = path_of(dir, "", NULL);
	struct dirent **list = NULL;
	int i, n, rc = 0;

	n = scandir(path, &list, NULL, versionsort);
	if (n < 0) {
		complain("%s: %s", path, strerror(errno));
		free(path);
		return 2;
	}
	for (i = 0; i < n; i++) {
		/* a label never begins with a dot */
		if (!rc && list[i]->d_name[0] != '.')
			rc = fn(cfg, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	free(path);
	return rc;
}

/**
 * configfs_read - read all settings
 * @cfg:     out: the settings; empty before, to be freed whatever is returned
 * @secrets: read the secrets too, which only root may
 *
 * Return: 0, or an exit status after a message.
 */
int configfs_read(struct config *cfg, bool secrets)
{
	int rc;

	want_secrets = secrets;
	rc = read_items(cfg, "exports", read_export);
	if (!rc)
		rc = read_items(cfg, "ports", read_port);
	if (!rc)
		rc = read_limits(&cfg->limits, here, here);
	return rc;
}

/* ------------------------------------------------------------------ writing */

/* A message for an error with which the kernel refuses to enable an export. */
static const char *explain_enable(int err)
{
	switch (err) {
	case ENOENT:
		return "no such directory";
	case ENOTDIR:
		return "not a directory";
	case ENODEV:
		return "nothing is mounted there (mountpoint)";
	case EEXIST:
		return "another export has its name or its id";
	case EBUSY:
		return "one of its name or id has not ended: its file system does not answer";
	case EOPNOTSUPP:
		return "file systems of this type can't be exported: they have no file handles";
	case EINVAL:
		return "the kernel refuses it and says why in its log (dmesg)";
	default:
		return strerror(err);
	}
}

static void note_ending(const struct export *exp)
{
	struct ending *e;

	if (!exp->attr[ATTR_ID])
		return;
	e = must(malloc(sizeof(*e)));
	*e = (struct ending){
		.name = must(strdup(exp->name)),
		.id = must(strdup(exp->attr[ATTR_ID])),
		.next = ending,
	};
	ending = e;
}

/**
 * configfs_ending - count exports that have not ended yet because requests still work in them
 * @id: count the exports with this id only; NULL: all
 *
 * Return: their number.
 */
size_t configfs_ending(const char *id)
{
	char *path = path_of(here, here, "ending"), *ids = NULL, *rest, *line;
	int err = read_value(path, &ids);
	size_t nr = 0;

	/* A base that is not configfs has no such file, and nothing works there. */
	if (err)
		nr = err != -ENOENT;
	rest = ids;
	while (rest && (line = strsep(&rest, "\n")))
		nr += *line && (!id || !strcmp(line, id) || !strcmp(line, "more"));
	free(ids);
	free(path);
	return nr;
}

#define WAIT_MS		100
#define WAIT_QUIET_MS	2000	/* then the user is told */
#define WAIT_LOCKED_MS	10000	/* at most: other processes wait for the lock */

/* Wait a moment for the export @name; *@waited counts the milliseconds. */
static void wait_for(const char *name, unsigned int *waited)
{
	struct timespec t = { .tv_nsec = WAIT_MS * 1000000L };

	if (*waited == WAIT_QUIET_MS)
		complain("export %s: it has not ended yet: waiting for its file system", name);
	nanosleep(&t, NULL);
	*waited += WAIT_MS;
}

static int write_attr(const char *dir, const char *label, const char *file, const char *value)
{
	char *path = path_of(dir, label, file);
	int err = write_value(path, value);

	/* a secret does not belong on a terminal */
	if (err)
		complain("%s: can't write '%s': %s", path,
			 strcmp(file, attr_names[ATTR_SECRET]) ? value : "...", strerror(-err));
	free(path);
	return err ? 2 : 0;
}

/* 0, or an exit status after a message: 4 if an export of its name or id has not ended yet. */
static int set_export_enable(const struct export *exp, const char *label, bool enable)
{
	char *path = path_of("exports", label, "enable");
	unsigned int waited = 0;
	int err;

	while ((err = write_value(path, enable ? "1" : "0")) == -EBUSY && waited < WAIT_LOCKED_MS)
		wait_for(exp->name, &waited);
	if (err)
		complain("export %s (%s): can't be %s: %s", exp->name,
			 exp->attr[ATTR_PATH] ? exp->attr[ATTR_PATH] : "no path",
			 enable ? "enabled" : "disabled", explain_enable(-err));
	free(path);
	return err == -EBUSY ? 4 : err ? 2 : 0;
}

static int make_item(const char *dir, const char *label)
{
	char *path = path_of(dir, label, NULL);
	int rc = 0;

	if (mkdir(path, 0755)) {
		complain("%s: can't make it: %s", path, strerror(errno));
		rc = 2;
	}
	free(path);
	return rc;
}

static void unlink_values(const char *item)
{
	struct dirent *de;
	DIR *d = opendir(item);

	while (d) {
		de = readdir(d);
		if (!de)
			break;
		unlinkat(dirfd(d), de->d_name, 0);
	}
	if (d)
		closedir(d);
}

static int remove_item(const char *dir, const char *label)
{
	char *path = path_of(dir, label, NULL);
	int rc = 0;

	if (!real)
		unlink_values(path);
	if (rmdir(path)) {
		complain("%s: can't remove it: %s", path, strerror(errno));
		rc = 2;
	}
	free(path);
	return rc;
}

/* Has the attribute the wanted value?  True if no value is wanted. */
static bool same_attr(const struct export *have, const struct export *want, enum attr a)
{
	if (!want->attr[a])
		return true;
	/* hexadecimal digits may have either case */
	if (a == ATTR_SECRET)
		return !strcasecmp(have->attr[a], want->attr[a]);
	return !strcmp(have->attr[a], want->attr[a]);
}

static bool same_attrs(const struct export *have, const struct export *want)
{
	int a;

	for (a = 0; a < NR_ATTRS; a++)
		if (!same_attr(have, want, a))
			return false;
	return true;
}

/* Write the attributes that differ from @have, which is NULL if the export is new. */
static int write_attrs(const struct export *have, const struct export *want, const char *label)
{
	int a, rc = 0;

	for (a = 0; a < NR_ATTRS && !rc; a++)
		if (have ? !same_attr(have, want, a) : !!want->attr[a])
			rc = write_attr("exports", label, attr_names[a], want->attr[a]);
	return rc;
}

/* Report an export that is as wanted, except that it could not be enabled: exit status 4. */
static int only_kept(const struct export *exp)
{
	complain("export %s: it is kept, but not enabled: clients that had it mounted wait",
		 exp->name);
	return 4;
}

/**
 * configfs_export_create - make an export, and enable it if @exp says so
 * @exp:  the export; attributes that are not set get the kernel's defaults
 * @keep: keep the export if only enabling it fails, so that its clients are not told that it is
 *	  gone
 *
 * If it fails otherwise nothing is left of the export.
 *
 * Return: 0, or an exit status after a message: 4 if the export was kept, not enabled.
 */
int configfs_export_create(const struct export *exp, bool keep)
{
	char *label = name_to_label(exp->name);
	int rc;

	if (strlen(label) > NAME_BYTES) {
		complain("export %s: too long for a directory in configfs, '/' becoming %%2F",
			 exp->name);
		free(label);
		return 2;
	}
	rc = make_item("exports", label);
	if (rc)
		goto out;
	rc = write_attr("exports", label, "name", exp->name);
	if (!rc)
		rc = write_attrs(NULL, exp, label);
	if (rc) {
		remove_item("exports", label);
		goto out;
	}
	rc = set_export_enable(exp, label, exp->enable);
	if (rc && keep) {
		rc = only_kept(exp);
	} else if (rc) {
		remove_item("exports", label);
		rc = 2;
	}
out:
	free(label);
	return rc;
}

/* The kernel has refused the new settings: write the old ones, which it had accepted. */
static void put_back(const struct export *have, const struct export *want)
{
	int a, rc = 0;

	for (a = 0; a < NR_ATTRS; a++)
		if (have->attr[a] && !same_attr(have, want, a))
			rc |= write_attr("exports", have->label, attr_names[a], have->attr[a]);
	if (have->enable)
		rc |= set_export_enable(have, have->label, true);
	complain("export %s: %s", have->name,
		 rc ? "it could not be left as it was" : "it is left as it was");
}

/**
 * configfs_export_update - give an export the wanted settings
 * @have: the export as it is, with its secret
 * @want: the export as it should be; attributes that are not set stay
 *
 * If anything but @enable differs, clients that have files open notice: the export is disabled
 * until the requests that work in it have ended.  If the update fails the export gets its old
 * settings back.  But it keeps the new ones if it only can't be enabled, and either was not
 * enabled before or its last life has not ended yet.
 *
 * Return: 0, or an exit status after a message: 4 if it has the new settings, but can't be enabled.
 */
int configfs_export_update(const struct export *have, const struct export *want)
{
	bool same = same_attrs(have, want);
	int rc = 0;

	if (same && have->enable == want->enable)
		return 0;
	if (!same && have->enable)
		rc = set_export_enable(have, have->label, false);
	if (!rc && !same)
		rc = write_attrs(have, want, have->label);
	if (rc) {
		put_back(have, want);
		return rc;
	}
	rc = set_export_enable(want, have->label, want->enable);
	if (!want->enable)
		note_ending(have);
	/* If its last life has not ended (4), the old settings could not be enabled either. */
	if (rc == 2 && have->enable)
		put_back(have, want);
	else if (rc)
		rc = only_kept(want);
	return rc;
}

/**
 * configfs_export_remove - end an export and remove its directory
 * @exp: the export, as configfs_read() found it
 *
 * configfs_end() waits until the requests that work in it have ended.
 *
 * Return: 0, or an exit status after a message.
 */
int configfs_export_remove(const struct export *exp)
{
	int rc = remove_item("exports", exp->label);

	if (!rc)
		note_ending(exp);
	return rc;
}

/**
 * configfs_end - unlock the settings, and wait until removed and disabled exports have ended
 *
 * Afterwards their file systems can be unmounted.  The wait lasts as long as a file system does not
 * answer.  The process may be killed meanwhile: the exports end without it.
 */
void configfs_end(void)
{
	unsigned int waited;
	struct ending *e;

	if (locked >= 0)
		close(locked);
	locked = -1;
	while ((e = ending)) {
		ending = e->next;
		waited = 0;
		while (configfs_ending(e->id))
			wait_for(e->name, &waited);
		free(e->name);
		free(e->id);
		free(e);
	}
}

static int set_port_enable(const char *label, uint16_t port, bool enable)
{
	char *path = path_of("ports", label, "enable");
	int err = write_value(path, enable ? "1" : "0");

	if (err)
		complain("port %u: can't be %s: %s", port, enable ? "enabled" : "disabled",
			 err == -EADDRINUSE ? "something else listens there" : strerror(-err));
	free(path);
	return err ? 2 : 0;
}

static int set_limits(const char *dir, const char *label, const struct limits *have,
		      const struct limits *want)
{
	const char *value;
	size_t i;
	int rc = 0;

	for (i = 0; i < want->nr && !rc; i++) {
		value = have ? limit_get(have, want->limit[i].name) : NULL;
		if (!value || strcmp(value, want->limit[i].value))
			rc = write_attr(dir, label, want->limit[i].name, want->limit[i].value);
	}
	return rc;
}

/**
 * configfs_limits_set - give limits the wanted values
 * @port: the port that they belong to; NULL: the whole server
 * @have: the limits as they are
 * @want: the limits as they should be; limits that are not set stay
 *
 * Return: 0, or an exit status after a message.
 */
int configfs_limits_set(const struct port *port, const struct limits *have,
			const struct limits *want)
{
	char label[8];

	if (!port)
		return set_limits(here, here, have, want);
	snprintf(label, sizeof(label), "%u", port->number);
	return set_limits("ports", label, have, want);
}

/**
 * configfs_port_set - give a port the wanted settings, and make it if it is new
 * @have: the port as it is; NULL if it is new
 * @want: the port as it should be; limits that are not set stay
 *
 * If it fails nothing is left of a new port.
 *
 * Return: 0, or an exit status after a message.
 */
int configfs_port_set(const struct port *have, const struct port *want)
{
	char label[8];
	int rc = 0;

	snprintf(label, sizeof(label), "%u", want->number);
	if (!have)
		rc = make_item("ports", label);
	if (rc)
		return rc;
	rc = set_limits("ports", label, have ? &have->limits : NULL, &want->limits);
	if (!rc)
		rc = set_port_enable(label, want->number, want->enable);
	if (rc && !have)
		remove_item("ports", label);
	return rc;
}

/**
 * configfs_port_stop - stop listening on a port, and remove its directory
 * @port: the port, which must exist
 *
 * Return: 0, or an exit status after a message.
 */
int configfs_port_stop(uint16_t port)
{
	char label[8];
	int rc;

	snprintf(label, sizeof(label), "%u", port);
	rc = set_port_enable(label, port, false);
	return rc ? rc : remove_item("ports", label);
}
