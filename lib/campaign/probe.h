/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Answers to what works here, for probe.c and what it asks. */
#ifndef MAPLE_CAMPAIGN_PROBE_H
#define MAPLE_CAMPAIGN_PROBE_H

#include <maple/campaign.h>

struct maple_answers {
	struct maple_host *host;
	const char *observer;
	struct maple_probe *probes;
	unsigned int n, max;
};

__attribute__((format(printf, 5, 6))) void
maple_answer(struct maple_answers *a, const char *name, int state,
	     const char *mend, const char *fmt, ...);

void maple_machine_probe(struct maple_answers *a, const char *root);

#endif
