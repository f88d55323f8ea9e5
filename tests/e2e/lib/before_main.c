// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Preloaded into a program, this has a constructor do what BEFORE_MAIN says,
 * in programs named "where" alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static void *sleeper(void *unused)
{
	pause();
	return NULL;
}

static void tell(void)
{
	setenv("FORKED", "yes", 1);
}

static void do_it(const char *what)
{
	const struct itimerval soon = { .it_value.tv_sec = 1000 };
	pthread_t t;
	int fds[2];

	if (!strcmp(what, "threads"))
		pthread_create(&t, NULL, sleeper, NULL);
	else if (!strcmp(what, "files") && pipe(fds))
		abort();
	else if (!strcmp(what, "timers"))
		setitimer(ITIMER_REAL, &soon, NULL);
	else if (!strcmp(what, "memory"))
		mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	else if (!strcmp(what, "words") && write(1, "words\n", 6) != 6)
		abort();
	else if (!strcmp(what, "device") &&
		 open("/dev/zero", O_RDONLY | O_CLOEXEC) < 0)
		abort();
	else if (!strcmp(what, "handler"))
		pthread_atfork(NULL, NULL, tell);
	else if (!strcmp(what, "children") && !fork())
		_exit(0);
}

__attribute__((constructor)) static void before_main(void)
{
	const char *what = getenv("BEFORE_MAIN");

	if (what && !strcmp(program_invocation_short_name, "where"))
		do_it(what);
}
