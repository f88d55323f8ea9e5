/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Suppressions: findings that are known and shall not count, in the grammar
 * that ThreadSanitizer uses. A line is TYPE:PATTERN, or empty, or a comment
 * that begins with '#'. A pattern matches any part of a name; '*' stands for
 * anything, '^' at the beginning and '$' at the end tie it to the ends.
 *
 * A function is matched by its short name, "store::Cache::put", and by its
 * whole one, "store::Cache<int>::put(int const&)". So is a block of memory,
 * "malloc at q.c:12 + 8", that is "malloc at q.c:12 (2nd by 0.1) + 8".
 *
 * What is matched, by type:
 *
 * race		 a failure other than a deadlock or a hang: function, source
 *		 file and image of each access of the order and of each frame
 *		 of the failed threads, the variables and where their memory
 *		 came from
 * race_top	 the same failures: the accesses, and the innermost frames
 * deadlock	 a deadlock: the locks, where they are waited for and were
 *		 acquired, and the frames of all threads
 * mutex	 a wrong use of locks: a thread that waits for itself, or a
 *		 failure whose forced order is one of locks; as for deadlock
 * thread	 a hang, so that some thread never ends: frames of all threads
 * signal	 a failure within a signal handler: frames of the failed thread
 * called_from_lib  a failure with an access of the order made from an image
 *		 of that name, or without an order, whose innermost frame is
 * violation	 of an atomic set, which no other type matches: function, source
 *		 file and image of each access, who called, the variables and
 *		 where their memory came from, and the name of the set
 *
 * Context: a struct maple_suppressions belongs to one thread at a time.
 */
#ifndef MAPLE_SUPPRESSIONS_H
#define MAPLE_SUPPRESSIONS_H

#include <stddef.h>
#include <maple/error.h>
#include <maple/finding.h>

struct maple_suppressions;

/*
 * maple_suppressions_read - the suppressions of a file
 * @suppressions: to be freed with maple_suppressions_destroy()
 *
 * Errors: -EINVAL a line is none, named as FILE:LINE; -EIO it cannot be read;
 * -ENOMEM; what opening it says.
 */
int maple_suppressions_read(const char *path,
			    struct maple_suppressions **suppressions,
			    struct maple_error *err);
void maple_suppressions_destroy(struct maple_suppressions *suppressions);

/*
 * maple_suppressions_match - the first suppression that matches @finding
 *
 * Counts its use. Returns its text, "race:foo", owned by @suppressions, or
 * NULL; @suppressions may be NULL.
 */
const char *maple_suppressions_match(struct maple_suppressions *suppressions,
				     const struct maple_finding *finding);

/*
 * maple_suppressions_unused - one that has matched nothing yet
 * @i: 0 for the first of them, 1 for the second, ...
 * @line: of the file
 *
 * Returns its text, or NULL behind the last one.
 */
const char *
maple_suppressions_unused(const struct maple_suppressions *suppressions,
			  size_t i, unsigned int *line);

#endif
