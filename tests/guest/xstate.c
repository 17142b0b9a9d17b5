// SPDX-License-Identifier: GPL-2.0
/*
 * UML of Linux 6.12 on a CPU whose registers take more room than it has for them.
 *
 * UML sets the vector registers of its programs by PTRACE_SETREGSET, and has 2,696 bytes for
 * them.  The host's kernel takes all of its XSAVE area at once or nothing (EFAULT), and with
 * AMX that is 10,752 bytes; so the first program of such a guest dies.  What is behind the
 * 2,696 bytes are the tiles of AMX, which a program has only if it has asked the kernel for
 * them; UML does not pass that on.  So they are as they were in the beginning: zeros, and not
 * in use by the area's header.
 *
 * This is loaded before libc (LD_PRELOAD) and hands over the area with zeros at its end.  Where
 * the area is no larger than what UML has, all goes on to libc as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define XSTATE_MAX	65536
#define XSTATE_BV	512	/* the word of the header that says what is in use */
#define XSTATE_TILES	(3ULL << 17)

typedef long ptrace_fn(int request, ...);

static ptrace_fn *libc_ptrace;

/* UML is one thread, and its signal handlers set no registers. */
static char area[XSTATE_MAX];
static size_t area_size;	/* what the host's kernel takes; 0: not known yet */

__attribute__((constructor)) static void find_libc(void)
{
	libc_ptrace = (ptrace_fn *)dlsym(RTLD_NEXT, "ptrace");
}

/* What the host's kernel takes of a process; 0: it does not say. */
static size_t whole_size(int pid)
{
	struct iovec whole = { .iov_base = area, .iov_len = sizeof(area) };

	if (!area_size && libc_ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &whole) == 0)
		area_size = whole.iov_len;
	return area_size;
}

static long set_whole(int pid, const struct iovec *from)
{
	struct iovec whole = { .iov_base = area, .iov_len = area_size };
	uint64_t used;

	memcpy(area, from->iov_base, from->iov_len);
	memset(area + from->iov_len, 0, area_size - from->iov_len);
	memcpy(&used, area + XSTATE_BV, sizeof(used));
	used &= ~XSTATE_TILES;
	memcpy(area + XSTATE_BV, &used, sizeof(used));
	return libc_ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
	const struct iovec *from;
	void *addr, *data;
	va_list args;
	int pid;

	va_start(args, request);
	pid = va_arg(args, int);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	if (request == PTRACE_SETREGSET && (int)(uintptr_t)addr == NT_X86_XSTATE) {
		from = data;
		if (from->iov_len > XSTATE_BV + sizeof(uint64_t) && from->iov_len < whole_size(pid))
			return set_whole(pid, from);
	}
	return libc_ptrace(request, pid, addr, data);
}
