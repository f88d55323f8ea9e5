// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The functions whose calls are events: one table for the eBPF observer and
 * for the module. Which events a call makes must be what lib/agent makes of
 * the same call (intercept/ there).
 */
#include <assert.h>
#include <pthread.h>
#include <threads.h>
#include "kernel.h"

#define RETURNS MAPLE_PROBE_RETURN
#define IF_0	(MAPLE_PROBE_RETURN | MAPLE_PROBE_ZERO)

/* clang-format off */
#define LOCK(name, flags) \
	{ name, MAPLE_FN_LOCK, MAPLE_EV_LOCK, MAPLE_EV_LOCK, 0, 0, \
	  IF_0 | (flags), 0 }
#define UNLOCK(name) \
	{ name, MAPLE_FN_UNLOCK, MAPLE_EV_UNLOCK, MAPLE_EV_NONE, 0, 0, 0, 0 }
/* glibc has one function for its unlock and its initialisation. */
#define SPIN(name, form, kind, flags) \
	{ name, form, kind, (flags) ? MAPLE_EV_LOCK : MAPLE_EV_NONE, 0, 0, \
	  flags, sizeof(pthread_spinlock_t) }
#define WAIT(name, flags) \
	{ name, MAPLE_FN_WAIT, MAPLE_EV_WAIT, MAPLE_EV_WAKE, 0, 1, \
	  RETURNS | (flags), 0 }
#define NOTE(name, kind) \
	{ name, MAPLE_FN_NOTE, kind, MAPLE_EV_NONE, 0, 0, 0, 0 }
#define TAKE(name, flags) \
	{ name, MAPLE_FN_TAKE, MAPLE_EV_BLOCK, MAPLE_EV_TAKE, 0, 0, \
	  IF_0 | (flags), 0 }
#define JOIN(name) \
	{ name, MAPLE_FN_JOIN, MAPLE_EV_BLOCK, MAPLE_EV_JOIN, 0, 0, IF_0, 0 }
#define ONCE(name, flags) \
	{ name, MAPLE_FN_ONCE, MAPLE_EV_BLOCK, MAPLE_EV_ONCED, 0, 0, flags, 0 }
#define DESTROY(name, flags, type) \
	{ name, MAPLE_FN_DESTROY, MAPLE_EV_NONE, MAPLE_EV_FREE, 0, 0, flags, \
	  sizeof(type) }
#define CREATE(name) \
	{ name, MAPLE_FN_CREATE, MAPLE_EV_CREATE, MAPLE_EV_NONE, 0, 0, \
	  RETURNS, 0 }
#define FREE(name) \
	{ name, MAPLE_FN_FREE, MAPLE_EV_FREE, MAPLE_EV_NONE, 0, 0, 0, 0 }
#define BLOCK(name) \
	{ name, MAPLE_FN_BLOCK, MAPLE_EV_BLOCK, MAPLE_EV_NONE, 0, 0, 0, 0 }
#define MEMORY(name, form, kind) { name, form, kind, kind, 0, 1, 0, 0 }
#define READS(name, form) MEMORY(name, form, MAPLE_EV_READ)
#define WRITES(name, form) MEMORY(name, form, MAPLE_EV_WRITE)

static const struct maple_function table[] = {
	LOCK("pthread_mutex_lock", 0),
	LOCK("pthread_mutex_trylock", MAPLE_PROBE_MAYFAIL),
	LOCK("pthread_mutex_timedlock", 0),
	LOCK("pthread_mutex_clocklock", 0),
	UNLOCK("pthread_mutex_unlock"),
	LOCK("mtx_lock", 0),
	LOCK("mtx_trylock", MAPLE_PROBE_MAYFAIL),
	LOCK("mtx_timedlock", 0),
	UNLOCK("mtx_unlock"),
	LOCK("pthread_rwlock_wrlock", 0),
	LOCK("pthread_rwlock_trywrlock", MAPLE_PROBE_MAYFAIL),
	LOCK("pthread_rwlock_timedwrlock", 0),
	LOCK("pthread_rwlock_clockwrlock", 0),
	LOCK("pthread_rwlock_rdlock", MAPLE_PROBE_SHARED),
	LOCK("pthread_rwlock_tryrdlock",
	     MAPLE_PROBE_SHARED | MAPLE_PROBE_MAYFAIL),
	LOCK("pthread_rwlock_timedrdlock", MAPLE_PROBE_SHARED),
	LOCK("pthread_rwlock_clockrdlock", MAPLE_PROBE_SHARED),
	/* SHARED here: whichever side it was, the lock's memory tells. */
	{ "pthread_rwlock_unlock", MAPLE_FN_UNLOCK, MAPLE_EV_UNLOCK,
	  MAPLE_EV_NONE, 0, 0, MAPLE_PROBE_SHARED, 0 },
	SPIN("pthread_spin_lock", MAPLE_FN_LOCK, MAPLE_EV_LOCK, IF_0),
	SPIN("pthread_spin_trylock", MAPLE_FN_LOCK, MAPLE_EV_LOCK,
	     IF_0 | MAPLE_PROBE_MAYFAIL),
	SPIN("pthread_spin_unlock", MAPLE_FN_UNLOCK, MAPLE_EV_UNLOCK, 0),
	DESTROY("pthread_mutex_destroy", IF_0, pthread_mutex_t),
	DESTROY("pthread_rwlock_destroy", IF_0, pthread_rwlock_t),
	DESTROY("pthread_spin_destroy", IF_0, pthread_spinlock_t),
	DESTROY("mtx_destroy", RETURNS, mtx_t),

	WAIT("pthread_cond_wait", 0),
	WAIT("pthread_cond_timedwait", MAPLE_PROBE_MAYWAIT),
	WAIT("pthread_cond_clockwait", MAPLE_PROBE_MAYWAIT),
	WAIT("cnd_wait", 0),
	WAIT("cnd_timedwait", MAPLE_PROBE_MAYWAIT),
	NOTE("pthread_cond_signal", MAPLE_EV_SIGNAL),
	NOTE("pthread_cond_broadcast", MAPLE_EV_BROADCAST),
	NOTE("cnd_signal", MAPLE_EV_SIGNAL),
	NOTE("cnd_broadcast", MAPLE_EV_BROADCAST),
	{ "pthread_barrier_wait", MAPLE_FN_BARRIER, MAPLE_EV_BARRIER_IN,
	  MAPLE_EV_BARRIER_OUT, 0, 0, RETURNS, 0 },
	NOTE("sem_post", MAPLE_EV_POST),
	TAKE("sem_wait", 0),
	TAKE("sem_trywait", 0),
	TAKE("sem_timedwait", MAPLE_PROBE_MAYWAIT),
	TAKE("sem_clockwait", MAPLE_PROBE_MAYWAIT),
	ONCE("pthread_once", IF_0),
	ONCE("call_once", RETURNS),

	CREATE("pthread_create"),
	CREATE("thrd_create"),
	JOIN("pthread_join"),
	JOIN("pthread_tryjoin_np"),
	JOIN("pthread_timedjoin_np"),
	JOIN("pthread_clockjoin_np"),
	JOIN("thrd_join"),

	FREE("free"),
	FREE("realloc"),
	FREE("reallocarray"),
	{ "munmap", MAPLE_FN_UNMAP, MAPLE_EV_FREE, MAPLE_EV_NONE, 0, 1, 0, 0 },
	{ "mremap", MAPLE_FN_REMAP, MAPLE_EV_FREE, MAPLE_EV_ALLOC, 0, 1,
	  RETURNS, 0 },

	BLOCK("sleep"), BLOCK("usleep"), BLOCK("nanosleep"),
	BLOCK("clock_nanosleep"), BLOCK("thrd_sleep"), BLOCK("pause"),
	BLOCK("poll"), BLOCK("ppoll"), BLOCK("select"), BLOCK("pselect"),
	BLOCK("epoll_wait"), BLOCK("epoll_pwait"),
	BLOCK("read"), BLOCK("recv"), BLOCK("accept"), BLOCK("accept4"),
	BLOCK("wait"), BLOCK("waitpid"),
	BLOCK("posix_spawn"), BLOCK("posix_spawnp"), BLOCK("system"),
	BLOCK("popen"),

	{ "dlopen", MAPLE_FN_LOAD, MAPLE_EV_NONE, MAPLE_EV_NONE, 0, 0,
	  RETURNS, 0 },
	{ "dlmopen", MAPLE_FN_LOAD, MAPLE_EV_NONE, MAPLE_EV_NONE, 1, 0,
	  RETURNS, 0 },

	WRITES("memcpy", MAPLE_FN_COPY),
	WRITES("memmove", MAPLE_FN_COPY),
	WRITES("mempcpy", MAPLE_FN_COPY),
	WRITES("__mempcpy", MAPLE_FN_COPY),
	WRITES("__memcpy_chk", MAPLE_FN_COPY),
	WRITES("__memmove_chk", MAPLE_FN_COPY),
	WRITES("__mempcpy_chk", MAPLE_FN_COPY),
	WRITES("bcopy", MAPLE_FN_COPY_BACK),
	WRITES("memset", MAPLE_FN_FILL),
	WRITES("__memset_chk", MAPLE_FN_FILL),
	WRITES("bzero", MAPLE_FN_ZERO),
	WRITES("explicit_bzero", MAPLE_FN_ZERO),
	READS("memcmp", MAPLE_FN_COMPARE),
	READS("bcmp", MAPLE_FN_COMPARE),
	READS("memchr", MAPLE_FN_FIND),
	READS("memrchr", MAPLE_FN_FIND_LAST),

	READS("strlen", MAPLE_FN_LENGTH),
	READS("strnlen", MAPLE_FN_LENGTH_N),
	READS("strrchr", MAPLE_FN_LENGTH),
	READS("rindex", MAPLE_FN_LENGTH),
	READS("strdup", MAPLE_FN_LENGTH),
	READS("__strdup", MAPLE_FN_LENGTH),
	READS("strndup", MAPLE_FN_LENGTH_N),
	READS("__strndup", MAPLE_FN_LENGTH_N),
	READS("strchr", MAPLE_FN_CHAR),
	READS("index", MAPLE_FN_CHAR),
	READS("strcmp", MAPLE_FN_STRCMP),
	READS("strncmp", MAPLE_FN_STRNCMP),
	READS("strcasecmp", MAPLE_FN_STRCASE),
	READS("strncasecmp", MAPLE_FN_STRNCASE),
	WRITES("strcpy", MAPLE_FN_STRCPY),
	WRITES("stpcpy", MAPLE_FN_STRCPY),
	WRITES("strncpy", MAPLE_FN_STRNCPY),
	WRITES("stpncpy", MAPLE_FN_STRNCPY),
	WRITES("strcat", MAPLE_FN_STRCAT),
	WRITES("strncat", MAPLE_FN_STRNCAT),
	WRITES("__strcpy_chk", MAPLE_FN_STRCPY),
	WRITES("__stpcpy_chk", MAPLE_FN_STRCPY),
	WRITES("__strncpy_chk", MAPLE_FN_STRNCPY),
	WRITES("__stpncpy_chk", MAPLE_FN_STRNCPY),
	WRITES("__strcat_chk", MAPLE_FN_STRCAT),
	WRITES("__strncat_chk", MAPLE_FN_STRNCAT),
};
/* clang-format on */

/* maple_functions - all rows; their index is their number */
const struct maple_function *maple_functions(unsigned int *n)
{
	*n = sizeof(table) / sizeof(table[0]);
	return table;
}

/* The register of argument @i. */
static uint8_t argument(unsigned int i)
{
	static const uint8_t reg[] = { 7, 6, 2, 1, 8, 9 };

	return reg[i];
}

static void fill(struct maple_uapi_probe *probe, uint64_t offset,
		 unsigned int object, unsigned int kind, unsigned int after,
		 unsigned int flags)
{
	*probe = (struct maple_uapi_probe){
		.offset = offset,
		.number = MAPLE_SITE_NONE,
		.flags = MAPLE_PROBE_CALL | flags |
			 (after ? MAPLE_PROBE_RETURN : 0),
		.kind = kind,
		.after = after,
		.base = argument(object),
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};
}

/* Two ranges of as many bytes as argument @n says; @b may be none. */
static unsigned int fill_memory(struct maple_uapi_probe probe[2],
				uint64_t offset, int reads, int other,
				unsigned int kind, unsigned int n)
{
	unsigned int used = 0;

	if (reads >= 0)
		fill(&probe[used++], offset, reads, MAPLE_EV_READ,
		     MAPLE_EV_READ, 0);
	if (other >= 0)
		fill(&probe[used++], offset, other, kind, kind, 0);
	assert(used && used <= 2);
	for (unsigned int i = 0; i < used; i++)
		probe[i].aux = argument(n);
	return used;
}

/*
 * maple_function_probes - what the module has to know of @function, which is
 * at @offset in its file: one probe or two
 *
 * Of functions on memory, aux is the register of the number of bytes. Those on
 * strings have no such register: 0 is returned, they cannot be enforced.
 */
unsigned int maple_function_probes(const struct maple_function *f,
				   uint64_t offset,
				   struct maple_uapi_probe probe[2])
{
	switch (f->form) {
	case MAPLE_FN_UNLOCK:
		fill(&probe[0], offset, f->object, MAPLE_EV_UNLOCK,
		     MAPLE_EV_UNLOCK, f->flags | MAPLE_PROBE_ZERO);
		return 1;
	case MAPLE_FN_WAIT:
		fill(&probe[0], offset, f->second, MAPLE_EV_UNLOCK,
		     MAPLE_EV_LOCK, 0);
		fill(&probe[1], offset, f->object, f->kind, f->after, f->flags);
		return 2;
	case MAPLE_FN_UNMAP:
	case MAPLE_FN_REMAP:
		fill(&probe[0], offset, f->object, f->kind, MAPLE_EV_NONE, 0);
		probe[0].aux = argument(f->second);
		return 1;
	case MAPLE_FN_DESTROY:
		fill(&probe[0], offset, f->object, MAPLE_EV_NONE, f->after,
		     f->flags);
		probe[0].size = f->size;
		return 1;
	case MAPLE_FN_LOAD:
		return 0;
	case MAPLE_FN_COPY:
		return fill_memory(probe, offset, 1, 0, MAPLE_EV_WRITE, 2);
	case MAPLE_FN_COPY_BACK:
		return fill_memory(probe, offset, 0, 1, MAPLE_EV_WRITE, 2);
	case MAPLE_FN_FILL:
		return fill_memory(probe, offset, -1, 0, MAPLE_EV_WRITE, 2);
	case MAPLE_FN_ZERO:
		return fill_memory(probe, offset, -1, 0, MAPLE_EV_WRITE, 1);
	case MAPLE_FN_COMPARE:
		return fill_memory(probe, offset, 0, 1, MAPLE_EV_READ, 2);
	default:
		if (f->form > MAPLE_FN_COMPARE)
			return 0;
		fill(&probe[0], offset, f->object, f->kind, f->after, f->flags);
		return 1;
	}
}
