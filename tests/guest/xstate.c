// SPDX-License-Identifier: GPL-2.0
/*
 * Makes UML of Linux 6.12 work on a CPU with more register state than UML has room for.
 *
 * UML sets the vector registers of its programs by PTRACE_SETREGSET, and has 2,696 bytes for
 * them.  The host's kernel takes the whole XSAVE area or nothing (EFAULT), and with AMX the area
 * has 10,752 bytes; so the first program of such a guest dies.  The bytes behind the first 2,696
 * are the tiles of AMX.  A program has them only if it has asked the kernel for them, and UML does
 * not pass such a request on.  So the tiles are in their initial state: zeros, and marked as not in
 * use in the area's header.
 *
 * This library is loaded before libc (LD_PRELOAD).  It replaces ptrace(): a SETREGSET with too
 * short an area is extended by zeros.  All other calls go on to libc unchanged, and so do those of
 * an area that is long enough.
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
#define XSTATE_BV	512	/* offset of the header's word with the components in use */
#define XSTATE_TILES	(3ULL << 17)

typedef long ptrace_fn(int request, ...);

static ptrace_fn *libc_ptrace;

/* No lock is needed: UML is one thread, and its signal handlers set no registers. */
static char area[XSTATE_MAX];
static size_t area_size;	/* of the host's XSAVE area; 0: not known yet */

__attribute__((constructor)) static void find_libc(void)
{
	libc_ptrace = (ptrace_fn *)dlsym(RTLD_NEXT, "ptrace");
}

/* The size of the host's XSAVE area for a process; 0 if the host's kernel does not tell. */
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
