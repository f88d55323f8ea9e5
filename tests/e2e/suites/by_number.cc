// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A test program of nobody's framework: what its argument says is the case.
 * All that is asked for is one of two deposits, so nothing is ever wrong.
 */
#include <stdlib.h>
#include <string.h>
#include "cases.h"

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (!strncmp(name, "single", 6))
		return 0;
	if (!strcmp(name, "fails"))
		abort();
	return cases_deposit(1) < 1;
}
