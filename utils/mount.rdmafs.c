// SPDX-License-Identifier: GPL-2.0
/*
 * mount.rdmafs: the helper that mount(8) runs for "mount -t rdmafs".
 *
 * It resolves the host's name, since the kernel has no resolver.  It mounts by
 * fsopen(2), fsconfig(2) and fsmount(2), because these return the kernel's messages
 * about an error.  With mount(2) the messages would be in the kernel log only, and
 * the user would see "Invalid argument".
 *
 * If a name has several addresses they are tried one after the other, as long as
 * the address is to blame for the failure.  If the server may just not be there yet, all
 * are tried again, for retry= minutes; with bg, in the background.  An answer such as "no
 * such export" is final.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libmount.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include "mountopts.h"

#define VERSION "draft-10"
#define FSTYPE "rdmafs"
#define DEFAULT_PORT "20060"

/* the longest string that fsconfig(2) takes */
#define PARAM_MAX 255

/* minutes for which a server is tried that is not there, in the foreground and in the background */
#define RETRY_FG 2
#define RETRY_BG 10000
#define RETRY_MAX 1000000

/* seconds from one attempt to the next: doubled from 1 up to this */
#define PAUSE_FG 10
#define PAUSE_BG 60

/* exit statuses, those of mount(8) */
enum {
	EX_USAGE = 1,
	EX_SYSERR = 2,
	EX_FAIL = 32,
	EX_ADDRESS = -1,	/* internal: this address failed, there was no message yet */
	EX_LATER = -2,		/* internal: the server is not there now, likewise */
	EX_THERE = -3,		/* internal: another process has mounted it meanwhile */
};

static const char *source, *target;
static bool fake, no_mtab, sloppy, verbose, background;

static void __attribute__((format(printf, 1, 2))) complain(const char *format, ...)
{
	char text[2048];
	va_list ap;

	if (background) {
		va_start(ap, format);
		vsnprintf(text, sizeof(text), format, ap);
		va_end(ap);
		syslog(LOG_ERR, "%s: %s", source ? source : "", text);
		return;
	}
	fprintf(stderr, "mount.rdmafs: ");
	if (source)
		fprintf(stderr, "%s: ", source);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void __attribute__((format(printf, 1, 2))) tell(const char *format, ...)
{
	va_list ap;

	if (!verbose)
		return;
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

/* --------------------------------------------------------- kernel messages */

/**
 * struct fsmsg - the last error message of the kernel about a file system fd
 * @text: the message, empty if there was none
 */
struct fsmsg {
	char text[1024];
};

/*
 * Each read gives one message: a letter (e, w, i), a blank, "rdmafs: " and the text.  Of
 * several errors the last one is kept, which is nearest to the cause.  Other messages
 * are printed.
 */
static void read_messages(int fd, struct fsmsg *msg)
{
	static const char prefix[] = FSTYPE ": ";
	char buf[sizeof(msg->text)];
	ssize_t n;
	char *p;

	msg->text[0] = '\0';
	for (;;) {
		n = read(fd, buf, sizeof(buf) - 1);
		if (n <= 2)
			break;
		while (n && (buf[n - 1] == '\n' || !buf[n - 1]))
			n--;
		buf[n] = '\0';
		p = buf + 2;
		if (!strncmp(p, prefix, strlen(prefix)))
			p += strlen(prefix);
		if (buf[0] == 'e')
			memmove(msg->text, p, strlen(p) + 1);
		else
			fprintf(stderr, "mount.rdmafs: %s: %s\n", source, p);
	}
}

/* A message for an errno that came without a message of the kernel. */
static const char *explain(int err)
{
	switch (err) {
	case ENODEV:
		return "no RDMA device leads to the server: see rdma link";
	case ECONNREFUSED:
		return "connection refused: nothing serves this port there";
	case ETIMEDOUT:
		return "no answer: is it up, and is the port right?";
	case EHOSTUNREACH:
	case ENETUNREACH:
		return "no route to the server";
	case EPROTONOSUPPORT:
	case EPROTO:
		return "the server speaks another version of the protocol";
	case ENOENT:
		return "the server has no such export";
	case EACCES:
		return "the server refuses this client";
	case EPERM:
		return "only root may mount";
	default:
		return strerror(err);
	}
}

static void complain_kernel(const char *what, const struct fsmsg *msg, int err)
{
	complain("%s%s%s", what ? what : "", what ? ": " : "",
		 msg->text[0] ? msg->text : explain(err));
}

/* ------------------------------------------------------------------ kernel */

static bool fs_known(void)
{
	FILE *f = fopen("/proc/filesystems", "re");
	char line[128];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		char *name = strchr(line, '\t');

		found = name && !strcmp(name + 1, FSTYPE "\n");
	}
	if (f)
		fclose(f);
	return found;
}

/*
 * The kernel loads the module by its alias.  This is for a kernel that may not run modprobe
 * itself.  If it fails, fsopen() reports that the kernel has no such file system.
 */
static void load_module(void)
{
	pid_t pid;

	if (fs_known())
		return;
	pid = fork();
	if (!pid) {
		execl("/sbin/modprobe", "modprobe", "-q", FSTYPE, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/*
 * set_string(), set_param(), set_params(), attach(): 0, or an exit status after a message; attach()
 * also EX_THERE.
 */

static int set_string(int fd, const char *name, const char *value)
{
	struct fsmsg msg;
	int err;

	if (strlen(value) > PARAM_MAX) {
		complain("%s: longer than %d bytes", name, PARAM_MAX);
		return EX_FAIL;
	}
	if (!fsconfig(fd, FSCONFIG_SET_STRING, name, value, 0))
		return 0;
	err = errno;
	read_messages(fd, &msg);
	complain_kernel(name, &msg, err);
	return EX_FAIL;
}

static int set_param(int fd, const struct param *p)
{
	struct fsmsg msg;
	char what[128];
	int err;

	if (p->value && strlen(p->value) > PARAM_MAX) {
		complain("option %s: its value is longer than %d bytes", p->name, PARAM_MAX);
		return EX_FAIL;
	}
	if (!fsconfig(fd, p->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
		      p->name, p->value, 0))
		return 0;
	err = errno;
	read_messages(fd, &msg);
	if (sloppy && err == EINVAL && strstr(msg.text, "nknown parameter")) {
		tell("option %s is ignored: the kernel does not know it", p->name);
		return 0;
	}
	/* the kernel's message may name the option itself */
	snprintf(what, sizeof(what), "%.40s=", p->name);
	if (strstr(msg.text, what)) {
		complain_kernel(NULL, &msg, err);
		return EX_FAIL;
	}
	snprintf(what, sizeof(what), "option %.40s%s%.60s", p->name,
		 p->value ? "=" : "", p->value ? p->value : "");
	complain_kernel(what, &msg, err);
	return EX_FAIL;
}

static int set_params(int fd, const struct mount_options *mo)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < mo->nr && !rc; i++)
		rc = set_param(fd, &mo->params[i]);
	return rc;
}

static int open_fs(void)
{
	int fd = fsopen(FSTYPE, FSOPEN_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == ENODEV)
		complain("the kernel has no %s: is the module installed? (modprobe %s)",
			 FSTYPE, FSTYPE);
	else if (errno == EPERM)
		complain("only root may mount");
	else
		complain("fsopen: %s", strerror(errno));
	return -1;
}

/*
 * In the background: is the same already mounted there?  Each "mount -a" while the server is not
 * there leaves a process, as does a mount by hand.  Without a lock between them two may still mount
 * in the same moment, one over the other.
 */
static bool is_there(void)
{
	struct libmnt_table *tb;
	bool found;

	if (!background)
		return false;
	tb = mnt_new_table_from_file("/proc/self/mountinfo");
	found = tb && mnt_table_find_pair(tb, source, target, MNT_ITER_BACKWARD);
	mnt_unref_table(tb);
	return found;
}

static int attach(int fd, uint64_t attr)
{
	int rc = 0, mnt;

	if (is_there())
		return EX_THERE;
	mnt = fsmount(fd, FSMOUNT_CLOEXEC, attr);
	if (mnt < 0) {
		complain("fsmount: %s", strerror(errno));
		return EX_SYSERR;
	}
	if (move_mount(mnt, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH |
		       MOVE_MOUNT_T_SYMLINKS | MOVE_MOUNT_T_AUTOMOUNTS)) {
		complain("%s: %s", target, strerror(errno));
		rc = EX_FAIL;
	}
	close(mnt);
	return rc;
}

/* What the kernel said of the address that was tried last. */
static struct failure {
	struct fsmsg msg;
	int err;
} last_failure;

/* May the same succeed later, without anybody changing anything here? */
static bool is_passing_error(int err)
{
	switch (err) {
	case ECONNREFUSED:
	case ECONNRESET:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENETDOWN:
	case ENETUNREACH:
	case ETIMEDOUT:
		return true;
	}
	return false;
}

/* Could another address succeed after this error? */
static bool is_address_error(int err)
{
	return err == ENODEV || err == EADDRNOTAVAIL || err == EAFNOSUPPORT ||
	       is_passing_error(err);
}

/*
 * Mount by one address: 0, or EX_THERE, or an exit status after a message, or EX_ADDRESS: the
 * address is to blame, there is no message, and @last_failure says why.
 */
static int mount_address(const struct mount_options *mo, const char *addr)
{
	struct failure *f = &last_failure;
	int rc, fd = open_fs();

	if (fd < 0)
		return EX_SYSERR;
	tell("trying %s", addr);
	rc = set_string(fd, "source", source);
	if (!rc)
		rc = set_params(fd, mo);
	if (!rc)
		rc = set_string(fd, "addr", addr);
	if (!rc && fsconfig(fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0)) {
		f->err = errno;
		read_messages(fd, &f->msg);
		if (is_address_error(f->err)) {
			rc = EX_ADDRESS;
			tell("%s: %s", addr, f->msg.text[0] ? f->msg.text : explain(f->err));
		} else {
			rc = EX_FAIL;
			complain_kernel(NULL, &f->msg, f->err);
		}
	}
	if (!rc)
		rc = attach(fd, mo->attr);
	close(fd);
	return rc;
}

static int remount(const struct mount_options *mo)
{
	struct mount_attr attr = {
		.attr_set = mo->attr,
		.attr_clr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    MOUNT_ATTR_NOEXEC | MOUNT_ATTR__ATIME | MOUNT_ATTR_NODIRATIME |
			    MOUNT_ATTR_NOSYMFOLLOW,
	};
	struct fsmsg msg;
	int rc, err, fd;

	if (fake)
		return 0;
	fd = fspick(AT_FDCWD, target, FSPICK_CLOEXEC);
	if (fd < 0) {
		complain("%s: %s", target, errno == EINVAL ? "not a mount point" : strerror(errno));
		return EX_FAIL;
	}
	rc = set_params(fd, mo);
	if (!rc && mo->addr)
		rc = set_string(fd, "addr", mo->addr);
	if (!rc && fsconfig(fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0)) {
		err = errno;
		read_messages(fd, &msg);
		complain_kernel("remount", &msg, err);
		rc = EX_FAIL;
	}
	close(fd);
	if (!rc && mount_setattr(AT_FDCWD, target, 0, &attr, sizeof(attr))) {
		complain("%s: %s", target, strerror(errno));
		rc = EX_FAIL;
	}
	return rc;
}

/* -------------------------------------------------------------- user space */

/* 0, or EX_THERE, or an exit status after a message, or EX_LATER: see last_failure. */
static int mount_resolved(const struct mount_options *mo, const struct addrinfo *list)
{
	const struct addrinfo *ai;
	char addr[NI_MAXHOST];
	bool later = false;
	int rc = EX_FAIL, err;

	for (ai = list; ai; ai = ai->ai_next) {
		err = getnameinfo(ai->ai_addr, ai->ai_addrlen, addr, sizeof(addr), NULL, 0,
				  NI_NUMERICHOST);
		if (err) {
			complain("%s", gai_strerror(err));
			return EX_SYSERR;
		}
		if (fake) {
			tell("addr=%s", addr);
			rc = 0;
			continue;
		}
		rc = mount_address(mo, addr);
		if (rc != EX_ADDRESS)
			return rc;
		later |= is_passing_error(last_failure.err);
	}
	if (rc != EX_ADDRESS)
		return rc;
	if (later)
		return EX_LATER;
	complain_kernel(NULL, &last_failure.msg, last_failure.err);
	return EX_FAIL;
}

/* One attempt by all addresses, as mount_resolved(). */
static int do_mount(const struct mount_options *mo, const char *host)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	const char *name = mo->addr ? mo->addr : host;
	struct addrinfo *list;
	int err, rc;

	err = getaddrinfo(name, NULL, &hints, &list);
	if (err) {
		snprintf(last_failure.msg.text, sizeof(last_failure.msg.text), "host %s: %s", name,
			 err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err));
		/* The name server is not there, perhaps as the network is not yet. */
		if (err == EAI_AGAIN && !fake)
			return EX_LATER;
		complain("%s", last_failure.msg.text);
		return EX_FAIL;
	}
	rc = mount_resolved(mo, list);
	freeaddrinfo(list);
	return rc;
}

/* Minutes for which a server is tried that is not there; -1 after a message. */
static long retry_minutes(const struct mount_options *mo)
{
	char *end;
	long n;

	if (!mo->retry)
		return mo->bg ? RETRY_BG : RETRY_FG;
	errno = 0;
	n = strtol(mo->retry, &end, 10);
	if (errno || end == mo->retry || *end || n < 0 || n > RETRY_MAX) {
		complain("option retry=%s: not a number of minutes, 0 to %d", mo->retry, RETRY_MAX);
		return -1;
	}
	return n;
}

/* Go on in a child, with its messages in the system's log; the parent exits with success. */
static int go_to_background(void)
{
	char *path = realpath(target, NULL);

	if (!path) {
		complain("%s: %s", target, strerror(errno));
		return EX_FAIL;
	}
	target = path;	/* the child is in another directory; kept until it ends */
	fprintf(stderr, "mount.rdmafs: %s: %s; trying again in the background\n", source,
		last_failure.msg.text[0] ? last_failure.msg.text : explain(last_failure.err));
	fflush(NULL);
	if (daemon(0, 0)) {
		complain("no process for the background: %s", strerror(errno));
		return EX_SYSERR;
	}
	openlog("mount.rdmafs", LOG_PID, LOG_DAEMON);
	background = true;
	return 0;
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/*
 * Mount, and try again while the server is not there; 0, or EX_THERE, or an exit status after a
 * message.
 */
static int mount_in_time(const struct mount_options *mo, const char *host)
{
	long minutes = retry_minutes(mo);
	time_t end = now() + minutes * 60;
	unsigned int gap = 1;
	int rc;

	if (minutes < 0)
		return EX_USAGE;
	if (mo->addr && !*mo->addr) {
		complain("option addr= has no value");
		return EX_FAIL;
	}
	rc = do_mount(mo, host);
	if (rc == EX_LATER && mo->bg && minutes) {
		rc = go_to_background();
		if (rc)
			return rc;
		rc = EX_LATER;
	}
	while (rc == EX_LATER && now() < end) {
		sleep(gap);
		gap *= 2;
		if (gap > (background ? PAUSE_BG : PAUSE_FG))
			gap = background ? PAUSE_BG : PAUSE_FG;
		rc = is_there() ? EX_THERE : do_mount(mo, host);
	}
	if (rc != EX_LATER)
		return rc;
	complain_kernel(NULL, &last_failure.msg, last_failure.err);
	return EX_FAIL;
}

/*
 * Record the mount in /run/mount, as mount(8) leaves that to its helper.  It is recorded with
 * _netdev, so that systemd unmounts it before the network goes down.  A failure to record it
 * has no other effect.
 */
static void record(const struct mount_options *mo)
{
	struct libmnt_context *cxt;
	char *user = mo->user ? strdup(mo->user) : NULL;

	cxt = mnt_new_context();
	if (cxt && (!mo->user || user) &&
	    (mnt_optstr_get_option(user, "_netdev", NULL, NULL) == 0 ||
	     !mnt_optstr_append_option(&user, "_netdev", NULL)) &&
	    !mnt_context_init_helper(cxt, MNT_ACT_MOUNT, 0) &&
	    !mnt_context_set_fstype(cxt, FSTYPE) &&
	    !mnt_context_set_source(cxt, source) &&
	    !mnt_context_set_target(cxt, target) &&
	    !mnt_context_set_options(cxt, user) &&
	    !mnt_context_prepare_mount(cxt)) {
		mnt_context_set_syscall_status(cxt, 0);
		mnt_context_finalize_mount(cxt);
	}
	mnt_free_context(cxt);
	free(user);
}

static void tell_options(const struct mount_options *mo, const char *host, const char *name)
{
	size_t i;

	if (!verbose)
		return;
	tell("host=%s export=%s port=%s", host, name, mo->port ? mo->port : DEFAULT_PORT);
	for (i = 0; i < mo->nr; i++)
		tell("kernel option %s%s%s", mo->params[i].name, mo->params[i].value ? "=" : "",
		     mo->params[i].value ? mo->params[i].value : "");
	tell("mount attributes 0x%llx", (unsigned long long)mo->attr);
	if (mo->bg)
		tell("in the background if the server is not there");
	if (mo->user)
		tell("kept in user space: %s", mo->user);
}

static int mount_with(const struct mount_options *mo)
{
	const char *name, *why;
	struct stat st;
	char *host;
	int rc;

	rc = mount_source_split(source, &host, &name, &why);
	if (rc == -ENOMEM) {
		complain("out of memory");
		return EX_SYSERR;
	}
	if (rc) {
		complain("%s", why);
		return EX_USAGE;
	}
	tell_options(mo, host, name);
	if (stat(target, &st)) {
		complain("mount point %s: %s", target, strerror(errno));
		rc = EX_FAIL;
	} else if (!S_ISDIR(st.st_mode)) {
		complain("mount point %s: %s", target, strerror(ENOTDIR));
		rc = EX_FAIL;
	} else if (mo->remount) {
		rc = remount(mo);
	} else {
		if (!fake)
			load_module();
		rc = mount_in_time(mo, host);
		if (!rc && !fake && !no_mtab)
			record(mo);
		if (rc == EX_THERE)
			rc = 0;
	}
	free(host);
	return rc;
}

static void usage(FILE *f)
{
	fputs("Usage: mount.rdmafs HOST:/EXPORT DIRECTORY [-fnsv] [-o OPTION[,OPTION]...]\n"
	      "       (usually by way of mount -t rdmafs)\n"
	      "\n"
	      "HOST is a name, an IPv4 address, or an IPv6 address in brackets.\n"
	      "\n"
	      "  -f          go through all but the mounting\n"
	      "  -n          do not record the mount in /run/mount\n"
	      "  -s          ignore options that the kernel does not know\n"
	      "  -v          say what is done\n"
	      "  -o OPTIONS  see mount.rdmafs(8); port=N, ro, soft, bg, slots=N, rsize=N, ...\n"
	      "  -t TYPE     rdmafs; for mount(8), which says so\n"
	      "  -h, --help  this text\n"
	      "  -V, --version\n", f);
}

/* Append to the options: -o may be given more than once. */
static char *join(char *options, const char *more)
{
	char *both = NULL;

	if (asprintf(&both, "%s%s%s", options ? options : "", options ? "," : "", more) < 0)
		both = NULL;
	free(options);
	return both;
}

/* 0 to go on, -1 to exit with success, or an exit status. */
static int parse_arguments(int argc, char **argv, char **options)
{
	static const struct option longopts[] = {
		{ "fake", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ "no-mtab", no_argument, NULL, 'n' },
		{ "options", required_argument, NULL, 'o' },
		{ "sloppy", no_argument, NULL, 's' },
		{ "types", required_argument, NULL, 't' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "fhno:st:vV", longopts, NULL)) != -1) {
		switch (c) {
		case 'f':
			fake = true;
			break;
		case 'h':
			usage(stdout);
			return -1;
		case 'n':
			no_mtab = true;
			break;
		case 'o':
			*options = join(*options, optarg);
			if (!*options)
				return EX_SYSERR;
			break;
		case 's':
			sloppy = true;
			break;
		case 't':
			if (strcmp(optarg, FSTYPE)) {
				complain("type %s: only %s is mounted here", optarg, FSTYPE);
				return EX_USAGE;
			}
			break;
		case 'v':
			verbose = true;
			break;
		case 'V':
			puts("mount.rdmafs " VERSION);
			return -1;
		default:
			usage(stderr);
			return EX_USAGE;
		}
	}
	if (argc - optind != 2) {
		usage(stderr);
		return EX_USAGE;
	}
	source = argv[optind];
	target = argv[optind + 1];
	return 0;
}

int main(int argc, char **argv)
{
	struct mount_options mo;
	char *options = NULL, *bad;
	int rc;

	rc = parse_arguments(argc, argv, &options);
	if (rc) {
		free(options);
		return rc < 0 ? 0 : rc;
	}
	rc = mount_options_parse(&mo, options, &bad);
	if (rc == -ENOMEM) {
		complain("out of memory");
		rc = EX_SYSERR;
	} else if (rc) {
		complain("options can't be parsed%s%s", bad ? " from here on: " : "",
			 bad ? bad : "");
		rc = EX_USAGE;
	} else {
		rc = mount_with(&mo);
	}
	free(bad);
	mount_options_free(&mo);
	free(options);
	return rc;
}
