/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The subject: what a campaign runs, and what differs by whose it is. A started
 * program is ours from its start to its end; a served one is as well, but a
 * user's command says when its run is over (round.c); a joined one ran before,
 * and goes on when we have left.
 */
#ifndef MAPLE_CAMPAIGN_SUBJECT_H
#define MAPLE_CAMPAIGN_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <maple/campaign.h>

struct maple_backend_options;
struct maple_campaign;
struct maple_pair_choice;
struct maple_run_order;
struct maple_standing;
struct maple_trial;

struct maple_subject {
	bool repeats;	 /* a run can be had again, as a control needs it */
	bool from_start; /* a run is seen from the first thread's first access */
	bool controls;	 /* ... and to its end: schedules can be dictated */
	bool endless;	 /* it may do something new at any time */

	/* Makes it ready: program, cwd, requests, and what runs of it need. */
	int (*open)(struct maple_campaign *c);
	/* Who observes and who enforces it; may add to @backend. */
	int (*choose)(struct maple_campaign *c,
		      struct maple_backend_options *backend,
		      struct maple_pair_choice *choice);
	/*
	 * What it does without us, which runs are held against, and how long
	 * they may last. -EBADE: it is wrong already.
	 */
	int (*begin)(struct maple_campaign *c);
	/*
	 * Whether there is nothing to run any more; that may be a finding, and
	 * @error is what came of it. NULL: each run starts it again.
	 */
	bool (*gone)(struct maple_campaign *c, int *error);
	/* Whether somebody wants the run under way to end. */
	bool (*stops)(struct maple_campaign *c);
	/* Before a run of @trial: its files, trial->io, and time, in @order. */
	int (*prepare)(struct maple_campaign *c, struct maple_trial *trial,
		       struct maple_run_order *order);
	/* After it: whether it was cut short by us, else the judgement. */
	void (*judge)(struct maple_campaign *c, struct maple_trial *trial);
	/*
	 * Why nothing found means nothing, in @text of @size bytes or
	 * elsewhere; NULL: it means something.
	 */
	const char *(*undelivered)(struct maple_campaign *c,
				   const struct maple_standing *standing,
				   char *text, size_t size);
};

extern const struct maple_subject maple_subject_started, maple_subject_served,
	maple_subject_joined;

/* started.c */
const struct maple_subject *
maple_subject_of(const struct maple_campaign_options *options);

#endif
