// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The sites of an image: a probe for each, and silence where they have had
 * their say.
 *
 * A probe costs its microseconds whether it records or not. So the sites that
 * have used up their budget, and are hit again and again, lose their probes
 * while the target runs, and get them back when a new thread renews the
 * budgets. Both happen some milliseconds late, since they happen from outside;
 * what a new thread does meanwhile at a site without a probe is not seen, as
 * if the site were still quiet.
 *
 * By what the binary tells (image/static/) sites may have none at all: those
 * whose data no two threads share, or all that are in no static pair.
 *
 * Where one link has all probes of an image, another one with those that are
 * left takes its place: it is made first, counts from the moment at which
 * the generation changes, and then the former one goes.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "../../image/image.h"
#include "image/static/pairs.h"
#include "backend/kernel/ebpf/ebpf.h"

#define LOOK_EVERY 0.02 /* seconds */
#define LOOK_SHARE 4	/* ... and so many times what the last look took */
#define HOT	   400	/* hits of a batch's silent sites: worth the work */

/* What an access behind the probe comes before, and one ahead after. */
static int rank(const struct maple_uapi_probe *p)
{
	return p->flags & MAPLE_PROBE_BEHIND  ? 0
	       : p->flags & MAPLE_PROBE_AHEAD ? 2
					      : 1;
}

static_assert(MAPLE_OBSERVE_PROBES % MAPLE_OBSERVE_BATCH == 0,
	      "an image that begins with a new batch begins in the array");

static int compare_probes(const void *a, const void *b)
{
	const struct maple_uapi_probe *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool is_left_out(const struct maple_placed *placed, uint64_t address)
{
	for (unsigned int i = 0; i < placed->nstretches; i++)
		if (address >= placed->stretch[i].lo &&
		    address < placed->stretch[i].hi)
			return true;
	return false;
}

/*
 * Which of @image's sites get probes by what the binary tells: a byte each, to
 * be freed; NULL: all do. That it tells nothing is said.
 */
static uint8_t *sift(const struct maple_ebpf *o, uint32_t index)
{
	const struct maple_backend_options *options = &o->base.options;
	struct maple_image *image =
		maple_registry_image(options->registry, index);
	const struct maple_static_pair *pair;
	char text[MAPLE_ERROR_MAX + 64];
	struct maple_error err;
	uint32_t nsites, n, i;
	uint8_t *taken;

	if (options->sites == MAPLE_SITES_ALL)
		return NULL;
	maple_image_sites(image, &nsites);
	taken = calloc(nsites + 1u, 1);
	if (!taken || maple_registry_static(options->registry, index, &err)) {
		snprintf(text, sizeof(text), "all of its sites get probes: %s",
			 taken ? err.text : "out of memory");
		options->notice(options->ctx, text);
		free(taken);
		return NULL;
	}
	for (i = 0; options->sites == MAPLE_SITES_STATIC && i < nsites; i++)
		taken[i] = maple_image_may_share(image, i);
	n = options->sites == MAPLE_SITES_PAIRS
		    ? maple_image_pairs(image, &pair)
		    : 0;
	for (i = 0; i < n; i++)
		taken[pair[i].a] = taken[pair[i].b] = 1;
	return taken;
}

/* The probes of an image's sites into the map, those of one offset chained. */
static int make_probes(struct maple_ebpf *o, struct maple_placed *placed,
		       struct maple_error *err)
{
	const struct maple_run_order *order = o->base.order;
	struct maple_registry *reg = o->base.options.registry;
	struct maple_image *image = maple_registry_image(reg, placed->index);
	uint32_t base = maple_registry_base(reg, placed->index),
		 first = o->nprobes;
	struct maple_uapi_probe probe, *probes = o->observer.probe;
	const struct maple_table_site *site;
	struct maple_probe_maker *maker;
	uint8_t *taken;
	uint32_t n, i;
	int e;

	/* No batch is of two images. */
	first = (first + MAPLE_OBSERVE_BATCH - 1) / MAPLE_OBSERVE_BATCH *
		MAPLE_OBSERVE_BATCH;
	e = maple_probe_maker_create(image, &maker, err);
	if (e)
		return e;
	o->nprobes = first;
	taken = sift(o, placed->index);
	site = maple_image_sites(image, &n);
	for (i = 0; i < n; i++) {
		if ((base + i < order->nalone && order->alone[base + i]) ||
		    is_left_out(placed, site[i].offset))
			continue;
		if (taken && !taken[i]) {
			o->apart++;
			continue;
		}
		if (o->nprobes == MAPLE_OBSERVE_PROBES ||
		    maple_probe_make(maker, i, base + i, &probe)) {
			o->unfit++;
			continue;
		}
		probe.aux = 0;
		assert(o->nprobes < MAPLE_OBSERVE_PROBES);
		probes[o->nprobes++] = probe;
	}
	free(taken);
	maple_probe_maker_destroy(maker);
	o->events.nprobes = o->nprobes;
	qsort(probes + first, o->nprobes - first, sizeof(*probes),
	      compare_probes);
	for (i = first; i + 1 < o->nprobes; i++)
		if (probes[i].offset == probes[i + 1].offset)
			probes[i].aux = MAPLE_OBSERVE_MORE;
	assert(first % MAPLE_OBSERVE_BATCH == 0 && first <= o->nprobes);
	placed->first = first;
	placed->nprobes = o->nprobes - first;
	return maple_probing_probes(&o->observer, first, placed->nprobes, err);
}

static uint32_t batch_of(uint32_t index)
{
	return index / MAPLE_OBSERVE_BATCH;
}

/* The places of the image's probes, several of which can be at one. */
static int make_places(struct maple_ebpf *o, struct maple_placed *placed)
{
	const struct maple_uapi_probe *probe = o->observer.probe;
	struct maple_batch *batch = NULL;
	uint32_t n = placed->nprobes, i;

	placed->offset = calloc(n, sizeof(*placed->offset));
	placed->at = calloc(n, sizeof(*placed->at));
	placed->refused = calloc(n, sizeof(*placed->refused));
	placed->silent = calloc(n, sizeof(*placed->silent));
	placed->batch =
		calloc(n / MAPLE_OBSERVE_BATCH + 1, sizeof(*placed->batch));
	if (!placed->offset || !placed->at || !placed->refused ||
	    !placed->silent || !placed->batch)
		return -ENOMEM;
	for (i = placed->first; i < placed->first + n; i++) {
		if (i > placed->first && probe[i - 1].aux)
			continue;
		if (!batch ||
		    batch_of(i) != batch_of(placed->at[batch->first])) {
			batch = &placed->batch[placed->nbatches++];
			batch->first = placed->nplaces;
		}
		batch->n++;
		assert(placed->nplaces < n &&
		       placed->nbatches <= n / MAPLE_OBSERVE_BATCH + 1);
		placed->offset[placed->nplaces] = probe[i].offset;
		placed->at[placed->nplaces++] = i;
	}
	return 0;
}

/*
 * Puts the observer at all places of the batch that are not silent, in the
 * generation that it is to have.
 */
static int put(struct maple_ebpf *o, struct maple_placed *placed,
	       const struct maple_batch *batch, struct maple_probed *to,
	       struct maple_error *err)
{
	struct maple_probing_place place[MAPLE_OBSERVE_BATCH];
	unsigned int from[MAPLE_OBSERVE_BATCH], n = 0, i, end;
	bool refused[MAPLE_OBSERVE_BATCH] = { false };
	int e;

	assert(batch->n <= MAPLE_OBSERVE_BATCH);
	end = batch->first + batch->n;
	for (i = batch->first; i < end; i++) {
		if (placed->silent[i] || placed->refused[i])
			continue;
		place[n].offset = placed->offset[i];
		place[n].cookie =
			MAPLE_OBSERVE_COOKIE(placed->at[i], batch->generation);
		from[n++] = i;
	}
	e = n ? maple_probing_attach(&o->observer, to, MAPLE_PROBING_ACCESS,
				     maple_ebpf_path(&placed->mapped), place, n,
				     refused, err)
	      : 0;
	for (i = 0; i < n; i++)
		placed->refused[from[i]] |= refused[i];
	return e;
}

/* maple_ebpf_sites - puts the observer at the sites of @placed */
int maple_ebpf_sites(struct maple_ebpf *o, struct maple_placed *placed,
		     struct maple_error *err)
{
	int e = make_probes(o, placed, err);

	if (e || !placed->nprobes)
		return e;
	if (make_places(o, placed))
		return maple_error_set(err, ENOMEM, "out of memory");
	for (unsigned int i = 0; !e && i < placed->nbatches; i++)
		e = put(o, placed, &placed->batch[i], &placed->batch[i].sites,
			err);
	return e;
}

/* Hits at place @i since all of its sites fell silent; 0 if one has not. */
static uint64_t idle_hits(const struct maple_ebpf *o,
			  const struct maple_placed *placed, unsigned int i)
{
	const struct maple_probing *b = &o->observer;
	uint32_t budget = o->hearing.budget, epoch = b->epoch, k;

	for (k = placed->at[i];; k++) {
		if (b->count[k].epoch != epoch || b->count[k].n <= budget)
			return 0;
		assert(k < placed->first + placed->nprobes);
		if (!b->probe[k].aux)
			return b->count[k].n - budget;
	}
}

/* All in one link: another link. */
static void replace(struct maple_ebpf *o, struct maple_placed *placed,
		    struct maple_batch *batch)
{
	struct maple_probed next = { 0 };
	uint32_t number = batch_of(placed->at[batch->first]);
	struct maple_error err;

	assert(o->observer.multi && batch->n);
	assert(number < MAPLE_OBSERVE_PROBES / MAPLE_OBSERVE_BATCH);
	batch->generation++;
	if (put(o, placed, batch, &next, &err) ||
	    maple_probing_generation(&o->observer, number, batch->generation)) {
		/* Then it goes on as it was. */
		batch->generation--;
		maple_probing_undo(&o->observer, &next);
		return;
	}
	next.refused += batch->sites.refused;
	maple_probing_undo(&o->observer, &batch->sites);
	batch->sites = next;
}

/* A link for each: it goes, or comes back. */
static void change(struct maple_ebpf *o, struct maple_placed *placed,
		   struct maple_batch *batch, unsigned int i)
{
	const struct maple_probing_place place = {
		placed->offset[i], MAPLE_OBSERVE_COOKIE(placed->at[i], 0)
	};

	assert(i - batch->first < batch->n && !o->observer.multi);
	if (placed->silent[i])
		maple_probing_drop(&o->observer, &batch->sites,
				   i - batch->first);
	else
		maple_probing_again(&o->observer, &batch->sites,
				    maple_ebpf_path(&placed->mapped),
				    i - batch->first, &place);
}

/* Who falls silent or speaks again; whether that is worth the work. */
static bool judge(struct maple_ebpf *o, const struct maple_placed *placed,
		  const struct maple_batch *batch, bool renewed,
		  bool changed[MAPLE_OBSERVE_BATCH])
{
	uint64_t hits = 0, idle;
	bool any = false;
	unsigned int i;

	for (unsigned int k = 0; k < batch->n; k++) {
		i = batch->first + k;
		idle = placed->silent[i] ? 0 : idle_hits(o, placed, i);
		changed[k] = !placed->refused[i] &&
			     (placed->silent[i] ? renewed : idle > 0);
		any |= changed[k] && placed->silent[i];
		hits += idle;
	}
	return any || hits >= HOT;
}

static void look(struct maple_ebpf *o, struct maple_placed *placed,
		 struct maple_batch *batch, bool renewed)
{
	bool changed[MAPLE_OBSERVE_BATCH];
	unsigned int i;

	if (!judge(o, placed, batch, renewed, changed))
		return;
	for (unsigned int k = 0; k < batch->n; k++) {
		if (!changed[k])
			continue;
		i = batch->first + k;
		placed->silent[i] = !placed->silent[i];
		if (!o->observer.multi)
			change(o, placed, batch, i);
	}
	if (o->observer.multi)
		replace(o, placed, batch);
}

static void look_at_all(struct maple_ebpf *o, bool renewed)
{
	struct maple_placed *placed;

	for (unsigned int i = 0; i < o->nplaced; i++) {
		placed = &o->placed[i];
		if (maple_probing_counts(&o->observer, placed->first,
					 placed->nprobes))
			continue;
		for (unsigned int k = 0; k < placed->nbatches; k++)
			look(o, placed, &placed->batch[k], renewed);
	}
}

static void *keep(void *ctx)
{
	struct maple_ebpf *o = ctx;
	double began, took = 0, wait;
	struct timespec until;

	while (!__atomic_load_n(&o->ends, __ATOMIC_ACQUIRE)) {
		wait = LOOK_EVERY + LOOK_SHARE * took;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += (long)(wait * 1e9);
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		sem_timedwait(&o->ask, &until);
		began = maple_clock_now();
		pthread_mutex_lock(&o->lock);
		look_at_all(o, __atomic_exchange_n(&o->renewed, false,
						   __ATOMIC_ACQ_REL));
		pthread_mutex_unlock(&o->lock);
		took = maple_clock_now() - began;
	}
	return NULL;
}

/*
 * maple_ebpf_keep - from now on probes that only cost time are taken away
 *
 * By a thread of its own: the kernel waits for each thread of the target that
 * stands in a probe, and one that stands below a thread which spins may stand
 * there until somebody, and that is who serves the run, has seen to it.
 */
int maple_ebpf_keep(struct maple_ebpf *o)
{
	sigset_t all, old;
	int e;

	if (!o->hearing.budget)
		return 0;
	assert(!o->kept); /* one thread for each run */
	o->renewed = o->ends = false;
	sem_init(&o->ask, 0, 0);
	pthread_mutex_init(&o->lock, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	e = pthread_create(&o->keeper, NULL, keep, o);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	o->kept = !e;
	return -e;
}

/* maple_ebpf_renew - a new thread has renewed all budgets */
void maple_ebpf_renew(struct maple_ebpf *o)
{
	if (!o->kept)
		return;
	__atomic_store_n(&o->renewed, true, __ATOMIC_RELEASE);
	sem_post(&o->ask);
}

/* maple_ebpf_end_keeping - once the target is gone */
void maple_ebpf_end_keeping(struct maple_ebpf *o)
{
	if (!o->kept)
		return;
	__atomic_store_n(&o->ends, true, __ATOMIC_RELEASE);
	sem_post(&o->ask);
	pthread_join(o->keeper, NULL);
	pthread_mutex_destroy(&o->lock);
	sem_destroy(&o->ask);
	o->kept = false;
}

/* maple_ebpf_sites_sum - adds to @sum what became of @placed's sites */
void maple_ebpf_sites_sum(const struct maple_placed *placed,
			  struct maple_probed *sum)
{
	for (unsigned int i = 0; i < placed->nbatches; i++) {
		sum->refused += placed->batch[i].sites.refused;
		sum->unreached += placed->batch[i].sites.unreached;
	}
	sum->places += placed->nplaces;
}

void maple_ebpf_sites_deinit(struct maple_ebpf *o, struct maple_placed *placed)
{
	for (unsigned int i = 0; i < placed->nbatches; i++)
		maple_probing_undo(&o->observer, &placed->batch[i].sites);
	free(placed->batch);
	free(placed->offset);
	free(placed->at);
	free(placed->refused);
	free(placed->silent);
}
