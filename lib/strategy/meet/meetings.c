// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "predict/cells/crossed.h"
#include "meetings.h"

#define UNMET 20   /* tries of one that nobody comes to, */
#define MET   1000 /* ... and of one that was met */

static bool is_known(const struct maple_meetings *m,
		     const struct maple_crossing *crossing)
{
	for (size_t i = 0; i < m->n; i++)
		if (!memcmp(&m->at[i]->crossing, crossing, sizeof(*crossing)))
			return true;
	return false;
}

int maple_meetings_learn(struct maple_meetings *m,
			 const struct maple_profiling *p,
			 struct maple_error *err)
{
	const struct maple_crossing *found;
	struct maple_meeting *meeting;
	size_t n = 0;

	found = p->crossed ? maple_crossed_found(p->crossed, &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		if (is_known(m, &found[i]))
			continue;
		meeting = calloc(1, sizeof(*meeting));
		if (!meeting || !maple_array_reserve(m->at, m->n, m->room)) {
			free(meeting);
			return maple_error_set(err, ENOMEM, "out of memory");
		}
		meeting->crossing = found[i];
		m->at[m->n++] = meeting;
	}
	return 0;
}

static bool is_left(const struct maple_meeting *meeting)
{
	return meeting->tries < (meeting->met ? MET : UNMET);
}

/* The one that was tried least. */
static struct maple_meeting *choose(const struct maple_meetings *m)
{
	struct maple_meeting *best = NULL;

	for (size_t i = 0; i < m->n; i++)
		if (is_left(m->at[i]) &&
		    (!best || m->at[i]->tries < best->tries))
			best = m->at[i];
	return best;
}

bool maple_meetings_begin(struct maple_meetings *m, struct maple_job *job)
{
	struct maple_meeting *meeting = choose(m);
	const uint32_t *write;

	if (!meeting)
		return false;
	meeting->tries++;
	write = meeting->crossing.write;
	job->kind = MAPLE_RUN_PROFILE;
	job->schedule = MAPLE_SCHEDULE_MEET;
	job->aim = meeting;
	job->nchanges = write[0] == write[1] ? 1 : 2;
	for (uint32_t i = 0; i < job->nchanges; i++)
		job->change[i] = (struct maple_change){ .site = write[i] };
	return true;
}

bool maple_meetings_is(const struct maple_job *job)
{
	return job->schedule == MAPLE_SCHEDULE_MEET;
}

void maple_meetings_ended(struct maple_meetings *m, struct maple_job *job,
			  const struct maple_job_end *end)
{
	struct maple_meeting *meeting = job->aim;

	assert(maple_meetings_is(job));
	if (!end->run->changes)
		return;
	job->news = !meeting->met++;
	assert(meeting->met <= meeting->tries);
	m->met++;
}

void maple_meetings_deinit(struct maple_meetings *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->at[i]);
	free(m->at);
}
