/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Between the files of the agent's core; contracts stand at the definitions. */
#ifndef MAPLE_AGENT_CORE_H
#define MAPLE_AGENT_CORE_H

#include <stddef.h>
#include "agent.h"
#include "abi/table.h"
#include "record/interest.h"

/* A patched site, within reach of its slot. stub.S knows where what is. */
struct maple_agent_site {
	uint64_t pc;	 /* of its instruction */
	uint32_t number; /* its site number in the campaign */
	uint32_t size;
	struct maple_interest interest;
	/* What slots and the stub look at. */
	uint32_t left; /* quiet: hits that are passed by until it asks to be
			  taken out */
	uint8_t live;  /* 0: the slot passes it by, but for the left-th time */
	uint8_t slow;  /* its events are not to be made by stub.S */
	uint8_t kind;
	uint8_t event_flags; /* of its events */
	uint8_t flags;	     /* enum maple_site_flag; SPLIT: in this run */
	uint8_t way;	     /* enum maple_way */
	uint32_t group;	     /* of its image's, if it has a hook */
};

/* What stub.S saves on the way into a hook, from its stack pointer up. */
struct maple_agent_frame {
	uint64_t pc, rbx, r11, r10, r9, r8, rdx, rcx, flags, ret, rsi, rax, rdi;
	uint64_t red_zone[16];
	/* the program's stack pointer stood here */
};

static_assert(sizeof(struct maple_agent_frame) == 232, "stub.S relies on it");

/*
 * Hits of an enforced site, or calls from one place, that still mean progress.
 * A loop that polls under a lock is a spin like any other.
 */
#define MAPLE_AGENT_OFTEN 1000

/*
 * A site that has recorded much already is shut for so many hits when the ring
 * is full: it is the quickest way to drop them. They are counted when it is
 * opened again; of those that are shut at the end of a run the last are not.
 */
#define MAPLE_AGENT_SHUT 256

#define MAPLE_AGENT_FEW	 8 /* threads of a short run, which are made ready for */

/* buried.c; intercept/alloc.c */
void maple_buried_start(void *heap, void *libc);
void maple_agent_heap(void);

/* main.c */
extern bool maple_agent_enforces;

/* joined.c */
extern bool maple_joined;      /* the process ran before we came, */
extern bool maple_joined_left; /* ... and the run in it is over */
bool maple_joined_admit(void);

/* control.c */
extern bool maple_control_values; /* the run's accesses have values */
void maple_control_ahead(void);
void maple_control_start(void);
void maple_control_born(uint32_t number);
void maple_control_exit(uint32_t number);
/* which hit of @site the caller's last point was; 0: of another one, or none */
uint32_t maple_control_hits(uint32_t site);
void maple_control_yield(void);
void maple_control_access(const struct maple_access *acc, unsigned int flags);
void maple_control_unknown(const struct maple_access *acc, uint64_t value,
			   uint64_t was, uint32_t before, uint64_t sp);
void maple_hook_point(uint64_t addr, struct maple_agent_site *site,
		      const struct maple_agent_frame *frame);

/* detained.c */
bool maple_detained(uint32_t thread, char state);
bool maple_detained_await(bool (*parked)(uint32_t thread));

/* turn.c */
extern bool maple_turn_sleeps; /* there are no priorities in this run */
void maple_turn_start(void);
void maple_turn_take(void);
void maple_turn_give(void);
void maple_turn_stir(void);
void maple_turn_access(void);
void maple_turn_settle(bool (*parked)(uint32_t thread));
void maple_turn_await(bool (*parked)(uint32_t thread), uint32_t thread);
void maple_turn_wake(uint32_t thread);
void maple_turn_look(void);
void maple_turn_leave(bool (*parked)(uint32_t thread));
void maple_turn_stand(void);
bool maple_turn_sleep(bool (*parked)(uint32_t thread), uint32_t *us);

/* debugged.c; the first two are for the debugger to find */
MAPLE_EXPORT void maple_debugged_switch(uint32_t at, int32_t leaves,
					int32_t goes_on);
MAPLE_EXPORT void maple_debugged_failure(int signo);
void maple_debugged_await(void);
void maple_debugged_settle(bool (*parked)(uint32_t thread));
bool maple_debugged_claim(bool (*parked)(uint32_t thread));
bool maple_debugged_disclaim(void);
void maple_debugged_nap(void);
void maple_debugged_follows(uint32_t at, uint32_t thread, uint32_t next);
void maple_debugged_fails(int signo);

/* time.c */
void maple_time_start(struct maple_policy *p);
bool maple_time_stands(bool (*parked)(uint32_t thread));
void maple_time_go_by(void);

/* waits.c */
bool maple_waits_outside(const struct maple_shm *shm,
			 bool (*parked)(uint32_t thread));
char maple_waits_state(int tid);

/* waiters.c */
bool maple_waiters_woken(uint32_t thread);

/* sleepers.c */
bool maple_sleepers_woken(uint32_t thread);

/* peek.c */
void maple_peek_start(void);
bool maple_peek_enabled(uint32_t thread, const struct maple_policy_op *op);
uint64_t maple_peek_value(const struct maple_policy_op *op);
uint64_t maple_peek_memory(uint64_t addr, uint64_t size);

/* image.c */
void maple_image_start(void);
void maple_image_scan(void);
void maple_image_list(void);
void maple_image_patch(void);
void maple_image_unmap(void);
void maple_image_keep(void);
void maple_image_again(void);
uint32_t maple_image_of(uint64_t addr, uint64_t *offset);
const struct maple_table *maple_image_table_of(uint32_t i);

/* patch.c */
void maple_patch_image(struct maple_shm_image *image,
		       const struct maple_table *table);

/* moved.c */
void maple_patch_forget(uint64_t bias);
bool maple_patch_slot(uint64_t pc, uint64_t *slot);
struct maple_patch_origin {
	uint64_t pc;   /* in the program */
	int64_t stack; /* what to add to the stack pointer */
	uint8_t reg;   /* whose value stands in a maple_slot_frame there, or
			  MAPLE_REG_NONE */
};

bool maple_patch_origin(uint64_t pc, struct maple_patch_origin *origin);
void maple_patch_remove(uint64_t pc);
void maple_patch_out(void);
void maple_patch_again(const struct maple_shm_image *image,
		       const struct maple_table *table);

/* retire.c */
void maple_retire_later(struct maple_agent_site *site);
void maple_retire_site(struct maple_agent_site *site);
void maple_retire_rearm(void);
void maple_retire_dropped(void);

/* slot.c */
struct maple_slot {
	uint8_t *at, *end;
	uint64_t base; /* of the region: hook pointers stand there */
	uint64_t bias; /* of the image */
	bool bad;      /* out of room or out of reach */
};

#define MAPLE_SLOT_HOOK 72 /* at most, for one hook of one site */
#define MAPLE_SLOT_SPLIT \
	(MAPLE_SLOT_HOOK + 64) /* ... for what a split site has besides */
#define MAPLE_SLOT_PUSH 5      /* where a hook first uses the stack, ... */
#define MAPLE_SLOT_ASK	18     /* ... behind this, where flags are dead */
#define MAPLE_SLOT_INSN 16     /* at most, for one moved instruction */
#define MAPLE_SLOT_ENDS 16     /* at most, for the jump back */

struct maple_slot_hooks { /* at the start of each region */
	void (*before)(void);
	void (*after)(void);
	void (*between)(void);
};

/* On the program's stack, below its red zone, from load to store of a split. */
struct maple_slot_frame {
	uint64_t reg; /* the program's */
	uint64_t value;
	uint64_t flags; /* the program's */
	uint64_t red_zone[16];
};

/* Where in a slot the halves of a split site are, from its start. */
struct maple_slot_halves {
	uint16_t load, store;
	uint8_t reg;
};

void maple_slot_before(struct maple_slot *s, const struct maple_agent_site *site,
		       const struct maple_table_site *where);
void maple_slot_after(struct maple_slot *s, const struct maple_agent_site *site);
void maple_slot_split(struct maple_slot *s, const struct maple_agent_site *site,
		      const struct maple_table_site *where,
		      const struct maple_table_split *split,
		      const uint8_t *start, struct maple_slot_halves *halves);
void maple_slot_insn(struct maple_slot *s, const struct maple_table_insn *insn,
		     const uint8_t *bytes);
void maple_slot_jump(struct maple_slot *s, uint64_t to);

/* stub.S */
#define MAPLE_SITE_IS(field, at) \
	static_assert(offsetof(struct maple_agent_site, field) == (at), "asm")
#define MAPLE_SELF_IS(field, at) \
	static_assert(offsetof(struct maple_agent_thread, field) == (at), "asm")
#define MAPLE_QUICK_IS(field, at) \
	static_assert(offsetof(struct maple_quick, field) == (at), "asm")

void maple_stub_before(void);
void maple_stub_after(void);
void maple_stub_point(void);
void maple_stub_asked(void);
void maple_stub_asked_after(void);
void maple_stub_asked_between(void);
unsigned int maple_stub_load(uint64_t addr);
void maple_stub_loaded(void);
uint32_t maple_stub_load_word(uint64_t addr);
void maple_stub_loaded_word(void);

/* hook.c */
/*
 * maple_hook_begin - how a hook before an instruction begins: @acc is the access
 *
 * False: none of the run's, or one that is counted here. Else it ends with
 * maple_hook_end().
 */
static inline bool maple_hook_begin(const struct maple_agent_site *site,
				    const struct maple_agent_frame *frame,
				    uint64_t addr, struct maple_access *acc)
{
	struct maple_agent_thread *self = &maple_self;
	struct maple_shm *shm = maple_shm;

	*acc = (struct maple_access){ site->number, site->kind, addr,
				      site->size };
	if (!shm || (self->number == MAPLE_THREAD_NONE && !maple_joined_admit()))
		return false;
	if (self->inside) {
		shm->stats.nested++;
		return false;
	}
	if (!maple_agent_ours())
		return false;
	if (site->flags & MAPLE_SITEF_REP) {
		acc->size *= frame->rcx;
		if (!acc->size)
			return false;
	}
	maple_agent_enter();
	shm->thread[self->number].at = site->number + 1;
	return true;
}

static inline void maple_hook_end(void)
{
	maple_shm->thread[maple_self.number].at = 0;
	maple_agent_leave();
}

void maple_hook_before(uint64_t addr, struct maple_agent_site *site,
		       const struct maple_agent_frame *frame);
void maple_hook_after(uint64_t addr, struct maple_agent_site *site,
		      const struct maple_agent_frame *frame);

void maple_hook_between(uint64_t addr, struct maple_agent_site *site,
			const struct maple_agent_frame *frame);

/* pass.c */
struct maple_pass {
	uint32_t epoch;	 /* of the automaton, in which ... */
	uint32_t thread; /* ... what this thread does here is ignored, */
	uint32_t left;	 /* ... so many times from now on */
	uint32_t given;	 /* times, since it was last asked */
};

/* Accesses to these are never ignored; by the variables of a plan. */
struct maple_about {
	const uint32_t *epoch;
	uint64_t at[MAPLE_PLAN_VARS], size[MAPLE_PLAN_VARS];
};

#define MAPLE_PASSES 1024

extern struct maple_pass maple_pass[MAPLE_PASSES]
	__attribute__((visibility("hidden")));
extern struct maple_about maple_about __attribute__((visibility("hidden")));
void maple_pass_start(struct maple_auto *automaton);
void maple_pass_give(struct maple_interest *i);
void maple_pass_look(struct maple_agent_site *site, uint64_t addr);
bool maple_pass_call(const struct maple_access *acc);
void maple_pass_called(const struct maple_access *acc);

/* ring.c */
extern bool maple_ring_shared;
extern uint32_t maple_ring_budget; /* events that a site records; 0: no limit */

/* What stub.S needs to record an event by itself. */
struct maple_quick {
	uint64_t *head;
	struct maple_event *ring;
	uint64_t end; /* room was seen up to here */
	uint64_t *hits;
	volatile int32_t *pid; /* of the process that has the run */
	uint32_t most;	       /* events of a site; 0: all go to hook.c */
	uint32_t skip;	       /* so many are dropped next: the ring is full */
};

extern struct maple_quick maple_quick __attribute__((visibility("hidden")));
void maple_ring_start(void);
void maple_ring_put(unsigned int kind, const struct maple_access *acc,
		    uint64_t value, unsigned int flags, uint32_t aux,
		    uint64_t sp);
uint64_t maple_ring_peek(uint64_t addr, uint64_t size);

/* section.c */
extern bool maple_sections;
void maple_section_start(void);
void maple_section_late(void);
bool maple_section_begins(const struct maple_access *acc, unsigned int flags,
			  uint64_t sp, bool quiet);
bool maple_section_ends(const struct maple_access *acc, bool quiet);

/* context.c */
uint32_t maple_context_of(uint64_t pc, uint64_t sp, uint64_t bp);

/* touched.c */
void maple_touched_note(uint64_t addr, uint64_t size);
bool maple_touched_find(uint64_t addr, uint64_t size);

/* call.c */
void maple_call_start(void);
void maple_call_refresh(void);

/* thread.c */
void maple_thread_main(void);

/* sched.c */
void maple_sched_start(void);
unsigned int maple_sched_first(uint32_t number);
void maple_sched_begin(uint32_t number);
void maple_sched_level(uint32_t number, unsigned int prio);
bool maple_sched_set(int tid, unsigned int prio);
void maple_sched_settle(void);
void maple_sched_change(unsigned int change);

/* meet.c */
#define MAPLE_MEET_HITS 100000 /* of a place; then it goes quiet */
void maple_meet(const struct maple_access *acc, uint32_t hits);
void maple_sched_put_back(struct maple_shm *shm, int tid);
void maple_sched_take(void);

/* leave.c */
void maple_leave_start(void);

/* intercept/environ.c */
void maple_environment_hide(char **envp, bool exe);

/* stem.c */
void maple_stem_serve(struct maple_shm *shm);
void maple_stem_await(void);

/* warm.c */
void maple_warm_note(const char *line);
void maple_warm_up(void);

/* linger.c */
void maple_linger_start(void);

/* waits.c */
bool maple_waits_live(const struct maple_shm *shm, uint32_t ms, bool *all_wait);

/* follow.c */
void maple_follow_stand_by(struct maple_shm *shm);
struct maple_shm *maple_agent_map(const char *path, size_t size);
void maple_stranger_note(const char *path);
void maple_stranger_tell(void);

/* enforce.c */
void maple_agent_open(const struct maple_access *acc);
bool maple_agent_close(uint32_t site, struct maple_access *acc);
void maple_agent_log(const struct maple_access *acc, unsigned int flags);
void maple_enforce_ahead(void);
void maple_enforce_start(void);
bool maple_enforce_over(void);
void maple_enforce_wake(void);
bool maple_enforce_callers(void);
bool maple_enforce_before(const struct maple_access *acc, unsigned int flags);
void maple_enforce_after(const struct maple_access *acc, unsigned int flags,
			 bool happened);
void maple_enforce_freed(uint64_t addr, uint64_t size);
void maple_enforce_unannounced(uint64_t addr, uint64_t size);
bool maple_agent_is_open(uint64_t addr, uint64_t size);
void maple_enforce_born(uint32_t number);
void maple_enforce_exit(uint32_t number);
void maple_enforce_spin(void);
void maple_enforce_passed(uint32_t hits);

/* watch.c */
void maple_watch_try(void);
void maple_watch_start(void);
void maple_watch_arm(uint64_t at, uint64_t size);
void maple_watch_drop(uint32_t number);
void maple_watch_forget(void);
bool maple_watch_hit(int code, uint64_t at, uint64_t data);

bool maple_watch_sees(void);

/* net.c */
void maple_net_start(void);
void maple_net_begin(void);
void maple_net_end(uint32_t t);
void maple_net_forget(void);
bool maple_net_has(uint64_t addr, uint64_t size);
bool maple_net_read(uint64_t addr, uint64_t size, uint64_t *value);
bool maple_net_hit(int code, uint64_t data, uint32_t flags, uint64_t pc,
		   uint64_t sp, bool room);

/* fault.c */
void maple_fault_start(void);
void maple_fault_end(void);
void maple_fault_leave(void);
uint64_t maple_fault_restorer(void);
void maple_fault_stack(void);
void maple_fault_stack_drop(void);

/* lock.c: a futex lock for the agent's own state */
void maple_lock_take(uint32_t *word);
void maple_lock_give(uint32_t *word);
extern void (*maple_lock_mapped)(uint64_t at, uint64_t size);
void maple_lock_tell(uint64_t at, uint64_t size);
void *maple_lock_memory(uint64_t size);
void maple_lock_populate(uint64_t from, uint64_t to);
void maple_lock_populate_shared(const void *from, const void *to);

#endif
