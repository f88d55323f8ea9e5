/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What only store buffers show: crossed.c. */
#ifndef MAPLE_PREDICT_CROSSED_H
#define MAPLE_PREDICT_CROSSED_H

#include <stddef.h>
#include <maple/event.h>
#include "predict/before/races.h"

/*
 * Two threads, each of which writes and then, with no fence between, reads what
 * the other writes. Sites; the thread that writes at the smaller one comes first.
 */
struct maple_crossing {
	uint32_t write[2], read[2];
};

struct maple_crossed;

/* What is known of a site that writes, or reads. */
enum maple_cross {
	MAPLE_CROSS_NOT,    /* it never races */
	MAPLE_CROSS_FENCED, /* a fence follows before anything is read, or has
			       come since anything was written */
	MAPLE_CROSS_MAY,
};

/*
 * maple_crossed_create - for one run; NULL: no memory
 * @races: of the same run: has each event before this has; outlives this
 * @may: whether @site may be one of a crossing, where it @writes or reads
 */
struct maple_crossed *maple_crossed_create(
	const struct maple_races *races,
	enum maple_cross (*may)(void *ctx, uint32_t site, bool writes),
	void *ctx);
void maple_crossed_destroy(struct maple_crossed *crossed);

/* maple_crossed_event - the run's events, in order */
void maple_crossed_event(struct maple_crossed *crossed,
			 const struct maple_event *event);

/* maple_crossed_found - those so far, each once; @n: how many. Not owned. */
const struct maple_crossing *
maple_crossed_found(const struct maple_crossed *crossed, size_t *n);

#endif
