/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What a client of hostile.c has, and what all of them have done. */
#ifndef MAPLE_TESTS_HOSTILE_ACTOR_H
#define MAPLE_TESTS_HOSTILE_ACTOR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>
#include "backend/kernel/control.h"
#include "host/host.h"

#define TARGETS	 4 /* of an actor */
#define SESSIONS 3
#define FILES	 4

/* What has been done, in all of them. */
enum deed {
	SESSION,
	PROBED,
	LOGGED,
	MOUNTED,
	LEASED,
	STORED,
	ANSWERED,
	REFUSED,
	UNANSWERED,
	KILLED,
	DEEDS,
};

static const char *const deed_names[DEEDS] = {
	"sessions", "probed",	"logged",  "mounted",	 "leased",
	"stored",   "answered", "refused", "unanswered", "killed",
};

static struct {
	_Atomic unsigned long done[DEEDS];
	_Atomic int wrong;
	char what[256]; /* the first of it */
} * shared;

static char folder[256]; /* where we lie, with raised and book */
static pid_t foreign[8]; /* processes of others */
static unsigned int nforeign;

struct actor {
	struct maple_host *host;
	struct {
		pid_t pid;
		int pidfd;
	} target[TARGETS];
	struct maple_control *session[SESSIONS];
	int file[FILES];
	unsigned int ntargets, nfiles;
	int cpu;
};

static void count(enum deed deed)
{
	shared->done[deed]++;
}

static __attribute__((format(printf, 1, 2))) void wrong(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (!shared->wrong++)
		vsnprintf(shared->what, sizeof(shared->what), format, ap);
	va_end(ap);
}

/* Where maple.ko is not loaded, there are no sessions. */
static inline bool deed_needed(enum deed deed)
{
	bool module = !access("/sys/module/maple", F_OK);

	return deed < REFUSED && (module || deed > LOGGED);
}

static inline int report(void)
{
	bool all = true;

	for (unsigned int i = 0; i < DEEDS; i++) {
		printf("%s%lu %s", i ? ", " : "", shared->done[i],
		       deed_names[i]);
		all &= shared->done[i] || !deed_needed(i);
	}
	putchar('\n');
	if (shared->wrong)
		printf("it got %s\n", shared->what);
	else if (!all)
		puts("it could not do its worst");
	return shared->wrong || !all;
}

#endif
