// SPDX-License-Identifier: GPL-2.0
/*
 * rdmafs-trace: draws RPCs as timelines, from the kernel's tracepoints.
 *
 * It reads the text of tracefs, as "cat /sys/kernel/tracing/trace" gives it: from
 * files, or for some seconds from a tracing instance of its own.  Of each line it
 * needs the time, an event named rdmafs_call_STEP (the client) or rdmafs_req_STEP
 * (the server), and "session=X slot=N seq=N len=N".  Other lines are skipped.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define VERSION "draft-6"
#define INSTANCE "/sys/kernel/tracing/instances/rdmafs-trace"
#define WIDTH 40		/* characters of the drawing */
#define STEP_MAX 24

/**
 * struct step - one event
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
static size_t nr_steps, room;

static void die(const char *what)
{
	fprintf(stderr, "rdmafs-trace: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void *grown(void *old, size_t n, size_t size)
{
	void *p = reallocarray(old, n, size);

	if (!p)
		die("memory");
	return p;
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

static bool parse_line(char *line, struct step *s)
{
	char *event = strstr(line, ": rdmafs_"), *name, *colon, *time;

	if (!event)
		return false;
	name = event + strlen(": rdmafs_");
	colon = strchr(name, ':');
	if (!colon)
		return false;
	*colon = '\0';
	if (!strncmp(name, "call_", 5))
		s->server = false;
	else if (!strncmp(name, "req_", 4))
		s->server = true;
	else
		return false;
	snprintf(s->name, sizeof(s->name), "%s", strchr(name, '_') + 1);
	for (name = s->name; *name; name++)
		if (*name == '_')
			*name = ' ';
	for (time = event; time > line && time[-1] != ' '; time--)
		;
	return parse_time(time, &s->ns) &&
	       sscanf(colon + 1, " session=%x slot=%u seq=%u len=%u", &s->session, &s->slot,
		      &s->seq, &s->len) == 4;
}

static void read_trace(const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "r") : stdin;
	char *line = NULL;
	size_t size = 0;

	if (!f)
		die(path);
	while (getline(&line, &size, f) > 0) {
		if (nr_steps == room) {
			room = room ? 2 * room : 1024;
			steps = grown(steps, room, sizeof(*steps));
		}
		steps[nr_steps].order = nr_steps;
		if (parse_line(line, &steps[nr_steps]))
			nr_steps++;
	}
	if (ferror(f))
		die(path);
	free(line);
	if (f != stdin)
		fclose(f);
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

static void tell(const char *file, const char *value)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), INSTANCE "/%s", file);
	f = fopen(path, "w");
	if (!f || fputs(value, f) < 0 || fclose(f)) {
		int err = errno;

		rmdir(INSTANCE);
		errno = err;
		die(path);
	}
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
	tell("trace_clock", "mono");
	tell("events/rdmafs/enable", "1");
	while (sigtimedwait(&ends, NULL, &period) < 0 && errno == EINTR)
		;
	tell("events/rdmafs/enable", "0");
	read_trace(INSTANCE "/trace");
	if (rmdir(INSTANCE))
		die(INSTANCE);
	sigprocmask(SIG_UNBLOCK, &ends, NULL);
}

static void usage(FILE *f)
{
	fputs("Usage: rdmafs-trace [OPTION]... [FILE]...\n"
	      "\n"
	      "Draw RPCs of rdmafs as timelines: * the client's steps, # the server's.\n"
	      "FILE is the text of a trace (- is stdin) with the events of rdmafs in it,\n"
	      "/sys/kernel/tracing/trace by default.\n"
	      "\n"
	      "  -t, --seconds=S   trace for S seconds, and draw that\n"
	      "  -n, --number=N    no more than N RPCs (20)\n"
	      "  -l, --length=B    those with at least B bytes of data\n"
	      "  -s, --slowest     the slowest first, not the oldest\n"
	      "  -h, --help        this text\n"
	      "  -V, --version     the version\n", f);
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

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 't' },
		{ "number", required_argument, NULL, 'n' },
		{ "length", required_argument, NULL, 'l' },
		{ "slowest", no_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	unsigned long most = 20, min_len = 0;
	bool slowest = false;
	double seconds = 0;
	struct rpc *rpcs;
	size_t n, i;
	int c;

	while ((c = getopt_long(argc, argv, "t:n:l:shV", options, NULL)) != -1) {
		switch (c) {
		case 't':
			seconds = duration(optarg);
			break;
		case 'n':
			most = number(optarg, "--number");
			break;
		case 'l':
			min_len = number(optarg, "--length");
			break;
		case 's':
			slowest = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		case 'V':
			puts("rdmafs-trace " VERSION);
			return 0;
		default:
			usage(stderr);
			return 1;
		}
	}
	if (seconds && optind < argc) {
		fputs("rdmafs-trace: --seconds and a FILE exclude each other\n", stderr);
		return 1;
	}
	if (seconds)
		record(seconds);
	else if (optind == argc)
		read_trace("/sys/kernel/tracing/trace");
	for (; optind < argc; optind++)
		read_trace(argv[optind]);

	n = gather(&rpcs, min_len);
	qsort(rpcs, n, sizeof(*rpcs), slowest ? by_duration : by_start);
	for (i = 0; i < n && i < most; i++)
		draw(&rpcs[i]);
	if (!n) {
		fputs("rdmafs-trace: no RPC in this trace\n", stderr);
		return 2;
	}
	free(rpcs);
	free(steps);
	return 0;
}
