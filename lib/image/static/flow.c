// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which locks are held, and what registers have (values.c), at each instruction
 * of a function: carried along from its entry, met where control comes
 * together, and gone through again until nothing changes. From that come the
 * data of its sites, and its calls with what they are given.
 *
 * It says what holds on all ways to an instruction, as far as it follows them:
 * where control comes from somewhere unknown, registers have nothing but what
 * the debug information says, and no lock is held. Where a path lets a lock go
 * that the other has, it counts as not held. What a call leaves behind is known
 * the second time.
 */
#include <errno.h>
#include <string.h>
#include "base/array.h"
#include "flow.h"

#define SWEEPS	   6	 /* until what still changes is forgotten */
#define JOINED_MAX 10000 /* states of a function, a KB each */
#define RAX	   0
#define ENDBR	   4	/* bytes of that instruction */
#define ENTRY_SP   (-8) /* behind the return address */

/* maple_static_range - the function that has @addr, or begins there; or NONE */
uint32_t maple_static_range(const struct maple_static *s, uint64_t addr,
			    bool exactly)
{
	const struct maple_code_range *r = s->code->ranges.at;
	size_t n = maple_array_lead(s->code->ranges.n, i, r[i].lo <= addr);

	if (!n || addr >= r[n - 1].hi || (exactly && addr != r[n - 1].lo))
		return MAPLE_STATIC_NONE;
	return n - 1;
}

/* ---- states ---- */

static void forget(struct maple_static_flow *w, struct maple_state *state)
{
	*state = (struct maple_state){ .live = true, .started = true };
	state->reg[RSP] = w->sp;
	state->reg[RBP] = w->bp;
}

static void hold(struct maple_state *state, uint32_t lock, uint32_t section)
{
	if (state->nheld < MAPLE_STATIC_LOCKS)
		state->held[state->nheld++] =
			(struct maple_static_held){ lock, section };
}

/* Lets go of @lock; of one that nobody has a name for, of the last. */
static bool let_go(struct maple_static_flow *w, uint32_t lock, bool last)
{
	struct maple_state *state = &w->now;

	for (unsigned int i = state->nheld; i-- > 0;) {
		if (state->held[i].lock != lock && !last &&
		    !maple_static_same_lock(w->s, state->held[i].lock, lock))
			continue;
		memmove(&state->held[i], &state->held[i + 1],
			(state->nheld - i - 1) * sizeof(*state->held));
		state->nheld--;
		return true;
	}
	return false;
}

/* ---- calls ---- */

static struct maple_static_edge *add_edge(struct maple_static_flow *w,
					  const struct maple_effect *e,
					  uint32_t to, uint8_t kind)
{
	struct maple_static_edge *edge;

	edge = maple_array_more(&w->s->edges, sizeof(*edge));
	if (!edge)
		return NULL;
	*edge = (struct maple_static_edge){
		.from = w->code->range,
		.to = to,
		.at = e->offset,
		.kind = kind,
		.loops = e->loops,
		.started = w->now.started,
		.start = MAPLE_STATIC_NONE,
		.nheld = w->now.nheld,
	};
	memcpy(edge->held, w->now.held, sizeof(edge->held));
	w->f->ncalls++;
	return edge;
}

/* What functions of others are given they may write to, or call. */
static void pass(struct maple_static_flow *w, const struct maple_effect *e)
{
	static const uint8_t args[] = { MAPLE_RDI, MAPLE_RSI, MAPLE_RDX,
					MAPLE_RCX, 8,	      9 };
	struct maple_static_lock *slot;
	struct maple_datum datum;
	struct maple_value v;
	uint32_t function;

	for (size_t i = 0; i < sizeof(args); i++) {
		v = maple_static_flow_value(w, args[i], e->offset);
		if (v.kind != MAPLE_VALUE_ADDRESS &&
		    v.kind != MAPLE_VALUE_OBJECT)
			continue;
		function = v.kind == MAPLE_VALUE_ADDRESS
				   ? maple_static_range(w->s, v.at, true)
				   : MAPLE_STATIC_NONE;
		if (function != MAPLE_STATIC_NONE) {
			add_edge(w, e, function, MAPLE_CALL_PLAIN);
			continue;
		}
		datum = maple_static_datum(w->s, &v, 0, false, 1);
		if (datum.kind < MAPLE_DATUM_GLOBAL)
			continue;
		slot = maple_array_more(&w->s->passed, sizeof(*slot));
		if (slot)
			*slot = maple_static_named(&datum);
	}
}

/* The thread's function, if it is known. */
static void create(struct maple_static_flow *w, const struct maple_effect *e,
		   const struct maple_static_called *called,
		   struct maple_static_edge *edge)
{
	struct maple_value v =
		maple_static_flow_value(w, called->arg, e->offset);
	uint32_t *slot;

	if (v.kind != MAPLE_VALUE_ADDRESS || v.loose)
		return;
	edge->start = maple_static_range(w->s, v.at, true);
	if (edge->start == MAPLE_STATIC_NONE || !v.from)
		return;
	slot = maple_array_more(&w->s->used, sizeof(*slot));
	if (slot)
		*slot = v.from;
}

static void synchronise(struct maple_static_flow *w,
			const struct maple_effect *e,
			const struct maple_static_called *called)
{
	struct maple_value v;
	uint32_t lock = 0;

	if (called->arg < 16) {
		v = maple_static_flow_value(w, called->arg, e->offset);
		lock = maple_static_lock(w->s, &v);
	}
	if (called->kind == MAPLE_CALL_LOCK) {
		hold(&w->now, lock, e->offset);
		return;
	}
	if (called->kind == MAPLE_CALL_WAIT) {
		/* What was true before may not be any more. */
		for (unsigned int i = 0; i < w->now.nheld; i++)
			if (w->now.held[i].lock == lock)
				w->now.held[i].section = e->offset;
		return;
	}
	if (let_go(w, lock, called->arg >= 16) || !lock)
		return;
	for (unsigned int i = 0; i < w->f->nfrees; i++)
		if (w->f->frees[i] == lock)
			return;
	if (w->f->nfrees < MAPLE_STATIC_LOCKS)
		w->f->frees[w->f->nfrees++] = lock;
}

/* What the function has left behind when it comes back. */
static void come_back(struct maple_static_flow *w, const struct maple_effect *e,
		      uint32_t to)
{
	const struct maple_static_function *f = &w->s->functions[to];

	if (f->primitive)
		return;
	for (unsigned int i = 0; i < f->nfrees; i++)
		let_go(w, f->frees[i], false);
	for (unsigned int i = 0; i < f->nleaves; i++)
		hold(&w->now, f->leaves[i].lock, e->offset);
}

static struct maple_value result_of(struct maple_static_flow *w, uint64_t at,
				    const char *name)
{
	const struct maple_static_prototype *p = NULL;

	if (at)
		p = maple_static_prototype(&w->s->types, at, 0);
	else if (name)
		p = maple_static_prototype(
			&w->s->types, 0, maple_static_name(&w->s->text, name));
	if (!p || p->result == MAPLE_STATIC_NONE)
		return (struct maple_value){ 0 };
	return (struct maple_value){ .kind = MAPLE_VALUE_OBJECT,
				     .type = p->result };
}

static void call(struct maple_static_flow *w, const struct maple_effect *e)
{
	const char *name = NULL;
	struct maple_static_called called;
	struct maple_static_edge *edge = NULL;
	uint32_t to = MAPLE_STATIC_NONE;
	uint16_t kills;

	if (e->target) {
		name = maple_names_import(w->s->names, e->target);
		if (!name) {
			to = maple_static_range(w->s, e->target, true);
			name = maple_names_called(w->s->names, e->target);
		}
	}
	called = to == MAPLE_STATIC_NONE
			 ? maple_static_called(name)
			 : maple_static_called_at(w->s, e->target);
	if (w->emit) {
		if (to != MAPLE_STATIC_NONE && !called.inside)
			w->s->functions[to].primitive = true;
		if (to != MAPLE_STATIC_NONE || !name ||
		    called.kind != MAPLE_CALL_PLAIN)
			edge = add_edge(w, e,
					called.inside ? to : w->code->range,
					called.kind);
		/* A call of nobody's is an edge to oneself, which is none. */
		if (edge && (called.kind == MAPLE_CALL_CREATE ||
			     called.kind == MAPLE_CALL_MAIN))
			create(w, e, &called, edge);
		if (to == MAPLE_STATIC_NONE && name &&
		    called.kind == MAPLE_CALL_PLAIN)
			pass(w, e);
		w->s->detaches |= called.kind == MAPLE_CALL_DETACH;
	}
	w->now.started |=
		called.kind == MAPLE_CALL_CREATE ||
		called.kind == MAPLE_CALL_CREATE_OBJECT || !name ||
		(to != MAPLE_STATIC_NONE && w->s->functions[to].creates);
	switch (called.kind) {
	case MAPLE_CALL_LOCK:
	case MAPLE_CALL_UNLOCK:
	case MAPLE_CALL_WAIT:
		synchronise(w, e, &called);
		break;
	default:
		if (to != MAPLE_STATIC_NONE)
			come_back(w, e, to);
	}
	/* Compilers know which registers a function of the file's leaves. */
	kills = to == MAPLE_STATIC_NONE || !w->s->settled
			? MAPLE_CLOBBERED
			: w->s->functions[to].kills & MAPLE_CLOBBERED;
	if (to == MAPLE_STATIC_NONE)
		w->f->kills |= MAPLE_CLOBBERED;
	for (unsigned int i = 0; i < 16; i++)
		if (kills >> i & 1)
			w->now.reg[i] = (struct maple_value){ 0 };
	w->now.reg[RAX] =
		result_of(w, to == MAPLE_STATIC_NONE ? 0 : e->target, name);
	if (called.deaf)
		w->now.live = false;
}

/* The locks that are held whichever way it ends. */
static void come_to_end(struct maple_static_flow *w)
{
	struct maple_state end = w->now;

	if (!w->now.live || !w->emit)
		return;
	if (w->returned) {
		end.nheld = w->f->nleaves;
		memcpy(end.held, w->f->leaves, sizeof(end.held));
		maple_state_meet_locks(&end, &w->now);
	}
	w->returned = true;
	w->f->nleaves = end.nheld;
	memcpy(w->f->leaves, end.held, sizeof(end.held));
}

/* ---- control ---- */

static const struct maple_effect *effect_at(const struct maple_static_flow *w,
					    uint32_t offset)
{
	size_t i = maple_array_lead(w->n, k, w->e[k].offset < offset);

	return i < w->n && w->e[i].offset == offset ? w->e + i : NULL;
}

static bool is_stub(const struct maple_static_flow *w,
		    const struct maple_effect *e)
{
	return e->target && !e->src &&
	       (maple_names_import(w->s->names, e->offset) ||
		maple_names_import(w->s->names, e->offset - ENDBR));
}

/* A switch: to all of its function that is come to from elsewhere. */
static void lead_anywhere(struct maple_static_flow *w,
			  const struct maple_effect *e)
{
	if (!maple_static_spend(w->s, w->n))
		return;
	for (size_t i = 1; i < w->n; i++)
		if (w->e[i].entered && w->e[i].joined != MAPLE_STATIC_NONE &&
		    maple_state_meet(w->s, &w->joined[w->e[i].joined],
				     &w->now) &&
		    &w->e[i] <= e)
			w->changed = true;
}

/* Control may go to where @e leads. */
static void lead(struct maple_static_flow *w, const struct maple_effect *e)
{
	const struct maple_effect *to = e->target ? effect_at(w, e->target)
						  : NULL;
	uint32_t other;

	if (to) {
		if (to->joined != MAPLE_STATIC_NONE && w->joined &&
		    maple_state_meet(w->s, &w->joined[to->joined], &w->now) &&
		    to <= e)
			w->changed = true;
		return;
	}
	/* The linkage table's stubs call nobody: who calls them does. */
	if (e->kind == MAPLE_EFFECT_JUMP && is_stub(w, e))
		return;
	if (e->kind == MAPLE_EFFECT_JUMP &&
	    (!e->target || maple_names_import(w->s->names, e->target) ||
	     maple_static_range(w->s, e->target, true) != MAPLE_STATIC_NONE)) {
		/*
		 * The call that it ends with; by a register, if the frame is
		 * gone, else it is a switch.
		 */
		if (e->target ||
		    (!w->now.reg[RSP].lost && w->now.reg[RSP].at == ENTRY_SP)) {
			call(w, e);
			come_to_end(w);
		} else if (!w->code->unknown && w->joined) {
			lead_anywhere(w, e);
		}
		return;
	}
	other = e->target ? maple_static_range(w->s, e->target, false)
			  : MAPLE_STATIC_NONE;
	if (other != MAPLE_STATIC_NONE && other != w->code->range && w->emit)
		add_edge(w, e, other, MAPLE_CALL_PLAIN);
}

static void kill(struct maple_static_flow *w, const struct maple_effect *e)
{
	for (unsigned int i = 0; i < 16; i++)
		if (e->kills >> i & 1)
			maple_static_flow_set(w, i, (struct maple_value){ 0 });
}

static void choose(struct maple_static_flow *w, const struct maple_effect *e)
{
	struct maple_value a = maple_static_flow_value(w, e->dst, e->offset);
	struct maple_value b = maple_static_flow_value(w, e->src, e->offset);

	maple_static_flow_set(w, e->dst, maple_value_meet(w->s, &a, &b));
}

static void take_address(struct maple_static_flow *w,
			 const struct maple_value *v)
{
	uint32_t to = maple_static_range(w->s, v->at, true);
	struct maple_static_taking *slot;

	slot = to == MAPLE_STATIC_NONE
		       ? NULL
		       : maple_array_more(&w->s->takings, sizeof(*slot));
	if (slot)
		*slot = (struct maple_static_taking){ to, v->from };
}

static void step(struct maple_static_flow *w, const struct maple_effect *e)
{
	struct maple_value v;

	w->f->kills |= e->kills;
	switch (e->kind) {
	case MAPLE_EFFECT_KILL:
		kill(w, e);
		break;
	case MAPLE_EFFECT_MOVE:
		maple_static_flow_set(
			w, e->dst,
			maple_static_flow_value(w, e->src, e->offset));
		break;
	case MAPLE_EFFECT_LOAD:
		maple_static_flow_set(w, e->dst, maple_static_flow_load(w, e));
		break;
	case MAPLE_EFFECT_STORE:
		maple_static_flow_store(w, e);
		break;
	case MAPLE_EFFECT_ADDRESS:
		v = maple_static_flow_address(w, e);
		if (w->emit && e->base == NO_REG && e->index == NO_REG)
			take_address(w, &v);
		maple_static_flow_set(w, e->dst, v);
		break;
	case MAPLE_EFFECT_ADD:
		v = maple_static_flow_value(w, e->dst, e->offset);
		if (v.kind == MAPLE_VALUE_NONE) {
			maple_static_flow_count_on(w, e->dst, e->disp);
			break;
		}
		maple_static_flow_move_on(w, &v, e->disp);
		maple_static_flow_set(w, e->dst, v);
		break;
	case MAPLE_EFFECT_SUM:
		maple_static_flow_set(w, e->dst, maple_static_flow_sum(w, e));
		break;
	case MAPLE_EFFECT_CHOOSE:
		choose(w, e);
		break;
	case MAPLE_EFFECT_PUSH:
		maple_static_flow_shift(w, -8);
		break;
	case MAPLE_EFFECT_POP:
		v = w->now.reg[RSP];
		kill(w, e);
		w->now.reg[RSP] = v;
		maple_static_flow_shift(w, 8);
		break;
	case MAPLE_EFFECT_LEAVE:
		maple_static_flow_set(w, RSP, w->now.reg[RBP]);
		maple_static_flow_shift(w, 8);
		w->now.reg[RBP] = (struct maple_value){ 0 };
		break;
	case MAPLE_EFFECT_CALL:
		call(w, e);
		break;
	case MAPLE_EFFECT_BRANCH:
		lead(w, e);
		break;
	case MAPLE_EFFECT_JUMP:
		lead(w, e);
		w->now.live = false;
		break;
	case MAPLE_EFFECT_RETURN:
		come_to_end(w);
		w->now.live = false;
		break;
	case MAPLE_EFFECT_STOP:
		w->now.live = false;
		break;
	}
	/* Of the last instruction that has a frame, for those behind it. */
	if (w->now.live && w->now.reg[RSP].at < w->sp.at)
		w->sp = w->now.reg[RSP];
}

/* By the base; what was added to the index may be where an array begins. */
static struct maple_datum by_base(struct maple_static_flow *w,
				  const struct maple_table_site *site,
				  const struct maple_value *base, uint32_t size)
{
	bool index = site->index != MAPLE_REG_NONE;
	int64_t more = maple_static_flow_added(w, site->index) * site->scale;
	struct maple_datum datum;

	if (site->base == MAPLE_REG_NONE)
		return maple_static_datum(w->s, NULL, site->disp, index, size);
	if (more) {
		datum = maple_static_datum(w->s, base, site->disp + more, index,
					   size);
		if (datum.kind == MAPLE_DATUM_FIELD &&
		    datum.flags & MAPLE_DATUM_ANY)
			return datum;
	}
	return maple_static_datum(w->s, base, site->disp, index, size);
}

/*
 * Where nothing is known of the base: the index may be the pointer, or, in a
 * program that has a fixed place, the displacement an array.
 */
static struct maple_datum by_index(struct maple_static_flow *w,
				   const struct maple_table_site *site,
				   uint32_t pc, uint32_t size)
{
	struct maple_value v = maple_static_flow_value(w, site->index, pc);

	if (site->scale == 1 && v.kind != MAPLE_VALUE_NONE)
		return maple_static_datum(w->s, &v, site->disp, true, size);
	if (w->s->code->type != ET_EXEC)
		return (struct maple_datum){ 0 };
	return maple_static_datum(w->s, NULL, site->disp, true, size);
}

static void emit_sites(struct maple_static_flow *w, const struct maple_effect *e)
{
	const struct maple_table_site *site = w->s->image->sites.at;
	uint32_t i = e->site;
	struct maple_static_site *to;
	struct maple_value base;
	bool more = i != MAPLE_SITE_NONE;
	uint32_t size;

	for (; more && i < w->s->image->sites.n; i++) {
		more = site[i].flags & MAPLE_SITEF_MORE;
		size = site[i].flags & MAPLE_SITEF_REP ? UINT16_MAX
						       : site[i].size;
		base = maple_static_flow_value(w, site[i].base, e->offset);
		w->s->data[i] = by_base(w, &site[i], &base, size);
		if (base.kind == MAPLE_VALUE_NONE &&
		    site[i].base != MAPLE_REG_NONE)
			w->s->data[i] = by_index(w, &site[i], e->offset, size);
		to = &w->s->sites[i];
		*to = (struct maple_static_site){ .function = w->code->range,
						  .offset = e->offset,
						  .nheld = w->now.nheld,
						  .loops = e->loops,
						  .started = w->now.started };
		memcpy(to->held, w->now.held, sizeof(to->held));
	}
}

static void begin(struct maple_static_flow *w)
{
	const struct maple_code_range *range = w->s->code->ranges.at;
	const char *name;

	range += w->code->range;
	name = maple_names_function(w->s->names, range->lo);
	w->sp = (struct maple_value){ .kind = MAPLE_VALUE_FRAME,
				      .at = ENTRY_SP };
	w->bp = (struct maple_value){ 0 };
	/* Of a function in pieces the second is entered in its midst. */
	w->sp.lost = name && strstr(name, ".cold");
	forget(w, &w->now);
	w->now.started = w->code->range != w->s->main;
	w->returned = false;
}

/* Once through all of it; with @all, what is joined is known nothing of. */
static void sweep(struct maple_static_flow *w, bool all)
{
	const struct maple_effect *e;

	begin(w);
	for (size_t i = 0; i < w->n; i++) {
		e = &w->e[i];
		if (i && e->joined != MAPLE_STATIC_NONE && w->joined && !all &&
		    !(w->code->wild && w->code->unknown && e->entered)) {
			maple_state_meet(w->s, &w->joined[e->joined], &w->now);
			w->now = w->joined[e->joined];
		} else if (i && (e->joined != MAPLE_STATIC_NONE || e->entered)) {
			forget(w, &w->now);
		}
		if (!w->now.live)
			forget(w, &w->now);
		if (w->emit)
			emit_sites(w, e);
		step(w, e);
	}
}

/*
 * maple_static_flow - goes through the function of @code: its sites' data and
 * its calls are then known
 */
int maple_static_flow(struct maple_static *s,
		      const struct maple_static_code *code)
{
	struct maple_static_flow w = { .s = s,
				       .code = code,
				       .e = code->effects.at,
				       .n = code->effects.n,
				       .f = &s->functions[code->range] };
	unsigned int i;

	w.f->first_call = s->edges.n;
	w.f->ncalls = 0;
	maple_static_flow_begin(&w);
	if (code->njoined && code->njoined <= JOINED_MAX) {
		w.joined = calloc(code->njoined, sizeof(*w.joined));
		if (!w.joined)
			return -ENOMEM;
	}
	s->stats.cut |= code->njoined > JOINED_MAX;
	for (i = 0; i < SWEEPS; i++) {
		w.changed = false;
		sweep(&w, false);
		if (!w.changed)
			break;
	}
	w.f->nfrees = 0;
	w.f->nleaves = 0;
	w.emit = true;
	sweep(&w, i == SWEEPS);
	free(w.joined);
	return 0;
}
