// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What of the program is worth a look. A site, and a call site of an interposed
 * function, has one record of what is known and what is wanted of it (struct
 * maple_interest), and each execution gets one answer:
 *
 *	the record says		a run that	one that is	one that
 *				observes	controlled	enforces
 *	a plan names it		-		-		ASK
 *	count in the budget	RECORD		STAND, logged	-
 *	... just over it	DROP, goes quiet STAND		-
 *	alone			DROP		DROP		-
 *	quiet for long		UNPATCH		UNPATCH		UNPATCH
 *
 * Sites that have no use in a run are not patched to begin with (patch.c), and
 * quiet ones are passed by in their slots, before anything asks here; when that
 * has taken long, their patches go (retire.c). In a run that enforces, sites of
 * the plan alone are patched; one goes quiet when no plan asks for it any more,
 * or when the automaton has ignored it for long (pass.c). In a controlled run
 * all sites go quiet once the run was let go.
 *
 * Calls come to us from everywhere: a program may make millions of memcpy(),
 * each as short as what we would do about it. So maple_agent_wants() answers
 * for them before anything else is done. Memory functions pass straight on
 * where the answer would be DROP, and locks that are called often go a short
 * way when their critical sections can be left out (section.c). Of a call
 * over its budget a lock is recorded all the same when something happens
 * under it, and that it may block only when that tells more of the access
 * before.
 *
 * A new thread may share what seemed to be one thread's: what went quiet is
 * armed again then (maple_interest_rearm()). The end of memory is announced as
 * a write to it where a plan names the call, and nowhere else.
 */
#include "agent/core.h"

bool maple_agent_skips_memory;
bool maple_agent_skips_ends = true;

static struct maple_interest calls[MAPLE_SHM_CALLS];

static bool observes(const struct maple_shm *shm)
{
	return shm->mode == MAPLE_SHM_OBSERVE;
}

/* Of a call site; NULL: it has none. */
static struct maple_interest *of_call(uint32_t site)
{
	uint32_t k = site & ~MAPLE_SITE_CALL;

	return k < MAPLE_SHM_CALLS ? &calls[k] : NULL;
}

static uint32_t count_of(uint32_t site)
{
	const struct maple_interest *i = of_call(site);

	return i ? __atomic_load_n(&i->count, __ATOMIC_RELAXED) : 0;
}

static void put_quiet(uint32_t site)
{
	maple_shm->stats.quieted++;
	maple_ring_put(MAPLE_EV_QUIET, &(struct maple_access){ .site = site },
		       0, 0, 0, 0);
}

/* Whether @site may record once more. */
static bool in_budget(struct maple_agent_site *site)
{
	site->interest.count++;
	if (!maple_ring_budget || site->interest.count <= maple_ring_budget)
		return true;
	maple_retire_later(site);
	put_quiet(site->number);
	return false;
}

/* Opens @site if the stub has shut it: all hits but this one are lost. */
static bool opens(struct maple_agent_site *site)
{
	struct maple_shm *shm = maple_shm;

	if (!observes(shm) || shm->budget || site->interest.alone)
		return false;
	shm->stats.lost += MAPLE_AGENT_SHUT - 1;
	site->live = true;
	return true;
}

/* maple_interest_hit - what comes of a hit of @site, which has a hook */
enum maple_interest_answer maple_interest_hit(struct maple_agent_site *site)
{
	struct maple_interest *i = &site->interest;
	struct maple_shm *shm = maple_shm;
	enum maple_interest_answer answer = MAPLE_INTEREST_STAND;

	if (!site->live && !opens(site))
		return MAPLE_INTEREST_UNPATCH;
	if (maple_agent_controls) {
		/* Let go, it is to end as soon as it does natively. */
		if (!maple_control_decides()) {
			maple_retire_later(site);
			answer = MAPLE_INTEREST_DROP;
		}
	} else if (i->wanted) {
		/* Nobody asks for it any more, and it is not logged either. */
		if (++i->count > MAPLE_AGENT_OFTEN && maple_enforce_over())
			maple_retire_later(site);
		answer = MAPLE_INTEREST_ASK;
	} else if (shm->sched == MAPLE_SCHEDULE_MEET) {
		if (++i->count == MAPLE_MEET_HITS)
			maple_retire_later(site);
	} else if (observes(shm) && in_budget(site)) {
		answer = MAPLE_INTEREST_RECORD;
	} else {
		return MAPLE_INTEREST_DROP;
	}
	shm->stats.hits[site->way]++;
	return answer;
}

/* Whether the @n-th call from its site may be recorded. */
static bool call_in_budget(unsigned int kind, uint32_t n)
{
	const struct maple_shm *shm = maple_shm;

	if (!shm->budget || n <= shm->budget)
		return true;
	if (kind == MAPLE_EV_LOCK)
		return maple_self.settled != maple_self.clock;
	return kind == MAPLE_EV_UNLOCK;
}

/* Whether a controlled run passes by what @kind does for call @site. */
static bool is_left(uint32_t site, unsigned int kind)
{
	const struct maple_interest *i = of_call(site);

	return !maple_control_values && maple_event_is_memory(kind) && i &&
	       i->alone;
}

/*
 * maple_interest_call - what comes of a call from @site that does @kind
 * @n: which call from there it is, since the site was armed; 0: not known
 *
 * After very many it is no sign of progress.
 */
enum maple_interest_answer maple_interest_call(uint32_t site, unsigned int kind,
					       uint32_t *n)
{
	struct maple_interest *i = of_call(site);
	const struct maple_shm *shm = maple_shm;

	/* Beyond any budget it stays, so that it never wraps. */
	if (i && i->count < ~0u)
		i->count++;
	*n = i ? i->count : 0;
	maple_self.stale = *n > MAPLE_AGENT_OFTEN;
	if (maple_sections && *n == shm->budget + 1 &&
	    (observes(shm) || !maple_event_is_memory(kind)))
		put_quiet(site);
	if (maple_agent_enforces)
		return MAPLE_INTEREST_ASK;
	if (maple_agent_controls)
		return is_left(site, kind) ? MAPLE_INTEREST_DROP
					   : MAPLE_INTEREST_STAND;
	return observes(shm) && call_in_budget(kind, *n) ? MAPLE_INTEREST_RECORD
							 : MAPLE_INTEREST_DROP;
}

/*
 * maple_interest_logs - whether a controlled run records what @kind does at
 *                       @site, which has done so @before times
 */
bool maple_interest_logs(uint32_t site, unsigned int kind, uint32_t before)
{
	uint32_t most = maple_shm->control.log;

	if (!maple_event_is_memory(kind))
		return most && call_in_budget(kind, before + 1);
	if (most && before == most)
		put_quiet(site);
	return before < most;
}

/* maple_interest_quiet - whether call @site is over its budget */
bool maple_interest_quiet(uint32_t site)
{
	return maple_shm->budget && count_of(site) > maple_shm->budget;
}

/* maple_interest_wanted - whether any plan names @site at all */
bool maple_interest_wanted(uint32_t site)
{
	const struct maple_interest *i = of_call(site);

	if (!(site & MAPLE_SITE_CALL))
		return true; /* or it has no hook */
	return i && i->wanted;
}

/* maple_interest_pass - the pass of call @site, 0 if it has none */
uint32_t maple_interest_pass(uint32_t site)
{
	const struct maple_interest *i = of_call(site);

	return i ? i->pass : 0;
}

/* Whether calls of @site that do @kind are nothing to hooks and automaton. */
static bool passes(uint32_t site, unsigned int kind)
{
	bool about = maple_agent_enforces && maple_interest_wanted(site);

	if (maple_agent_controls)
		return is_left(site, kind);
	if (maple_event_is_memory(kind))
		return maple_agent_enforces ? !about
					    : maple_interest_quiet(site);
	/* They go on being counted until they mean no progress. */
	return maple_sections && !maple_shm->nchanges &&
	       count_of(site) > MAPLE_AGENT_OFTEN &&
	       (!about || maple_enforce_over());
}

/* Whether a LOCK, which may block, would tell more of the access before. */
static bool tells_of_access(unsigned int kind)
{
	return kind == MAPLE_EV_LOCK && !maple_agent_enforces &&
	       maple_self.settled != maple_self.clock;
}

bool maple_agent_wants(const void *ret, unsigned int kind, uint32_t *site)
{
	*site = maple_agent_call(ret, kind);
	return *site == MAPLE_SITE_NONE || tells_of_access(kind) ||
	       !passes(*site, kind);
}

static void want(uint32_t site)
{
	struct maple_interest *i = of_call(site);
	uint32_t kind;

	if (!(site & MAPLE_SITE_CALL) || !i)
		return;
	i->wanted = 1;
	maple_pass_give(i);
	kind = maple_shm->call[site & ~MAPLE_SITE_CALL].kind;
	/* What we were only told of, in a replay, may be anything. */
	if (kind == MAPLE_EV_NONE || maple_event_is_memory(kind))
		maple_agent_skips_memory = false;
	/* realloc's is either of the two. */
	if (kind == MAPLE_EV_NONE || kind == MAPLE_EV_FREE ||
	    kind == MAPLE_EV_ALLOC)
		maple_agent_skips_ends = false;
}

/* Returns whether @plan is about locks. */
static bool want_all(const struct maple_plan *plan)
{
	bool locks = false;

	for (uint32_t i = 0; i < plan->nsteps && i < MAPLE_PLAN_STEPS; i++) {
		locks |= !maple_event_is_memory(plan->step[i].kind);
		want(plan->step[i].site);
		for (uint32_t g = 0;
		     g < plan->step[i].ngates && g < MAPLE_PLAN_GATES; g++)
			want(plan->step[i].gate[g]);
	}
	for (uint32_t i = 0; i < plan->nguards && i < MAPLE_PLAN_GUARDS; i++)
		want(plan->guard[i]);
	for (uint32_t i = 0; i < plan->ncovers && i < MAPLE_PLAN_COVERS; i++)
		want(plan->cover[i]);
	return locks;
}

/*
 * maple_interest_plans - the plans of this run are known
 *
 * Returns whether any is about locks.
 */
bool maple_interest_plans(void)
{
	bool locks;

	maple_agent_skips_memory = maple_agent_skips_ends = true;
	locks = want_all(&maple_shm->plan);
	for (uint32_t i = 0; i < maple_shm->nthen && i < MAPLE_SHM_THEN; i++)
		locks |= want_all(&maple_shm->then[i]);
	return locks;
}

/* maple_interest_leave - the calls that this controlled run leaves are known */
void maple_interest_leave(void)
{
	for (uint32_t k = 0; k < maple_shm->ncalls && k < MAPLE_SHM_CALLS; k++)
		calls[k].alone = maple_shm->call[k].alone;
}

/* maple_interest_renew - call sites record again */
void maple_interest_renew(void)
{
	for (uint32_t k = 0; k < maple_shm->ncalls && k < MAPLE_SHM_CALLS; k++)
		calls[k].count = 0;
}

/*
 * maple_interest_rearm - all that went quiet is of interest again
 *
 * Context: a thread is about to be created by the caller, or the caller begins.
 */
void maple_interest_rearm(void)
{
	maple_retire_rearm();
	maple_interest_renew();
}
