/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What is known of a site or a call site in this run, and what is wanted of it:
 * one record of each, and one answer to each execution. interest.c decides.
 */
#ifndef MAPLE_AGENT_INTEREST_H
#define MAPLE_AGENT_INTEREST_H

#include <stdbool.h>
#include <stdint.h>

struct maple_agent_site;

/* There are as many for calls as there may be call sites: it is small. */
struct maple_interest {
	uint32_t count; /* of its events, or calls, since it was last armed */
	uint16_t pass;	/* of what a plan names: index in maple_pass; 0: none */
	uint8_t wanted; /* the run's plans name it, or its list */
	uint8_t alone;	/* never seen on shared memory: not this time */
};

/* What comes of one execution. */
enum maple_interest_answer {
	MAPLE_INTEREST_DROP,	/* nothing */
	MAPLE_INTEREST_UNPATCH, /* nothing, and it is to come here no more */
	MAPLE_INTEREST_RECORD,	/* an event */
	MAPLE_INTEREST_STAND,	/* a point of a controlled run, or a meeting */
	MAPLE_INTEREST_ASK,	/* the automaton's answer */
};

enum maple_interest_answer maple_interest_hit(struct maple_agent_site *site);
enum maple_interest_answer maple_interest_call(uint32_t site, unsigned int kind,
					       uint32_t *n);
bool maple_interest_logs(uint32_t site, unsigned int kind, uint32_t before);
bool maple_interest_wanted(uint32_t site);
bool maple_interest_quiet(uint32_t site);
uint32_t maple_interest_pass(uint32_t site);

/* A run begins; a thread does; call sites record again, from the first call on. */
bool maple_interest_plans(void);
void maple_interest_leave(void);
void maple_interest_rearm(void);
void maple_interest_renew(void);

#endif
