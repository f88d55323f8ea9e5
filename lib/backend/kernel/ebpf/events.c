// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * From what the eBPF observer says to events, one record to none or several:
 * sites and threads get their numbers, calls the events that the agent would
 * make of them (calls.c).
 *
 * A record comes before its access, so an access that is followed by another
 * thread's record may not have happened when that did: it is held back until
 * it is known what follows, and then marked PENDING (as in lib/trace/ring.c).
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "base/table.h"
#include "events.h"

struct maple_kernel_call {
	uint64_t caller;
	uint32_t number;
	UT_hash_handle hh;
};

static struct maple_kernel_thread *thread_of(struct maple_kernel_events *e,
					     uint32_t number)
{
	return number < MAPLE_THREADS ? &e->thread[number] : NULL;
}

static void new_thread(struct maple_kernel_events *e, uint32_t number,
		       uint32_t parent)
{
	struct maple_kernel_thread *t = &e->thread[number];
	struct maple_kernel_thread *from = thread_of(e, parent);
	char child[16];
	size_t n = 0;

	assert(number < MAPLE_THREADS);
	memset(t, 0, sizeof(*t));
	t->parent = parent;
	t->joining = MAPLE_THREAD_NONE;
	/* Also one that was there before us; they have no family. */
	snprintf(child, sizeof(child), from ? ".%u" : "%u",
		 from ? ++from->born : number);
	if (from) {
		n = strlen(from->name);
		memcpy(t->name, from->name, n);
	}
	/* As the agent has it, a name that is too long ends in '+'. */
	if (n + 12 < sizeof(t->name))
		memcpy(t->name + n, child, strlen(child));
	else
		t->name[sizeof(t->name) - 2] = '+';
	if (number >= e->nthreads)
		e->nthreads = number + 1;
}

/*
 * Who was there before us is named as if main had created all the others, as
 * maple.ko has it: who did is not known.
 */
static void name_early(struct maple_kernel_events *e,
		       struct maple_kernel_thread *t)
{
	for (unsigned int i = 0; i < e->nbefore; i++) {
		if (e->before[i] != t->tid)
			continue;
		snprintf(t->name, sizeof(t->name), i ? "0.%u" : "0", i);
		t->born = i ? 0 : e->nbefore - 1;
	}
}

static void hand_out(struct maple_kernel_events *e)
{
	assert(e->holding); /* each once */
	if (e->sink && e->sink->event)
		e->sink->event(e->sink->ctx, &e->held);
	e->holding = false;
}

/*
 * maple_kernel_say - the next event of @event.thread; its clock is ours to
 * fill
 */
void maple_kernel_say(struct maple_kernel_events *e, struct maple_event event)
{
	assert(event.thread < MAPLE_THREADS && event.kind);
	event.clock = ++e->thread[event.thread].clock;
	if (e->holding && e->held.thread != event.thread && e->pinned &&
	    maple_event_is_memory(e->held.kind) &&
	    !(e->held.flags & MAPLE_EVF_EXACT)) {
		e->held.flags |= MAPLE_EVF_PENDING;
	}
	if (e->holding)
		hand_out(e);
	e->held = event;
	e->holding = true;
	if (!maple_event_is_memory(event.kind) || event.flags & MAPLE_EVF_EXACT)
		hand_out(e);
}

/* Images that are only called from are opened for their names alone. */
static uint32_t number_call(struct maple_kernel_events *e, uint64_t caller)
{
	const struct maple_mapped *image =
		maple_mappings_find(e->mappings, caller);
	uint32_t index = MAPLE_REGISTRY_NONE;
	uint64_t offset = caller;

	if (image && !maple_registry_add_names(e->registry, image->path, &index))
		offset = caller - image->bias;
	return maple_registry_call(e->registry, index, offset);
}

/* maple_kernel_call_site - the number of the call that returns to @caller */
uint32_t maple_kernel_call_site(struct maple_kernel_events *e, uint64_t caller)
{
	struct maple_kernel_call *call;

	if (!caller)
		return MAPLE_SITE_NONE;
	HASH_FIND(hh, e->calls, &caller, sizeof(caller), call);
	if (call)
		return call->number;
	call = calloc(1, sizeof(*call));
	if (!call)
		return MAPLE_SITE_NONE;
	call->caller = caller;
	call->number = number_call(e, caller);
	HASH_ADD(hh, e->calls, caller, sizeof(call->caller), call);
	return call->number;
}

static void access_event(struct maple_kernel_events *e,
			 const struct maple_observe_record *r)
{
	const struct maple_uapi_probe *p = &e->probe[r->index];
	struct maple_event event = {
		.addr = r->addr,
		.value = r->other,
		.site = p->number,
		.size = r->size,
		.sp = r->sp,
		.thread = r->thread,
		.kind = p->kind,
	};

	assert(r->index < e->nprobes);
	if (p->flags & MAPLE_PROBE_ATOMIC)
		event.flags |= MAPLE_EVF_ATOMIC;
	if (p->flags & MAPLE_PROBE_BEHIND)
		event.flags |= MAPLE_EVF_EXACT;
	if (r->what == MAPLE_OBSERVED_QUIET)
		event = (struct maple_event){ .site = p->number,
					      .thread = r->thread,
					      .kind = MAPLE_EV_QUIET };
	maple_kernel_say(e, event);
}

static void thread_event(struct maple_kernel_events *e,
			 const struct maple_observe_record *r)
{
	struct maple_kernel_thread *t = &e->thread[r->thread];
	struct maple_event event = { .site = MAPLE_SITE_NONE,
				     .thread = r->thread };
	bool early;

	switch (r->what) {
	case MAPLE_OBSERVED_CREATE:
		if (r->aux >= MAPLE_THREADS) {
			e->bad++;
			return;
		}
		new_thread(e, r->aux, r->thread);
		e->thread[r->aux].tid = r->other;
		e->renewed |= maple_observe_renews(r->aux);
		event.kind = MAPLE_EV_CREATE;
		event.site = maple_kernel_call_site(e, r->caller);
		event.aux = r->aux;
		break;
	case MAPLE_OBSERVED_START:
		early = !t->name[0];
		if (early)
			new_thread(e, r->thread, MAPLE_THREAD_NONE);
		t->pthread = r->caller;
		if (r->aux)
			t->tid = r->aux;
		if (early)
			name_early(e, t);
		event.kind = MAPLE_EV_START;
		event.addr = r->addr;
		event.size = r->other > 0xffffffff ? 0xffffffff : r->other;
		break;
	default:
		event.kind = MAPLE_EV_EXIT;
	}
	maple_kernel_say(e, event);
}

static void call_event(struct maple_kernel_events *e,
		       const struct maple_observe_record *r)
{
	unsigned int n;
	const struct maple_function *f = maple_functions(&n);

	if (r->index >= n)
		e->bad++;
	else if (r->what == MAPLE_OBSERVED_ENTRY)
		maple_kernel_call_entry(e, &f[r->index], r);
	else
		maple_kernel_call_return(e, &f[r->index], r);
}

/* maple_kernel_events_take - the next record, in order */
void maple_kernel_events_take(struct maple_kernel_events *e,
			      const struct maple_observe_record *r)
{
	if (r->thread >= MAPLE_THREADS) {
		e->bad++;
		return;
	}
	switch (r->what) {
	case MAPLE_OBSERVED_ACCESS:
	case MAPLE_OBSERVED_QUIET:
		if (r->index < e->nprobes)
			access_event(e, r);
		else
			e->bad++;
		break;
	case MAPLE_OBSERVED_QUIET_CALL:
		maple_kernel_say(
			e, (struct maple_event){
				   .site = maple_kernel_call_site(e, r->caller),
				   .thread = r->thread,
				   .kind = MAPLE_EV_QUIET });
		break;
	case MAPLE_OBSERVED_ENTRY:
	case MAPLE_OBSERVED_RETURN:
		call_event(e, r);
		break;
	case MAPLE_OBSERVED_CREATE:
	case MAPLE_OBSERVED_START:
	case MAPLE_OBSERVED_EXIT:
		thread_event(e, r);
		break;
	default:
		e->bad++;
	}
}

static void forget_calls(struct maple_kernel_events *e)
{
	maple_table_clear(e->calls);
}

/* maple_kernel_events_moved - images have come or gone */
void maple_kernel_events_moved(struct maple_kernel_events *e)
{
	forget_calls(e);
}

/*
 * maple_kernel_events_start - before the records of a new run
 *
 * The fields down to sink are the caller's, and stay.
 */
void maple_kernel_events_start(struct maple_kernel_events *e)
{
	forget_calls(e);
	e->holding = e->loaded = e->renewed = false;
	e->nthreads = e->nspins = 0;
	e->bad = 0;
	memset(e->thread, 0, sizeof(e->thread));
}

/* maple_kernel_events_end - nothing follows: the last one is pending */
void maple_kernel_events_end(struct maple_kernel_events *e)
{
	if (!e->holding)
		return;
	e->held.flags |= MAPLE_EVF_PENDING;
	hand_out(e);
}

void maple_kernel_events_deinit(struct maple_kernel_events *e)
{
	forget_calls(e);
}
