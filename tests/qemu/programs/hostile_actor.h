/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What a client of hostile.c has, and what all of them have done. */
#ifndef MAPLE_TESTS_HOSTILE_ACTOR_H
#define MAPLE_TESTS_HOSTILE_ACTOR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>
#include "backend/kernel/module/control.h"
#include "host/host.h"

#define TARGETS	 2 /* of an actor */
#define SESSIONS 3
#define FILES	 4

/*
 * What has been done, in all of them, and how often it has to be in a minute:
 * with maple.ko, on a kernel that does not watch itself.
 */
#define HOSTILE_DEEDS(D)                                                  \
	D(SESSION, "sessions", 200)    /* begun */                        \
	D(PROBED, "probed", 60)	       /* messages that placed probes */  \
	D(HIT, "hits", 500)	       /* of probes, as sessions count */ \
	D(EXECED, "execs", 8)	       /* of targets in their session */  \
	D(BARRED, "barred", 10)	       /* ... with other rights */        \
	D(DIED, "deaths", 20)	       /* of targets in their session */  \
	D(UNMOUNTED, "unmounted", 8)   /* file systems with probes */     \
	D(CHANGED, "changed", 8)       /* files with probes: cut, gone */ \
	D(ODD, "odd files", 50)	       /* descriptors that are no code */ \
	D(FOREIGN, "foreign", 20)      /* sessions on others, refused */  \
	D(LOGGED, "logged", 40)	       /* messages of log entries */      \
	D(LEASED, "leased", 30)	       /* a CPU */                        \
	D(STORED, "stored", 10)	       /* findings */                     \
	D(ANSWERED, "answered", 200)   /* requests at random, granted, */ \
	D(REFUSED, "refused", 0)       /* ... and not */                  \
	D(UNANSWERED, "unanswered", 0) /* their client sent away */       \
	D(KILLED, "killed", 0)	       /* clients that took too long */

enum deed {
#define D(NAME, text, least) NAME,
	HOSTILE_DEEDS(D)
#undef D
		DEEDS
};

static const struct {
	const char *name;
	unsigned int least;
} deeds[DEEDS] = {
#define D(NAME, text, least) { text, least },
	HOSTILE_DEEDS(D)
#undef D
};

static struct {
	_Atomic unsigned long done[DEEDS];
	_Atomic int wrong;
	char what[256]; /* the first of it */
} * shared;

static double slow = 1; /* so many times the time for the same */

static char folder[256]; /* where we lie, with raised and book */
static pid_t foreign[8]; /* processes of others */
static unsigned int nforeign;

struct target {
	pid_t pid;
	int pidfd;
};

struct held {
	struct maple_control *control; /* NULL: there is none */
	int pidfd;		       /* its target's, or -1 */
	uint64_t hits;		       /* that were counted */
	bool planned;		       /* it forces an order */
	bool over;		       /* its target's end was counted */
};

struct actor {
	struct maple_host *host;
	struct target target[TARGETS];
	struct held session[SESSIONS];
	int file[FILES];
	unsigned int ntargets, nfiles;
	int cpu;
};

static void count_many(enum deed deed, uint64_t n)
{
	shared->done[deed] += n;
}

static void count(enum deed deed)
{
	count_many(deed, 1);
}

static __attribute__((format(printf, 1, 2))) void wrong(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (!shared->wrong++)
		vsnprintf(shared->what, sizeof(shared->what), format, ap);
	va_end(ap);
}

/* What @deed takes in @minutes; where maple.ko is not loaded, no sessions. */
static inline unsigned long deed_least(enum deed deed, double minutes)
{
	static int module = -1;
	double least = deeds[deed].least * minutes;

	if (module < 0)
		module = !access("/sys/module/maple", F_OK);
	if (least <= 0 || (!module && deed < LEASED))
		return 0;
	return least < 1 ? 1 : (unsigned long)least;
}

/* How much of what is to be done in @minutes has been. */
static inline unsigned long done_of(double minutes)
{
	unsigned long sum = 0;

	for (unsigned int i = 0; i < DEEDS; i++) {
		unsigned long least = deed_least((enum deed)i, minutes);
		unsigned long done = shared->done[i];

		sum += done < least ? done : least;
	}
	return sum;
}

static inline bool done_enough(double minutes)
{
	for (unsigned int i = 0; i < DEEDS; i++)
		if (shared->done[i] < deed_least((enum deed)i, minutes))
			return false;
	return true;
}

static inline int report(double minutes)
{
	for (unsigned int i = 0; i < DEEDS; i++)
		printf("%s%lu %s", i ? ", " : "", shared->done[i],
		       deeds[i].name);
	putchar('\n');
	for (unsigned int i = 0; i < DEEDS; i++)
		if (shared->done[i] < deed_least((enum deed)i, minutes))
			printf("too few: %lu %s, not %lu\n", shared->done[i],
			       deeds[i].name, deed_least((enum deed)i, minutes));
	if (shared->wrong)
		printf("it got %s\n", shared->what);
	return shared->wrong || !done_enough(minutes);
}

#endif
