/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_SUITE_FRAMEWORK_H
#define MAPLE_SUITE_FRAMEWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <maple/error.h>
#include "suite/ask.h"

#define MAPLE_FRAMEWORK_WORDS 4

/* Cases, by name, in the program's order. */
struct maple_names {
	char **at; /* owned, as are the names */
	unsigned int n;
	unsigned int disabled; /* not among them */
};

int maple_names_add(struct maple_names *names, const char *name, size_t length);
void maple_names_deinit(struct maple_names *names);

/* How the programs of a framework are asked, and told what to do. */
struct maple_framework {
	const char *name;
	const char *list[MAPLE_FRAMEWORK_WORDS]; /* the question */
	/* Whether this is the framework's answer; it then fills in @names. */
	bool (*read)(const struct maple_answer *answer,
		     struct maple_names *names);
	/*
	 * A second question, or NULL, and what its answer adds: names where
	 * the first one had none, or how many are left out. Returns whether
	 * the two agree.
	 */
	const char *more[2][MAPLE_FRAMEWORK_WORDS]; /* the first that serves */
	bool (*add)(const struct maple_answer *answer,
		    struct maple_names *names);
	const char *before; /* a word in front of the name, or NULL */
	const char *prefix; /* in the word of the name, or "" */
	/* Writes the name so that it is taken as it stands; or NULL: as is. */
	void (*write)(FILE *out, const char *name);
	const char *forbidden; /* characters that it cannot be given with */
};

extern const struct maple_framework maple_frameworks[];
extern const unsigned int maple_frameworks_n;

#endif
