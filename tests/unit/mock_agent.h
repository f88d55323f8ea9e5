/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A core for the interposed functions to call: it keeps what it is told, and
 * decides nothing. For one test program, which includes it once.
 */
#ifndef MOCK_AGENT_H
#define MOCK_AGENT_H

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "agent/core.h"

#define MOCK_CALLS 4096

enum mock_what { BEFORE = 1, AFTER, LOCKED, UNLOCKS, NOTE, OTHER };

enum mock_other {
	DETACH = 100,
	ATTACH,
	IMAGES,
	DROP,
	BORN,
	ENDED,
	ACTION,
};

struct mock_call {
	enum mock_what what;
	unsigned int kind; /* of the event, or enum mock_other */
	unsigned int thread;
	uint32_t site;
	uint64_t addr, size;
	unsigned int flags, aux;
	bool happened;
};

struct maple_shm *maple_shm;
int32_t maple_agent_pid; /* 0, as in the shared memory: always ours */
__thread struct maple_agent_thread maple_self
	__attribute__((tls_model("initial-exec"))) = {
		.number = MAPLE_THREAD_NONE,
	};

bool maple_agent_skips_memory;

static struct mock_call mock_log[MOCK_CALLS];
static unsigned int mock_n;
static unsigned int mock_yields; /* counted only: there are many */
static unsigned int *mock_said;	 /* counts maple_agent_exiting(), if set */
static unsigned int mock_prio;
static bool mock_unwanted; /* no call is of interest */
static int mock_owned;	   /* the signal that it owns, 0 for none */

static void mock_keep(struct mock_call c)
{
	unsigned int i;

	/* A signal comes from nowhere. */
	if (c.what != OTHER && c.kind != MAPLE_EV_STOP &&
	    c.site == MAPLE_SITE_NONE)
		return;
	i = __atomic_fetch_add(&mock_n, 1, __ATOMIC_SEQ_CST);
	if (i >= MOCK_CALLS)
		abort();
	c.thread = maple_self.number;
	mock_log[i] = c;
}

static void mock_other(enum mock_other what, unsigned int aux)
{
	mock_keep((struct mock_call){ OTHER, what, .aux = aux });
}

static void mock_reset(void)
{
	if (!maple_shm) {
		maple_shm = mmap(
			NULL, sizeof(*maple_shm), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (maple_shm == MAP_FAILED)
			abort();
	}
	maple_self = (struct maple_agent_thread){ .inside = 1 };
	mock_yields = 0;
	maple_shm->sched = MAPLE_SCHEDULE_NATIVE;
	maple_shm->cpu = -1;
	maple_shm->stats.pinned = 0;
	maple_shm->nthreads = 1;
	memset(maple_shm->thread, 0, sizeof(maple_shm->thread));
	mock_prio = 0;
	mock_unwanted = false;
	mock_owned = 0;
	mock_n = 0;
	maple_self.inside = 0;
}

/* From here on nothing is kept; what was kept can be looked at. */
static unsigned int mock_stop(void)
{
	maple_self.inside = 1;
	return mock_n;
}

/*
 * LeakSanitizer lets the dynamic linker's blocks be, since it hides where they
 * are, but tells them by who has called malloc(): that is our version here.
 */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:/ld-linux-x86-64.so\n";
}

extern char __executable_start[], etext[];

/* Calls from elsewhere (libc, the unwinder) are up to their versions. */
uint32_t maple_agent_call(const void *ret, unsigned int kind)
{
	if ((const char *)ret < __executable_start || (const char *)ret > etext)
		return MAPLE_SITE_NONE;
	return MAPLE_SITE_CALL | ((uint32_t)(uintptr_t)ret & 0xffffff);
}

bool maple_agent_wants(const void *ret, unsigned int kind, uint32_t *site)
{
	*site = maple_agent_call(ret, kind);
	return !mock_unwanted;
}

void maple_agent_before(uint32_t site, unsigned int kind, const void *addr,
			uint64_t size, unsigned int flags)
{
	mock_keep((struct mock_call){ BEFORE, kind, 0, site, (uint64_t)addr,
				      size, flags });
}

void maple_agent_after(uint32_t site, unsigned int kind, const void *addr,
		       uint64_t size, unsigned int flags, bool happened)
{
	mock_keep((struct mock_call){ AFTER, kind, 0, site, (uint64_t)addr,
				      size, flags, 0, happened });
}

void maple_agent_locked(uint32_t site, const void *addr, unsigned int flags)
{
	mock_keep((struct mock_call){ LOCKED, MAPLE_EV_LOCK, 0, site,
				      (uint64_t)addr, 1, flags });
}

void maple_agent_unlocks(uint32_t site, const void *addr, unsigned int flags)
{
	mock_keep((struct mock_call){ UNLOCKS, MAPLE_EV_UNLOCK, 0, site,
				      (uint64_t)addr, 1, flags });
}

void maple_agent_allocated(const void *ret, const void *addr, uint64_t size)
{
	if (maple_agent_on())
		mock_keep((struct mock_call){
			NOTE, MAPLE_EV_ALLOC, 0,
			maple_agent_call(ret, MAPLE_EV_ALLOC), (uint64_t)addr,
			size });
}

void maple_agent_freed(const void *ret, const void *addr, uint64_t size)
{
	if (maple_agent_on())
		mock_keep((struct mock_call){
			NOTE, MAPLE_EV_FREE, 0,
			maple_agent_call(ret, MAPLE_EV_FREE), (uint64_t)addr,
			size });
}

void maple_buried_start(void *heap, void *libc)
{
}

void *maple_agent_bury(void *p, uint64_t size, bool *twice)
{
	*twice = false;
	return p;
}

uint32_t maple_agent_ends(const void *ret, const void *addr, uint64_t size)
{
	maple_agent_freed(ret, addr, size);
	return MAPLE_SITE_NONE;
}

void maple_agent_ended(uint32_t site, const void *addr, uint64_t size)
{
}

bool maple_agent_controls;

bool maple_agent_sealed;

bool maple_control_decides(void)
{
	return maple_agent_controls;
}

void maple_agent_point(uint32_t site, unsigned int kind, const void *addr,
		       enum maple_agent_peek peek)
{
}

/* No controlled run: nobody waits on a list, and time is the machine's. */
bool maple_agent_await(uint32_t site, unsigned int kind, const void *addr,
		       enum maple_agent_peek peek, uint64_t until)
{
	fail_msg("not in a controlled run");
	return false;
}

void maple_waiters_begin(const void *cond)
{
	fail_msg("not in a controlled run");
}

bool maple_waiters_end(void)
{
	fail_msg("not in a controlled run");
	return false;
}

bool maple_waiters_wake(const void *cond, bool all)
{
	return false;
}

void maple_sleepers_handle(int signo)
{
}

bool maple_sleepers_handled(int signo)
{
	return false;
}

void maple_agent_let_handle(uint32_t thread)
{
}

void maple_sleepers_begin(void)
{
}

bool maple_sleepers_end(void)
{
	return false;
}

uint32_t maple_sleepers_wake(uint32_t thread, int signo)
{
	return 0;
}

bool maple_time_own(void)
{
	return false;
}

void maple_time_machine(void)
{
}

bool maple_time_ask(int clock, struct timespec *t)
{
	return false;
}

uint64_t maple_time_in(uint64_t ns)
{
	return 0;
}

uint64_t maple_time_at(int clock, const struct timespec *t)
{
	return 0;
}

uint64_t maple_time_until(int clock, const struct timespec *t)
{
	return 0;
}

uint64_t maple_time_left(uint64_t until)
{
	return 0;
}

const struct timespec *maple_time_real(int clock, const struct timespec *t,
				       struct timespec *room)
{
	return t;
}

void maple_agent_above(void)
{
}

void maple_agent_back(void)
{
}

void maple_agent_condition(uint32_t site, unsigned int kind, const void *cond,
			   bool done)
{
	if (done)
		maple_agent_after(site, kind, cond, 1, 0, true);
	else
		maple_agent_before(site, kind, cond, 1, 0);
}

void maple_agent_note(unsigned int kind, uint32_t site, const void *addr,
		      uint64_t value, unsigned int flags, uint32_t aux)
{
	mock_keep((struct mock_call){ NOTE, kind, 0, site, (uint64_t)addr,
				      value, flags, aux });
}

void maple_agent_lost(void)
{
	abort();
}

void maple_agent_forking(void)
{
}

bool maple_agent_settle(void)
{
	return maple_agent_on();
}

uint32_t maple_agent_helper_new(void)
{
	return MAPLE_THREAD_NONE;
}

uint32_t maple_agent_thread_new(void)
{
	uint32_t n = __atomic_load_n(&maple_shm->nthreads, __ATOMIC_SEQ_CST);

	do {
		if (n >= MAPLE_THREADS)
			return MAPLE_THREAD_NONE;
	} while (!__atomic_compare_exchange_n(&maple_shm->nthreads, &n, n + 1,
					      false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	maple_shm->thread[n].tid = 0;
	return n;
}

void maple_agent_thread_first(uint32_t number)
{
}

void maple_agent_thread_drop(uint32_t number)
{
	mock_other(DROP, number);
}

unsigned int maple_agent_thread_prio(uint32_t number)
{
	return mock_prio;
}

void maple_agent_thread_start(uint32_t number, const void *stack, uint64_t size)
{
	const char *here = __builtin_frame_address(0);

	if (here < (const char *)stack || here >= (const char *)stack + size)
		abort();
	maple_self.number = number;
	maple_shm->thread[number].pthread = (uint64_t)pthread_self();
	maple_shm->thread[number].tid = gettid();
	mock_other(BORN, number);
}

void maple_agent_thread_exit(void)
{
	mock_other(ENDED, maple_self.number);
	maple_self.number = MAPLE_THREAD_NONE;
}

uint32_t maple_agent_thread_find(uint64_t pthread)
{
	uint32_t i;

	for (i = maple_shm->nthreads; i-- > 0;)
		if (maple_shm->thread[i].pthread == pthread)
			return i;
	return MAPLE_THREAD_NONE;
}

void maple_agent_turn(void)
{
}

void maple_agent_yield(void)
{
	mock_yields++;
}

void maple_agent_images(void)
{
	mock_other(IMAGES, 0);
}

void maple_agent_detach(void)
{
	mock_other(DETACH, 0);
	maple_self.number = MAPLE_THREAD_NONE;
}

void maple_agent_attach(void)
{
	maple_self.number = 0;
	mock_other(ATTACH, 0);
}

void maple_agent_seal(void)
{
}

void maple_agent_exiting(void)
{
	if (mock_said)
		++*mock_said;
}

bool maple_agent_fault_owns(int signo)
{
	return mock_owned && mock_owned == signo;
}

int maple_agent_fault_action(int signo, const struct sigaction *act,
			     struct sigaction *old)
{
	static struct sigaction kept;
	struct sigaction was = kept;

	mock_other(ACTION, signo);
	if (act)
		kept = *act;
	if (old)
		*old = was;
	return 0;
}

void *maple_agent_real(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (!fn) {
		fprintf(stderr, "no definition of %s\n", name);
		abort();
	}
	return fn;
}

/*
 * The log as words, for thread @number only: "<lock" before, "lock>" after,
 * "lock!" after a failed attempt, "lock~" where nobody wants the call, others
 * plain; behind a slash the flags
 * Shared, Timeout, Maywait, memFn, maYfail.
 */
static const char *mock_text(unsigned int number)
{
	static const char *const names[] = {
		[MAPLE_EV_READ] = "read",
		[MAPLE_EV_WRITE] = "write",
		[MAPLE_EV_LOCK] = "lock",
		[MAPLE_EV_UNLOCK] = "unlock",
		[MAPLE_EV_CREATE] = "create",
		[MAPLE_EV_JOIN] = "join",
		[MAPLE_EV_NOTIFY] = "notify",
		[MAPLE_EV_SLEEP] = "sleep",
		[MAPLE_EV_SIGNAL] = "signal",
		[MAPLE_EV_BROADCAST] = "broadcast",
		[MAPLE_EV_WAIT] = "wait",
		[MAPLE_EV_WAKE] = "wake",
		[MAPLE_EV_BARRIER_IN] = "in",
		[MAPLE_EV_BARRIER_OUT] = "out",
		[MAPLE_EV_POST] = "post",
		[MAPLE_EV_TAKE] = "take",
		[MAPLE_EV_ONCE] = "once",
		[MAPLE_EV_ONCED] = "onced",
		[MAPLE_EV_SERVE] = "serve",
		[MAPLE_EV_STOP] = "stop",
		[MAPLE_EV_ALLOC] = "alloc",
		[MAPLE_EV_FREE] = "free",
		[MAPLE_EV_BLOCK] = "block",
		[DETACH] = "detach",
		[ATTACH] = "attach",
		[IMAGES] = "images",
		[DROP] = "drop",
		[BORN] = "born",
		[ENDED] = "ended",
		[ACTION] = "action",
	};
	static const char *const ends[] = {
		[BEFORE] = "",	 [AFTER] = "!", [LOCKED] = "~",
		[UNLOCKS] = "~", [NOTE] = "",	[OTHER] = "",
	};
	static char text[65536];
	size_t at = 0;
	unsigned int i;

	text[0] = 0;
	for (i = 0; i < mock_n; i++) {
		const struct mock_call *c = &mock_log[i];

		if (c->thread != number)
			continue;
		at += snprintf(text + at, sizeof(text) - at,
			       "%s%s%s%s%s%s%s%s%s", at ? " " : "",
			       c->what == BEFORE ? "<" : "", names[c->kind],
			       c->happened ? ">" : ends[c->what],
			       c->flags & MAPLE_EVF_SHARED ? "/S" : "",
			       c->flags & MAPLE_EVF_TIMEOUT ? "/T" : "",
			       c->flags & MAPLE_EVF_MAYWAIT ? "/M" : "",
			       c->flags & MAPLE_EVF_MEMFN ? "/F" : "",
			       c->flags & MAPLE_EVF_MAYFAIL ? "/Y" : "");
	}
	return text;
}

/* What thread @number did since the last time; the log is empty after. */
#define expect_of(number, words)                                 \
	do {                                                     \
		mock_stop();                                     \
		assert_string_equal(mock_text(number), (words)); \
		mock_n = 0;                                      \
		maple_self.inside = 0;                           \
	} while (0)
#define expect(words) expect_of(0, words)

static int mock_setup(void **state)
{
	mock_reset();
	return 0;
}

static int mock_teardown(void **state)
{
	mock_stop();
	return 0;
}

#endif
