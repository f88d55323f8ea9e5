// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The story of a run whose failure takes a meeting of two threads on two CPUs:
 * no order of accesses is to be told, but where both wrote.
 */
#include <stdio.h>
#include <stdlib.h>
#include "story.h"

static void tell_place(struct maple_campaign *c, uint32_t site, FILE *out)
{
	struct maple_place place = { 0 };
	char text[256];

	maple_registry_place(c->registry, site, &place);
	maple_story_place(&place, text, sizeof(text));
	fprintf(out, "%s", *text ? text : "code without lines");
	if (place.function && place.line)
		fprintf(out, " (%s)", place.function);
	maple_place_deinit(&place);
}

/* maple_story_meeting - what @trial, a run of a meeting, tells of @f */
void maple_story_meeting(struct maple_campaign *c, struct maple_finding *f,
			 const struct maple_trial *trial)
{
	const struct maple_job *job = &trial->job;
	size_t size;
	FILE *out;

	/* Where they did not meet it failed by itself. */
	if (!trial->run.changes)
		return;
	assert(job->nchanges == 1 || job->nchanges == 2);
	out = open_memstream(&f->switches, &size);
	if (!out)
		return;
	fputs(job->nchanges == 1 ? "both threads write at " : "one writes at ",
	      out);
	tell_place(c, job->change[0].site, out);
	if (job->nchanges == 2) {
		fputs(", the other at ", out);
		tell_place(c, job->change[1].site, out);
	}
	fputs(", at the same moment\nwhat each reads next can be what was there "
	      "before the other's write, unless there is a fence between",
	      out);
	fclose(out);
}
