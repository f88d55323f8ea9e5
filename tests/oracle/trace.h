/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef TESTS_ORACLE_TRACE_H
#define TESTS_ORACLE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <maple/error.h>
#include <maple/event.h>
#include <maple/iroot.h>

/* One line `expect ...`. */
struct trace_expect {
	bool predicted; /* false: observed */
	struct maple_iroot iroot;
};

/* From `trace N` to `end`. */
struct trace {
	unsigned int number;
	bool deadlock;
	size_t nevents, nexpects;
	struct maple_event *events;
	struct trace_expect *expects;
};

int trace_read(FILE *in, unsigned int *line, struct trace **block,
	       struct maple_error *err);
void trace_print_iroot(FILE *out, const struct maple_iroot *iroot);
void trace_destroy(struct trace *block);

#endif
