// SPDX-License-Identifier: GPL-2.0
/*
 * Do threads keep their vector registers, whoever else runs?  Prints what was lost; status 0:
 * nothing, 77: this processor has no AVX.
 */
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define THREADS	4
#define ROUNDS	2000

/* One register of a thread, all of it, over a system call that lets another one run. */
__attribute__((target("avx"))) static int kept(long mine)
{
	long call = 24;	/* sched_yield */
	uint64_t out[4];
	int i;

	asm volatile("vmovq %[mine], %%xmm15\n\t"
		     "vpermilpd $0, %%xmm15, %%xmm15\n\t"
		     "vinsertf128 $1, %%xmm15, %%ymm15, %%ymm15\n\t"
		     "syscall\n\t"
		     "vmovupd %%ymm15, %[out]"
		     : [out] "=m"(out), "+a"(call) : [mine] "r"(mine)
		     : "rcx", "r11", "xmm15", "memory");
	for (i = 0; i < 4; i++)
		if (out[i] != (uint64_t)mine)
			return 0;
	return 1;
}

static void *work(void *arg)
{
	long mine = (long)arg, lost = 0, n;

	for (n = 0; n < ROUNDS; n++)
		lost += !kept(mine << 32 | n);
	return (void *)lost;
}

int main(void)
{
	pthread_t threads[THREADS];
	long lost = 0, i;
	void *one;

	if (!__builtin_cpu_supports("avx"))
		return 77;
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
			return 1;
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &one);
		lost += (long)one;
	}
	printf("%ld of %d lost\n", lost, THREADS * ROUNDS);
	return lost != 0;
}
