/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * System calls without libc: hooks run between any two instructions of the
 * target, so they may touch neither errno nor a vector register.
 */
#ifndef MAPLE_AGENT_RAW_H
#define MAPLE_AGENT_RAW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <linux/futex.h>

/* raw_call - the system call @nr; -errno on failure */
static inline long raw_call(long nr, long a, long b, long c, long d, long e,
			    long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define raw0(nr)	  raw_call(nr, 0, 0, 0, 0, 0, 0)
#define raw1(nr, a)	  raw_call(nr, (long)(a), 0, 0, 0, 0, 0)
#define raw2(nr, a, b)	  raw_call(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define raw3(nr, a, b, c) raw_call(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define raw4(nr, a, b, c, d) \
	raw_call(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define raw6(nr, a, b, c, d, e, f)                                          \
	raw_call(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
		 (long)(f))

static inline int raw_failed(long ret)
{
	return (unsigned long)ret > -4096ul;
}

static inline void raw_futex_wake(uint32_t *word)
{
	raw3(SYS_futex, word, FUTEX_WAKE, 0x7fffffff);
}

/* raw_futex_wait_us - waits while *@word is @value, @us at most; 0: for good */
static inline void raw_futex_wait_us(uint32_t *word, uint32_t value, long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	raw4(SYS_futex, word, FUTEX_WAIT, value, us ? &t : NULL);
}

/* raw_futex_wait - the same, in milliseconds */
static inline void raw_futex_wait(uint32_t *word, uint32_t value, long ms)
{
	raw_futex_wait_us(word, value, ms * 1000);
}

/* CLOCK_MONOTONIC, in nanoseconds */
static inline uint64_t raw_now(void)
{
	struct timespec t = { 0 };

	raw2(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static inline uint64_t raw_now_ms(void)
{
	return raw_now() / 1000000;
}

#endif
