// SPDX-License-Identifier: GPL-2.0
/*
 * rdmafs-stat: shows /proc/fs/rdmafs, as a table or as JSON.
 *
 * That directory has a directory for each RNIC (with a file "capacity"), one for
 * each mount, and one for each client of a server on this machine (both with a file
 * "window").  The file "mount" has one line of text.  The others hold "key value"
 * lines, or one value.  The program assumes nothing else: keys that it does not know
 * are shown all the same (--all, --json), and columns whose keys are missing show
 * "-".
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "json.h"

#define VERSION "draft-10"

static const char *proc_dir = "/proc/fs/rdmafs";

/* the files that are read, where they exist */
static const char *const files[] = {
	"mount", "quota", "window", "stats", "capacity", "free", "policy"
};

#define NR_FILES (sizeof(files) / sizeof(files[0]))

/**
 * struct pair - one line of a file
 * @file:  index of the file in files[]
 * @key:   the line's first word; empty if the file has one value and no key
 * @value: the rest
 */
struct pair {
	size_t file;
	char *key;
	char *value;
};

/**
 * struct entry - one directory
 * @name:   its name
 * @device: it belongs to an RNIC
 * @pairs:  the lines of its files
 * @nr:	    length of @pairs
 */
struct entry {
	char *name;
	bool device;
	struct pair *pairs;
	size_t nr;
};

/**
 * struct snapshot - all that was read at one time
 * @entries: the directories
 * @nr:	     length of @entries
 * @when:    time in seconds of the monotonic clock
 */
struct snapshot {
	struct entry *entries;
	size_t nr;
	double when;
};

static void *must(void *p)
{
	if (!p) {
		fputs("rdmafs-stat: out of memory\n", stderr);
		exit(2);
	}
	return p;
}

/* ------------------------------------------------------------------ reading */

static void add_pair(struct entry *e, size_t file, const char *key, size_t len, const char *value)
{
	struct pair *p;

	e->pairs = must(reallocarray(e->pairs, e->nr + 1, sizeof(*p)));
	p = &e->pairs[e->nr++];
	p->file = file;
	p->key = must(strndup(key, len));
	p->value = must(strdup(value));
}

static void add_line(struct entry *e, size_t file, char *line)
{
	size_t len;

	line[strcspn(line, "\n")] = '\0';
	len = strcspn(line, " \t");
	if (line[len] && strcmp(files[file], "mount"))
		add_pair(e, file, line, len, line + len + strspn(line + len, " \t"));
	else if (*line)
		add_pair(e, file, "", 0, line);
}

/* A directory may be removed while it is read: the lines that were read until then are used. */
static void read_file(struct entry *e, size_t file)
{
	char *path, *line = NULL;
	size_t size = 0;
	FILE *f;

	if (asprintf(&path, "%s/%s/%s", proc_dir, e->name, files[file]) < 0)
		path = NULL;
	f = fopen(must(path), "re");
	free(path);
	if (!f)
		return;
	if (!strcmp(files[file], "capacity"))
		e->device = true;
	while (getline(&line, &size, f) >= 0)
		add_line(e, file, line);
	free(line);
	fclose(f);
}

static void entry_free(struct entry *e)
{
	size_t i;

	for (i = 0; i < e->nr; i++) {
		free(e->pairs[i].key);
		free(e->pairs[i].value);
	}
	free(e->pairs);
	free(e->name);
}

static void snapshot_free(struct snapshot *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		entry_free(&s->entries[i]);
	free(s->entries);
	memset(s, 0, sizeof(*s));
}

static void read_entry(struct snapshot *s, const char *name)
{
	struct entry e = { .name = must(strdup(name)) };
	size_t i;

	for (i = 0; i < NR_FILES; i++)
		read_file(&e, i);
	if (!e.nr) {
		entry_free(&e);
		return;
	}
	s->entries = must(reallocarray(s->entries, s->nr + 1, sizeof(e)));
	s->entries[s->nr++] = e;
}

static int snapshot_take(struct snapshot *s)
{
	struct dirent **list = NULL;
	struct timespec now;
	int i, n;

	memset(s, 0, sizeof(*s));
	n = scandir(proc_dir, &list, NULL, versionsort);
	if (n < 0) {
		fprintf(stderr, "rdmafs-stat: %s: %s%s\n", proc_dir, strerror(errno),
			errno == ENOENT ? ": no rdmafs module is loaded" : "");
		return 2;
	}
	for (i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.')
			read_entry(s, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	clock_gettime(CLOCK_MONOTONIC, &now);
	s->when = now.tv_sec + now.tv_nsec / 1e9;
	return 0;
}

static const char *find(const struct entry *e, const char *file, const char *key)
{
	size_t i;

	for (i = 0; i < e->nr; i++)
		if (!strcmp(files[e->pairs[i].file], file) && !strcmp(e->pairs[i].key, key))
			return e->pairs[i].value;
	return NULL;
}

/* ------------------------------------------------------------------- output */

static void print_json_file(const struct entry *e, size_t file)
{
	size_t i, n = 0;
	bool object = false;

	for (i = 0; i < e->nr; i++)
		if (e->pairs[i].file == file && *e->pairs[i].key)
			object = true;
	for (i = 0; i < e->nr; i++) {
		const struct pair *p = &e->pairs[i];

		/* a line without a key, among lines that have one, becomes a key with value true */
		if (p->file != file)
			continue;
		if (!object) {
			json_value(stdout, p->value);
			return;
		}
		fputs(n++ ? ", " : "{", stdout);
		json_string(stdout, *p->key ? p->key : p->value);
		fputs(": ", stdout);
		if (*p->key)
			json_value(stdout, p->value);
		else
			fputs("true", stdout);
	}
	fputs("}", stdout);
}

static bool has_file(const struct entry *e, size_t file)
{
	size_t i;

	for (i = 0; i < e->nr; i++)
		if (e->pairs[i].file == file)
			return true;
	return false;
}

static void print_json_entries(const struct snapshot *s, bool devices)
{
	size_t i, k, n = 0, f;

	putchar('{');
	for (i = 0; i < s->nr; i++) {
		const struct entry *e = &s->entries[i];

		if (e->device != devices)
			continue;
		fputs(n++ ? ",\n  " : "\n  ", stdout);
		json_string(stdout, e->name);
		fputs(": {", stdout);
		for (f = 0, k = 0; f < NR_FILES; f++) {
			if (!has_file(e, f))
				continue;
			printf("%s\"%s\": ", k++ ? ", " : "", files[f]);
			print_json_file(e, f);
		}
		putchar('}');
	}
	putchar('}');
}

static void print_json(const struct snapshot *s)
{
	fputs("{\"devices\": ", stdout);
	print_json_entries(s, true);
	fputs(",\n\"members\": ", stdout);
	print_json_entries(s, false);
	fputs("}\n", stdout);
}

enum kind { GAUGE, RATE, RATE_MB, MEAN };

/*
 * Columns of the table.  A counter shows its growth per second if there is an earlier
 * snapshot, else its value.  A mean is taken over the same time.
 */
static const struct column {
	const char *head;
	enum kind kind;
	const char *file;
	const char *key;
	const char *by;		/* MEAN: counter to divide by */
	double unit;		/* MEAN: the key's units in one of the column's */
} columns[] = {
	{ "share",    GAUGE,   "window", "charged", NULL, 0 },
	{ "entitled", GAUGE,   "window", "entitlement", NULL, 0 },
	{ "window",   GAUGE,   "window", "window", NULL, 0 },
	{ "in_use",   GAUGE,   "window", "in_use", NULL, 0 },
	{ "waiting",  GAUGE,   "window", "waiting", NULL, 0 },
	{ "rpc/s",    RATE,    "stats", "calls", NULL, 0 },
	{ "rd_MB/s",  RATE_MB, "stats", "bytes_read", NULL, 0 },
	{ "wr_MB/s",  RATE_MB, "stats", "bytes_written", NULL, 0 },
	{ "rpc_us",   MEAN,    "stats", "rpc_us", "replies", 1 },
	{ "revoked",  RATE,    "stats", "revocations", NULL, 0 },
	{ "waits",    RATE,    "stats", "waits", NULL, 0 },
	{ "wait_ms",  MEAN,    "stats", "wait_us", "waits", 1000 },
};

/* The growth of a counter since @old, or since it began if @old is NULL; false: not known. */
static bool grown(const struct entry *e, const struct entry *old, const char *file,
		  const char *key, double *v)
{
	const char *now = find(e, file, key);
	const char *before = old ? find(old, file, key) : NULL;

	if (!now || !isdigit((unsigned char)*now))
		return false;
	*v = strtod(now, NULL) - (before ? strtod(before, NULL) : 0);
	return true;
}

static void print_cell(const struct column *c, const struct entry *e, const struct entry *old,
		       double seconds)
{
	double v = 0, n = 0;
	bool known = grown(e, c->kind == GAUGE ? NULL : old, c->file, c->key, &v);

	switch (c->kind) {
	case GAUGE:
		break;
	case RATE:
	case RATE_MB:
		if (c->kind == RATE_MB)
			v /= 1e6;
		if (old && seconds > 0)
			v /= seconds;
		break;
	case MEAN:
		known = known && grown(e, old, c->file, c->by, &n) && n > 0;
		if (known)
			v /= n * c->unit;
		break;
	}
	if (!known)
		printf(" %8s", "-");
	else
		printf(v < 1000 && v != (double)(uint64_t)v ? " %8.1f" : " %8.0f", v);
}

static const struct entry *find_entry(const struct snapshot *s, const char *name)
{
	size_t i;

	for (i = 0; s && i < s->nr; i++)
		if (!strcmp(s->entries[i].name, name))
			return &s->entries[i];
	return NULL;
}

static void print_table(const struct snapshot *s, const struct snapshot *old)
{
	double seconds = old ? s->when - old->when : 0;
	const char *what;
	size_t i, k;

	for (i = 0; i < s->nr; i++) {
		const struct entry *e = &s->entries[i];
		const char *capacity = find(e, "capacity", ""), *free_now = find(e, "free", "");

		if (e->device)
			printf("%s: capacity %s entries, free %s\n", e->name,
			       capacity ? capacity : "?", free_now ? free_now : "?");
	}
	printf("%-12s", old ? "per second" : "in all");
	for (k = 0; k < sizeof(columns) / sizeof(columns[0]); k++)
		printf(" %8s", columns[k].head);
	puts("  mount");
	for (i = 0; i < s->nr; i++) {
		const struct entry *e = &s->entries[i];

		if (e->device)
			continue;
		printf("%-12s", e->name);
		for (k = 0; k < sizeof(columns) / sizeof(columns[0]); k++)
			print_cell(&columns[k], e, find_entry(old, e->name), seconds);
		what = find(e, "mount", "");
		printf("  %s\n", what ? what : "");
	}
}

static void print_all(const struct snapshot *s)
{
	size_t i, k;

	for (i = 0; i < s->nr; i++)
		for (k = 0; k < s->entries[i].nr; k++) {
			const struct pair *p = &s->entries[i].pairs[k];

			printf("%s %s%s%s %s\n", s->entries[i].name, files[p->file],
			       *p->key ? "." : "", p->key, p->value);
		}
}

static const char usage_text[] =
	"Usage: rdmafs-stat [--json | --all] [INTERVAL [COUNT]]\n"
	"\n"
	"Show rdmafs mounts, clients and RNICs of this machine: once, or every INTERVAL\n"
	"seconds (COUNT times), counters then per second.\n"
	"\n"
	"  -a, --all     every line of every file\n"
	"  -j, --json    the same as JSON, one object each time\n"
	"  --proc DIR    read DIR rather than /proc/fs/rdmafs\n"
	"  --help, --version\n";

enum format { TABLE, ALL, JSON };

static void print(const struct snapshot *s, const struct snapshot *old, enum format format)
{
	if (format == JSON)
		print_json(s);
	else if (format == ALL)
		print_all(s);
	else
		print_table(s, old);
	fflush(stdout);
}

static int repeat(enum format format, double interval, unsigned long count)
{
	struct timespec ts = {
		.tv_sec = (time_t)interval,
		.tv_nsec = (long)((interval - (time_t)interval) * 1e9),
	};
	struct snapshot old = { }, now;
	unsigned long i;
	int rc;

	for (i = 0; !count || i < count; i++) {
		if (i)
			nanosleep(&ts, NULL);
		rc = snapshot_take(&now);
		if (rc)
			break;
		print(&now, i ? &old : NULL, format);
		snapshot_free(&old);
		old = now;
	}
	snapshot_free(&old);
	return rc;
}

static int bad_usage(void)
{
	fputs(usage_text, stderr);
	return 1;
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' },
		{ "proc", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	enum format format = TABLE;
	double interval = 0;
	unsigned long count = 1;
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "ajhV", longopts, NULL)) != -1) {
		switch (c) {
		case 'a':
			format = ALL;
			break;
		case 'j':
			format = JSON;
			break;
		case 'p':
			proc_dir = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		case 'V':
			puts("rdmafs-stat " VERSION);
			return 0;
		default:
			return bad_usage();
		}
	}
	if (argc - optind > 2)
		return bad_usage();
	if (argc > optind) {
		interval = strtod(argv[optind], &end);
		if (*end || !(interval > 0 && interval <= 86400))
			return bad_usage();
		count = 0;
	}
	if (argc - optind == 2) {
		count = strtoul(argv[optind + 1], &end, 10);
		if (*end || !count || !isdigit((unsigned char)argv[optind + 1][0]))
			return bad_usage();
	}
	return repeat(format, interval, count);
}
