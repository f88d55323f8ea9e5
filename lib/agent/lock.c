// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The agent's own lock and memory: neither touches the target's. */
#include <sys/mman.h>
#include "core.h"
#include "raw.h"

#ifndef MADV_POPULATE_WRITE /* libc's headers are older than the kernel */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

#define SMALL 4096
#define POOL  16384

/* maple_lock_take - sleeps until *@word is ours; 0: free, 2: waited for */
void maple_lock_take(uint32_t *word)
{
	uint32_t seen = 0;

	if (__atomic_compare_exchange_n(word, &seen, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE))
		raw_futex_wait(word, 2, 0);
}

void maple_lock_give(uint32_t *word)
{
	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
		raw3(SYS_futex, word, FUTEX_WAKE, 1);
}

/* Told of all memory that is mapped, where somebody is to give it back; or NULL. */
void (*maple_lock_mapped)(uint64_t at, uint64_t size);

/* maple_lock_tell - [@at, @at + @size) has been mapped */
void maple_lock_tell(uint64_t at, uint64_t size)
{
	if (maple_lock_mapped)
		maple_lock_mapped(at, size);
}

static void *map(uint64_t size, int flags)
{
	long p = raw6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (raw_failed(p))
		return NULL;
	maple_lock_tell((uint64_t)p, size);
	return (void *)p;
}

/*
 * maple_lock_memory - zeroed memory, given back by nobody; NULL if refused
 *
 * From a page on it is whole pages, which may be unmapped.
 */
void *maple_lock_memory(uint64_t size)
{
	static uint32_t lock;
	static uint64_t at, end;
	void *p;

	if (size >= SMALL)
		return map(size, MAP_NORESERVE);
	/* What is small shares pages: each costs a call and a fault. */
	size = (size + 15) & ~15ull;
	maple_lock_take(&lock);
	if (end - at < size) {
		at = (uint64_t)map(POOL, 0);
		end = at ? at + POOL : 0;
	}
	p = end - at < size ? NULL : (void *)at;
	if (p)
		at += size;
	maple_lock_give(&lock);
	return p;
}

/*
 * maple_lock_populate - all of [@from, @to) is about to be written: page by
 * page, its faults would cost more than that. Kernels before 5.14 have it so.
 */
void maple_lock_populate(uint64_t from, uint64_t to)
{
	from &= ~4095ull;
	raw3(SYS_madvise, from, to - from, MADV_POPULATE_WRITE);
}

/*
 * maple_lock_populate_shared - the same of the file that is shared with the
 * campaign. Its pages may be written where they may be read, and are mapped
 * many at a time when they are read.
 */
void maple_lock_populate_shared(const void *from, const void *to)
{
	uint64_t lo = (uint64_t)from & ~4095ull;

	raw3(SYS_madvise, lo, (uint64_t)to - lo, MADV_POPULATE_READ);
}

/*
 * Calls that the compiler makes of its own accord must reach neither libc's
 * functions (vector registers) nor the ones we interpose (events); the linker
 * leads them here (--wrap).
 */
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memset(void *to, int byte, size_t n);

void *__wrap_memcpy(void *to, const void *from, size_t n)
{
	void *at = to;

	__asm__ volatile("rep movsb"
			 : "+D"(at), "+S"(from), "+c"(n)
			 :
			 : "memory");
	return to;
}

void *__wrap_memset(void *to, int byte, size_t n)
{
	void *at = to;

	__asm__ volatile("rep stosb"
			 : "+D"(at), "+c"(n)
			 : "a"(byte)
			 : "memory");
	return to;
}
