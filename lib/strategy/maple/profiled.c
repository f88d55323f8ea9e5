// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What strategies have in their tables that do no more there than profile.c
 * does. What is their own begins with a struct maple_profiling, so that @self
 * is one; MAPLE_PROFILED says that it is so.
 */
#include <stdlib.h>
#include "profile.h"

void maple_profiled_event(void *self, struct maple_job *job,
			  const struct maple_event *event)
{
	(void)self;
	maple_profiling_event(job, event);
}

int maple_profiled_ended(void *self, struct maple_job *job,
			 const struct maple_job_end *end,
			 struct maple_error *err)
{
	return maple_profiling_ended(self, job, end, err);
}

void maple_profiled_drop(void *self, struct maple_job *job)
{
	maple_profiling_drop(self, job);
}

void maple_profiled_count(const void *self, struct maple_coverage *coverage)
{
	const struct maple_profiling *p = self;

	maple_choice_count(&p->candidates, &p->limits, coverage);
}

void maple_profiled_standing(const void *self, struct maple_standing *standing)
{
	const struct maple_profiling *p = self;

	*standing = (struct maple_standing){
		.not_split = p->not_split,
		.unshared = p->sharing.left,
	};
}

unsigned int maple_profiled_around(const void *self, uint32_t site,
				   uint32_t *sites, unsigned int most)
{
	return maple_profiling_around(self, site, sites, most);
}

uint32_t maple_profiled_sites(const void *self)
{
	const struct maple_profiling *p = self;

	return p->sharing.known[0].n;
}

void maple_profiled_close(void *self)
{
	maple_profiling_deinit(self);
	free(self);
}
