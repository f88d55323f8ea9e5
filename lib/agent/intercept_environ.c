// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The environment as it is natively. What brought the agent in is taken out of
 * it before main(), since programs print their environment, compare it, and
 * pass it on; and it is put before whatever they execute by way of libc, as
 * long as they do not set LD_PRELOAD themselves.
 *
 * What system() and popen() start goes without: nobody can stand between. Nor
 * between a raw execve and its environment, so a program that may only start
 * the one under test (--exe) keeps the variables.
 */
#include <sys/prctl.h>
#include <unistd.h>
#include "core.h"
#include "intercept.h"
#include "raw.h"
#include "shm.h"

#define ROOM	4096 /* for a variable */
#define MOST	1024 /* variables: they are put on a stack that may be small */
#define PRELOAD "LD_PRELOAD="
#define OWN	MAPLE_SHM_OWN "="

/* Empty: nothing is hidden. */
static char preload[ROOM], agent[ROOM], own[ROOM];

static size_t length(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

static bool begins(const char *text, const char *with)
{
	while (*with && *text == *with)
		text++, with++;
	return !*with;
}

static bool same(const char *a, const char *b)
{
	return begins(a, b) && length(a) == length(b);
}

static char *find(char *const *envp, const char *beginning)
{
	for (; envp && *envp; envp++)
		if (begins(*envp, beginning))
			return *envp;
	return NULL;
}

static void keep(char *to, const char *from)
{
	do
		*to++ = *from;
	while (*from++);
}

/* As unsetenv() does. */
static void take(char **envp, const char *variable)
{
	char **to = envp;

	for (; *envp; envp++)
		if (*envp != variable)
			*to++ = *envp;
	*to = NULL;
}

static void blank(char *text)
{
	while (*text)
		*text++ = 0;
}

/*
 * maple_environment_hide - takes the agent's variables out of @envp, which is
 * what the process was executed with, and is to be called before main()
 */
void maple_environment_hide(char **envp)
{
	char *first = find(envp, PRELOAD), *users = find(envp, OWN);
	char *second = find(envp, MAPLE_SHM_ENV "=");
	bool last;

	if (!first || !second || length(first) >= ROOM ||
	    length(second) >= ROOM || (users && length(users) >= ROOM))
		return;
	keep(preload, first);
	keep(agent, second);
	if (users) {
		keep(own, users);
		keep(users, users + sizeof(OWN) - sizeof(PRELOAD));
	}
	/* A constructor before us may have set some. */
	for (int i = 0; i < (environ && environ != envp ? 2 : 1); i++) {
		take(i ? environ : envp, first);
		take(i ? environ : envp, second);
	}
	/* For /proc/self/environ; only root can make it end there as well. */
	last = second == first + length(first) + 1;
	blank(first);
	blank(second);
	if (last)
		raw3(SYS_prctl, PR_SET_MM, PR_SET_MM_ENV_END, first);
}

/* maple_environment_room - entries that maple_environment_add() may need */
size_t maple_environment_room(char *const *envp)
{
	size_t n = 0;

	while (envp && envp[n])
		n++;
	return n < MOST ? n + 4 : 1;
}

/*
 * maple_environment_add - the environment for what the program executes with
 * @envp; in @room, or @envp itself
 *
 * Called between vfork() and exec as well.
 */
char *const *maple_environment_add(char *const *envp, char **room)
{
	const char *theirs = find(envp, PRELOAD);
	bool theirs_own = theirs && own[0] &&
			  same(theirs, own + sizeof(OWN) - sizeof(PRELOAD));
	size_t n = 0;

	if (!preload[0] || (theirs && !theirs_own) ||
	    maple_environment_room(envp) == 1)
		return envp;
	for (; envp && *envp; envp++)
		room[n++] = *envp == theirs ? own : *envp;
	room[n++] = preload;
	room[n++] = agent;
	room[n] = NULL;
	return room;
}
