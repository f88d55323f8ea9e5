/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A pair of backends: one that observes profile runs, one that enforces
 * plans; often the same. Chosen once per campaign.
 */
#ifndef MAPLE_BACKEND_PAIR_H
#define MAPLE_BACKEND_PAIR_H

#include "backend.h"

enum maple_half { MAPLE_HALF_AGENT, MAPLE_HALF_EBPF, MAPLE_HALF_MODULE };
#define MAPLE_HALVES 3

/* Filled by maple_pair_choose(). */
struct maple_pair_choice {
	/* What it rests on; of a half that was not asked, nothing. */
	struct maple_ability ability[MAPLE_HALVES];
	enum maple_half observe, enforce;
	bool apart;    /* two of the same */
	bool alone;    /* nobody enforces */
	char why[256]; /* a sentence: why these, and not the better */
};

struct maple_pair {
	struct maple_backend *observe, *enforce; /* alone: NULL */
	struct maple_cpu cpu; /* number -1: none, nobody enforces */
};

const char *maple_half_name(enum maple_half half);
bool maple_half_built(enum maple_half half);

const char *maple_pair_name(const struct maple_pair_choice *choice);
int maple_pair_parse(const char *text, struct maple_pair_choice *choice);
void maple_pair_look(const struct maple_backend_options *options,
		     struct maple_ability ability[MAPLE_HALVES]);
int maple_pair_choose(const char *wanted,
		      const struct maple_backend_options *options,
		      struct maple_pair_choice *choice, struct maple_error *err);
int maple_pair_choose_joined(const char *wanted,
			     const struct maple_backend_options *options,
			     struct maple_pair_choice *choice,
			     struct maple_error *err);

int maple_pair_create(const struct maple_pair_choice *choice,
		      const struct maple_backend_options *options,
		      double patience, struct maple_pair **pair,
		      struct maple_error *err);
void maple_pair_destroy(struct maple_pair *pair);
bool maple_pair_turns(const struct maple_pair *pair);
bool maple_pair_controls(const struct maple_pair *pair);
int maple_pair_run(struct maple_pair *pair, const struct maple_run_order *order,
		   const struct maple_run_sink *sink, struct maple_run *run,
		   struct maple_error *err);

#endif
