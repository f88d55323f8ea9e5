// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The session is put where everybody sees it before its name is set. Whoever
 * is quick uses a session without a name.
 *
 * Idiom: 1
 * iRoot: R:33 -> W:24
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <stddef.h>

struct session {
	char *name;
};

static struct session *current;

static void *login(void *arg)
{
	static struct session session;

	current = &session;
	session.name = arg; /* e1 */
	return NULL;
}

static void *greet(void *arg)
{
	char *name, *first = arg;

	if (current) {
		name = current->name; /* e0 */
		*first = name[0];
	}
	return NULL;
}

int main(void)
{
	char name[] = "maple", first = 0;
	pthread_t a, b;

	pthread_create(&a, NULL, login, name);
	pthread_create(&b, NULL, greet, &first);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
