// SPDX-License-Identifier: GPL-2.0
/*
 * rdmafs-trace: draws RPCs as timelines, and lists what else happened, from the kernel's
 * tracepoints.
 *
 * It reads the text of tracefs, as "cat /sys/kernel/tracing/trace" gives it: from
 * files, or for some seconds from a tracing instance of its own.  Of each line it
 * needs the time and an event whose name begins with rdmafs_.  kinds[] says what each event
 * is.  The steps of RPCs, rdmafs_call_STEP (the client) and rdmafs_req_STEP (the server), with
 * "session=X slot=N seq=N len=N", are drawn.  All others are listed, a line each, which begins
 * with the session or the mount if the event names one.  Other lines are skipped.
 */
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define VERSION "draft-10"
#define INSTANCE "/sys/kernel/tracing/instances/rdmafs-trace"
#define WIDTH 40		/* characters of the drawing */
#define STEP_MAX 24

enum group {
	CALLS,
	STATES,
	GRANTS,
	POLICY,
	PAGES,
	CLAIMS,
	NR_GROUPS
};

static const char *const group_names[NR_GROUPS] = {
	"calls", "states", "grants", "policy", "pages", "claims"
};

/**
 * struct kind - what an event is
 * @event: its name behind "rdmafs_", or what it begins with if that ends in _
 * @group: what it belongs to
 * @who:   whose it is
 * @what:  what is listed in front of the rest of its name, if @event ends in _; else instead of
 *	   its name
 */
struct kind {
	const char *event;
	enum group group;
	const char *who;
	const char *what;
};

/* Of those that fit an event's name, the first counts. */
static const struct kind kinds[] = {
	{ "call_state", STATES, "client", "call" },
	{ "req_state", STATES, "server", "request" },
	{ "session_state", STATES, "client", "session" },
	{ "server_session_state", STATES, "server", "session" },
	{ "conn_state", STATES, "", "connection" },
	{ "mr", STATES, "", "MR" },
	{ "call_", CALLS, "client", "" },
	{ "req_", CALLS, "server", "" },
	{ "held_grant_", GRANTS, "client", "grant " },
	{ "grant_", GRANTS, "server", "grant " },
	{ "policy_", POLICY, "policy", "" },
	{ "pages", PAGES, "client", "pages" },
	{ "cache", PAGES, "client", "cache" },
	{ "attrs", PAGES, "client", "attributes" },
	{ "claim", CLAIMS, "server", "claim" },
	{ "opened_name", CLAIMS, "server", "name" },
	{ "grace", CLAIMS, "server", "grace period" },
	{ "record", CLAIMS, "server", "record" },
};

/**
 * struct note - one event that is listed
 * @ns:	   time in nanoseconds
 * @order: order of arrival: sorts events of the same time
 * @who:   whose it is
 * @what:  what has happened
 * @text:  what the event says, allocated
 */
struct note {
	uint64_t ns;
	size_t order;
	const char *who;
	char what[STEP_MAX];
	char *text;
};

/**
 * struct step - one event of an RPC
 * @ns:	     time in nanoseconds
 * @session: id of the session
 * @slot:    slot
 * @seq:     sequence number in the slot
 * @len:     bytes of data that the event names
 * @order:   order of arrival: sorts events of the same time
 * @server:  a step of the server
 * @name:    name of the step
 */
struct step {
	uint64_t ns;
	uint32_t session;
	unsigned int slot;
	uint32_t seq;
	uint32_t len;
	size_t order;
	bool server;
	char name[STEP_MAX];
};

/**
 * struct rpc - the steps of one RPC, which are neighbours in the sorted array
 * @first: the first step
 * @nr:	   number of steps
 * @ns:	   nanoseconds from the first step to the last
 * @len:   bytes of data
 */
struct rpc {
	const struct step *first;
	size_t nr;
	uint64_t ns;
	uint32_t len;
};

static struct step *steps;
static size_t nr_steps, step_room;
static struct note *notes;
static size_t nr_notes, note_room;
static bool wanted[NR_GROUPS];
static bool recording;		/* the instance is there, and must not stay */
static FILE *reading;		/* the trace that is being read, or NULL */

static void die(const char *what)
{
	fprintf(stderr, "rdmafs-trace: %s: %s\n", what, strerror(errno));
	if (recording) {
		/* A file of it that is open would keep it. */
		if (reading)
			fclose(reading);
		rmdir(INSTANCE);
	}
	exit(2);
}

static void *grown(void *old, size_t n, size_t size)
{
	void *p = reallocarray(old, n, size);

	if (!p)
		die("memory");
	return p;
}

/* Make room for one more element of @size bytes behind the @nr that there are. */
static void *one_more(void *old, size_t nr, size_t *room, size_t size)
{
	if (nr < *room)
		return old;
	*room = *room ? 2 * *room : 1024;
	return grown(old, *room, size);
}

/* What the event is whose name behind "rdmafs_" is @name, if that is wanted, or NULL. */
static const struct kind *kind_of(const char *name)
{
	const struct kind *k;
	size_t len;

	for (k = kinds; k < kinds + sizeof(kinds) / sizeof(kinds[0]); k++) {
		len = strlen(k->event);
		if (!strncmp(name, k->event, len) && (k->event[len - 1] == '_' || !name[len]))
			return wanted[k->group] ? k : NULL;
	}
	return NULL;
}

/* Read "12.345678:" as nanoseconds; false if it is no time. */
static bool parse_time(const char *text, uint64_t *ns)
{
	unsigned long long sec;
	unsigned int i;
	char *end;

	errno = 0;
	sec = strtoull(text, &end, 10);
	if (errno || end == text || *end++ != '.')
		return false;
	*ns = sec * 1000000000ull;
	for (i = 100000000; i && *end >= '0' && *end <= '9'; i /= 10)
		*ns += (uint64_t)i * (*end++ - '0');
	return *end == ':';
}

/* Write into @to, of STEP_MAX bytes, how an event is called that is named @name. */
static void put_name(char *to, const struct kind *k, const char *name)
{
	size_t len = strlen(k->event);

	snprintf(to, STEP_MAX, "%s%s", k->what, k->event[len - 1] == '_' ? name + len : "");
	for (; *to; to++)
		if (*to == '_')
			*to = ' ';
}

static void add_step(const struct kind *k, const char *name, uint64_t ns, const char *text)
{
	struct step *s;

	steps = one_more(steps, nr_steps, &step_room, sizeof(*steps));
	s = &steps[nr_steps];
	s->ns = ns;
	s->order = nr_steps;
	s->server = !strcmp(k->who, "server");
	put_name(s->name, k, name);
	if (sscanf(text, " session=%x slot=%u seq=%u len=%u", &s->session, &s->slot, &s->seq,
		   &s->len) == 4)
		nr_steps++;
}

static void add_note(const struct kind *k, const char *name, uint64_t ns, const char *text)
{
	struct note *n;

	notes = one_more(notes, nr_notes, &note_room, sizeof(*notes));
	n = &notes[nr_notes];
	n->ns = ns;
	n->order = nr_notes++;
	n->who = k->who;
	put_name(n->what, k, name);
	while (*text == ' ')
		text++;
	n->text = strndup(text, strcspn(text, "\n"));
	if (!n->text)
		die("memory");
}

static void parse_line(char *line)
{
	char *event = strstr(line, ": rdmafs_"), *name, *colon, *time;
	const struct kind *k;
	uint64_t ns;

	if (!event)
		return;
	name = event + strlen(": rdmafs_");
	colon = strchr(name, ':');
	if (!colon)
		return;
	*colon = '\0';
	for (time = event; time > line && time[-1] != ' '; time--)
		;
	k = kind_of(name);
	if (!k || !parse_time(time, &ns))
		return;
	if (k->group == CALLS)
		add_step(k, name, ns, colon + 1);
	else
		add_note(k, name, ns, colon + 1);
}

static void read_trace(const char *path)
{
	char *line = NULL;
	size_t size = 0;

	reading = strcmp(path, "-") ? fopen(path, "r") : stdin;
	if (!reading)
		die(path);
	while (getline(&line, &size, reading) > 0)
		parse_line(line);
	/* Not ferror(): a line for which there is no memory is no error of the file. */
	if (!feof(reading))
		die(path);
	free(line);
	if (reading != stdin)
		fclose(reading);
	reading = NULL;
}

static int by_rpc(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->session != y->session)
		return x->session < y->session ? -1 : 1;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static int by_start(const void *a, const void *b)
{
	const struct rpc *x = a, *y = b;

	return x->first->ns < y->first->ns ? -1 : x->first->ns > y->first->ns;
}

static int by_duration(const void *a, const void *b)
{
	const struct rpc *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* Collect the RPCs whose first step is in the trace. */
static size_t gather(struct rpc **rpcs, uint32_t min_len)
{
	size_t i, j, n = 0;

	qsort(steps, nr_steps, sizeof(*steps), by_rpc);
	*rpcs = grown(NULL, nr_steps + 1, sizeof(**rpcs));
	for (i = 0; i < nr_steps; i = j) {
		struct rpc *r = &(*rpcs)[n];

		*r = (struct rpc){ .first = &steps[i] };
		for (j = i; j < nr_steps && steps[j].session == steps[i].session &&
		     steps[j].slot == steps[i].slot && steps[j].seq == steps[i].seq; j++) {
			if (steps[j].len > r->len)
				r->len = steps[j].len;
			r->ns = steps[j].ns - steps[i].ns;
		}
		r->nr = j - i;
		if (r->len >= min_len && (!strcmp(steps[i].name, "sent") ||
					  !strcmp(steps[i].name, "arrived")))
			n++;
	}
	return n;
}

static void draw(const struct rpc *r)
{
	const struct step *s = r->first;
	char bar[WIDTH + 1];
	size_t i, at;

	printf("session %08x slot %u seq %u: %u bytes, %.1f us\n", s->session, s->slot, s->seq,
	       r->len, r->ns / 1000.0);
	for (i = 0; i < r->nr; i++, s++) {
		at = r->ns ? (s->ns - r->first->ns) * (WIDTH - 1) / r->ns : 0;
		memset(bar, '.', at);
		bar[at] = s->server ? '#' : '*';
		bar[at + 1] = '\0';
		printf("%10.1f  %-6s  %-15s  %s\n", (s->ns - r->first->ns) / 1000.0,
		       s->server ? "server" : "client", s->name, bar);
	}
	putchar('\n');
}

static int by_time(const void *a, const void *b)
{
	const struct note *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* List an event.  If it names a session or a mount, that goes to a column of its own. */
static void list(const struct note *n)
{
	const char *rest = n->text;
	char whose[32] = "";
	int skip = 0;

	if (sscanf(n->text, "session=%15[0-9a-f]%n", whose + 8, &skip) == 1)
		memcpy(whose, "session ", 8);
	else if (sscanf(n->text, "dev=%15[0-9:]%n", whose + 6, &skip) == 1)
		memcpy(whose, "mount ", 6);
	rest += skip;
	rest += strspn(rest, " ");
	printf("%14.6f  %-16s  %-6s  %-16s  %s\n", n->ns / 1e9, whose, n->who, n->what, rest);
}

/* List all events that are not drawn. */
static void list_all(void)
{
	size_t i;

	if (nr_notes)
		qsort(notes, nr_notes, sizeof(*notes), by_time);
	for (i = 0; i < nr_notes; i++) {
		list(&notes[i]);
		free(notes[i].text);
	}
	free(notes);
	if (nr_notes && nr_steps)
		putchar('\n');
}

/* Draw no more than @most RPCs.  Returns whether there is one with at least @min_len bytes. */
static bool draw_all(unsigned long most, uint32_t min_len, bool slowest)
{
	struct rpc *rpcs;
	size_t n, i;

	n = gather(&rpcs, min_len);
	qsort(rpcs, n, sizeof(*rpcs), slowest ? by_duration : by_start);
	for (i = 0; i < n && i < most; i++)
		draw(&rpcs[i]);
	free(rpcs);
	free(steps);
	return n;
}

static void tell(const char *file, const char *value)
{
	char path[256];
	bool written;
	FILE *f;

	snprintf(path, sizeof(path), INSTANCE "/%s", file);
	f = fopen(path, "w");
	if (!f)
		die(path);
	written = fputs(value, f) >= 0;
	if (fclose(f) || !written)
		die(path);
}

/* Enable the events that are wanted, or disable them.  Returns how many there are. */
static size_t enable(const char *value)
{
	static const char instance[] = INSTANCE "/";
	char *name, *end, event[64];
	size_t i, nr = 0;
	glob_t found;

	if (glob(INSTANCE "/events/rdmafs*/rdmafs_*/enable", 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc; i++) {
		end = strrchr(found.gl_pathv[i], '/');
		*end = '\0';
		name = strrchr(found.gl_pathv[i], '/') + 1;
		snprintf(event, sizeof(event), "%s", name + strlen("rdmafs_"));
		*end = '/';
		if (!kind_of(event))
			continue;
		tell(found.gl_pathv[i] + strlen(instance), value);
		nr++;
	}
	globfree(&found);
	return nr;
}

/*
 * Trace for a while in an instance of its own, so that other users' tracing is not affected.
 * SIGINT, SIGTERM and SIGHUP end it early: what was seen until then is drawn, and the instance is
 * removed.
 */
static void record(double seconds)
{
	const struct timespec period = {
		.tv_sec = seconds,
		.tv_nsec = (seconds - (time_t)seconds) * 1e9,
	};
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	if (mkdir(INSTANCE, 0700))
		die(INSTANCE);
	recording = true;
	tell("trace_clock", "mono");
	/* All events begin at one time, and end at one: no step is missing between two others. */
	tell("tracing_on", "0");
	if (!enable("1")) {
		errno = ENOENT;
		die("events of rdmafs");
	}
	tell("tracing_on", "1");
	while (sigtimedwait(&ends, NULL, &period) < 0 && errno == EINTR)
		;
	tell("tracing_on", "0");
	enable("0");
	read_trace(INSTANCE "/trace");
	recording = false;
	if (rmdir(INSTANCE))
		die(INSTANCE);
	sigprocmask(SIG_UNBLOCK, &ends, NULL);
}

static void usage(FILE *f)
{
	fputs("Usage: rdmafs-trace [OPTION]... [FILE]...\n"
	      "\n"
	      "Draw RPCs of rdmafs as timelines: * the client's steps, # the server's.  Or list\n"
	      "other events, a line each, with time, session or mount, and what happened.\n"
	      "FILE is the text of a trace (- is stdin) with the events of rdmafs in it,\n"
	      "/sys/kernel/tracing/trace by default.\n"
	      "\n"
	      "  -e, --events=G,.. what to show (calls): calls, which are drawn; grants, policy,\n"
	      "                    pages, claims, states, which are listed; or all of these\n"
	      "  -t, --seconds=S   trace for S seconds, and show that\n"
	      "  -n, --number=N    no more than N RPCs (20)\n"
	      "  -l, --length=B    those with at least B bytes of data\n"
	      "  -s, --slowest     the slowest first, not the oldest\n"
	      "  -h, --help        this text\n"
	      "  -V, --version     the version\n", f);
}

/* Note which groups the words of @text name. */
static void choose(char *text)
{
	char *word = strtok(text, ",");
	int g;

	if (!word) {
		fputs("rdmafs-trace: --events: what is to be shown?\n", stderr);
		exit(1);
	}
	for (; word; word = strtok(NULL, ",")) {
		for (g = 0; g < NR_GROUPS; g++)
			if (!strcmp(word, group_names[g]))
				break;
		if (g < NR_GROUPS) {
			wanted[g] = true;
		} else if (!strcmp(word, "all")) {
			memset(wanted, true, sizeof(wanted));
		} else {
			fprintf(stderr, "rdmafs-trace: --events: there are no %s\n", word);
			exit(1);
		}
	}
}

/* If no group was chosen, calls are shown. */
static void choose_default(void)
{
	int g;

	for (g = 0; g < NR_GROUPS; g++)
		if (wanted[g])
			return;
	wanted[CALLS] = true;
}

static unsigned long number(const char *text, const char *what)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 0);
	if (errno || *end || end == text || *text == '-' || n > UINT32_MAX) {
		fprintf(stderr, "rdmafs-trace: %s: %s is no number\n", what, text);
		exit(1);
	}
	return n;
}

static double duration(const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (*end || end == text || !(s > 0 && s <= 86400)) {
		fprintf(stderr, "rdmafs-trace: --seconds: %s is no number up to 86400\n", text);
		exit(1);
	}
	return s;
}

/**
 * struct asked - what the command line asks for, beside the groups in wanted[]
 * @seconds: record for so long; 0: read files
 * @most:    number of RPCs to draw
 * @min_len: draw RPCs of so many bytes at least
 * @slowest: draw the slowest ones
 */
struct asked {
	double seconds;
	unsigned long most;
	unsigned long min_len;
	bool slowest;
};

/* Read the options.  Ends the program after --help and --version, and if they are wrong. */
static void parse_options(int argc, char **argv, struct asked *asked)
{
	static const struct option options[] = {
		{ "events", required_argument, NULL, 'e' },
		{ "seconds", required_argument, NULL, 't' },
		{ "number", required_argument, NULL, 'n' },
		{ "length", required_argument, NULL, 'l' },
		{ "slowest", no_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "e:t:n:l:shV", options, NULL)) != -1) {
		switch (c) {
		case 'e':
			choose(optarg);
			break;
		case 't':
			asked->seconds = duration(optarg);
			break;
		case 'n':
			asked->most = number(optarg, "--number");
			break;
		case 'l':
			asked->min_len = number(optarg, "--length");
			break;
		case 's':
			asked->slowest = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		case 'V':
			puts("rdmafs-trace " VERSION);
			exit(0);
		default:
			usage(stderr);
			exit(1);
		}
	}
	if (asked->seconds && optind < argc) {
		fputs("rdmafs-trace: --seconds and a FILE exclude each other\n", stderr);
		exit(1);
	}
	choose_default();
}

int main(int argc, char **argv)
{
	struct asked asked = { .most = 20 };

	parse_options(argc, argv, &asked);
	if (asked.seconds)
		record(asked.seconds);
	else if (optind == argc)
		read_trace("/sys/kernel/tracing/trace");
	for (; optind < argc; optind++)
		read_trace(argv[optind]);

	list_all();
	if (!draw_all(asked.most, asked.min_len, asked.slowest) && !nr_notes) {
		fputs(wanted[CALLS] ? "rdmafs-trace: no RPC in this trace\n" :
				      "rdmafs-trace: no such event in this trace\n", stderr);
		return 2;
	}
	return 0;
}
