/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Ranges that mem* and str* access for their callers (MEMFN), and the plain
 * loops that stand in for the real functions before those are known.
 */
#ifndef MAPLE_INTERCEPT_MEMORY_H
#define MAPLE_INTERCEPT_MEMORY_H

#include "intercept.h"

/* NULL before our first constructor has run; never looks up. */
#define KNOWN(symbol)                                            \
	((__typeof__(&symbol))__atomic_load_n(&real_##symbol.fn, \
					      __ATOMIC_RELAXED))

/* Keeps the compiler from making a loop into a call of what it defines. */
#define PLAIN_LOOP() __asm__ volatile("" ::: "memory")

struct maple_memory_range {
	unsigned int kind; /* READ or WRITE */
	const void *addr;
	size_t size;
};

/* @frame: the function's own, from which its callers are found. */
static inline bool maple_memory_counts(const void *ret, const void *frame,
				       unsigned int kind)
{
	uint32_t site;

	if (maple_agent_skips_memory || !maple_agent_on() ||
	    !maple_agent_wants(ret, kind, &site))
		return false;
	maple_self.call = frame;
	return true;
}

/* maple_agent_on() for a memory function; only in the function itself. */
#define COUNTS(kind) \
	maple_memory_counts(CALLER, __builtin_frame_address(0), (kind))

static inline void maple_range_before(uint32_t site, struct maple_memory_range r)
{
	if (r.size)
		maple_agent_before(site, r.kind, r.addr, r.size,
				   MAPLE_EVF_MEMFN | MAPLE_AGENT_CALLED);
}

static inline void maple_range_after(uint32_t site, struct maple_memory_range r)
{
	if (r.size)
		maple_agent_after(site, r.kind, r.addr, r.size,
				  MAPLE_EVF_MEMFN | MAPLE_AGENT_CALLED, true);
}

static inline struct maple_memory_range maple_read(const void *addr, size_t size)
{
	return (struct maple_memory_range){ MAPLE_EV_READ, addr, size };
}

static inline struct maple_memory_range maple_write(const void *addr,
						    size_t size)
{
	return (struct maple_memory_range){ MAPLE_EV_WRITE, addr, size };
}

#define NOTHING maple_read(NULL, 0)

/*
 * The function @name, by @real: two accesses at once around it; @early is what
 * is done before that is known.
 */
#define BOTH_BY(type, name, real, params, args, first, second, early) \
	MAPLE_EXPORT type name params                                 \
	{                                                             \
		struct maple_memory_range x, y;                       \
		uint32_t site;                                        \
		type ret;                                             \
                                                                      \
		if (!KNOWN(real))                                     \
			return early;                                 \
		if (!COUNTS(MAPLE_EV_READ))                           \
			return KNOWN(real) args;                      \
		site = SITE(MAPLE_EV_READ);                           \
		x = first;                                            \
		y = second;                                           \
		maple_range_before(site, x);                          \
		maple_range_before(site, y);                          \
		ret = KNOWN(real) args;                               \
		maple_range_after(site, x);                           \
		maple_range_after(site, y);                           \
		return ret;                                           \
	}
#define BOTH(type, name, params, args, first, second, early) \
	MAPLE_REAL(name);                                    \
	BOTH_BY(type, name, name, params, args, first, second, early)

#endif
