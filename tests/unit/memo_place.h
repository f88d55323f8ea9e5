/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Where a test's memo is: in a file of the test's folder; or, with
 * MAPLE_TEST_POSTGRES, the folder of a server that tests/postgres has started,
 * in a database there. MAPLE_TEST_SIDES=ours or theirs has only that side of a
 * merge there (tests/e2e/postgres_units.bats).
 */
#ifndef MEMO_PLACE_H
#define MEMO_PLACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define PLACE 192

static inline bool at_server(const char *side)
{
	const char *sides = getenv("MAPLE_TEST_SIDES");

	return getenv("MAPLE_TEST_POSTGRES") && (!sides || !strcmp(sides, side));
}

/* @path: of PLACE bytes; in a folder, a file @name */
static inline void place(char *path, const char *dir, const char *name,
			 const char *side)
{
	static unsigned int databases;
	char command[256];
	FILE *out;

	if (!at_server(side)) {
		snprintf(path, PLACE, "%s/%s", dir, name);
		return;
	}
	snprintf(command, sizeof(command), "tests/postgres database '%s' t%d_%u",
		 getenv("MAPLE_TEST_POSTGRES"), getpid(), databases++);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(path, PLACE, out));
	assert_int_equal(pclose(out), 0);
	path[strcspn(path, "\n")] = '\0';
}

/* A server that this test starts goes when the test does, whatever ends it. */
static inline int own_server(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	return setenv("MAPLE_TEST_OWNER", pid, 1);
}

#endif
