// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a failure by switches is told from: the switches, as sentences, and what
 * other threads did across each of them, as moments of one order.
 *
 * At a switch a thread stands, and others go on until it does. What it had done
 * before is crossed where they touch it next, and what it does then where they
 * have touched it last: so a switch has up to four moments, the nearest ones.
 * Memory comes first, then locks, then conditions; of a deadlock locks do.
 * Where nothing is crossed, what the threads stand before is told.
 *
 * On: the log of a run with values (MAPLE_EV_NEXT, HOLD, RELEASE). Without one
 * there are sentences alone, without variables.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "story.h"

#define TOLD   20   /* entries that are told */
#define LOOK   1024 /* events of a log that are gone through, each way */
#define STOPS  64   /* of threads, that are looked at */
#define BEFORE 64   /* ... of the thread itself, back from its switch */

enum about { MEMORY, LOCKS, CONDITIONS, ABOUTS, NOTHING = ABOUTS };

/* One moment, and what it depends on: places in the log. */
struct pick {
	int64_t at, from; /* from: -1 if nothing */
};

/* What the thread of an entry stood before, or -1; who has crossed it, or NONE. */
struct told {
	int64_t before;
	uint16_t crosses;
	bool followed;
};

struct crossing {
	struct maple_campaign *c;
	struct maple_trial *trial;
	const struct maple_event *log;
	int64_t n;
	int64_t stands[MAPLE_THREADS]; /* its HOLD; -1: it goes on */
	unsigned int npicks;
	struct pick pick[MAPLE_ROLES]; /* each may have a thread of its own */
	struct maple_switches had;
	struct told told[TOLD]; /* by entry */
};

/* What @e is about, HOLD by what is to come. */
static unsigned int kind_of(const struct maple_event *e)
{
	return e->kind == MAPLE_EV_HOLD ? e->aux : e->kind;
}

/* Whether the thread of @log[@i] does nothing after it. */
static bool is_last(const struct crossing *x, int64_t i)
{
	uint16_t self = x->log[i].thread;

	while (++i < x->n)
		if (x->log[i].thread == self && x->log[i].kind < MAPLE_EV_STEP)
			return false;
	return true;
}

static enum about about(const struct crossing *x, int64_t i)
{
	switch (kind_of(&x->log[i])) {
	case MAPLE_EV_READ:
	case MAPLE_EV_WRITE:
	case MAPLE_EV_UPDATE:
	case MAPLE_EV_FREE:
		return MEMORY;
	case MAPLE_EV_LOCK:
		return LOCKS;
	case MAPLE_EV_BLOCK: /* a lock that it never had */
		return x->log[i].size && is_last(x, i) ? LOCKS : NOTHING;
	case MAPLE_EV_SIGNAL:
	case MAPLE_EV_BROADCAST:
	case MAPLE_EV_WAIT:
		return CONDITIONS;
	}
	return NOTHING;
}

static uint64_t bytes(const struct maple_event *e)
{
	if (e->kind == MAPLE_EV_FREE)
		return e->value;
	return e->size ? e->size : 1;
}

/* Whether it matters which of the two comes first; both are about the same. */
static bool conflict(const struct maple_event *a, const struct maple_event *b)
{
	unsigned int k = kind_of(a), l = kind_of(b);

	if (a->thread == b->thread || a->addr >= b->addr + bytes(b) ||
	    b->addr >= a->addr + bytes(a))
		return false;
	if (k == MAPLE_EV_LOCK || l == MAPLE_EV_LOCK)
		return !(a->flags & b->flags & MAPLE_EVF_SHARED);
	if (k >= MAPLE_EV_SIGNAL && k <= MAPLE_EV_WAIT)
		return (k == MAPLE_EV_WAIT) != (l == MAPLE_EV_WAIT);
	return k != MAPLE_EV_READ || l != MAPLE_EV_READ;
}

/* What is in conflict with @log[@i], the first from @from on, before @to. */
static int64_t crossed(const struct crossing *x, int64_t i, int64_t from,
		       int64_t to, enum about what)
{
	int64_t step = from < to ? 1 : -1, left = LOOK;

	for (; from != to && left--; from += step)
		if (x->log[from].kind < MAPLE_EV_STEP &&
		    about(x, from) == what &&
		    conflict(&x->log[i], &x->log[from]))
			return from;
	return -1;
}

static void pick(struct crossing *x, int64_t at, int64_t from)
{
	assert(from != at && at >= 0 && at < x->n);
	for (unsigned int i = 0; i < x->npicks; i++) {
		if (x->pick[i].at != at)
			continue;
		if (x->pick[i].from < 0)
			x->pick[i].from = from;
		return;
	}
	if (x->npicks < sizeof(x->pick) / sizeof(*x->pick))
		x->pick[x->npicks++] = (struct pick){ at, from };
}

/* A thread stands from @hold to @end; it matters who comes at @from and later. */
struct stop {
	uint16_t thread;
	int64_t hold, from, end;
};

/* The next event of @kind of @thread's from @i on; or the end. */
static int64_t find(const struct crossing *x, int64_t i, uint16_t thread,
		    unsigned int kind)
{
	while (i < x->n &&
	       (x->log[i].thread != thread || x->log[i].kind != kind))
		i++;
	return i;
}

/* The access that @s stands before, if it was executed, or the HOLD. */
static int64_t access_of(const struct crossing *x, const struct stop *s)
{
	for (int64_t i = s->end; i < x->n && i < s->end + LOOK; i++)
		if (x->log[i].thread == s->thread &&
		    x->log[i].site == x->log[s->hold].site &&
		    x->log[i].kind < MAPLE_EV_STEP && about(x, i) != NOTHING)
			return i;
	return s->hold;
}

/*
 * What others have done to it while it stood, and it touches then; these return
 * what crosses it, or -1.
 */
static int64_t pick_after(struct crossing *x, const struct stop *s,
			  enum about what)
{
	int64_t i, other, left = LOOK;

	for (i = s->end; i < x->n && left--; i++) {
		if (x->log[i].thread != s->thread ||
		    x->log[i].kind >= MAPLE_EV_STEP || about(x, i) != what)
			continue;
		/* Of what came last it depends. */
		other = crossed(x, i, i - 1, s->hold, what);
		if (other < s->from || other >= s->end)
			continue;
		pick(x, other, -1);
		pick(x, i, other);
		return other;
	}
	/* It may never have come to that. */
	if (about(x, s->hold) != what || access_of(x, s) != s->hold)
		return -1;
	other = crossed(x, s->hold, s->end - 1, s->hold, what);
	if (other >= 0) {
		pick(x, other, -1);
		pick(x, s->hold, other);
	}
	return other;
}

/* What it had done before, and others touch while it stands. */
static int64_t pick_before(struct crossing *x, const struct stop *s,
			   enum about what)
{
	unsigned int left = BEFORE;
	int64_t other, i = s->hold;

	while (i-- > 0 && left) {
		const struct maple_event *e = &x->log[i];

		if (e->thread != s->thread || e->kind >= MAPLE_EV_STEP)
			continue;
		left--;
		/* Others were not there, or a lock is not held any more. */
		if (e->kind == MAPLE_EV_CREATE ||
		    (what == LOCKS && e->kind == MAPLE_EV_UNLOCK))
			return -1;
		if (about(x, i) != what)
			continue;
		/* Who waits for a lock may do so later. */
		other = crossed(x, i, i + 1, what == LOCKS ? x->n : s->end,
				what);
		if (other < s->from)
			continue;
		pick(x, i, -1);
		pick(x, other, i);
		return other;
	}
	return -1;
}

static int64_t pick_stop(struct crossing *x, const struct stop *s)
{
	bool dead = x->trial->run.end == MAPLE_END_DEADLOCK;
	int64_t before, after;

	assert(s->hold < s->from && s->end <= x->n);
	for (unsigned int i = 0; i < ABOUTS; i++) {
		enum about what = dead && i <= LOCKS ? LOCKS - i : i;

		after = pick_after(x, s, what);
		before = pick_before(x, s, what);
		if (before >= 0 || after >= 0)
			return before >= 0 ? before : after;
	}
	return -1;
}

static struct stop stop_at(const struct crossing *x, int64_t hold)
{
	uint16_t thread = x->log[hold].thread;

	assert(x->log[hold].kind == MAPLE_EV_HOLD);
	return (struct stop){ thread, hold, hold + 1,
			      find(x, hold, thread, MAPLE_EV_RELEASE) };
}

/*
 * Of those who stand when @next goes on, one that would have come before it;
 * whether it is crossed.
 */
static bool cross_standing(struct crossing *x, int64_t n, const char *next)
{
	const struct maple_run *run = &x->trial->run;
	struct stop s;

	for (uint32_t t = 0; t < run->nthreads; t++) {
		if (!strcmp(run->threads[t].name, next))
			break;
		if (x->stands[t] < 0)
			continue;
		s = stop_at(x, x->stands[t]);
		s.from = n;
		if (pick_stop(x, &s) >= 0)
			return true;
	}
	return false;
}

/* Entry @i of the list is followed at @log[@n]. */
static void follow(struct crossing *x, uint32_t i, int64_t n)
{
	const struct maple_policy_switch *entry = &x->had.entry[i];
	struct told *told = &x->told[i];
	int64_t hold;
	struct stop s;

	told->followed = true;
	if (entry->what != MAPLE_POLICY_AT) {
		told->followed =
			cross_standing(x, n, x->had.name[entry->next].text);
		return;
	}
	hold = find(x, n, x->log[n].thread, MAPLE_EV_HOLD);
	if (hold == x->n)
		return;
	s = stop_at(x, hold);
	told->before = access_of(x, &s);
	pick_stop(x, &s);
}

/*
 * Entry @i was not followed, or nobody stood where its thread blocked. Then
 * what it does is that its place is a point: the thread, new, has stood there.
 */
static void came_to(struct crossing *x, uint32_t i)
{
	const struct maple_policy_switch *entry = &x->had.entry[i];
	const char *name = x->had.name[entry->thread].text;
	const struct maple_run *run = &x->trial->run;
	int64_t n = x->n, other;
	struct stop s;

	while (n-- > 0)
		if (x->log[n].kind == MAPLE_EV_HOLD &&
		    x->log[n].site == entry->site &&
		    x->log[n].thread < run->nthreads &&
		    !strcmp(run->threads[x->log[n].thread].name, name))
			break;
	if (n < 0)
		return;
	s = stop_at(x, n);
	other = pick_stop(x, &s);
	if (other < 0)
		return;
	x->told[i].before = access_of(x, &s);
	if (x->log[other].thread < run->nthreads)
		x->told[i].crosses = x->log[other].thread;
}

/* Whether some entry has made a point of @site. */
static bool is_listed(const struct crossing *x, uint32_t site)
{
	for (uint32_t i = 0; i < x->had.n && i < TOLD; i++)
		if (x->had.entry[i].site == site)
			return true;
	return false;
}

/* Others may have stood at a place that an entry has made a point. */
static void cross_others(struct crossing *x)
{
	unsigned int stops = 0;
	struct stop s;

	for (int64_t i = 0; i < x->n && stops < STOPS; i++) {
		if (x->log[i].kind != MAPLE_EV_HOLD ||
		    !is_listed(x, x->log[i].site))
			continue;
		s = stop_at(x, i);
		pick_stop(x, &s);
		stops++;
	}
}

/* What the threads of entries stand before, though nothing comes across. */
static void take_stops(struct crossing *x)
{
	for (uint32_t i = 0; i < TOLD; i++)
		if (x->told[i].before >= 0 &&
		    about(x, x->told[i].before) != NOTHING)
			pick(x, x->told[i].before, -1);
}

static void cross_all(struct crossing *x)
{
	memset(x->stands, -1, sizeof(x->stands));
	for (unsigned int i = 0; i < TOLD; i++)
		x->told[i] = (struct told){ -1, MAPLE_THREAD_NONE, false };
	for (int64_t i = 0; i < x->n; i++) {
		const struct maple_event *e = &x->log[i];

		if (e->kind == MAPLE_EV_HOLD)
			x->stands[e->thread] = i;
		else if (e->kind == MAPLE_EV_RELEASE)
			x->stands[e->thread] = -1;
		else if (e->kind == MAPLE_EV_NEXT && e->aux < x->had.n &&
			 e->aux < TOLD)
			follow(x, e->aux, i);
	}
	for (uint32_t i = 0; i < x->had.n && i < TOLD; i++)
		if (maple_switches_chose(&x->had.entry[i]) &&
		    !x->told[i].followed)
			came_to(x, i);
	if (!x->npicks)
		cross_others(x);
	if (!x->npicks)
		take_stops(x);
}

/* ---- as moments ---- */

/* What was done before what was not, each as the log has it. */
static int by_time(const void *a, const void *b, void *log)
{
	const struct maple_event *e = log;
	int64_t i = ((const struct pick *)a)->at,
		k = ((const struct pick *)b)->at;
	bool p = e[i].kind == MAPLE_EV_HOLD || e[i].kind == MAPLE_EV_BLOCK;
	bool q = e[k].kind == MAPLE_EV_HOLD || e[k].kind == MAPLE_EV_BLOCK;

	if (p != q)
		return p - q;
	return (i > k) - (i < k);
}

/* What it is in an order. */
static uint8_t step_of(unsigned int kind)
{
	switch (kind) {
	case MAPLE_EV_UPDATE:
	case MAPLE_EV_FREE:
		return MAPLE_EV_WRITE;
	case MAPLE_EV_BLOCK:
		return MAPLE_EV_LOCK;
	case MAPLE_EV_SIGNAL:
	case MAPLE_EV_BROADCAST:
		return MAPLE_EV_NOTIFY;
	case MAPLE_EV_WAIT:
		return MAPLE_EV_SLEEP;
	}
	return (uint8_t)kind;
}

static struct maple_making making_of(const struct crossing *x, int64_t at)
{
	const struct maple_event *e = &x->log[at], *said = e + 1;
	const struct maple_run *run = &x->trial->run;
	bool crashed = run->pc &&
		       run->pc == maple_story_address(x->c, run, e->site);

	return (struct maple_making){
		.site = e->site,
		.kind = step_of(kind_of(e)),
		.e = e,
		.frees = e->kind == MAPLE_EV_FREE,
		.reach = e->kind == MAPLE_EV_BLOCK ||
					 (e->kind == MAPLE_EV_HOLD && crashed)
				 ? MAPLE_REACH_NOW
			 : e->kind == MAPLE_EV_HOLD ? MAPLE_REACH_NOT
						    : MAPLE_REACH_DONE,
		.thread = e->thread < run->nthreads
				  ? run->threads[e->thread].name
				  : "?",
		.was = at + 1 < x->n && said->kind == MAPLE_EV_STEP &&
				       said->thread == e->thread
			       ? said->value
			       : 0,
	};
}

/* The column of who does it: those that come first are to the left. */
static unsigned int role_of(const struct crossing *x, unsigned int i)
{
	unsigned int role = 0;

	for (unsigned int k = 0; k < i; k++) {
		bool first = true;

		for (unsigned int l = 0; l < k; l++)
			first &= x->log[x->pick[l].at].thread !=
				 x->log[x->pick[k].at].thread;
		if (x->log[x->pick[k].at].thread == x->log[x->pick[i].at].thread)
			return role;
		role += first;
	}
	return role;
}

static void tell_moments(struct crossing *x, struct maple_finding *f)
{
	qsort_r(x->pick, x->npicks, sizeof(*x->pick), by_time, (void *)x->log);
	f->moments = calloc(x->npicks + 1, sizeof(*f->moments));
	for (unsigned int i = 0; f->moments && i < x->npicks; i++) {
		struct maple_making making = making_of(x, x->pick[i].at);
		int from = (int)i;

		making.role = role_of(x, i);
		assert(making.role < MAPLE_ROLES);
		while (--from >= 0 && x->pick[from].at != x->pick[i].from)
			;
		assert(x->pick[i].at < (int64_t)x->trial->nlog);
		maple_story_moment(x->c, x->trial, &making, &f->moments[i]);
		f->moments[i].from = from;
		f->nmoments++;
	}
	if (f->nmoments)
		maple_story_share_names(f->moments, f->nmoments, NULL);
}

/* ---- as sentences ---- */

/* ", where it writes balance = 3" */
static void print_access(const struct maple_moment *m, FILE *out)
{
	static const char *const verbs[] = {
		['R'] = "reads",   ['W'] = "writes",   ['L'] = "locks",
		['S'] = "signals", ['C'] = "waits on",
	};

	if (!m->variable)
		return;
	fprintf(out, ", where it %s %s", verbs[(int)m->kind], m->variable);
	if (m->value)
		fprintf(out, " = %s", m->value);
}

/* As the moment calls it, if it is one. */
static void tell_access(const struct crossing *x, const struct maple_finding *f,
			const struct told *told, FILE *out)
{
	struct maple_moment m = { 0 };
	struct maple_making making;

	if (told->before < 0 || about(x, told->before) == NOTHING)
		return;
	for (unsigned int i = 0; i < f->nmoments; i++)
		if (x->pick[i].at == told->before) {
			print_access(&f->moments[i], out);
			return;
		}
	making = making_of(x, told->before);
	maple_story_moment(x->c, x->trial, &making, &m);
	print_access(&m, out);
	maple_moment_deinit(&m);
}

static void tell_where(const struct crossing *x, const struct maple_finding *f,
		       const struct maple_policy_switch *s,
		       const struct told *told, bool stops, FILE *out)
{
	struct maple_place place = { 0 };
	char text[256];

	if (s->site == MAPLE_SITE_NONE ||
	    maple_registry_place(x->c->registry, s->site, &place) ||
	    !*maple_story_place(&place, text, sizeof(text))) {
		fputs(stops ? " stops" : " waits, or ends", out);
	} else {
		fprintf(out,
			stops ? " stops before %s"
			      : " waits, or ends, behind %s",
			text);
		if (s->hit > 1)
			fprintf(out, ", its %u. time there", s->hit);
		if (stops)
			tell_access(x, f, told, out);
	}
	maple_place_deinit(&place);
}

static void tell_switch(const struct crossing *x, const struct maple_finding *f,
			const struct maple_policy_switch *s,
			const struct told *told, FILE *out)
{
	bool at = s->what == MAPLE_POLICY_AT;
	bool came = told->crosses != MAPLE_THREAD_NONE;

	fprintf(out, "%sthread %s", ftell(out) ? "\n" : "",
		x->had.name[s->thread].text);
	tell_where(x, f, s, told, at || came, out);
	if (s->next == s->thread)
		fputs(": that times out early,", out);
	else
		putc(':', out);
	fprintf(out, " %s goes on",
		came ? x->trial->run.threads[told->crosses].name
		     : x->had.name[s->next].text);
}

/* A sentence a line, to be freed; NULL: there is none, or no memory. */
static char *tell_switches(const struct crossing *x,
			   const struct maple_finding *f)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < x->had.n && i < TOLD; i++)
		if (maple_switches_chose(&x->had.entry[i]))
			tell_switch(x, f, &x->had.entry[i], &x->told[i], out);
	if (x->had.n > TOLD)
		fprintf(out, "\nand so on, %u in all", x->had.n);
	if (x->trial->run.counts.early)
		fputs("\na wait timed out before others had come as far as "
		      "they could: natively where a machine is slow",
		      out);
	if (!fclose(out) && *text)
		return text;
	free(text);
	return NULL;
}

/*
 * Who is taken off the CPU at a point counts, also where it might have had to
 * wait there: a bound is not to be too small.
 */
static void count_switches(const struct crossing *x, struct maple_finding *f)
{
	bool *seen = calloc(x->had.nnames + 1, sizeof(*seen));
	uint64_t variable[TOLD];
	bool known = seen;

	f->preemptions = f->variables = f->threads = 0;
	for (uint32_t i = 0; seen && i < x->had.n; i++) {
		const struct maple_policy_switch *entry = &x->had.entry[i];
		uint64_t addr = 0;
		unsigned int k;

		if (!maple_switches_chose(entry))
			continue;
		f->threads += !seen[entry->thread];
		seen[entry->thread] = true;
		f->threads += !seen[entry->next];
		seen[entry->next] = true;
		if (entry->what != MAPLE_POLICY_AT &&
		    (i >= TOLD || x->told[i].crosses == MAPLE_THREAD_NONE))
			continue;
		if (entry->next == entry->thread)
			continue;
		f->preemptions++;
		known &= i < TOLD && x->told[i].before >= 0;
		if (known)
			addr = x->log[x->told[i].before].addr;
		for (k = 0; k < f->variables && variable[k] != addr; k++)
			;
		if (!addr || k < f->variables)
			continue;
		assert(f->variables < TOLD); /* each of an entry before i */
		variable[f->variables++] = addr;
	}
	if (!known)
		f->variables = 0;
	free(seen);
}

/*
 * maple_story_switches - fills in @f's switches and, if @trial has values, its
 * moments: what each thread did across them
 */
void maple_story_switches(struct maple_campaign *c, struct maple_finding *f,
			  struct maple_trial *trial)
{
	struct crossing *x = calloc(1, sizeof(*x));

	if (!x)
		return;
	x->c = c;
	x->trial = trial;
	x->log = trial->log;
	x->n = trial->nlog;
	x->had = maple_trial_switches(trial);
	cross_all(x);
	tell_moments(x, f);
	f->switches = tell_switches(x, f);
	count_switches(x, f);
	free(x);
}

/*
 * maple_story_switch - entry @at of @list, a choice, as a sentence, before
 * anything has come of it; to be freed; NULL: no memory
 */
char *maple_story_switch(struct maple_campaign *c,
			 const struct maple_switches *list, uint32_t at)
{
	static const struct told nothing = { -1, MAPLE_THREAD_NONE, false };
	struct crossing *x = calloc(1, sizeof(*x));
	char *text = NULL;
	size_t size;
	FILE *out = x ? open_memstream(&text, &size) : NULL;

	if (out) {
		x->c = c;
		x->had = *list;
		tell_switch(x, NULL, &list->entry[at], &nothing, out);
	}
	free(x);
	return out && !fclose(out) ? text : NULL;
}
