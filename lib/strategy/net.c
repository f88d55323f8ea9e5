// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The net below the sites: a patched site costs 0.1 us, a hit of a watchpoint
 * 20 us, and four variables can be watched. So a variable is watched in few
 * runs, and in all later ones only if code that has no sites was seen there.
 *
 * On: static variables that threads came to in controlled runs, at known sites.
 * Not for: heap and stacks, which are elsewhere in another process, so that no
 * schedule could name them.
 */
#include <assert.h>
#include <stdlib.h>
#include "base/array.h"
#include "net.h"

#define VARIABLES 256 /* those that come first; the others never */
#define MANY	  100 /* accesses: 2 ms of a run, in which all of them trap */
#define FIRST	  4   /* controlled runs that all have a net, ... */
#define ONE	  8   /* ... and then one of so many */
#define TRIES	  2   /* runs that watch a variable where nothing is seen */

static bool is_better(const struct maple_net_variable *a,
		      const struct maple_net_variable *b)
{
	if (a->told != b->told)
		return a->told;
	if (a->tried != b->tried)
		return a->tried < b->tried;
	if (a->threads != b->threads)
		return a->threads > b->threads;
	return a->accesses < b->accesses;
}

static bool has(const struct maple_job *job, uint32_t site)
{
	for (uint32_t i = 0; i < job->nnet; i++)
		if (job->net[i] == site)
			return true;
	return false;
}

/* maple_net_order - what @job, a controlled run, is to watch */
void maple_net_order(struct maple_net *net, struct maple_job *job)
{
	uint32_t k = net->runs++;
	bool tries = k < FIRST || !(k % ONE);

	for (job->nnet = 0; job->nnet < MAPLE_RUN_NET; job->nnet++) {
		struct maple_net_variable *best = NULL;

		for (uint32_t i = 0; i < net->n; i++) {
			struct maple_net_variable *v = &net->variable[i];

			if (has(job, v->site) ||
			    (!v->told && (!tries || v->tried == TRIES ||
					  v->accesses > MANY)))
				continue;
			if (!best || is_better(v, best))
				best = v;
		}
		if (!best)
			return;
		assert(best->told || best->tried < TRIES);
		best->tried += !best->told;
		job->net[job->nnet] = best->site;
	}
}

/* maple_net_tell - code without sites was seen at @site, a variable's */
void maple_net_tell(struct maple_net *net, uint32_t site)
{
	for (uint32_t i = 0; i < net->n; i++) {
		if (net->variable[i].site != site || net->variable[i].told)
			continue;
		net->variable[i].told = true;
		net->told++;
		assert(net->told <= net->n);
	}
}

struct learning {
	struct maple_net *net;
	struct maple_registry *registry;
	const struct maple_run *run;
};

static struct maple_net_variable *get(struct maple_net *net, uint32_t site)
{
	for (uint32_t i = 0; i < net->n; i++)
		if (net->variable[i].site == site)
			return &net->variable[i];
	assert(net->n <= VARIABLES);
	if (net->n == VARIABLES ||
	    !maple_array_reserve(net->variable, net->n, net->room))
		return NULL;
	net->variable[net->n] = (struct maple_net_variable){ .site = site };
	return &net->variable[net->n++];
}

static void on_variable(void *ctx, uint64_t addr, uint32_t threads,
			uint32_t accesses)
{
	const struct learning *l = ctx;
	const struct maple_run_image *image;
	struct maple_net_variable *v;
	uint32_t site;

	for (unsigned int i = 0; i < l->run->nimages; i++) {
		image = &l->run->images[i];
		if (addr < image->lo || addr >= image->hi)
			continue;
		site = maple_registry_variable(l->registry, image->index,
					       addr - image->bias);
		v = site == MAPLE_SITE_NONE ? NULL : get(l->net, site);
		if (!v)
			return;
		v->threads = threads > v->threads ? threads : v->threads;
		v->accesses = accesses;
		return;
	}
}

/* maple_net_learn - where the threads of @run, a controlled one, were: @v */
void maple_net_learn(struct maple_net *net, struct maple_registry *registry,
		     const struct maple_variables *v,
		     const struct maple_run *run)
{
	struct learning l = { net, registry, run };

	if (net->n < VARIABLES)
		maple_variables_visit(v, on_variable, &l);
}

void maple_net_deinit(struct maple_net *net)
{
	free(net->variable);
	*net = (struct maple_net){ 0 };
}
