/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_LANE_H
#define MAPLE_CAMPAIGN_LANE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <maple/error.h>
#include "../backend/pair.h"
#include "campaign/subject/interrupt.h"

struct maple_campaign;

/* One of the targets that run at once, and the thread that looks after it. */
struct maple_lane {
	struct maple_campaign *c;
	struct maple_host *host; /* a connection of its own, or NULL */
	struct maple_pair *pair;
	struct maple_interrupts passed;
	struct maple_finding *confirming;
	struct maple_error own, *err; /* the second is where errors go */
	int error;
	pthread_t thread;
};

/* Whose turn it is, and what the lanes know of each other. */
struct maple_lanes {
	struct maple_lane *lane;
	unsigned int n;
	pthread_mutex_t lock; /* protects the campaign, but no lane's run */
	pthread_cond_t ended; /* a run did */
	struct maple_lane *turn;
	unsigned int underway;	   /* runs that the strategy has asked for */
	struct maple_lane *winner; /* all others are to stop */
	struct maple_lane *holder; /* ... for as long as this one confirms */
};

int maple_lanes_open(struct maple_campaign *c,
		     const struct maple_pair_choice *choice,
		     const struct maple_backend_options *backend,
		     double patience);
int maple_lanes_run(struct maple_campaign *c,
		    int (*work)(struct maple_campaign *c));
void maple_lanes_close(struct maple_campaign *c);

bool maple_lane_has_turn(const struct maple_campaign *c);
void maple_lane_enter(struct maple_lane *lane);
bool maple_lane_try(struct maple_lane *lane);
struct maple_lane *maple_lane_leave(struct maple_campaign *c);
void maple_lane_wait(struct maple_campaign *c);
void maple_lane_notice(void *ctx, const char *text);
void maple_lane_win(struct maple_campaign *c);
void maple_lane_hold(struct maple_campaign *c, struct maple_lane *lane);
bool maple_lane_lost(const struct maple_lane *lane);
bool maple_lane_waits(const struct maple_lane *lane);

#endif
