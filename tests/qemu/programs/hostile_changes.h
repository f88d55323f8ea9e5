/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What happens to the targets and the files of hostile.c under its sessions. */
#ifndef MAPLE_TESTS_HOSTILE_CHANGES_H
#define MAPLE_TESTS_HOSTILE_CHANGES_H

#include "hostile_sessions.h"

static const struct target_kind *kind_named(const char *name)
{
	for (size_t i = 0; i < TARGET_KINDS; i++)
		if (!strcmp(target_kinds[i].name, name))
			return &target_kinds[i];
	abort();
}

/* Waits, not for long, until the end of its target was counted. */
static void await_end(struct held *h)
{
	for (int i = 0; i < 20 * slow && !h->over; i++) {
		usleep(10000);
		look(h);
	}
}

/* Its target execs itself, or what has other rights, or ends. */
static void change_target(struct actor *a)
{
	static const char *const kinds[] = { "execs", "execs", "raises", "end",
					     "crash" };
	const char *kind = kinds[draw(5)];
	struct target *t = add_target(a, kind_named(kind), -1);
	struct held *h = begin_on(a, dup(t->pidfd), false);

	if (!h)
		return;
	while (!chance(3))
		put_probes(a, h);
	await_end(h);
	if (chance(2))
		end_session(h);
}

/* A file system goes while there are probes in it, and may be code. */
static void unmount_under(struct actor *a)
{
	int gone, fd = a->cpu < 0 ? -1 : mounted_file(&gone);
	struct target *t;
	struct held *h;
	char c;

	if (fd < 0)
		return;
	t = add_target(a, kind_named("sleep"), chance(2) ? fd : -1);
	h = begin_on(a, dup(t->pidfd), false);
	if (h && probe_file(h, fd)) {
		close(fd);
		if (chance(2))
			forget_target(a, (unsigned int)(t - a->target));
		/* Who has mounted it ends now, and with it its namespace. */
		shutdown(gone, SHUT_WR);
		if (read(gone, &c, 1) == 0)
			count(UNMOUNTED);
		look(h);
		if (chance(2))
			end_session(h);
	} else {
		close(fd);
	}
	close(gone);
}

/* A file is cut off, written to, replaced or removed under its probes. */
static void change_under(struct actor *a)
{
	unsigned int number = (unsigned int)draw(8);
	int fd = a->cpu < 0 ? -1 : make_copy(number);
	struct target *t;
	struct held *h;

	if (fd < 0)
		return;
	t = add_target(a, kind_named("sleep"), fd);
	h = begin_on(a, dup(t->pidfd), false);
	if (h && probe_file(h, fd)) {
		if (chance(2))
			target_nap((unsigned int)(slow * 20000));
		if (change_copy(number))
			count(CHANGED);
		if (chance(2))
			probe_file(h, fd);
		look(h);
		if (chance(2))
			end_session(h);
	}
	close(fd);
}

#endif
