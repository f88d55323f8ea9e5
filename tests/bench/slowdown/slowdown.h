/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* How slow a program gets; internal to this folder. */
#ifndef MAPLE_BENCH_SLOWDOWN_H
#define MAPLE_BENCH_SLOWDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include "backend/pair.h"
#include "strategy/maple/candidate.h"

#define BENCH_PEERS 8
#define BENCH_SITES 256 /* that write */

struct bench_peer {
	const char *name;
	const char *command; /* the shell's */
};

/* What is measured: options, and what the first run showed. */
struct bench {
	const char *name;
	const char *exe;     /* of the program under test, if argv starts it */
	const char *product; /* a file that each run writes; or NULL */
	unsigned int rounds, candidates;
	unsigned int meets; /* of each round; else 0 */
	double limit;	    /* seconds a peer may take */
	struct bench_peer peer[BENCH_PEERS];
	unsigned int npeers;
	char **argv;

	char *path;	/* of argv[0] */
	cpu_set_t cpus; /* ours, before a CPU was taken for the target */
	int null;
	uint64_t digest; /* of the product of the first run */
	bool digested;
	double native; /* seconds, of the first native run */

	struct maple_backend_options options;
	struct maple_pair *pair;
	struct maple_candidates candidate;
	struct maple_candidate **draw; /* in a random order */
	unsigned int ndraw;
	uint32_t site[BENCH_SITES]; /* that write, for meetings */
	unsigned int nsites;
};

/* How a run ended, in seconds; negative: not known. */
struct bench_time {
	double total;  /* from the order to start it to its end */
	double own;    /* from main() to its end */
	double after;  /* until we had understood what we observed */
	uint64_t lost; /* events, for which the ring had no room, */
	uint64_t kept; /* ... and the others */
};

/* main.c */
void bench_die(const char *what, const char *why) __attribute__((noreturn));
bool bench_judge(struct bench *b, const char *kind, int status, int out);
void bench_say(const struct bench *b, const char *kind,
	       const struct bench_time *t);
void bench_fail(const struct bench *b, const char *kind, const char *why);

/* command.c */
void bench_native(struct bench *b, bool pinned);
void bench_peer(struct bench *b, const struct bench_peer *peer);

/* under.c */
void bench_open(struct bench *b);
void bench_close(struct bench *b);
void bench_learn(struct bench *b);
void bench_profile(struct bench *b, const char *kind, unsigned int round);
void bench_enforce(struct bench *b, unsigned int nth);
void bench_meet(struct bench *b, unsigned int nth);

#endif
