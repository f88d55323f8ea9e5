/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A finding that a test makes up, and what is written of it. */
#ifndef REPORT_RIG_H
#define REPORT_RIG_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>
#include <maple/report.h>
#include "report/codec.h"

static struct maple_place place(char *function, unsigned int line)
{
	return (struct maple_place){ "/usr/bin/queue", "c0ffee",       0x1234,
				     function,	       "/src/queue.c", line };
}

static struct maple_moment moments[4];
static struct maple_frame frames[2];
static struct maple_stack stacks[2];
static char *argv[] = { "./queue", "a b", "\xff\xf4\x8f\xbe\x80", NULL };
static struct maple_finding finding;

static int setup(void **state)
{
	moments[0] = (struct maple_moment){
		place("consume", 41), 'R', 0, "0.1", "queue", 0x1000, 0, -1
	};
	moments[1] = (struct maple_moment){
		place("close_queue", 57), 'W', 1, "0", "queue", 0x1000, 1, 0
	};
	moments[2] = (struct maple_moment){
		place("consume", 43), 'R', 0, "0.1", "queue", 0x1000, 2, 1
	};
	frames[0] = (struct maple_frame){ place("consume", 43), 0x401234 };
	frames[1] = (struct maple_frame){ .pc = 0xdeadbeefcafef00d };
	stacks[0] = (struct maple_stack){ "0.1",	 77, true,
					  "was running", 2,  frames };
	stacks[1] = (struct maple_stack){ "0", 76, false, NULL, 0, NULL };
	finding = (struct maple_finding){
		.id = "3fa9c1",
		.kind = MAPLE_FAILURE_SIGNAL,
		.title = "SIGSEGV in consume / close_queue",
		.what = "signal 11 (SIGSEGV), address 0x8",
		.signo = 11,
		.address = UINT64_MAX,
		.class = "idiom 2",
		.nmoments = 3,
		.moments = moments,
		.nstacks = 2,
		.stacks = stacks,
		.forced_fails = 5,
		.forced_runs = 5,
		.flipped_runs = 5,
		.plan = "{\"idiom\":2}",
		.seed = UINT64_MAX - 1,
		.argv = argv,
		.replay = "mapletest replay 3fa9c1",
		.output = "line\n\033[31mred\n",
		.times_seen = 1,
	};
	return 0;
}

static char *buffer;
static size_t size;

static FILE *open_buffer(void)
{
	free(buffer);
	buffer = NULL;
	return open_memstream(&buffer, &size);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

#endif
