// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Random programs: main creates two to four workers, joins them, and may take
 * part. Each worker is a straight line (loops are unrolled) over a few
 * variables and locks, short enough for the exhaustive search.
 */
#include <stdio.h>
#include <string.h>
#include "simulate.h"

const char *const family_names[FAMILIES] = {
	"plain",    "locks",   "sync",	 "loops",   "all",
	"nested",   "workers", "update", "rwlock",  "trylock",
	"condwait", "bytes",   "spin",	 "objects", "sleeps",
};

struct maker {
	struct random *r;
	int family;
	int nvars, nlocks, nworkers;
	bool locks, loops, barrier;
	uint32_t site;
	uint8_t unit; /* of the latest method */
	bool overflow;
};

struct body {
	int n;
	struct op op[MAX_OPS];
};

uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

unsigned int random_below(struct random *r, unsigned int n)
{
	return random_next(r) % n;
}

bool random_percent(struct random *r, unsigned int percent)
{
	return random_below(r, 100) < percent;
}

static void body_insert(struct maker *m, struct body *b, int at, struct op op)
{
	if (b->n >= MAX_OPS) {
		m->overflow = true;
		return;
	}
	memmove(b->op + at + 1, b->op + at, (b->n - at) * sizeof(op));
	b->op[at] = op;
	b->n++;
}

static void body_add(struct maker *m, struct body *b, struct op op)
{
	body_insert(m, b, b->n, op);
}

static struct op op_access(struct maker *m)
{
	struct op op = {
		.kind = OP_ACCESS,
		.access = random_percent(m->r, 50) ? MAPLE_EV_READ
						   : MAPLE_EV_WRITE,
		.site = m->site++,
		.addr = VAR_ADDR + 16 * random_below(m->r, m->nvars),
		.size = 2 * GRAIN,
	};

	if (m->family == FAMILY_UPDATE && random_percent(m->r, 40))
		op.access = MAPLE_EV_UPDATE;
	if (m->family == FAMILY_BYTES && random_percent(m->r, 50)) {
		op.size = GRAIN;
		op.addr += GRAIN * random_below(m->r, 2);
	}
	return op;
}

static struct op op_lock(struct maker *m, int kind, int lock, bool shared)
{
	return (struct op){
		.kind = kind,
		.access = kind == OP_UNLOCK || kind == OP_CWAIT ? MAPLE_EV_UNLOCK
								: MAPLE_EV_LOCK,
		.object = lock,
		.shared = shared,
		.site = m->site++,
		.addr = LOCK_ADDR + 64 * lock,
		.size = 1,
	};
}

/* A critical section of one or two accesses, maybe with one inside. */
static int add_section(struct maker *m, struct body *b)
{
	int lock = random_below(m->r, m->nlocks);
	int inside = 1 + random_below(m->r, 2), n = inside;
	bool nested = m->nlocks > 1 &&
		      random_percent(m->r, m->family == FAMILY_NESTED ? 90 : 30);
	bool shared = m->family == FAMILY_RWLOCK && random_percent(m->r, 50);
	bool try = m->family == FAMILY_TRYLOCK && random_percent(m->r, 50);

	body_add(m, b, op_lock(m, try ? OP_TRYLOCK : OP_LOCK, lock, shared));
	while (inside--)
		body_add(m, b, op_access(m));
	if (nested) {
		body_add(m, b, op_lock(m, OP_LOCK, 1 - lock, false));
		body_add(m, b, op_access(m));
		n++;
		body_add(m, b, op_lock(m, OP_UNLOCK, 1 - lock, false));
		if (random_percent(m->r, 50)) {
			body_add(m, b, op_access(m));
			n++;
		}
	}
	body_add(m, b, op_lock(m, OP_UNLOCK, lock, shared));
	return n;
}

/*
 * A method of one of two objects with two fields: all of it in a section, each
 * access in one, or none in any.
 */
static int add_method(struct maker *m, struct body *b)
{
	uint32_t object = VAR_ADDR + 32 * random_below(m->r, 2);
	int n = 2 + random_below(m->r, 2), how = random_below(m->r, 3);
	int lock = random_below(m->r, m->nlocks);

	m->unit++;
	for (int i = 0; i < n; i++) {
		struct op op = op_access(m);

		op.addr = object + 16 * random_below(m->r, 2);
		op.unit = m->unit;
		if (how == 1 || (how == 2 && !i))
			body_add(m, b, op_lock(m, OP_LOCK, lock, false));
		body_add(m, b, op);
		if (how == 1 || (how == 2 && i == n - 1))
			body_add(m, b, op_lock(m, OP_UNLOCK, lock, false));
	}
	return n;
}

/* Methods, and accesses in between; now and then one is called once more. */
static void make_methods(struct maker *m, struct body *b, int most)
{
	int from, end;

	b->n = 0;
	for (int i = 0; i < most - 1;) {
		if (random_percent(m->r, 30)) {
			body_add(m, b, op_access(m));
			i++;
			continue;
		}
		from = b->n;
		i += add_method(m, b);
		end = b->n;
		if (!random_percent(m->r, 25))
			continue;
		m->unit++;
		for (int k = from; k < end; k++) {
			struct op op = b->op[k];

			op.unit = op.unit ? m->unit : 0;
			body_add(m, b, op);
		}
	}
}

/* Two or three rounds; in some loops the variable goes with the round. */
static int add_loop(struct maker *m, struct body *b)
{
	struct body once = { 0 };
	int rounds = 2 + random_below(m->r, 2);
	int n = 1 + random_below(m->r, 2);
	bool locked = m->locks && random_percent(m->r, 50);
	int lock = random_below(m->r, m->nlocks);
	bool walks = random_below(m->r, 3) == 0;

	if (locked)
		body_add(m, &once, op_lock(m, OP_LOCK, lock, false));
	for (int i = 0; i < n; i++)
		body_add(m, &once, op_access(m));
	if (locked)
		body_add(m, &once, op_lock(m, OP_UNLOCK, lock, false));
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < once.n; i++) {
			struct op op = once.op[i];
			int var = (op.addr - VAR_ADDR) / 16;

			if (walks && op.kind == OP_ACCESS)
				op.addr = VAR_ADDR + op.addr % 16 +
					  16 * ((var + round) % m->nvars);
			body_add(m, b, op);
		}
	}
	return n;
}

static void make_body(struct maker *m, struct body *b, int most)
{
	struct op barrier = { .kind = OP_BARRIER };
	int length = 3 + random_below(m->r, most - 2);
	int barrier_at = m->barrier ? (int)random_below(m->r, length) : -1;

	b->n = 0;
	for (int i = 0; i < length;) {
		int x = random_below(m->r, 100);

		if (barrier_at >= 0 && i >= barrier_at) {
			body_add(m, b, barrier);
			barrier_at = -1;
		}
		if (m->locks && x < (m->family == FAMILY_NESTED ? 75 : 45)) {
			i += add_section(m, b);
		} else if (m->loops && x < 70 && i < length - 1) {
			i += add_loop(m, b);
		} else {
			body_add(m, b, op_access(m));
			i++;
		}
	}
	if (barrier_at >= 0)
		body_add(m, b, barrier);
}

/* Whether an operation may stand at @at: locks held there, barrier passed. */
static bool place_is_clear(const struct body *b, int at)
{
	int depth = 0;

	for (int i = 0; i < at; i++) {
		if (b->op[i].kind == OP_LOCK || b->op[i].kind == OP_TRYLOCK)
			depth++;
		if (b->op[i].kind == OP_UNLOCK)
			depth--;
	}
	for (int i = at; i < b->n && depth == 0; i++) {
		if (b->op[i].kind == OP_BARRIER)
			return false;
	}
	return depth == 0;
}

static int clear_place(struct maker *m, const struct body *b)
{
	for (int i = 0; i < 20; i++) {
		int at = random_below(m->r, b->n + 1);

		if (place_is_clear(b, at))
			return at;
	}
	return b->n;
}

/* One worker sets an event, another waits for it, in one way or another. */
static void add_event(struct maker *m, struct body *body, int event)
{
	int from = random_below(m->r, m->nworkers);
	int to = (from + 1 + random_below(m->r, m->nworkers - 1)) % m->nworkers;
	struct op set = { .kind = OP_SET, .event = event };
	struct op wait = { .kind = OP_WAIT, .event = event };
	int at = clear_place(m, &body[to]);

	if (m->family == FAMILY_SPIN)
		wait.kind = OP_SPIN;
	if (m->family == FAMILY_CONDWAIT) {
		int lock = random_below(m->r, m->nlocks);
		struct op back = op_lock(m, OP_CWAIT, lock, false);

		back.event = event;
		body_insert(m, &body[to], at,
			    op_lock(m, OP_UNLOCK, lock, false));
		body_insert(m, &body[to], at, op_access(m));
		back.kind = OP_CWAKE;
		back.access = MAPLE_EV_LOCK;
		body_insert(m, &body[to], at, back);
		back.kind = OP_CWAIT;
		back.access = MAPLE_EV_UNLOCK;
		body_insert(m, &body[to], at, back);
		body_insert(m, &body[to], at, op_access(m));
		body_insert(m, &body[to], at, op_lock(m, OP_LOCK, lock, false));
	} else {
		body_insert(m, &body[to], at, wait);
	}
	/* Before the setter's barrier is fine: it waits for nobody there. */
	at = random_below(m->r, body[from].n + 1);
	for (int i = 0; i < at; i++) {
		/* Not in a section that may be skipped. */
		if (body[from].op[i].kind == OP_TRYLOCK)
			at = i;
	}
	body_insert(m, &body[from], at, set);
}

static void link_skips(struct program *p)
{
	for (int t = 0; t < p->nthreads; t++) {
		for (int i = 0; i < p->nops[t]; i++) {
			struct op *op = &p->op[t][i];
			int j = i + 1;

			if (op->kind == OP_CWAIT)
				op->target = i + 2;
			if (op->kind != OP_TRYLOCK)
				continue;
			while (p->op[t][j].kind != OP_UNLOCK ||
			       p->op[t][j].object != op->object)
				j++;
			op->target = j + 1;
		}
	}
}

static void make_main(struct maker *m, struct program *p)
{
	bool takes_part = random_percent(m->r, 50);
	struct body b = { 0 };

	if (takes_part && random_percent(m->r, 50))
		body_add(m, &b, op_access(m));
	for (int w = 1; w <= m->nworkers; w++) {
		body_add(m, &b, (struct op){ .kind = OP_CREATE, .object = w });
		if (takes_part && random_below(m->r, 3) == 0)
			body_add(m, &b, op_access(m));
	}
	for (int i = takes_part ? random_below(m->r, 3) : 0; i > 0; i--)
		body_add(m, &b, op_access(m));
	for (int w = 1; w <= m->nworkers; w++)
		body_add(m, &b, (struct op){ .kind = OP_JOIN, .object = w });
	if (takes_part && random_percent(m->r, 50))
		body_add(m, &b, op_access(m));
	p->nops[0] = b.n;
	memcpy(p->op[0], b.op, sizeof(b.op));
}

static void maker_init(struct maker *m, struct random *r, int family)
{
	bool some = random_percent(r, 50);

	*m = (struct maker){
		.r = r,
		.family = family,
		.nworkers = family == FAMILY_WORKERS ? 4
						     : 2 + random_percent(r, 45),
		.nvars = 2 + random_below(r, 2),
		.nlocks = family == FAMILY_NESTED ? 2 : 1 + random_below(r, 2),
	};
	m->loops = family == FAMILY_LOOPS || family == FAMILY_ALL ||
		   family == FAMILY_WORKERS;
	m->locks = family == FAMILY_PLAIN ? false
		   : family == FAMILY_LOOPS || family == FAMILY_ALL ||
				   family == FAMILY_UPDATE ||
				   family == FAMILY_BYTES
			   ? some
			   : true;
	if (family == FAMILY_SYNC || family == FAMILY_ALL)
		m->barrier = random_percent(r, family == FAMILY_ALL ? 25 : 50);
}

bool program_make(struct program *p, struct random *r, int family)
{
	struct maker maker, *m = &maker;
	struct body body[MAX_THREADS];
	bool twins = random_percent(r, 50);
	bool event = family == FAMILY_CONDWAIT || family == FAMILY_SPIN;

	maker_init(m, r, family);
	event |= (family == FAMILY_SYNC &&
		  (!m->barrier || random_percent(r, 50)));
	event |= family == FAMILY_ALL && !m->barrier && random_percent(r, 50);
	for (int w = 0; w < m->nworkers; w++) {
		if (twins && w == 1)
			body[1] = body[0];
		else if (family == FAMILY_OBJECTS)
			make_methods(m, &body[w], m->nworkers > 2 ? 4 : 6);
		else
			make_body(m, &body[w], m->nworkers > 2 ? 4 : 6);
	}
	if (event)
		add_event(m, body, 0);
	for (int w = 0; w < m->nworkers && family == FAMILY_SLEEPS; w++) {
		for (int i = 1 + random_below(r, 2); i > 0; i--)
			body_insert(
				m, &body[w], random_below(r, body[w].n + 1),
				(struct op){ .kind = OP_SLEEP,
					     .time = 5 + random_below(r, 40) });
	}
	memset(p, 0, sizeof(*p));
	p->nthreads = m->nworkers + 1;
	for (int w = 0; w < m->nworkers; w++) {
		p->nops[w + 1] = body[w].n;
		memcpy(p->op[w + 1], body[w].op, sizeof(body[w].op));
	}
	make_main(m, p);
	if (m->overflow)
		return false;
	link_skips(p);
	return true;
}

void program_print(const struct program *p)
{
	static const char *const names[] = {
		"?",	 "lock",   "trylock", "unlock",	 "cwait",
		"cwake", "create", "join",    "barrier", "wait",
		"spin",	 "set",	   "sleep",
	};

	for (int t = 0; t < p->nthreads; t++) {
		printf("  T%d:", t);
		for (int i = 0; i < p->nops[t]; i++) {
			const struct op *op = &p->op[t][i];

			if (op->kind == OP_ACCESS)
				printf(" %s%x+%u@%u",
				       op->access == MAPLE_EV_READ    ? "R"
				       : op->access == MAPLE_EV_WRITE ? "W"
								      : "RW",
				       op->addr - VAR_ADDR, op->size, op->site);
			else if (op_is_access(op))
				printf(" %s%s%d@%u", names[op->kind],
				       op->shared ? "-shared" : "", op->object,
				       op->site);
			else
				printf(" %s%d", names[op->kind], op->object);
		}
		printf("\n");
	}
}
