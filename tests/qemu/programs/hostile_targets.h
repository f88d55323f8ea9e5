/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The processes that hostile.c has sessions on: its own, see erratic.h. */
#ifndef MAPLE_TESTS_HOSTILE_TARGETS_H
#define MAPLE_TESTS_HOSTILE_TARGETS_H

#include <poll.h>
#include "hostile_files.h"

static bool is_over(int pidfd)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };

	return poll(&pfd, 1, 0) != 0;
}

static void forget_target(struct actor *a, unsigned int i)
{
	kill(a->target[i].pid, SIGKILL);
	waitpid(a->target[i].pid, NULL, WNOHANG);
	close(a->target[i].pidfd);
	a->target[i] = a->target[--a->ntargets];
}

/* Room for one more: in place of one that has ended, or of any. */
static void make_room(struct actor *a)
{
	for (unsigned int i = a->ntargets; i-- > 0;)
		if (is_over(a->target[i].pidfd))
			forget_target(a, i);
	if (a->ntargets == TARGETS)
		forget_target(a, (unsigned int)draw(TARGETS));
}

/* One of @kind, or, with @fd, one that executes the code in that. */
static struct target *add_target(struct actor *a,
				 const struct target_kind *kind, int fd)
{
	struct target *t;
	pid_t pid;

	make_room(a);
	pid = fork();
	if (!pid) {
		/* The actor may be killed, and it must not stay for ever. */
		alarm((unsigned int)(slow * (double)(1 + draw(3))));
		/* It leaves the CPU to those who ask. */
		if (!chance(8) && nice(15) < 0)
			_exit(1);
		draw_seed(draw_state + (uint64_t)getpid());
		if (fd >= 0)
			target_mapped(fd);
		/* Some keep open what they inherit: it outlives the actor. */
		if (!chance(8))
			close_range(3, ~0u, 0);
		if (chance(4))
			execl(target_self, "hostile", "target", kind->name,
			      NULL);
		target_run(kind);
	}
	t = &a->target[a->ntargets++];
	t->pid = pid;
	t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return t;
}

static void start_target(struct actor *a)
{
	int fd = a->nfiles && chance(3) ? a->file[draw(a->nfiles)] : -1;

	add_target(a, &target_kinds[draw(TARGET_KINDS)], fd);
}

static void disturb_target(struct actor *a)
{
	static const int signals[] = { SIGKILL, SIGSTOP, SIGCONT,
				       SIGCONT, SIGSEGV, SIGTERM };

	if (a->ntargets)
		kill(a->target[draw(a->ntargets)].pid,
		     signals[draw(sizeof(signals) / sizeof(*signals))]);
}

/* A pidfd, mostly of one that lives; the caller's to close. */
static int any_target(struct actor *a)
{
	const struct target *t;

	for (int tries = 0; tries < 4; tries++) {
		if (!a->ntargets)
			start_target(a);
		t = &a->target[draw(a->ntargets)];
		if (!is_over(t->pidfd))
			return dup(t->pidfd);
		start_target(a);
	}
	return dup(a->target[0].pidfd);
}

#endif
