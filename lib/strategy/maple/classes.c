// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The goals of whoever predicts iRoots, and their classes: the idioms. */
#include <assert.h>
#include <stddef.h>
#include "classes.h"

/* In the order of enum maple_idiom, in which they are shown. */
const char *const maple_classes[] = {
	"idiom 1", "idiom 2", "idiom 3",  "idiom 4",
	"idiom 5", "idiom 6", "deadlock", NULL,
};

static_assert(sizeof(maple_classes) / sizeof(*maple_classes) == MAPLE_IDIOMS,
	      "a name for each idiom");

/* maple_goal_of_iroot - fills in what @goal, zero so far, is about */
void maple_goal_of_iroot(const struct maple_iroot *iroot,
			 struct maple_goal *goal)
{
	assert(iroot->idiom && iroot->idiom < MAPLE_IDIOMS);
	goal->class = maple_classes[iroot->idiom - 1];
	goal->n = maple_iroot_events(iroot->idiom);
	for (unsigned int i = 0; i < goal->n; i++) {
		goal->use[i].site = iroot->e[i].site;
		goal->use[i].kind = iroot->e[i].kind;
	}
}

/*
 * maple_class_counts - its counts in @coverage, which was made with
 * maple_classes
 */
struct maple_class_count *maple_class_counts(struct maple_coverage *coverage,
					     unsigned int idiom)
{
	assert(idiom && idiom <= coverage->nclasses);
	return &coverage->class[idiom - 1];
}
