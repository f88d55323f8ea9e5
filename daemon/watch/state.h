/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the watch knows: of each line, its processes, and the job under way. */
#ifndef MAPLE_DAEMON_WATCH_STATE_H
#define MAPLE_DAEMON_WATCH_STATE_H

#include <stdint.h>
#include <stdio.h>
#include <maple/error.h>
#include "line.h"
#include "price.h"
#include "scan.h"

#define MAPLE_WATCH_NOTE 200

struct maple_watch_process {
	struct maple_scan_process is;
	unsigned int stretches, fails; /* fails: in a row */
	int64_t last, until; /* since 1970; until then it is left alone */
	char note[MAPLE_WATCH_NOTE]; /* why the last one failed; or "" */
	bool sampled;
	struct maple_price_sample sample; /* at the end of the last stretch */
};

/* A job that is under way. */
struct maple_watch_job {
	uint64_t number; /* 0: none */
	struct maple_scan_process carrier, process;
	int64_t began;
};

struct maple_watch_entry {
	struct maple_watch_line line;
	int64_t since;	   /* seconds since 1970 */
	double due, spent; /* due: since 1970; spent: seconds of CPU */
	unsigned int stretches, failed, runs, findings;
	uint64_t predicted, exposed; /* of the last job */
	uint64_t kept;		     /* the job that failed last, or 0 */
	bool told;		     /* what stands against it as a whole */
	unsigned int matching, replaced, single;
	unsigned int n;
	struct maple_watch_process process[MAPLE_WATCH_PROCESSES];
	struct maple_watch_job job;
};

struct maple_watch_state {
	unsigned int n;
	struct maple_watch_entry entry[MAPLE_WATCH_LINES];
};

/* Reads the file at @path, or as much of it as makes sense; -errno. */
int maple_watch_state_read(struct maple_watch_state *state, const char *path);

/* Replaces it; who may read it is group @gid, or all but (gid_t)-1. */
int maple_watch_state_write(const struct maple_watch_state *state,
			    const char *path, gid_t gid);

/* Entries for @lines; what @before knew of the same line is known again. */
void maple_watch_state_take(struct maple_watch_state *state,
			    const struct maple_watch_lines *lines,
			    const struct maple_watch_state *before, int64_t now);

/* The entry's processes are what @scan has found. */
void maple_watch_entry_update(struct maple_watch_entry *entry,
			      const struct maple_scan *scan);

/* The process whose turn it is; NULL: none may be joined now. */
struct maple_watch_process *
maple_watch_entry_next(struct maple_watch_entry *entry, int64_t now);

/* A stretch with @p has failed: it is left alone for longer each time. */
void maple_watch_process_fail(struct maple_watch_process *p, int64_t now,
			      const char *why);

/* For people. */
void maple_watch_state_print(FILE *out, const struct maple_watch_state *state,
			     int64_t now);

#endif
