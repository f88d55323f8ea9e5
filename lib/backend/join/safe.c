// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which thread may call dlopen() for us.
 *
 * That takes locks of libc's and of the loader's. A thread that is inside
 * malloc() already would wait for itself, or find a heap in disorder. So it has
 * to be one that waits in a system call of a kind that neither makes, and none
 * of the functions on its way there, handlers of signals included, is one of
 * the loader's or of those that have such locks. Everyone else runs on
 * meanwhile, so that locks of theirs come free.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include "backend/stack.h"
#include "join.h"

/* What the kernel says of a thread; false unless it waits in a call. */
static bool waits_in(pid_t pid, pid_t tid, long *nr, uint64_t *sp, uint64_t *pc)
{
	unsigned long long s, p;
	char path[64], line[256];
	bool got;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	got = fgets(line, sizeof(line), file) &&
	      sscanf(line, "%ld %*s %*s %*s %*s %*s %*s %llx %llx", nr, &s,
		     &p) == 3;
	fclose(file);
	*sp = s;
	*pc = p;
	return got;
}

/* Calls that neither malloc() nor the loader waits in. */
static bool is_idle(long nr)
{
	static const short calls[] = {
		SYS_epoll_wait,
		SYS_epoll_pwait,
		SYS_poll,
		SYS_ppoll,
		SYS_select,
		SYS_pselect6,
		SYS_accept,
		SYS_accept4,
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_read,
		SYS_nanosleep,
		SYS_futex,
		SYS_clock_nanosleep,
		SYS_rt_sigtimedwait,
		SYS_pause,
		SYS_rt_sigsuspend,
		SYS_wait4,
		SYS_waitid,
		441 /* epoll_pwait2 */,
	};

	for (unsigned int i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

static bool has_locks(const struct maple_place *place)
{
	static const char *const names[] = {
		"malloc",	  "calloc",	   "realloc",
		"free",		  "memalign",	   "posix_memalign",
		"valloc",	  "aligned_alloc", "reallocarray",
		"cfree",	  "pvalloc",	   "dlopen",
		"dlclose",	  "dlsym",	   "dlvsym",
		"dlmopen",	  "dladdr",	   "dl_iterate_phdr",
		"dlerror",	  "fork",	   "malloc_trim",
		"mallopt",	  "mallinfo",	   "setlocale",
		"pthread_create", "exit",	   "getaddrinfo",
	};
	const char *base = place->image ? strrchr(place->image, '/') : NULL;

	base = base ? base + 1 : place->image;
	if (base && !strncmp(base, "ld-", 3))
		return true;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (place->function && !strcmp(place->function, names[i]))
			return true;
	return false;
}

/* How @stack's thread came to where it waits; false if it may not be asked. */
static bool take(struct maple_safe *safe, const struct maple_stack *stack)
{
	safe->n = 0;
	/* From its wait at least to the function that called libc for it. */
	if (stack->nframes < 2)
		return false;
	for (unsigned int i = 0; i < stack->nframes; i++) {
		const struct maple_frame *f = &stack->frames[i];

		if (has_locks(&f->place))
			return false;
		if (!f->is_call || !f->sp || safe->n == MAPLE_SAFE_FRAMES ||
		    (safe->n && f->pc == safe->back[safe->n - 1]))
			continue;
		safe->slot[safe->n] = f->sp - 8;
		safe->back[safe->n++] = f->pc;
	}
	assert(safe->n <= MAPLE_SAFE_FRAMES);
	return safe->n > 0;
}

/* Whether what was read as return addresses stands there: then it was right. */
static bool stands(const struct maple_safe *safe, pid_t pid)
{
	uint64_t back;

	assert(safe->n); /* nobody is believed without proof */
	for (unsigned int i = 0; i < safe->n; i++)
		if (!maple_memory_read(pid, safe->slot[i], &back,
				       sizeof(back)) ||
		    back != safe->back[i])
			return false;
	return true;
}

/*
 * maple_safe_find - a thread of @pid that may call libc
 *
 * Returns -EAGAIN when there is none now.
 */
int maple_safe_find(struct maple_safe *safe, pid_t pid, struct maple_error *err)
{
	struct maple_stack *stacks = NULL;
	unsigned int n = 0;
	uint64_t sp, pc;
	long nr, was;
	int e = maple_stack_collect(pid, NULL, &stacks, &n, err);

	if (e)
		return e;
	e = maple_error_set(err, EAGAIN,
			    "no thread of process %d waits where it could load "
			    "the agent: try again when it has less to do",
			    pid);
	for (unsigned int i = 0; e && i < n; i++) {
		safe->tid = stacks[i].tid;
		if (!waits_in(pid, safe->tid, &was, &safe->sp, &safe->pc) ||
		    !is_idle(was) || !take(safe, &stacks[i]) ||
		    !stands(safe, pid) ||
		    !waits_in(pid, safe->tid, &nr, &sp, &pc) || nr != was ||
		    sp != safe->sp || pc != safe->pc)
			continue;
		e = 0;
	}
	maple_stack_destroy(stacks, n);
	return e;
}

/* maple_safe_still - whether @t, stopped, is where it was then */
bool maple_safe_still(const struct maple_safe *safe, pid_t pid,
		      const struct maple_halted *t)
{
	return safe->tid && t->tid == safe->tid && t->stopped &&
	       is_idle((long)t->regs.orig_rax) && t->regs.rsp == safe->sp &&
	       t->regs.rip == safe->pc && stands(safe, pid);
}
