// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a call of each form of function comes to: the events that lib/agent's
 * interposed function of that name records when it observes. Entry and return
 * of a call are a record each; what a function reads and writes for its
 * caller is said at the entry.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include "backend/kernel/ebpf/events.h"

/* One event of the call in @r. */
static void note(struct maple_kernel_events *e,
		 const struct maple_observe_record *r, unsigned int kind,
		 uint64_t addr, uint64_t value, unsigned int flags, uint32_t aux)
{
	maple_kernel_say(e, (struct maple_event){
				    .addr = addr,
				    .value = value,
				    .site = maple_kernel_call_site(e, r->caller),
				    .sp = r->sp,
				    .thread = r->thread,
				    .kind = kind,
				    .flags = flags,
				    .aux = aux });
}

/* An access that the call makes; of no bytes it is none. */
static void touch(struct maple_kernel_events *e,
		  const struct maple_observe_record *r, unsigned int kind,
		  uint64_t addr, uint64_t size, unsigned int flags)
{
	if (!size)
		return;
	maple_kernel_say(e,
			 (struct maple_event){
				 .addr = addr,
				 .site = maple_kernel_call_site(e, r->caller),
				 .size = size > 0xffffffff ? 0xffffffff : size,
				 .sp = r->sp,
				 .thread = r->thread,
				 .kind = kind,
				 .flags = flags });
}

static void reads(struct maple_kernel_events *e,
		  const struct maple_observe_record *r, uint64_t addr,
		  uint64_t size)
{
	touch(e, r, MAPLE_EV_READ, addr, size, MAPLE_EVF_MEMFN);
}

static void writes(struct maple_kernel_events *e,
		   const struct maple_observe_record *r, uint64_t addr,
		   uint64_t size)
{
	touch(e, r, MAPLE_EV_WRITE, addr, size, MAPLE_EVF_MEMFN);
}

/*
 * strncat() writes a NUL behind n bytes. That there were n of them, or one
 * less and the end, looks the same from here: the longer one counts.
 */
static uint64_t appended_n(const struct maple_observe_record *r)
{
	return r->size < r->extra ? r->size : r->extra + 1;
}

static void text_entry(struct maple_kernel_events *e,
		       const struct maple_function *f,
		       const struct maple_observe_record *r)
{
	switch (f->form) {
	case MAPLE_FN_STRCPY:
		reads(e, r, r->other, r->size);
		writes(e, r, r->addr, r->size);
		break;
	case MAPLE_FN_STRNCPY:
		reads(e, r, r->other, r->size);
		writes(e, r, r->addr, r->extra);
		break;
	case MAPLE_FN_STRCAT:
	case MAPLE_FN_STRNCAT:
		reads(e, r, r->addr, r->aux);
		reads(e, r, r->other, r->size);
		writes(e, r, r->addr + r->aux - 1,
		       f->form == MAPLE_FN_STRCAT ? r->size : appended_n(r));
		break;
	case MAPLE_FN_STRCMP:
	case MAPLE_FN_STRNCMP:
	case MAPLE_FN_STRCASE:
	case MAPLE_FN_STRNCASE:
		reads(e, r, r->addr, r->size);
		reads(e, r, r->other, r->size);
		break;
	default:
		reads(e, r, r->addr, r->size);
	}
}

static void memory_entry(struct maple_kernel_events *e,
			 const struct maple_function *f,
			 const struct maple_observe_record *r)
{
	switch (f->form) {
	case MAPLE_FN_COPY:
		reads(e, r, r->other, r->extra);
		writes(e, r, r->addr, r->extra);
		break;
	case MAPLE_FN_COPY_BACK:
		reads(e, r, r->addr, r->extra);
		writes(e, r, r->other, r->extra);
		break;
	case MAPLE_FN_FILL:
		writes(e, r, r->addr, r->extra);
		break;
	case MAPLE_FN_ZERO:
		writes(e, r, r->addr, r->other);
		break;
	case MAPLE_FN_COMPARE:
		reads(e, r, r->addr, r->extra);
		reads(e, r, r->other, r->extra);
		break;
	case MAPLE_FN_FIND_LAST:
		reads(e, r, r->addr + r->size, r->extra - r->size);
		break;
	default:
		text_entry(e, f, r);
	}
}

static unsigned int lock_flags(const struct maple_function *f)
{
	return (f->flags & MAPLE_PROBE_SHARED ? MAPLE_EVF_SHARED : 0) |
	       (f->flags & MAPLE_PROBE_MAYFAIL ? MAPLE_EVF_MAYFAIL : 0);
}

static unsigned int wait_flags(const struct maple_function *f)
{
	return f->flags & MAPLE_PROBE_MAYWAIT ? MAPLE_EVF_MAYWAIT : 0;
}

/* The newest one that has this name: a pthread_t may be used again. */
static uint32_t thread_named(const struct maple_kernel_events *e,
			     uint64_t pthread)
{
	for (uint32_t i = e->nthreads; i-- > 0;)
		if (e->thread[i].pthread == pthread)
			return i;
	return MAPLE_THREAD_NONE;
}

/* Beyond the room for them, all count as held. */
static void note_spin(struct maple_kernel_events *e, uint64_t lock)
{
	assert(e->nspins <= MAPLE_KERNEL_SPINS);
	if (e->nspins < MAPLE_KERNEL_SPINS)
		e->spin[e->nspins++] = lock;
}

static bool was_spin(struct maple_kernel_events *e, uint64_t lock)
{
	bool all = e->nspins == MAPLE_KERNEL_SPINS;

	for (unsigned int i = 0; i < e->nspins; i++) {
		if (e->spin[i] != lock)
			continue;
		e->spin[i] = e->spin[--e->nspins];
		return true;
	}
	return all;
}

/*
 * Of a rwlock, who lets go of its write side is its current writer: that was
 * measured.
 */
static void unlock_entry(struct maple_kernel_events *e,
			 const struct maple_function *f,
			 const struct maple_observe_record *r)
{
	bool shared = f->flags & MAPLE_PROBE_SHARED && !r->size;

	if (f->size && !was_spin(e, r->addr))
		return;
	touch(e, r, MAPLE_EV_UNLOCK, r->addr, 1, shared ? MAPLE_EVF_SHARED : 0);
}

/*
 * maple_kernel_call_entry - a call of @f is about to be carried out
 */
void maple_kernel_call_entry(struct maple_kernel_events *e,
			     const struct maple_function *f,
			     const struct maple_observe_record *r)
{
	struct maple_kernel_thread *t = &e->thread[r->thread];

	switch (f->form) {
	case MAPLE_FN_LOCK:
		touch(e, r, MAPLE_EV_BLOCK, r->addr, 1, lock_flags(f));
		break;
	case MAPLE_FN_UNLOCK:
		unlock_entry(e, f, r);
		break;
	case MAPLE_FN_WAIT:
		touch(e, r, MAPLE_EV_UNLOCK, r->other, 1, 0);
		note(e, r, MAPLE_EV_WAIT, r->addr, 0, wait_flags(f), 0);
		note(e, r, MAPLE_EV_BLOCK, 0, 0, 0, 0);
		break;
	case MAPLE_FN_BARRIER:
		note(e, r, MAPLE_EV_BARRIER_IN, r->addr, 0, 0, 0);
		note(e, r, MAPLE_EV_BLOCK, 0, 0, 0, 0);
		break;
	case MAPLE_FN_NOTE:
		note(e, r, f->kind, r->addr, 0, 0, 0);
		break;
	case MAPLE_FN_JOIN:
		t->joining = thread_named(e, r->addr);
		note(e, r, MAPLE_EV_BLOCK, 0, 0, 0, 0);
		break;
	case MAPLE_FN_ONCE:
		/* Untouched so far: this thread will run it. */
		t->once = r->size ? 0 : r->addr;
		note(e, r, MAPLE_EV_BLOCK, 0, 0, 0, 0);
		break;
	case MAPLE_FN_TAKE:
	case MAPLE_FN_BLOCK:
		note(e, r, MAPLE_EV_BLOCK, 0, 0, 0, 0);
		break;
	case MAPLE_FN_FREE:
		if (r->addr)
			note(e, r, MAPLE_EV_FREE, r->addr, r->size, 0, 0);
		break;
	case MAPLE_FN_UNMAP:
	case MAPLE_FN_REMAP:
		note(e, r, MAPLE_EV_FREE, r->addr, r->other, 0, 0);
		break;
	case MAPLE_FN_CREATE:
	case MAPLE_FN_DESTROY:
	case MAPLE_FN_LOAD:
		break;
	default:
		memory_entry(e, f, r);
	}
}

/* A wait whose mutex is lost does not have it when it returns. */
static void wait_return(struct maple_kernel_events *e,
			const struct maple_observe_record *r, int ret)
{
	bool signalled = ret == 0 || ret == EOWNERDEAD;

	note(e, r, MAPLE_EV_WAKE, r->addr, 0, signalled ? 0 : MAPLE_EVF_TIMEOUT,
	     0);
	if (ret != EPERM && ret != ENOTRECOVERABLE)
		touch(e, r, MAPLE_EV_LOCK, r->other, 1, MAPLE_EVF_EXACT);
}

/*
 * Whoever found the control untouched has run the initialiser, unless another
 * thread came first after all. It is said before anybody goes on who waited
 * for it, who may be back before the one that ran it.
 */
static void once_return(struct maple_kernel_events *e,
			const struct maple_observe_record *r)
{
	struct maple_observe_record runner = *r;
	uint32_t i, who = MAPLE_THREAD_NONE;

	for (i = 0; i < e->nthreads; i++) {
		if (e->thread[i].once != r->addr || !r->addr)
			continue;
		if (who == MAPLE_THREAD_NONE || i == r->thread)
			who = i;
		e->thread[i].once = 0;
	}
	if (who != MAPLE_THREAD_NONE) {
		runner.thread = who;
		note(e, &runner, MAPLE_EV_ONCE, r->addr, 0, 0, 0);
	}
	note(e, r, MAPLE_EV_ONCED, r->addr, 0, 0, 0);
}

static void join_return(struct maple_kernel_events *e,
			const struct maple_observe_record *r)
{
	uint32_t who = e->thread[r->thread].joining;

	if (who == MAPLE_THREAD_NONE)
		who = thread_named(e, r->addr);
	assert(who == MAPLE_THREAD_NONE || who < e->nthreads);
	if (who != MAPLE_THREAD_NONE)
		note(e, r, MAPLE_EV_JOIN, 0, 0, 0, who);
}

/* maple_kernel_call_return - the call of @f has been carried out */
void maple_kernel_call_return(struct maple_kernel_events *e,
			      const struct maple_function *f,
			      const struct maple_observe_record *r)
{
	int ret = (int)r->extra;
	bool done = !(f->flags & MAPLE_PROBE_ZERO) || ret == 0;

	switch (f->form) {
	case MAPLE_FN_LOCK:
		if (ret != 0 && ret != EOWNERDEAD)
			break;
		if (f->size)
			note_spin(e, r->addr);
		touch(e, r, MAPLE_EV_LOCK, r->addr, 1,
		      lock_flags(f) | MAPLE_EVF_EXACT);
		break;
	case MAPLE_FN_WAIT:
		wait_return(e, r, ret);
		break;
	case MAPLE_FN_BARRIER:
		if (ret == 0 || ret == PTHREAD_BARRIER_SERIAL_THREAD)
			note(e, r, MAPLE_EV_BARRIER_OUT, r->addr, 0, 0, 0);
		break;
	case MAPLE_FN_TAKE:
		if (done)
			note(e, r, MAPLE_EV_TAKE, r->addr, 0, wait_flags(f), 0);
		break;
	case MAPLE_FN_ONCE:
		if (done)
			once_return(e, r);
		break;
	case MAPLE_FN_JOIN:
		if (done)
			join_return(e, r);
		break;
	case MAPLE_FN_DESTROY:
		if (done)
			note(e, r, MAPLE_EV_FREE, r->addr, f->size, 0, 0);
		break;
	case MAPLE_FN_REMAP:
		note(e, r, MAPLE_EV_ALLOC,
		     r->extra == ~0ull ? r->addr : r->extra, r->other, 0, 0);
		break;
	case MAPLE_FN_LOAD:
		e->loaded = true;
		break;
	default:
		break;
	}
}

static void measures(struct maple_observe_function *out, unsigned int measure,
		     unsigned int text, unsigned int limit)
{
	out->measure = measure;
	out->text = text;
	out->limit = limit;
}

/* What of a call on strings must be measured. */
static void measure_text(const struct maple_function *f,
			 struct maple_observe_function *out)
{
	const unsigned int all = MAPLE_OBSERVE_NO_LIMIT;

	switch (f->form) {
	case MAPLE_FN_FIND:
		return measures(out, MAPLE_MEASURE_BYTE, 0, 2);
	case MAPLE_FN_FIND_LAST:
		return measures(out, MAPLE_MEASURE_LAST, 0, 2);
	case MAPLE_FN_LENGTH:
		return measures(out, MAPLE_MEASURE_STRING, 0, all);
	case MAPLE_FN_LENGTH_N:
		return measures(out, MAPLE_MEASURE_STRING, 0, 1);
	case MAPLE_FN_CHAR:
		return measures(out, MAPLE_MEASURE_CHAR, 0, all);
	case MAPLE_FN_STRCMP:
		return measures(out, MAPLE_MEASURE_COMMON, 0, all);
	case MAPLE_FN_STRNCMP:
		return measures(out, MAPLE_MEASURE_COMMON, 0, 2);
	case MAPLE_FN_STRCASE:
		return measures(out, MAPLE_MEASURE_FOLDED, 0, all);
	case MAPLE_FN_STRNCASE:
		return measures(out, MAPLE_MEASURE_FOLDED, 0, 2);
	case MAPLE_FN_STRCPY:
		return measures(out, MAPLE_MEASURE_STRING, 1, all);
	case MAPLE_FN_STRNCPY:
		return measures(out, MAPLE_MEASURE_STRING, 1, 2);
	case MAPLE_FN_STRCAT:
		return measures(out, MAPLE_MEASURE_APPEND, 1, all);
	case MAPLE_FN_STRNCAT:
		return measures(out, MAPLE_MEASURE_APPEND, 1, 2);
	}
}

/* maple_kernel_function - what the observer must know of @f */
void maple_kernel_function(const struct maple_function *f,
			   struct maple_observe_function *out)
{
	*out = (struct maple_observe_function){ .limit =
							MAPLE_OBSERVE_NO_LIMIT };
	if (f->flags & MAPLE_PROBE_RETURN)
		out->flags |= MAPLE_OBSERVE_RETURN;
	if (f->form == MAPLE_FN_CREATE)
		out->flags |= MAPLE_OBSERVE_CREATE;
	if (f->form == MAPLE_FN_ONCE)
		out->flags |= MAPLE_OBSERVE_OPEN;
	if (f->form >= MAPLE_FN_COPY)
		out->flags |= MAPLE_OBSERVE_BUDGET;
	if (f->form == MAPLE_FN_FREE)
		out->measure = MAPLE_MEASURE_BLOCK;
	if (f->form == MAPLE_FN_ONCE)
		out->measure = MAPLE_MEASURE_WORD;
	if (f->form == MAPLE_FN_UNLOCK && f->flags & MAPLE_PROBE_SHARED) {
		out->measure = MAPLE_MEASURE_WORD;
		out->peek = offsetof(pthread_rwlock_t, __data.__cur_writer);
	}
	measure_text(f, out);
}
