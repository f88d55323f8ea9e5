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
#include "agent/core.h"
#include "intercept.h"
#include "agent/raw.h"
#include "abi/shm.h"

#define ROOM 4096 /* for a variable */
#define MOST 1024 /* variables: they are put on a stack that may be small */
#define MARK MAPLE_SHM_MARK

/* Of ours; empty: it is not hidden. And the user's of that name. */
struct variable {
	const char *name;
	char ours[ROOM], users[ROOM];
};

static struct variable hidden[] = {
	{ .name = "LD_PRELOAD=" },
	{ .name = MAPLE_SHM_ASAN "=" }, /* with --exe */
	{ .name = MAPLE_SHM_ENV "=" },
};

#define ASAN   1
#define HIDDEN (sizeof(hidden) / sizeof(*hidden))

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

static char *find(char *const *envp, const char *mark, const char *name)
{
	for (; envp && *envp; envp++)
		if (begins(*envp, mark) && begins(*envp + length(mark), name))
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

	for (; envp && *envp; envp++)
		if (*envp != variable)
			*to++ = *envp;
	if (envp)
		*to = NULL;
}

static void hide(char **envp, struct variable *v)
{
	char *ours = find(envp, "", v->name);
	char *users = find(envp, MARK, v->name);

	if (!ours || length(ours) >= ROOM || (users && length(users) >= ROOM))
		return;
	keep(v->ours, ours);
	if (users) {
		keep(v->users, users);
		keep(users, users + length(MARK));
		/* What is left of it, for /proc/self/environ. */
		for (users += length(users); *++users;)
			*users = 0;
	}
	take(envp, ours);
	/* A constructor before us may have set some. */
	if (environ != envp)
		take(environ, ours);
	for (; *ours; ours++)
		*ours = 0;
}

/*
 * maple_environment_hide - takes the agent's variables out of @envp, which is
 * what the process was executed with, and is to be called before main()
 * @exe: with --exe
 */
void maple_environment_hide(char **envp, bool exe)
{
	/* They are the last ones. */
	char *first = find(envp, "", hidden[0].name), *at = first;
	char *last = find(envp, "", hidden[HIDDEN - 1].name);

	if (!first || !last)
		return;
	last += length(last);
	for (unsigned int i = 0; i < HIDDEN; i++)
		if (i != ASAN || exe)
			hide(envp, &hidden[i]);
	/* For /proc/self/environ, where only root can do it. */
	while (at < last && !*at)
		at++;
	if (at == last)
		raw3(SYS_prctl, PR_SET_MM, PR_SET_MM_ENV_END, first);
}

/* maple_environment_room - entries that maple_environment_add() may need */
size_t maple_environment_room(char *const *envp)
{
	size_t n = 0;

	while (envp && envp[n])
		n++;
	return n < MOST ? n + HIDDEN + 1 : 1;
}

/* The program has not set it to anything else. */
static bool is_native(char *const *envp, const struct variable *v)
{
	const char *has = find(envp, "", v->name);
	const char *users = v->users + length(MARK);

	return !has || (v->users[0] && begins(has, users) &&
			length(has) == length(users));
}

/*
 * maple_environment_add - the environment for what the program executes with
 * @envp; in @room, or @envp itself
 *
 * Called between vfork() and exec as well.
 */
char *const *maple_environment_add(char *const *envp, char **room)
{
	size_t n = 0;

	if (!hidden[0].ours[0] || !is_native(envp, &hidden[0]) ||
	    maple_environment_room(envp) == 1)
		return envp;
	for (; envp && envp[n]; n++)
		room[n] = envp[n];
	room[n] = NULL;
	for (struct variable *v = hidden; v < hidden + HIDDEN; v++) {
		if (!v->ours[0] || !is_native(envp, v))
			continue;
		for (size_t i = 0; v->users[0] && room[i]; i++)
			if (begins(room[i], v->name))
				room[i] = v->users;
		room[n++] = v->ours;
		room[n] = NULL;
	}
	return room;
}
