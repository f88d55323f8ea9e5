/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Goals: what a strategy wants to see in a run, an order or a pattern. Each is
 * of a class. A strategy names its classes ("idiom 1"), and what became of its
 * goals is counted by class.
 *
 * Ownership: whoever has a struct maple_coverage owns its list, unless its
 * comment says otherwise. Zero is an empty one. Context: any thread.
 */
#ifndef MAPLE_GOAL_H
#define MAPLE_GOAL_H

#include <stdbool.h>
#include <stdint.h>

#define MAPLE_CLASSES	 64 /* in a coverage, at most */
#define MAPLE_CLASS_NAME 24 /* bytes, NUL included */
#define MAPLE_GOAL_USES	 8  /* sites that a goal uses, at most */

/* How many goals of a class a campaign or a database has. */
struct maple_class_count {
	char name[MAPLE_CLASS_NAME];
	uint64_t predicted, exposed;
	uint64_t failed; /* tried as often as it is done */
	/* Predicted, and none of these: what may still be tried, ... */
	uint64_t left;
	/*
	 * ... and what is not: a part of it could not be exposed. Of patterns:
	 * for none of the occurrences that were asked about there was an order;
	 * these are not predicted.
	 */
	uint64_t barred;
};

struct maple_coverage {
	unsigned int nclasses;
	struct maple_class_count *class;
};

/*
 * maple_class_is_name - whether @text can be the name of a class: words of
 * lower-case letters, digits and '-', one blank between two; not NULL
 */
bool maple_class_is_name(const char *text);

/*
 * maple_class_number - what @name, or NULL, was before classes had names; 0:
 * none was. Schema 1 and the ids of findings keep these numbers.
 */
unsigned int maple_class_number(const char *name);
/* maple_class_numbered - the class that had @number; NULL: none had */
const char *maple_class_numbered(unsigned int number);

/*
 * maple_coverage_init - all classes of the list @names, which NULL ends, with
 * nothing counted yet; NULL is none. -ENOMEM, or 0
 */
int maple_coverage_init(struct maple_coverage *coverage,
			const char *const *names);
void maple_coverage_deinit(struct maple_coverage *coverage);

/* maple_coverage_clear - the same classes, and nothing counted */
void maple_coverage_clear(struct maple_coverage *coverage);

/*
 * maple_coverage_class - the counts of @name, added behind the others if it is
 * new
 *
 * They may move when another is added. NULL: out of memory, there are
 * MAPLE_CLASSES already, or it is no name.
 */
struct maple_class_count *maple_coverage_class(struct maple_coverage *coverage,
					       const char *name);

/*
 * maple_coverage_noun - what one of its goals is called: "iRoot", "pattern",
 * or, where it counts both, "goal"
 */
const char *maple_coverage_noun(const struct maple_coverage *coverage);

/* maple_coverage_sum - the counts of all classes together, as "all" */
struct maple_class_count
maple_coverage_sum(const struct maple_coverage *coverage);

#endif
