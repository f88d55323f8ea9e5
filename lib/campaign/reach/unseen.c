// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Threads that were created, and have not run in any profile run so far: of
 * what they do nothing is known, so nobody can say that all of it was tried.
 * That comes of main() returning without joining them, say, in a schedule that
 * puts them last.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "base/table.h"
#include "campaign/internal.h"

/* A thread by its lasting name; one that has run stays, so as to be known. */
struct maple_unseen {
	char name[MAPLE_PLAN_NAME]; /* the key */
	bool ran;
	UT_hash_handle hh;
};

static struct maple_unseen *get(struct maple_unseen **all, const char *name)
{
	struct maple_unseen *u;

	HASH_FIND_STR(*all, name, u);
	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	snprintf(u->name, sizeof(u->name), "%s", name);
	HASH_ADD_STR(*all, name, u);
	return u;
}

/* maple_unseen_learn - after a profile run; without all events, less */
int maple_unseen_learn(struct maple_campaign *c, const struct maple_trial *trial)
{
	const struct maple_run *run = &trial->run;
	struct maple_unseen *u;
	unsigned int i;

	for (i = 0; i < run->nthreads && i < MAPLE_THREADS; i++) {
		if (!*run->threads[i].name ||
		    (!trial->ran[i] && (run->lost || !c->subject->from_start)))
			continue;
		u = get(&c->unseen, run->threads[i].name);
		if (!u)
			return maple_error_set(c->err, ENOMEM, "out of memory");
		u->ran |= trial->ran[i];
	}
	return 0;
}

/* maple_unseen_any - whether there is one */
bool maple_unseen_any(const struct maple_campaign *c)
{
	struct maple_unseen *u, *next;

	HASH_ITER (hh, c->unseen, u, next)
		if (!u->ran)
			return true;
	return false;
}

/* maple_unseen_names - "0.2, 0.3", to be freed; NULL: there is none */
char *maple_unseen_names(const struct maple_campaign *c)
{
	struct maple_unseen *u, *next;
	const char *before = "";
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!maple_unseen_any(c))
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	HASH_ITER (hh, c->unseen, u, next) {
		if (u->ran)
			continue;
		fprintf(out, "%s%s", before, u->name);
		before = ", ";
	}
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

void maple_unseen_deinit(struct maple_campaign *c)
{
	maple_table_clear(c->unseen);
}
