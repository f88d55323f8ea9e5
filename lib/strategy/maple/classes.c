// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The goals of whoever predicts iRoots, and their classes: the idioms, and the
 * orders of units on one atomic set.
 */
#include <assert.h>
#include <stddef.h>
#include <maple/campaign.h>
#include "classes.h"

/* In the order of enum maple_idiom, in which they are shown. */
const char *const maple_classes[] = {
	"idiom 1",  "idiom 2", "idiom 3", "idiom 4", "idiom 5", "idiom 6",
	"deadlock", "set 1",   "set 2",	  "set 3",   "set 4",	NULL,
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

/* maple_campaign_classes - see maple/campaign.h; deadlock is a form of idiom 5 */
const char *maple_campaign_classes(const char *text, unsigned int *classes)
{
	static const char expected[] = "a list of numbers from 1 to 6, "
				       "such as 1-3,5";
	unsigned int bits = 0;

	do {
		unsigned int first, last;

		if (*text < '1' || *text > '6')
			return expected;
		first = last = (unsigned int)(*text++ - '0');
		if (*text == '-') {
			if (text[1] < '1' || text[1] > '6')
				return expected;
			last = (unsigned int)(text[1] - '0');
			text += 2;
		}
		if (last < first)
			return expected;
		for (; first <= last; first++)
			bits |= 1u << first;
	} while (*text++ == ',');
	if (text[-1])
		return expected;
	if (bits & 1u << MAPLE_IDIOM_5)
		bits |= 1u << MAPLE_IDIOM_DEADLOCK;
	*classes = bits;
	return NULL;
}
