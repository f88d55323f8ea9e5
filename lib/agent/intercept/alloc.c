// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The life of memory: the heap and mappings. Every ALLOC comes after the
 * allocation, every FREE before the memory is given back, so that no other
 * thread's ALLOC of the same memory can come in between. The size of a FREE
 * is what the block could hold.
 *
 * Looking up the real functions may allocate itself; that is served from a
 * small arena of ours, whose blocks are never freed.
 */
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "agent/core.h"
#include "intercept.h"

#define BLOCK	    4096  /* bytes; a larger one is no atomic set */
#define BLOCKS	    16384 /* that an observer is told of */
#define ARENA_SIZE  16384
#define ARENA_ALIGN 16

MAPLE_REAL(malloc);
MAPLE_REAL(calloc);
MAPLE_REAL(realloc);
MAPLE_REAL(reallocarray);
MAPLE_REAL(free);
MAPLE_REAL(aligned_alloc);
MAPLE_REAL(posix_memalign);
MAPLE_REAL(memalign);
MAPLE_REAL(valloc);
MAPLE_REAL(pvalloc);
MAPLE_REAL(malloc_usable_size);
MAPLE_REAL(mmap);
MAPLE_REAL(munmap);
MAPLE_REAL(mremap);

static char arena[ARENA_SIZE] __attribute__((aligned(ARENA_ALIGN)));
static size_t arena_used;
static __thread bool resolving __attribute__((tls_model("initial-exec")));

/* Zero, since nothing of it is ever given out twice. */
static void *arena_alloc(size_t size)
{
	size_t at;

	if (size > ARENA_SIZE)
		return NULL;
	size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	at = __atomic_fetch_add(&arena_used, size, __ATOMIC_RELAXED);
	return at + size <= ARENA_SIZE ? arena + at : NULL;
}

static bool in_arena(const void *p)
{
	return (const char *)p >= arena && (const char *)p < arena + ARENA_SIZE;
}

/* The real function; NULL if we are here because it is being looked up. */
static void *heap_real(struct maple_real *real)
{
	void *fn = real->fn;

	if (__builtin_expect(fn != NULL, 1))
		return fn;
	if (resolving)
		return NULL;
	resolving = true;
	fn = maple_real_resolve(real);
	resolving = false;
	return fn;
}

#define HEAP(symbol) ((__typeof__(&symbol))heap_real(&real_##symbol))

/* maple_agent_heap - the run begins: whose heap is it? */
void maple_agent_heap(void)
{
	maple_buried_start(REAL(free), REAL(munmap));
}

/*
 * An observer needs the ends of memory, which come before any reuse, and of the
 * heap which bytes are one block: not of buffers, and not without end, since some
 * programs do little else. What a run shares it has most often allocated early.
 */
static bool tells_block(size_t size)
{
	static unsigned int told;

	return size <= BLOCK &&
	       __atomic_load_n(&told, __ATOMIC_RELAXED) < BLOCKS &&
	       __atomic_fetch_add(&told, 1, __ATOMIC_RELAXED) < BLOCKS;
}

static void note_alloc(const void *ret, const void *p, size_t size)
{
	if (p && maple_shm &&
	    (maple_shm->mode != MAPLE_SHM_OBSERVE || tells_block(size)))
		maple_agent_allocated(ret, p, size);
}

/* The end of a block of the heap. */
struct end {
	uint32_t site;
	void *p;
	size_t size;
};

static struct end end_begin(const void *ret, void *p)
{
	struct end end = { MAPLE_SITE_NONE, p, 0 };

	if (p && maple_agent_on()) {
		end.size = REAL(malloc_usable_size)(p);
		end.site = maple_agent_ends(ret, p, end.size);
	}
	return end;
}

static void end_over(const struct end *end)
{
	maple_agent_ended(end->site, end->p, end->size);
}

MAPLE_EXPORT void *malloc(size_t size)
{
	__typeof__(&malloc) real = HEAP(malloc);
	void *p = real ? real(size) : arena_alloc(size);

	note_alloc(CALLER, p, size);
	return p;
}

MAPLE_EXPORT void *calloc(size_t n, size_t size)
{
	__typeof__(&calloc) real = HEAP(calloc);
	void *p = real ? real(n, size) : arena_alloc(n * size);

	note_alloc(CALLER, p, n * size);
	return p;
}

MAPLE_EXPORT void free(void *p)
{
	__typeof__(&free) real = p && !in_arena(p) ? HEAP(free) : NULL;
	bool twice = false;
	struct end end;
	void *now;

	/* What the lookup itself gives back, an error's text, is left. */
	if (!real)
		return;
	end = end_begin(maple_deleter ? maple_deleter : CALLER, p);
	now = end.size ? maple_agent_bury(p, end.size, &twice) : p;
	if (now)
		real(now);
	if (twice)
		real(p);
	end_over(&end);
}

/* What the arena gave out moves to the heap when it grows. */
static void *arena_leave(void *old, size_t size)
{
	size_t i, n = old ? (size_t)(arena + ARENA_SIZE - (char *)old) : 0;
	char *p = malloc(size);

	for (i = 0; p && i < size && i < n; i++)
		p[i] = ((char *)old)[i];
	return p;
}

/*
 * FREE is noted although realloc() may fail and keep the block: ALLOC of the
 * same block follows then.
 */
static void *resize(const void *ret, void *old, size_t size)
{
	size_t had = old ? REAL(malloc_usable_size)(old) : 0;
	struct end end = end_begin(ret, old);
	void *p = REAL(realloc)(old, size);

	end_over(&end);
	if (p)
		note_alloc(ret, p, size);
	else if (size)
		note_alloc(ret, old, had);
	return p;
}

MAPLE_EXPORT void *realloc(void *old, size_t size)
{
	__typeof__(&realloc) real = HEAP(realloc);

	if (!real || in_arena(old))
		return arena_leave(old, size);
	if (!maple_agent_on())
		return real(old, size);
	return resize(CALLER, old, size);
}

MAPLE_EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	if (in_arena(old))
		return arena_leave(old, all);
	if (!maple_agent_on())
		return REAL(reallocarray)(old, n, size);
	return resize(CALLER, old, all);
}

MAPLE_EXPORT int posix_memalign(void **p, size_t align, size_t size)
{
	int ret = REAL(posix_memalign)(p, align, size);

	if (ret == 0)
		note_alloc(CALLER, *p, size);
	return ret;
}

#define ALIGNED(name, params, args)          \
	MAPLE_EXPORT void *name params       \
	{                                    \
		void *p = REAL(name) args;   \
                                             \
		note_alloc(CALLER, p, size); \
		return p;                    \
	}

ALIGNED(aligned_alloc, (size_t align, size_t size), (align, size))
ALIGNED(memalign, (size_t align, size_t size), (align, size))
ALIGNED(valloc, (size_t size), (size))
ALIGNED(pvalloc, (size_t size), (size))

/* Blocks of the arena may be asked about as well. */
MAPLE_EXPORT size_t malloc_usable_size(void *p)
{
	return in_arena(p) ? 0 : REAL(malloc_usable_size)(p);
}

/* Mappings. */
static void *map(const void *ret, void *p, size_t size)
{
	if (p != MAP_FAILED)
		note_alloc(ret, p, size);
	return p;
}

MAPLE_EXPORT void *mmap(void *at, size_t size, int prot, int flags, int fd,
			off_t offset)
{
	void *p = REAL(mmap)(at, size, prot, flags, fd, offset);

	return map(CALLER, p, size);
}

MAPLE_EXPORT void *mmap64(void *at, size_t size, int prot, int flags, int fd,
			  off64_t offset)
{
	void *p = REAL(mmap)(at, size, prot, flags, fd, offset);

	return map(CALLER, p, size);
}

MAPLE_EXPORT int munmap(void *p, size_t size)
{
	uint32_t site = maple_agent_ends(CALLER, p, size);
	int ret = REAL(munmap)(p, size);

	maple_agent_ended(site, p, size);
	return ret;
}

MAPLE_EXPORT void *mremap(void *old, size_t old_size, size_t size, int flags,
			  ...)
{
	uint32_t site;
	va_list args;
	void *at, *p;

	/* The fifth argument counts only with MREMAP_FIXED. */
	va_start(args, flags);
	at = va_arg(args, void *);
	va_end(args);
	if (!maple_agent_on())
		return REAL(mremap)(old, old_size, size, flags, at);
	site = maple_agent_ends(CALLER, old, old_size);
	p = REAL(mremap)(old, old_size, size, flags, at);
	maple_agent_ended(site, old, old_size);
	if (p == MAP_FAILED)
		note_alloc(CALLER, old, old_size);
	return map(CALLER, p, size);
}
