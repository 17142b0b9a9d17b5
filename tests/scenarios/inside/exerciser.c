// SPDX-License-Identifier: GPL-2.0
/*
 * A file exerciser.  It does random operations on one file.  A copy of the file's content is
 * kept in memory (the model), and compared with the data that every read returns.
 *
 *   exerciser [OPTION]... FILE
 *	--ops N		number of operations (default 2000); in all modes, per process
 *	--seconds S	go on until that many seconds have passed, instead
 *	--seed N	seed of the random numbers (default: the time)
 *	--size BYTES	the file's largest size (default 4194304)
 *	--align BYTES	alignment of direct I/O that the file system needs (default 1)
 *	--no-mmap	use no maps
 *	--direct-only	read and write only through O_DIRECT
 *	--second-mount DIR  a second mount of the directory of FILE: data that is written
 *			in one and closed must be seen by an open in the other
 *	--procs N	run N processes at once, each on pieces of its own
 *	--piece BYTES	length of a piece (default 16384)
 *	--append N	run N processes that append records; each record must be in the
 *			file once and whole; every other process uses --second-mount
 *	--eio-ok	operations that cannot be repeated (rename, append, ranges
 *			inserted and cut out) may fail with EIO; the operation must
 *			then have been executed once or not at all
 *	--errors-ok PERCENT  operations may fail for lack of memory or by I/O errors;
 *			the exerciser then begins anew with a new file.  Operations
 *			that succeed must be right, and at least so many percent must
 *			succeed (only without --procs and --append)
 *	--without LIST	only these of fallocate, punch, zero range, collapse, insert, copy may
 *			fail with EOPNOTSUPP (default: any)
 *	--inject	make this process' allocations fail as debugfs was told
 *	--verbose	show every operation as it is made
 *
 * Every byte that is written depends on its operation, so that wrong data can be traced to the
 * operation that it came from.  The same seed and options give the same operations.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE		4096UL
#define LOG_LINES	60
#define MAX_PROCS	64

static struct {
	uint64_t ops;
	uint64_t seconds;
	uint64_t seed;
	size_t size;
	size_t align;
	size_t piece;
	bool no_mmap;
	bool direct_only;
	const char *second;
	unsigned int procs;
	unsigned int append;
	bool eio_ok;
	unsigned int errors_ok;	/* percent of operations that must succeed; 0: no errors allowed */
	const char *without;
	bool inject;
	bool verbose;
} opt = { .ops = 2000, .size = 4 << 20, .align = 1, .piece = 16384 };

static const char *file_arg;
static char path[4096], other_path[4096], second_path[4096], second_other[4096];
static unsigned int who;	/* number of this process, if there are several */
static uint64_t op;		/* number of the operation under way, from 1 */
static unsigned int nr_eio, nr_tried, nr_restarts;

static unsigned char *model;	/* the content that the file must have */
static uint32_t *owner;		/* for each byte: the operation that has written it */
static size_t size;		/* the size that the file must have */
static unsigned char *buf;	/* page-aligned, for reads and writes */
static int fd = -1, dfd = -1;	/* the file, opened for buffered and for direct I/O */
static unsigned char *map;	/* a map of opt.size bytes of the file, or NULL */
static int scratch = -1;	/* another file on the same mount, for copies */

static char lines[LOG_LINES][160];
static unsigned int nr_lines;

/* Operations that the file system does not support, and that are not tried again. */
static bool no_fallocate, no_punch, no_zero, no_collapse, no_insert;

static uint64_t rng_state;

static uint64_t rng(void)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static uint64_t below(uint64_t n)
{
	return n ? rng() % n : 0;
}

static bool one_in(unsigned int n)
{
	return below(n) == 0;
}

static void note(const char *format, ...)
{
	char *line = lines[nr_lines++ % LOG_LINES];
	va_list args;
	int n;

	n = snprintf(line, sizeof(lines[0]), "%" PRIu64 ": ", op);
	va_start(args, format);
	vsnprintf(line + n, sizeof(lines[0]) - n, format, args);
	va_end(args);
	if (opt.verbose)
		fprintf(stderr, "%s\n", line);
}

static void show_log(void)
{
	unsigned int i = nr_lines > LOG_LINES ? nr_lines - LOG_LINES : 0;

	fprintf(stderr, "the last operations:\n");
	for (; i < nr_lines; i++)
		fprintf(stderr, "  %s\n", lines[i % LOG_LINES]);
}

static void __attribute__((noreturn)) fail(const char *format, ...)
{
	va_list args;

	show_log();
	fprintf(stderr, "exerciser: seed %" PRIu64 ", process %u, operation %" PRIu64 ": ",
		opt.seed, who, op);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

static bool excusable(int err)
{
	return opt.errors_ok && (err == EIO || err == ENOMEM || err == EINTR || err == EAGAIN ||
				 err == ENOBUFS || err == ENFILE);
}

/* Set by the first excused error: the file's content is unknown, and the model is void. */
static bool lost;

static void trouble(const char *what)
{
	int err = errno;

	if (!excusable(err))
		fail("%s: %s", what, strerror(err));
	note("%s: %s, excused", what, strerror(err));
	lost = true;
}

/* The byte that operation @by writes at offset @at; never 0, so that holes can be told apart. */
static unsigned char byte_of(uint64_t by, uint64_t at)
{
	uint64_t z = (by * 0xd1342543de82ef95) ^ ((at >> 3) * 0xaf251af3b0f025b5) ^
		     ((uint64_t)who << 56);

	z ^= z >> 32;
	z *= 0x9fb21c651e98df25;
	return (unsigned char)(z >> (8 * (at & 7))) | 1;
}

static void fill(unsigned char *to, size_t at, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		to[i] = byte_of(op, at + i);
}

static void model_write(const unsigned char *from, size_t at, size_t len)
{
	size_t i;

	if (at > size) {
		memset(model + size, 0, at - size);
		for (i = size; i < at; i++)
			owner[i] = op;
	}
	memcpy(model + at, from, len);
	for (i = at; i < at + len; i++)
		owner[i] = op;
	if (at + len > size)
		size = at + len;
}

static void model_zero(size_t at, size_t len)
{
	size_t i;

	memset(model + at, 0, len);
	for (i = at; i < at + len; i++)
		owner[i] = op;
}

static void model_resize(size_t to)
{
	if (to > size)
		model_zero(size, to - size);
	size = to;
}

/* Reports the operation that has written the wrong data found at @at, if there is one. */
static void trace(const unsigned char *have, size_t at, size_t len)
{
	size_t n = len < 8 ? len : 8, i;
	uint64_t by;

	for (i = 0; i < n && !have[i]; i++)
		;
	if (i == n) {
		fprintf(stderr, "  found: zeros\n");
		return;
	}
	for (by = op; by > 0; by--) {
		for (i = 0; i < n && have[i] == byte_of(by, at + i); i++)
			;
		if (i == n) {
			fprintf(stderr, "  found: what operation %" PRIu64 " wrote there\n", by);
			return;
		}
	}
	fprintf(stderr, "  found: of no operation at this place\n");
}

/*
 * Has an earlier write failed in writeback, and is that allowed?  Then the file may have other data
 * than the model, and fsync() reports the error now.
 */
static bool failed_later(void)
{
	if (opt.errors_ok && (fsync(fd) || fsync(fd)))
		trouble("fsync");
	return lost;
}

static void compare(const unsigned char *have, size_t at, size_t len, const char *how)
{
	size_t i, bad = 0, last = 0, first;

	if (!memcmp(have, model + at, len))
		return;
	for (i = 0; have[i] == model[at + i]; i++)
		;
	first = i;
	for (; i < len; i++)
		if (have[i] != model[at + i]) {
			bad++;
			last = i;
		}
	if (failed_later())
		return;
	fprintf(stderr, "%s: wrong at %zu (%#zx), size %zu: %#x instead of %#x\n", how, at + first,
		at + first, size, have[first], model[at + first]);
	fprintf(stderr, "  %zu bytes wrong of %zu, the last at %zu\n", bad, len, at + last);
	fprintf(stderr, "  wanted: of operation %u\n", owner[at + first]);
	trace(have + first, at + first, last - first + 1);
	fail("%s: data mismatch", how);
}

static void check_size(int on, const char *how)
{
	struct stat st;

	if (fstat(on, &st)) {
		trouble("fstat");
		return;
	}
	if ((size_t)st.st_size != size && !failed_later())
		fail("%s: size %lld instead of %zu", how, (long long)st.st_size, size);
}

/* Reads the whole range, or up to the end of the file. */
static ssize_t read_all(int from, unsigned char *to, size_t len, off_t at)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pread(from, to + done, len - done, at + done);
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += n;
	}
	return done;
}

static int write_all(int to, const unsigned char *from, size_t len, off_t at)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pwrite(to, from + done, len - done, at + done);
		if (n < 0)
			return -1;
		if (n == 0) {
			errno = ENOSPC;
			return -1;
		}
		done += n;
	}
	return 0;
}

static void read_compare(int from, size_t at, size_t len, const char *how)
{
	size_t want = at >= size ? 0 : len < size - at ? len : size - at;
	size_t skew = from == dfd && opt.align > 1 ? 0 : below(3) ? 0 : below(PAGE);
	ssize_t n;

	n = read_all(from, buf + skew, len, at);
	if (n < 0) {
		trouble(how);
		return;
	}
	if (lost || ((size_t)n != want && failed_later()))
		return;
	if ((size_t)n != want)
		fail("%s: %zd bytes instead of %zu at %zu, size %zu", how, n, want, at, size);
	if (want)
		compare(buf + skew, at, want, how);
}

static void check_all(const char *how)
{
	check_size(fd, how);
	read_compare(opt.direct_only ? dfd : fd, 0, opt.size, how);
}

/* Most lengths are small and some are large; many are at or next to a multiple of a page. */
static size_t some_length(size_t max)
{
	static const size_t edges[] = { 1, 512, 4095, 4096, 4097, 8192, 65536, 262144, 1048576,
					1048577 };
	size_t n;

	switch (below(6)) {
	case 0:
		n = edges[below(sizeof(edges) / sizeof(edges[0]))];
		break;
	case 1:
		n = 1 + below(100);
		break;
	case 2:
		n = 1 + below(max);
		break;
	case 3:
		n = PAGE * (1 + below(16));
		break;
	default:
		n = 1 + below(70000);
		break;
	}
	return n > max ? max : n;
}

static size_t some_offset(size_t limit)
{
	size_t at;

	switch (below(4)) {
	case 0:
		at = below(limit) & ~(PAGE - 1);
		break;
	case 1:
		at = below(limit / 16 + 1);
		break;
	default:
		at = below(limit);
		break;
	}
	return at;
}

/* A range of the file for reading (within its size) or writing (within opt.size). */
static bool some_range(bool within, size_t align, size_t *at, size_t *len)
{
	size_t limit = within ? size : opt.size;

	if (!limit)
		return false;
	*at = !within && one_in(4) ? size : some_offset(limit);
	*at -= *at % align;
	if (*at >= limit)
		*at = 0;
	*len = some_length(limit - *at);
	if (align > 1)
		*len -= *len % align;
	return *len > 0;
}

static void unmap(void)
{
	if (map)
		munmap(map, opt.size);
	map = NULL;
}

static void close_all(void)
{
	unmap();
	if (fd >= 0 && close(fd)) {
		fd = -1;
		trouble("close");
	}
	fd = -1;
	if (dfd >= 0 && close(dfd)) {
		dfd = -1;
		trouble("close of the direct one");
	}
	dfd = -1;
}

/* Opens a file, and tries again for two seconds after an excusable error. */
static int open_again(const char *name, int flags)
{
	int tries, ret;

	for (tries = 0; tries < 200; tries++) {
		ret = open(name, flags, 0644);
		if (ret >= 0 || !excusable(errno))
			break;
		usleep(10000);
	}
	if (ret < 0)
		fail("open %s: %s", name, strerror(errno));
	return ret;
}

static void open_all(void)
{
	fd = open_again(path, O_RDWR);
	dfd = open_again(path, O_RDWR | O_DIRECT);
}

static bool want_map(void)
{
	if (opt.no_mmap || opt.direct_only)
		return false;
	if (map && one_in(5))
		unmap();
	if (!map) {
		map = mmap(NULL, opt.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED) {
			map = NULL;
			trouble("mmap");
		}
	}
	return map;
}

static void do_read(void)
{
	size_t at, len;

	if (!some_range(!one_in(10), 1, &at, &len))
		return;
	note("read %zu+%zu", at, len);
	read_compare(fd, at, len, "read");
}

static void do_read_direct(void)
{
	size_t at, len;

	if (!some_range(!one_in(10), one_in(2) ? PAGE : opt.align, &at, &len))
		return;
	note("read direct %zu+%zu", at, len);
	read_compare(dfd, at, len, "direct read");
}

static void do_read_map(void)
{
	size_t at, len;

	if (!want_map() || !some_range(true, 1, &at, &len))
		return;
	note("read map %zu+%zu", at, len);
	compare(map + at, at, len, "map");
}

/* Writes bytes of this operation to the file and to the model. */
static void put(int to, size_t at, size_t len, const char *how)
{
	size_t skew = to == dfd && opt.align > 1 ? 0 : below(3) ? 0 : below(PAGE);

	note("%s %zu+%zu%s", how, at, len, at + len > size ? " (extends)" : "");
	fill(buf + skew, at, len);
	if (write_all(to, buf + skew, len, at))
		trouble(how);
	else
		model_write(buf + skew, at, len);
}

static void do_write(void)
{
	size_t at, len;

	if (some_range(false, 1, &at, &len))
		put(fd, at, len, "write");
}

static void do_write_direct(void)
{
	size_t at, len;

	if (some_range(false, one_in(2) ? PAGE : opt.align, &at, &len))
		put(dfd, at, len, "write direct");
}

/* Reads or writes segments that neither begin nor end at page boundaries, in one call. */
static void do_vectors(bool write)
{
	int with = opt.align > 1 || (!opt.direct_only && one_in(2)) ? fd : dfd;
	size_t at, len, left, n, in = 0;
	struct iovec iov[8];
	int nr = 0;
	ssize_t ret;

	if (!some_range(!write, 1, &at, &len) || len < 8)
		return;
	for (left = len; left && nr < 8; left -= n, nr++) {
		n = nr == 7 ? left : 1 + below(left);
		in += below(2) ? 0 : below(5000);
		iov[nr].iov_base = buf + in;
		iov[nr].iov_len = n;
		if (write)
			fill(buf + in, at + len - left, n);
		in += n;
	}
	note("%s %d segments%s %zu+%zu", write ? "write" : "read", nr,
	     with == dfd ? " direct" : "", at, len);
	ret = write ? pwritev(with, iov, nr, at) : preadv(with, iov, nr, at);
	if (ret < 0) {
		trouble("vectors");
		return;
	}
	if ((!ret || (!write && at + ret > size)) && failed_later())
		return;
	if (!write && at + ret > size)
		fail("vectors: %zd bytes at %zu, size %zu", ret, at, size);
	if (!ret)
		fail("vectors: nothing of %zu at %zu, size %zu", len, at, size);
	for (nr = 0, left = ret; left; left -= n, at += n, nr++) {
		n = iov[nr].iov_len < left ? iov[nr].iov_len : left;
		if (write)
			model_write(iov[nr].iov_base, at, n);
		else
			compare(iov[nr].iov_base, at, n, "vectors");
	}
}

static void do_write_vectors(void)
{
	do_vectors(true);
}

static void do_read_vectors(void)
{
	do_vectors(false);
}

static void do_write_map(void)
{
	size_t at, len;

	if (!want_map() || !some_range(true, 1, &at, &len))
		return;
	note("write map %zu+%zu", at, len);
	fill(buf, at, len);
	memcpy(map + at, buf, len);
	model_write(buf, at, len);
	if (one_in(3)) {
		size_t from = at & ~(PAGE - 1);

		note("msync %zu", from);
		if (msync(map + from, at + len - from, one_in(3) ? MS_ASYNC : MS_SYNC))
			trouble("msync");
	}
}

static void do_truncate(void)
{
	size_t to = one_in(3) ? below(opt.size) & ~(PAGE - 1) : below(opt.size);

	if (one_in(20))
		to = 0;
	note("truncate from %zu to %zu", size, to);
	if (one_in(2) ? ftruncate(fd, to) : truncate(path, to))
		trouble("truncate");
	else
		model_resize(to);
}

static void do_append(void)
{
	int flags = O_WRONLY | O_APPEND, afd;
	size_t len = some_length(200000);
	ssize_t ret;

	if (size + len > opt.size)
		return;
	if (opt.align == 1 && (opt.direct_only || one_in(3)))
		flags |= O_DIRECT;
	note("append%s %zu+%zu", flags & O_DIRECT ? " direct" : "", size, len);
	fill(buf, size, len);
	afd = open_again(path, flags);
	ret = write(afd, buf, len);
	if (ret < 0 && errno == EIO && opt.eio_ok) {
		struct stat st;

		nr_eio++;
		if (fstat(afd, &st))
			trouble("fstat");
		note("append: EIO, size %lld now", (long long)st.st_size);
		if ((size_t)st.st_size != size)
			ret = st.st_size - size;
		else
			ret = 0;
		if (ret > (ssize_t)len)
			fail("append: %zd bytes of %zu", ret, len);
	} else if (ret <= 0) {
		if (!ret)
			fail("append: nothing");
		trouble("append");
	}
	if (ret > 0)
		model_write(buf, size, ret);
	if (close(afd))
		trouble("close after append");
}

/*
 * Calls fallocate(); returns whether it was executed.  After an EIO that is allowed the size tells,
 * because ranges that are inserted or cut out change it.  @not_there: set if it is not supported.
 */
static bool allocate(int mode, size_t at, size_t len, bool *not_there, const char *how)
{
	note("%s %zu+%zu", how, at, len);
	if (!fallocate(fd, mode, at, len))
		return true;
	if (errno == EOPNOTSUPP) {
		if (opt.without && !strstr(opt.without, how))
			fail("%s: not supported", how);
		note("%s: not supported", how);
		*not_there = true;
		return false;
	}
	if (errno == EIO && opt.eio_ok &&
	    mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) {
		struct stat st;

		nr_eio++;
		if (fstat(fd, &st))
			trouble("fstat");
		note("%s: EIO, size %lld now", how, (long long)st.st_size);
		return (size_t)st.st_size != size;
	}
	trouble(how);
	return false;
}

static void do_fallocate(void)
{
	bool keep = one_in(3);
	size_t at, len;

	if (no_fallocate || !some_range(false, 1, &at, &len))
		return;
	if (allocate(keep ? FALLOC_FL_KEEP_SIZE : 0, at, len, &no_fallocate, "fallocate") &&
	    !keep && at + len > size)
		model_resize(at + len);
}

static void do_punch(void)
{
	size_t at, len;

	if (no_punch || !some_range(true, 1, &at, &len))
		return;
	if (allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, len, &no_punch, "punch"))
		model_zero(at, len);
}

static void do_zero(void)
{
	bool keep = one_in(2);
	size_t at, len;

	if (no_zero || !some_range(false, 1, &at, &len))
		return;
	if (!allocate(FALLOC_FL_ZERO_RANGE | (keep ? FALLOC_FL_KEEP_SIZE : 0), at, len, &no_zero,
		      "zero range"))
		return;
	if (!keep && at + len > size)
		model_resize(at + len);
	if (at < size)
		model_zero(at, at + len > size ? size - at : len);
}

static void do_collapse(void)
{
	size_t at, len;

	if (no_collapse || size < 4 * PAGE || !some_range(true, PAGE, &at, &len) ||
	    at + len >= size)
		return;
	if (!allocate(FALLOC_FL_COLLAPSE_RANGE, at, len, &no_collapse, "collapse"))
		return;
	memmove(model + at, model + at + len, size - at - len);
	memmove(owner + at, owner + at + len, (size - at - len) * sizeof(*owner));
	size -= len;
}

static void do_insert(void)
{
	size_t at, len;

	if (no_insert || size < 4 * PAGE || !some_range(true, PAGE, &at, &len) ||
	    size + len > opt.size)
		return;
	if (!allocate(FALLOC_FL_INSERT_RANGE, at, len, &no_insert, "insert"))
		return;
	memmove(model + at + len, model + at, size - at);
	memmove(owner + at + len, owner + at, (size - at) * sizeof(*owner));
	model_zero(at, len);
	size += len;
}

static void do_fsync(void)
{
	bool data = one_in(2);

	note(data ? "fdatasync" : "fsync");
	if (data ? fdatasync(fd) : fsync(fd))
		trouble("fsync");
}

static void do_reopen(void)
{
	note("close and open");
	close_all();
	open_all();
	if (one_in(2))
		check_all("after reopening");
}

static void do_dontneed(void)
{
	note("drop the cache");
	if (fdatasync(fd))
		trouble("fdatasync");
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void do_rename(void)
{
	char swap[sizeof(path)];

	note("rename");
	if (rename(path, other_path)) {
		struct stat st;

		if (errno != EIO || !opt.eio_ok) {
			trouble("rename");
			return;
		}
		nr_eio++;
		if (!stat(path, &st)) {
			if (!stat(other_path, &st))
				fail("both names after a rename");
			return;
		}
		if (stat(other_path, &st))
			fail("neither name after a rename");
	}
	memcpy(swap, path, sizeof(path));
	memcpy(path, other_path, sizeof(path));
	memcpy(other_path, swap, sizeof(path));
	memcpy(swap, second_path, sizeof(path));
	memcpy(second_path, second_other, sizeof(path));
	memcpy(second_other, swap, sizeof(path));
}

static void do_copy_range(void)
{
	size_t at, len, to;
	loff_t from_off, to_off;
	ssize_t n;

	if (!some_range(true, 1, &at, &len))
		return;
	to = below(opt.size - len + 1);
	if (to < at + len && at < to + len)
		return;
	note("copy %zu+%zu to %zu", at, len, to);
	from_off = at;
	to_off = to;
	while (len) {
		n = copy_file_range(fd, &from_off, fd, &to_off, len, 0);
		if (n < 0) {
			if ((errno != EOPNOTSUPP && errno != EXDEV && errno != EINVAL) ||
			    (opt.without && !strstr(opt.without, "copy")))
				trouble("copy_file_range");
			return;
		}
		if (!n && failed_later())
			return;
		if (!n)
			fail("copy_file_range: nothing of %zu", len);
		memcpy(buf, model + at, n);
		model_write(buf, to, n);
		at += n;
		to += n;
		len -= n;
	}
}

/* Copies a range to another file, and from there to another place of this one. */
static void do_sendfile(void)
{
	size_t at, len, to;
	off_t off;
	ssize_t n;

	if (!some_range(true, 1, &at, &len))
		return;
	to = below(opt.size - len + 1);
	note("sendfile %zu+%zu, back to %zu", at, len, to);
	off = at;
	if (ftruncate(scratch, 0) || lseek(scratch, 0, SEEK_SET) < 0) {
		trouble("truncate of the scratch file");
		return;
	}
	n = sendfile(scratch, fd, &off, len);
	if (n <= 0) {
		trouble("sendfile");
		return;
	}
	if (read_all(scratch, buf, n, 0) != n) {
		trouble("read of the scratch file");
		return;
	}
	compare(buf, at, n, "sendfile");
	off = 0;
	if (lseek(fd, to, SEEK_SET) < 0) {
		trouble("lseek");
		return;
	}
	n = sendfile(fd, scratch, &off, n);
	if (n <= 0)
		trouble("sendfile back");
	else
		model_write(buf, to, n);
}

/* The file must have only zeros where SEEK_HOLE and SEEK_DATA report a hole. */
static void do_seek(void)
{
	off_t hole, data = 0;
	size_t i;

	if (!size)
		return;
	note("seek data and holes");
	while ((size_t)data < size) {
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0 && errno == ENXIO && failed_later())
			return;
		if (hole < 0) {
			trouble("SEEK_HOLE");
			return;
		}
		if ((size_t)hole >= size)
			break;
		data = lseek(fd, hole, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			data = size;
		if (data < 0) {
			trouble("SEEK_DATA");
			return;
		}
		if (data <= hole)
			fail("SEEK_DATA: %lld after a hole at %lld", (long long)data,
			     (long long)hole);
		for (i = hole; i < (size_t)data && !model[i]; i++)
			;
		if (i < (size_t)data) {
			if (failed_later())
				return;
			fail("hole from %lld to %lld, but there is data at %zu of operation %u",
			     (long long)hole, (long long)data, i, owner[i]);
		}
	}
}

/* Data that was closed in one mount must be seen by an open in the other, in both directions. */
static void do_second(void)
{
	size_t at, len;
	int there;

	if (!opt.second)
		return;
	note("look at it in the second mount");
	close_all();
	there = open_again(second_path, O_RDWR | (one_in(3) ? O_DIRECT : 0));
	check_size(there, "second mount");
	read_compare(there, 0, opt.size, "second mount");
	if (one_in(2) && some_range(false, 1, &at, &len))
		put(there, at, len, "write in the second mount");
	if (one_in(4)) {
		size_t to = below(opt.size);

		note("truncate in the second mount from %zu to %zu", size, to);
		if (ftruncate(there, to))
			trouble("ftruncate");
		else
			model_resize(to);
	}
	if (close(there))
		trouble("close in the second mount");
	open_all();
	check_all("after the second mount");
}

static const struct {
	void (*run)(void);
	unsigned int weight;
	bool direct;	/* used with --direct-only as well */
} operations[] = {
	{ do_read, 10, false },
	{ do_read_direct, 8, true },
	{ do_read_map, 8, false },
	{ do_read_vectors, 4, true },
	{ do_write, 12, false },
	{ do_write_direct, 8, true },
	{ do_write_map, 8, false },
	{ do_write_vectors, 4, true },
	{ do_truncate, 6, true },
	{ do_append, 4, true },
	{ do_fallocate, 3, true },
	{ do_punch, 4, true },
	{ do_zero, 3, true },
	{ do_collapse, 1, true },
	{ do_insert, 1, true },
	{ do_fsync, 3, true },
	{ do_reopen, 3, true },
	{ do_dontneed, 3, true },
	{ do_rename, 2, true },
	{ do_copy_range, 3, false },
	{ do_sendfile, 3, false },
	{ do_seek, 2, true },
	{ do_second, 4, true },
};

static void one_operation(void)
{
	const unsigned int nr = sizeof(operations) / sizeof(operations[0]);
	unsigned int sum = 0, pick, i;

	for (i = 0; i < nr; i++)
		if (operations[i].direct || !opt.direct_only)
			sum += operations[i].weight;
	pick = below(sum);
	for (i = 0; i < nr; i++) {
		if (!operations[i].direct && opt.direct_only)
			continue;
		if (pick < operations[i].weight)
			break;
		pick -= operations[i].weight;
	}
	operations[i].run();
}

static void *get_memory(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("no memory");
	return p;
}

static bool more(uint64_t started)
{
	if (opt.seconds)
		return (uint64_t)time(NULL) < started + opt.seconds;
	return op < opt.ops;
}

/* Begins with a new and empty file, and an empty model. */
static void create(void)
{
	int tries = 0;

	close_all();
	unlink(path);
	unlink(other_path);
	close(open_again(path, O_RDWR | O_CREAT | O_TRUNC));
	size = 0;
	lost = false;
	do {
		open_all();
		if (!ftruncate(fd, 0))
			break;
		trouble("truncate");
		close_all();
		lost = false;
	} while (++tries < 100);
}

static void names(void)
{
	const char *base = strrchr(file_arg, '/');

	base = base ? base + 1 : file_arg;
	snprintf(path, sizeof(path), "%s", file_arg);
	snprintf(other_path, sizeof(other_path), "%s.renamed", file_arg);
	if (opt.second) {
		snprintf(second_path, sizeof(second_path), "%s/%s", opt.second, base);
		snprintf(second_other, sizeof(second_other), "%s/%s.renamed", opt.second, base);
	}
}

/* Switches the injection of failures on or off; it is off while the program is loaded. */
static void inject(bool on)
{
	int to = open_again("/proc/self/make-it-fail", O_WRONLY);

	if (write(to, on ? "1" : "0", 1) != 1)
		fail("make-it-fail: %s", strerror(errno));
	close(to);
}

static void exercise(void)
{
	uint64_t started = time(NULL);
	char name[sizeof(path) + 16];
	unsigned int before;

	model = get_memory(opt.size);
	owner = get_memory(opt.size * sizeof(*owner));
	buf = get_memory(opt.size + 16 * PAGE);
	snprintf(name, sizeof(name), "%s.scratch", path);
	scratch = open_again(name, O_RDWR | O_CREAT | O_TRUNC);
	create();
	if (opt.inject)
		inject(true);
	while (more(started)) {
		op++;
		before = nr_lines;
		one_operation();
		if (!lost && one_in(50)) {
			note("compare all");
			check_all("all");
		}
		nr_tried += nr_lines != before;
		if (lost) {
			nr_restarts++;
			create();
		}
	}
	if (opt.inject)
		inject(false);
	op++;
	note("close, open and compare all");
	close_all();
	open_all();
	check_all("at the end");
	close_all();
	close(scratch);
	unlink(name);
	if (!opt.errors_ok) {
		printf("exerciser: seed %" PRIu64 ": %" PRIu64 " operations, %u times EIO, ok\n",
		       opt.seed, op, nr_eio);
		return;
	}
	printf("exerciser: seed %" PRIu64 ": %u operations tried, %u succeeded\n", opt.seed,
	       nr_tried, nr_tried - nr_restarts);
	if ((nr_tried - nr_restarts) * 100ULL < (uint64_t)nr_tried * opt.errors_ok || !nr_tried)
		fail("less than %u percent of the operations succeeded", opt.errors_ok);
}

/*
 * One of several processes.  The processes take the pieces of the file in turns, so that
 * neighbouring pieces, which may share a large folio, belong to different processes.
 */
static void pieces_process(void)
{
	uint64_t started = time(NULL);
	size_t pieces = opt.size / opt.piece, at, len, i;

	model = get_memory(opt.size);
	owner = get_memory(opt.size * sizeof(*owner));
	buf = get_memory(opt.size + 16 * PAGE);
	rng_state = opt.seed * 1000 + who;
	size = pieces * opt.piece;
	open_all();
	while (more(started)) {
		op++;
		i = below(pieces / opt.procs) * opt.procs + who;
		at = i * opt.piece + below(opt.piece);
		len = 1 + below((i + 1) * opt.piece - at);
		if (opt.align > 1 || one_in(3)) {
			at -= at % PAGE;
			len = (len + PAGE - 1) & ~(PAGE - 1);
		}
		switch (below(10)) {
		case 0:
		case 1:
			if (!opt.direct_only) {
				note("read %zu+%zu", at, len);
				read_compare(fd, at, len, "read");
			}
			break;
		case 2:
		case 3:
			note("read direct %zu+%zu", at, len);
			read_compare(dfd, at, len, "direct read");
			break;
		case 4:
			if (want_map()) {
				note("read map %zu+%zu", at, len);
				compare(map + at, at, len, "map");
			}
			break;
		case 5:
			if (want_map()) {
				note("write map %zu+%zu", at, len);
				fill(buf, at, len);
				memcpy(map + at, buf, len);
				model_write(buf, at, len);
			}
			break;
		case 6:
			put(dfd, at, len, "write direct");
			break;
		case 7:
		case 8:
			put(opt.direct_only ? dfd : fd, at, len, "write");
			break;
		default:
			if (one_in(3))
				do_fsync();
			else if (one_in(3))
				do_dontneed();
			break;
		}
	}
	close_all();
	open_all();
	for (i = who; i + opt.procs <= pieces; i += opt.procs)
		read_compare(fd, i * opt.piece, opt.piece, "at the end");
	close_all();
}

/* The head of a record that is appended; @seq counts from 1 for each @writer, @len has the head. */
struct record {
	uint32_t magic;
	uint32_t writer;
	uint32_t seq;
	uint32_t len;
};

#define RECORD_MAGIC	0x72656364
#define RECORD_MAX	200000

/* Records whose append failed with EIO, so that they may be missing; shared by all processes. */
static unsigned char *unsure;

static void append_process(void)
{
	const char *name = opt.second && (who & 1) ? second_path : path;
	struct record head = { .magic = RECORD_MAGIC, .writer = who };
	int flags = O_WRONLY | O_APPEND | (who & 2 && opt.align == 1 ? O_DIRECT : 0);
	int to = open_again(name, flags);
	ssize_t n;

	rng_state = opt.seed * 1000 + who;
	buf = get_memory(RECORD_MAX + PAGE);
	for (op = 1; op <= opt.ops; op++) {
		head.seq = op;
		head.len = sizeof(head) + some_length(one_in(10) ? RECORD_MAX - 100 : 3000);
		memcpy(buf, &head, sizeof(head));
		fill(buf + sizeof(head), sizeof(head), head.len - sizeof(head));
		n = write(to, buf, head.len);
		if (n < 0 && errno == EIO && opt.eio_ok)
			unsure[who * (opt.ops + 1) + op] = 1;
		else if (n != (ssize_t)head.len)
			fail("append of %u bytes: %zd %s", head.len, n, n < 0 ? strerror(errno) : "");
	}
	if (close(to))
		fail("close: %s", strerror(errno));
}

/*
 * Reads all records and checks that each writer's are in order, whole and right; none may be there
 * twice, and none but unsure ones may be missing.
 */
static void append_check(void)
{
	uint32_t *last = calloc(opt.append, sizeof(*last));
	struct record head;
	off_t at = 0;
	uint32_t i;
	ssize_t n;

	fd = open_again(path, O_RDONLY);
	buf = get_memory(RECORD_MAX + PAGE);
	while ((n = read_all(fd, (unsigned char *)&head, sizeof(head), at)) > 0) {
		if (n != sizeof(head) || head.magic != RECORD_MAGIC || head.writer >= opt.append ||
		    head.len > RECORD_MAX || head.seq > opt.ops)
			fail("no record at %lld", (long long)at);
		for (i = last[head.writer] + 1; i < head.seq; i++) {
			if (!unsure[head.writer * (opt.ops + 1) + i])
				fail("record %u of process %u is missing at %lld", i, head.writer,
				     (long long)at);
		}
		if (head.seq <= last[head.writer])
			fail("record %u of process %u again at %lld", head.seq, head.writer,
			     (long long)at);
		last[head.writer] = head.seq;
		if (read_all(fd, buf, head.len, at) != (ssize_t)head.len)
			fail("record at %lld ends early", (long long)at);
		who = head.writer;
		for (i = sizeof(head); i < head.len; i++)
			if (buf[i] != byte_of(head.seq, i))
				fail("record %u of process %u at %lld: wrong byte %u", head.seq,
				     head.writer, (long long)at, i);
		at += head.len;
	}
	for (who = 0; who < opt.append; who++)
		for (i = last[who] + 1; i <= opt.ops; i++) {
			if (!unsure[who * (opt.ops + 1) + i])
				fail("record %u of process %u is missing", i, who);
		}
	for (i = 0; i < opt.append * (opt.ops + 1); i++)
		nr_eio += unsure[i];
	printf("exerciser: seed %" PRIu64 ": %u processes, %lld bytes appended, %u times EIO, ok\n",
	       opt.seed, opt.append, (long long)at, nr_eio);
	free(last);
}

static void several(unsigned int nr, void (*process)(void))
{
	int status, bad = 0;

	fflush(stdout);
	for (who = 0; who < nr; who++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork: %s", strerror(errno));
		if (!pid) {
			process();
			exit(0);
		}
	}
	while (wait(&status) >= 0)
		bad |= status;
	who = 0;
	if (bad)
		exit(1);
}

static uint64_t number(const char *word)
{
	char *end;
	uint64_t n = strtoull(word, &end, 0);

	if (*end || end == word) {
		fprintf(stderr, "exerciser: %s is no number\n", word);
		exit(2);
	}
	return n;
}

static void options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "ops", 1, NULL, 'n' },
		{ "seconds", 1, NULL, 't' },
		{ "seed", 1, NULL, 's' },
		{ "size", 1, NULL, 'z' },
		{ "align", 1, NULL, 'l' },
		{ "no-mmap", 0, NULL, 'm' },
		{ "direct-only", 0, NULL, 'd' },
		{ "second-mount", 1, NULL, '2' },
		{ "procs", 1, NULL, 'p' },
		{ "piece", 1, NULL, 'i' },
		{ "append", 1, NULL, 'a' },
		{ "eio-ok", 0, NULL, 'e' },
		{ "errors-ok", 1, NULL, 'E' },
		{ "without", 1, NULL, 'w' },
		{ "inject", 0, NULL, 'f' },
		{ "verbose", 0, NULL, 'v' },
		{}
	};
	int c;

	opt.seed = time(NULL);
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'n': opt.ops = number(optarg); break;
		case 't': opt.seconds = number(optarg); break;
		case 's': opt.seed = number(optarg); break;
		case 'z': opt.size = number(optarg); break;
		case 'l': opt.align = number(optarg); break;
		case 'm': opt.no_mmap = true; break;
		case 'd': opt.direct_only = true; break;
		case '2': opt.second = optarg; break;
		case 'p': opt.procs = number(optarg); break;
		case 'i': opt.piece = number(optarg); break;
		case 'a': opt.append = number(optarg); break;
		case 'e': opt.eio_ok = true; break;
		case 'E': opt.errors_ok = number(optarg); break;
		case 'w': opt.without = optarg; break;
		case 'f': opt.inject = true; break;
		case 'v': opt.verbose = true; break;
		default: exit(2);
		}
	}
	if (optind != argc - 1 || !opt.align || opt.size < 16 * PAGE || opt.procs > MAX_PROCS ||
	    opt.append > MAX_PROCS || !opt.piece || opt.piece % PAGE ||
	    opt.size / opt.piece < opt.procs) {
		fprintf(stderr, "exerciser: see the top of exerciser.c\n");
		exit(2);
	}
	file_arg = argv[optind];
}

int main(int argc, char **argv)
{
	options(argc, argv);
	rng_state = opt.seed;
	names();
	if (opt.append) {
		unsure = mmap(NULL, opt.append * (opt.ops + 1), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (unsure == MAP_FAILED)
			fail("no memory");
		close(open_again(path, O_RDWR | O_CREAT | O_TRUNC));
		several(opt.append, append_process);
		append_check();
	} else if (opt.procs) {
		fd = open_again(path, O_RDWR | O_CREAT | O_TRUNC);
		if (ftruncate(fd, opt.size / opt.piece * opt.piece))
			fail("truncate: %s", strerror(errno));
		several(opt.procs, pieces_process);
		printf("exerciser: seed %" PRIu64 ": %u processes, ok\n", opt.seed, opt.procs);
	} else {
		exercise();
	}
	return 0;
}
