/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BASE_WHICH_H
#define MAPLE_BASE_WHICH_H

#include <string.h>

/*
 * maple_which - in the name of a block, what says which one of its call it is:
 * " (2nd by 0.1)" of "malloc at q.c:12 (2nd by 0.1) + 8"; NULL: nothing does
 * @name: of a variable, or where it came from; may be NULL
 * @size: of what was found
 */
static inline const char *maple_which(const char *name, size_t *size)
{
	const char *at = name && !strncmp(name, "malloc ", 7) ? name : NULL;

	while (at && (at = strstr(at, " ("))) {
		*size = strcspn(at, ")") + 1;
		if (at[2] >= '1' && at[2] <= '9' && at[*size - 1] &&
		    (!at[*size] || !strncmp(at + *size, " + ", 3)))
			return at;
		at++;
	}
	return NULL;
}

#endif
