/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The sessions of hostile.c, by way of mapled, and the probes in them. */
#ifndef MAPLE_TESTS_HOSTILE_SESSIONS_H
#define MAPLE_TESTS_HOSTILE_SESSIONS_H

#include <sys/mman.h>
#include "../../any_plan.h"
#include "hostile_targets.h"

/* ---- what comes of them ---- */

static bool is_secret(uint64_t value)
{
	return value == SECRET || value == SECRET + 1 ||
	       value - SECRET_PAGE < SECRET_SIZE;
}

static void read_log(struct held *h)
{
	static struct maple_log_entry entries[MAPLE_PER_MESSAGE];
	struct maple_error err = { "" };
	int n;

	while ((n = maple_control_log(h->control, entries, &err)) > 0) {
		count(LOGGED);
		for (int i = 0; i < n; i++)
			if (is_secret(entries[i].event.value) ||
			    is_secret(entries[i].event.addr))
				wrong("what a set-user-id program had at %#llx",
				      (unsigned long long)entries[i].event.addr);
		if (chance(4))
			break;
	}
}

/* Counts what has happened to it and its target since it was looked at. */
static void look(struct held *h)
{
	struct maple_control_status status;
	struct maple_error err = { "" };

	if (maple_control_status(h->control, chance(8), &status, &err))
		return;
	free(status.threads);
	if (status.counters.hits > h->hits)
		count_many(HIT, status.counters.hits - h->hits);
	h->hits = status.counters.hits;
	if (h->over || h->pidfd < 0)
		return;
	h->over = true;
	if (status.state == MAPLE_SESSION_BARRED)
		count(BARRED);
	else if (status.state != MAPLE_SESSION_GONE)
		h->over = false;
	else
		count(is_over(h->pidfd) ? DIED : EXECED);
}

/* The target is another one, or none. */
static void forget_session(struct held *h)
{
	if (h->pidfd >= 0)
		close(h->pidfd);
	h->pidfd = -1;
	h->hits = 0;
	h->over = false;
}

static void end_session(struct held *h)
{
	struct maple_error err = { "" };

	if (!h->control)
		return;
	look(h);
	if (chance(2))
		maple_control_stop(h->control, &err);
	if (chance(4))
		read_log(h);
	maple_control_close(h->control);
	h->control = NULL;
	forget_session(h);
}

/* One that there is; or NULL. */
static struct held *any_session(struct actor *a)
{
	unsigned int n = 0, k;

	for (unsigned int i = 0; i < SESSIONS; i++)
		n += a->session[i].control != NULL;
	k = n ? (unsigned int)draw(n) : 0;
	for (unsigned int i = 0; i < SESSIONS; i++)
		if (a->session[i].control && !k--)
			return &a->session[i];
	return NULL;
}

/* ---- probes ---- */

static uint64_t offset_of(const char *label)
{
	return (uint64_t)(label - __ehdr_start);
}

/*
 * Mostly as its instruction is. Where @true_to_it, always: with a plan there
 * are watchpoints, and who steps over an instruction that hits one unannounced
 * brings QEMU's TCG, though no real machine, to trap in the trap's own handler.
 */
static void any_probe(struct maple_uapi_probe *p, bool true_to_it)
{
	static const struct {
		const char *at, *next;
		int64_t disp;
		uint8_t kind;
	} labels[] = { { insn_store, next_store, 0, MAPLE_EV_WRITE },
		       { insn_load, next_load, 0, MAPLE_EV_READ },
		       { insn_lock, next_lock, 8, MAPLE_EV_UPDATE } };
	unsigned int i = (unsigned int)draw(3);

	*p = (struct maple_uapi_probe){
		.offset = offset_of(labels[i].at),
		.next = offset_of(labels[i].next),
		.disp = labels[i].disp,
		.number = i,
		.size = 8,
		.flags = chance(2) ? MAPLE_PROBE_WANTED : 0,
		.kind = labels[i].kind,
		.base = 7, /* rdi */
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};
	if (!true_to_it && chance(4)) { /* another place to look at */
		p->size = 1u << draw(7);
		p->base = (uint8_t)draw(16);
		p->index = (uint8_t)draw(16);
		p->scale = (uint8_t)(1u << draw(4));
		p->disp = (int64_t)draw(100) - 50;
	}
	if (chance(3)) {
		p->offset = offset_of(insn_deep);
		p->next = 0;
		p->number = MAPLE_SITE_NONE;
		p->flags = MAPLE_PROBE_CALL |
			   (chance(2) ? MAPLE_PROBE_RETURN : 0);
		p->kind = MAPLE_EV_BLOCK;
		p->after = p->flags & MAPLE_PROBE_RETURN ? MAPLE_EV_LOCK
							 : MAPLE_EV_NONE;
	}
}

/* At the labels, often many at one offset; whether they are in place. */
static bool probe_file(struct held *h, int fd)
{
	struct maple_uapi_probe probe[32];
	unsigned int n = 1 + (unsigned int)draw(chance(8) ? 32 : 4);
	struct maple_error err = { "" };
	bool same = chance(8);
	bool placed;

	for (unsigned int i = 0; i < n; i++)
		if (i && same)
			probe[i] = probe[i - 1];
		else
			any_probe(&probe[i], h->planned);
	placed = !maple_control_probes(h->control, fd, probe, n, &err);
	count(placed ? PROBED : REFUSED);
	return placed;
}

/* In any file that may be had. */
static void put_probes(struct actor *a, struct held *h)
{
	int fd;

	switch (draw(12)) {
	case 0:
	case 1:
		fd = any_file(a);
		if (fd >= 0)
			count(ODD);
		break;
	case 2:
	case 3:
		fd = open(target_raised, O_RDONLY | O_CLOEXEC);
		break;
	case 4:
	case 5:
		fd = a->nfiles ? dup(a->file[draw(a->nfiles)]) : -1;
		break;
	default:
		fd = open(target_self, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return;
	probe_file(h, fd);
	close(fd);
}

static void name_sites(struct held *h)
{
	struct maple_uapi_site site[4];
	int fd = open(target_self, O_RDONLY | O_CLOEXEC);
	struct maple_error err = { "" };

	for (unsigned int i = 0; i < 4; i++)
		site[i] = (struct maple_uapi_site){
			offset_of(insn_deep) + draw(16),
			MAPLE_SITE_CALL | (uint32_t)draw(100), 0
		};
	maple_control_sites(h->control, fd, site, 1 + draw(4), &err);
	close(fd);
}

/* ---- their begin ---- */

/* Of any shape that is well-formed. */
static void make_plan(struct maple_plan *plan)
{
	static const unsigned int kinds[] = { MAPLE_EV_WRITE, MAPLE_EV_READ,
					      MAPLE_EV_UPDATE };
	struct maple_iroot_event at[3];
	uint64_t seed = draw(UINT32_MAX);

	for (int i = 0; i < 3; i++) {
		at[i].site = (uint32_t)i;
		at[i].kind = kinds[draw(3)];
	}
	any_plan(plan, &seed, at, 3);
}

/* What takes a CPU that it does not have is refused, so seldom asked for. */
static struct maple_control_order any_order(struct actor *a,
					    struct maple_plan *plan)
{
	bool native = a->cpu < 0 && !chance(16);
	struct maple_control_order order = {
		.cpu = chance(16) ? (int)draw(3) : a->cpu,
		.sched = native ? MAPLE_UAPI_NATIVE
				: (uint32_t)draw(__MAPLE_UAPI_SCHED_MAX),
		.seed = draw(1000),
		.changes = (uint32_t)draw(4),
		.deadline_ms = (uint32_t)(slow * (double)(1 + draw(1000))),
	};

	if (order.sched == MAPLE_UAPI_PLAN || (!native && chance(3))) {
		order.sched = MAPLE_UAPI_PLAN;
		make_plan(plan);
		order.plan = plan;
	}
	return order;
}

/* On the target of @pidfd, which it keeps; NULL if it was refused. */
static struct held *begin_on(struct actor *a, int pidfd, bool others)
{
	struct held *h = &a->session[draw(SESSIONS)];
	struct maple_error err = { "" };
	struct maple_control_order order;
	struct maple_plan plan;

	if (!h->control && maple_control_open_by(a->host, &h->control, &err)) {
		h->control = NULL;
		close(pidfd);
		return NULL;
	}
	if (h->pidfd >= 0 && !chance(8)) { /* on another target */
		look(h);
		maple_control_stop(h->control, &err);
	}
	order = any_order(a, &plan);
	order.pidfd = pidfd;
	if (maple_control_start(h->control, &order, &err)) {
		count(others ? FOREIGN : REFUSED);
		close(pidfd);
		return NULL;
	}
	if (others)
		wrong("a session on a process of another user's");
	if (order.cpu >= 0 && order.cpu != a->cpu)
		wrong("CPU %d, which nobody has lent", order.cpu);
	count(SESSION);
	forget_session(h);
	h->pidfd = pidfd;
	h->planned = order.plan != NULL;
	return h;
}

static void begin_session(struct actor *a)
{
	struct held *h = begin_on(a, any_target(a), false);

	while (h && !chance(3))
		put_probes(a, h);
}

/* On what it has no right to: others' processes, and what is no process. */
static void begin_foreign(struct actor *a)
{
	int fd = -1;

	if (nforeign && chance(2)) {
		fd = (int)syscall(SYS_pidfd_open, foreign[draw(nforeign)], 0);
		if (fd >= 0)
			begin_on(a, fd, true);
		return;
	}
	fd = odd_file();
	if (fd < 0)
		return;
	count(ODD);
	begin_on(a, fd, false);
}

/* Begin, probes, a moment for hits, the log, end: at full speed. */
static void strike(struct actor *a)
{
	struct held *h = begin_on(a, any_target(a), false);
	int fd;

	if (!h)
		return;
	if (a->cpu >= 0) {
		fd = open(target_self, O_RDONLY | O_CLOEXEC);
		probe_file(h, fd);
		close(fd);
	}
	target_nap((unsigned int)(slow * 30000));
	look(h);
	if (chance(2))
		read_log(h);
	if (chance(2))
		end_session(h);
}

static void ask_session(struct held *h)
{
	struct maple_uapi_return returns[MAPLE_PER_MESSAGE];
	struct maple_error err = { "" };

	switch (draw(6)) {
	case 0:
		look(h);
		break;
	case 1:
		maple_control_returns(h->control, (uint32_t)draw(8), returns,
				      &err);
		break;
	case 2:
		maple_control_release(h->control, &err);
		break;
	case 3:
		maple_control_resume(h->control, &err);
		break;
	case 4:
		maple_control_stop(h->control, &err);
		break;
	case 5:
		name_sites(h);
		break;
	}
}

/* A member cannot talk to maple.ko but by way of mapled. */
static void ask_kernel(struct actor *a)
{
	struct maple_control_order order = { .cpu = -1, .deadline_ms = 1000 };
	struct maple_error err = { "" };
	struct maple_control *c;

	if (!a->ntargets || maple_control_open(&c, &err))
		return;
	order.pidfd = a->target[draw(a->ntargets)].pidfd;
	if (!maple_control_start(c, &order, &err))
		wrong("a session without mapled");
	maple_control_close(c);
}

#endif
