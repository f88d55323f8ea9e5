/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of the module; contracts stand at the definitions. */
#ifndef MAPLE_KMOD_H
#define MAPLE_KMOD_H

#undef pr_fmt
#define pr_fmt(fmt) "maple: " fmt

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/path.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "session.h"
#include "../lib/plan/drive.h"

#define MAPLE_OPEN   8 /* accesses begun and not done: two operands, ... */
#define MAPLE_CALLS  8 /* functions entered and not left */
#define MAPLE_ARGS   4 /* probes of one function that are kept for its return */
#define MAPLE_OPS    12	  /* what one hit may lead to */
#define MAPLE_SPARE  64	  /* records ready for threads to come */
#define MAPLE_OTHERS 1024 /* forked, and not put right yet */
#define MAPLE_MMS    8	  /* address spaces a target may go through */
#define MAPLE_OFTEN  1000 /* hits of a site that still mean progress */

/*
 * Memory that is had for a client: its control group pays. Where there is none,
 * it is refused; nobody is killed for it.
 */
#define MAPLE_GFP (GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* A kernel that watches itself takes so many times the CPU for the same. */
#if IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KCSAN)
#define MAPLE_SLOW 10
#else
#define MAPLE_SLOW 1
#endif

/* Priorities that threads can begin with. */
#define MAPLE_LEVELS (MAPLE_PRIO_NORM_LAST - MAPLE_PRIO_NORM_FIRST + 1)

/* What a thread had before the session, or would have had. */
struct maple_native {
	bool known; /* and to be given back */
	bool reset_on_fork;
	int policy, priority, nice;
	cpumask_t cpus;
};

enum maple_op_type {
	MAPLE_OP_BEFORE, /* stands before the access */
	MAPLE_OP_AFTER,	 /* it has happened, or not */
	MAPLE_OP_NOTE,	 /* an event that is no access */
};

/* One thing that a hit leads to. */
struct maple_op {
	struct maple_access acc;
	u64 value; /* of a note */
	u64 caller;
	u32 aux;
	u8 type;
	u8 flags; /* enum maple_event_flag */
	bool happened;
	bool open;    /* BEFORE: after() is told at another probe, */
	bool stepped; /* ... or when the instruction has been stepped over */
};

struct maple_call_frame {
	const struct maple_probe_point *point;
	u64 caller;
	u64 sp;
	u64 arg[MAPLE_ARGS];
	u64 size[MAPLE_ARGS];
	u32 site;
	u32 joined;  /* number of the thread that is joined */
	bool shared; /* the read side of a rwlock is given back */
};

/*
 * A thread of the target, or a process that one of them forked and that has
 * not yet got its own scheduling back (number NONE). The first half is
 * anybody's; the second one only the thread's own, without a lock.
 */
struct maple_thread {
	struct maple_session *session;
	struct hlist_node node;	  /* in session->by_task; RCU */
	struct list_head list;	  /* in session->records, or ->spare */
	struct task_struct *task; /* session->threads_lock; NULL: has ended */
	struct pid *pid;
	u16 number;
	u16 parent;
	u32 born;    /* children so far; session->threads_lock */
	u64 pthread; /* its thread pointer; 0: as its task has it */
	char name[MAPLE_PLAN_NAME];
	struct maple_native native; /* session->lock */
	bool alive;
	bool born_done; /* session->lock: the automaton knows it */
	bool gone_done; /* session->lock: ... and that it has ended */
	bool exit_logged;
	bool told_birth; /* of the child that its system call makes */

	/* session->lock */
	unsigned int prio; /* real-time priority it should have; 0: none */
	bool demoted;	   /* spins: out of SCHED_FIFO for a slice */
	bool given;	   /* what it has is from us, */
	int given_policy;  /* ... namely this */
	unsigned int given_prio;
	bool asleep; /* in a timed hold */
	u64 cpu_seen;
	u64 spin_cpu, spin_events;
	unsigned long spin_until;

	u64 events; /* signs of progress; read by the watchdog */
	u32 at;	    /* site that it stands before, + 1 */

	/* session->watch_lock */
	struct perf_event *watch;
	u32 watch_generation;
	bool watch_on; /* armed, or about to be, there: */
	u64 watch_at, watch_size;

	/* Works on the thread itself, each in flight at most once. */
	struct callback_head work, birth, birth_by_parent, watch_work, crash;
	struct callback_head end, arm, cut;
	unsigned long queued; /* bits: enum maple_work */

	u32 clock; /* log.lock */

	/* The thread's own. */
	bool stale;    /* at a site it has been at very often */
	bool stepping; /* may have an out-of-line slot */
	const struct maple_probe_point
		*at_point; /* whose instruction it steps over */
	bool repeats;	   /* ... and which has not come to its end */
	bool watch_off;	   /* watch_lock: its own watch rests while it steps */
	u64 watched;	   /* address that its watch saw written */
	int signo;	   /* that it crashes by */
	u64 fault;	   /* ... and where */
	u32 site;	   /* of the call that creates threads */
	u64 site_caller;
	unsigned int nops, nopen, ncalls;
	struct maple_op op[MAPLE_OPS];
	struct maple_op open[MAPLE_OPEN];
	struct maple_call_frame call[MAPLE_CALLS];
	struct maple_uapi_return back[MAPLE_RETURNS]; /* outermost first */
	unsigned int nback;
};

enum maple_work {
	MAPLE_WORK_OPS,
	MAPLE_WORK_BIRTH,
	MAPLE_WORK_PARENT,
	MAPLE_WORK_WATCH,
	MAPLE_WORK_CRASH,
	MAPLE_WORK_END,
	MAPLE_WORK_ARM,
	MAPLE_WORK_RESTORE, /* by who puts everyone right */
	MAPLE_WORK_CUT,
};

struct maple_log {
	raw_spinlock_t lock; /* all of it */
	struct maple_log_entry *entry;
	u32 size; /* a power of two */
	u32 head, tail;
};

struct maple_session {
	struct kref refs;      /* the owner's, one for each work in flight */
	struct list_head list; /* sessions; RCU */

	/* What was ordered; constant. */
	struct pid *pid; /* of the target: a number may be another's later */
	pid_t tgid;	 /* for people */
	pid_t owner;	 /* the process that began it */
	int cpu;
	u32 sched;
	u8 level[MAPLE_LEVELS];	 /* of PCT: a permutation, */
	unsigned int nlevels;	 /* ... of so many, */
	unsigned int lowest;	 /* ... from this priority on */
	struct maple_plan *plan; /* NULL: none */
	unsigned long deadline;	 /* jiffies */
	unsigned long began;
	const struct cred *rights; /* of the target; NULL: whatever they are */
	bool bound;		   /* it keeps them, be it dumpable or not */

	const struct cred *seen; /* found to be no more than these */
	const char *why;	 /* they are; rights.c */

	/*
	 * The automaton, every change of a thread's policy, and what the log
	 * has said of them. Not preemptible: on the one CPU of the target
	 * nobody comes in between.
	 */
	raw_spinlock_t lock;
	struct maple_drive drive; /* its automaton NULL: none */
	u32 state;		  /* enum maple_session_state */
	bool native;		  /* nobody's policy is changed any more */
	bool ended;		  /* ... and nothing is told any more */
	bool restored;		  /* everyone has its own scheduling back */
	bool left; /* ... and its owner; children in the making are left */
	u32 asked; /* state to end in, asked of the watchdog; 0: none */
	u32 cut;   /* state that it has ended in, before its owner knew */
	u64 ticked_at;
	u64 watch_addr, watch_size; /* wanted */
	u32 watch_generation;
	bool watch_born; /* a thread that is not watched yet */
	u32 moves;
	wait_queue_head_t moved;
	unsigned long *wanted; /* bits by hash: call sites in the plan */

	/* Threads. */
	raw_spinlock_t threads_lock; /* numbers, names, lists, ->task */
	struct list_head records;
	struct list_head spare;
	unsigned int nspare;
	unsigned int nothers; /* records without a number */
	u32 nthreads;
	u32 nalive; /* ... and one while they are being taken */
	struct maple_thread *thread[MAPLE_THREADS];
	DECLARE_HASHTABLE(by_task, 8);
	struct mm_struct *mm[MAPLE_MMS]; /* grabbed; the last one is current */
	int nmm;

	/* Probes. */
	struct mutex probes_lock; /* points, nprobes, sites */
	struct list_head points;
	unsigned int nprobes;
	struct hlist_head *sites; /* call sites, by file and offset; RCU */
	unsigned int nsites;
	raw_spinlock_t returns_lock;  /* returns */
	struct maple_return *returns; /* by return address */
	u64 trampoline;	   /* where probed functions return to; 0: not known */
	atomic_t stepping; /* threads that may have an out-of-line slot */

	/* Watchpoints. */
	struct mutex watch_lock; /* all threads' perf events */
	bool watch_refused;

	struct maple_uapi_crash crash; /* threads_lock */
	struct pid *crash_pid;
	bool crashed, resumed;

	struct mutex end_lock; /* one end at a time */

	/* The watchdog's own, but for the first two. */
	bool watched;
	u32 due; /* state to end in, for the chore; 0: none */
	struct work_struct chore, canary;
	unsigned long canary_at; /* jiffies when it was sent out; 0: it is back */
	unsigned long looked;
	struct delayed_work leave;

	struct maple_log log;
	atomic64_t counter[sizeof(struct maple_counters) / sizeof(u64)];
};

#define maple_count_add(s, name, n)                                           \
	atomic64_add(n, &(s)->counter[offsetof(struct maple_counters, name) / \
				      sizeof(u64)])
#define maple_count(s, name) maple_count_add(s, name, 1)

/* main.c */
extern unsigned int maple_log_entries, maple_starve_ms, maple_spin_ms;
extern unsigned int maple_top_prio, maple_user_sessions;
extern struct workqueue_struct *maple_workers; /* for what may wait */

/* work.c */
int maple_work_init(void);
int maple_work_add(struct maple_thread *t, struct task_struct *task,
		   struct callback_head *work, task_work_func_t fn,
		   unsigned int bit);
int maple_work_here(struct callback_head *work, task_work_func_t fn);
void maple_work_away(void (*fn)(void *arg), void *arg);
void maple_work_done(struct maple_thread *t, unsigned int bit);

/* session.c */
extern struct list_head maple_sessions; /* RCU; see session.c */
extern atomic_t maple_created, maple_destroyed;
void maple_session_put(struct maple_session *s);
void maple_session_loose(struct maple_session *s, u32 state);
void maple_session_end(struct maple_session *s, u32 state);
void maple_session_cut(struct maple_session *s, u32 state);
struct maple_session *maple_session_of(const struct task_struct *task);
void maple_session_run(struct maple_session *s);

static inline bool maple_session_has(const struct maple_session *s,
				     const struct task_struct *task)
{
	return task_tgid((struct task_struct *)task) == s->pid;
}

/* tasks.c */
bool maple_task_may_run(struct task_struct *task);
unsigned int maple_task_prio(unsigned int level);
void maple_native_save(struct maple_native *native, struct task_struct *task);
void maple_native_inherit(struct maple_native *to,
			  const struct maple_native *from);
void maple_native_restore(const struct maple_native *native,
			  struct task_struct *task);
void maple_native_restore_new(const struct maple_native *native,
			      struct task_struct *task);
void maple_task_level(struct maple_thread *t, unsigned int prio);
void maple_task_hook(struct maple_thread *t);
void maple_task_settle(struct maple_thread *t);
void maple_task_wishes(struct maple_thread *t, struct task_struct *task);
bool maple_task_keep(struct maple_thread *t);
int maple_task_take(struct maple_thread *t, struct task_struct *task);
void maple_task_pin(struct maple_thread *t);
void maple_task_loose(struct maple_thread *t);
void maple_task_demote(struct maple_thread *t, bool demote);
void maple_task_begin(struct maple_thread *t);
void maple_tasks_draw(struct maple_session *s, u64 seed, u32 changes);
u64 maple_task_cpu(const struct task_struct *task);
bool maple_task_clones(struct maple_session *s);
void maple_task_waits(struct maple_session *s, struct maple_thread *self,
		      struct maple_waits *waits);

/* thread.c */
struct maple_thread *maple_thread_find(struct maple_session *s,
				       const struct task_struct *task);
struct maple_thread *maple_thread_record(struct maple_session *s,
					 struct task_struct *task,
					 struct maple_thread *parent,
					 const struct maple_native *native,
					 bool counts);
void maple_thread_inherits(struct maple_session *s, struct task_struct *task,
			   const struct maple_native *native);
void maple_thread_dies(struct maple_thread *t);
void maple_threads_taken(struct maple_session *s);
void maple_thread_ended(struct maple_thread *t);
void maple_thread_work_done(struct maple_thread *t, unsigned int bit);
struct task_struct *maple_thread_task(struct maple_thread *t);
u32 maple_thread_find_pthread(struct maple_session *s, u64 pthread);
void maple_thread_refill(struct maple_session *s);
void maple_thread_name(char *name, const char *parent, unsigned int n);
void maple_thread_restore(struct maple_thread *t, struct task_struct *task);
void maple_thread_relieve(struct maple_thread *t);
void maple_threads_restore(struct maple_session *s);
void maple_threads_free(struct maple_session *s);

/* life.c */
int maple_life_init(void);
void maple_life_exit(void);

/* point.c */
extern struct srcu_struct maple_handlers;
extern u32 maple_lingering;
void maple_points_remove(struct maple_session *s);
void maple_points_exit(void);

/* The address space of the program under test, now. */
static inline struct mm_struct *maple_session_mm(const struct maple_session *s)
{
	return s->mm[smp_load_acquire(&s->nmm) - 1];
}

/* hit.c */
struct maple_spot {
	struct list_head list; /* in its point */
	struct maple_uapi_probe probe;
	bool after; /* the access stands before, where no probe can be */
	atomic_t hits;
};

struct maple_probe_point {
	struct uprobe_consumer consumer;
	struct uprobe *uprobe;	       /* where the kernel has them */
	struct maple_session *session; /* NULL: it has ended; maple_handlers */
	struct list_head list;	       /* in session->points, or lingering */
	struct list_head spots;	       /* constant once registered */
	struct path path; /* keeps what the file is on mounted, and it: */
	struct inode *inode;
	u64 offset;
	unsigned int ops; /* that one hit leads to, at most */
	bool call;
	bool off; /* registered, but its message was refused */
	bool registered;
};

MAPLE_HANDLER(maple_hit_handler);
MAPLE_RET_HANDLER(maple_hit_ret_handler);
void maple_hit_emit(struct maple_thread *t, struct maple_op *op);
void maple_hit_unstep(struct maple_thread *t);
void maple_hit_stepped(struct maple_thread *t, bool repeats);

/* step.c */
int maple_step_init(void);
void maple_step_exit(void);

/* operand.c */
u64 maple_operand_register(const struct pt_regs *regs, unsigned int reg);
u64 maple_operand_address(const struct maple_uapi_probe *p,
			  const struct pt_regs *regs);
u64 maple_operand_size(const struct maple_uapi_probe *p,
		       const struct pt_regs *regs);
bool maple_operand_valid(const struct maple_uapi_probe *p);

/* call.c */
unsigned int maple_call_ops(const struct maple_uapi_probe *p);
void maple_call_enter(struct maple_probe_point *p, struct maple_thread *t,
		      struct pt_regs *regs);
void maple_call_leave(struct maple_probe_point *p, struct maple_thread *t,
		      struct pt_regs *regs);

/* site.c */
int maple_sites_init(struct maple_session *s);
void maple_sites_remove(struct maple_session *s);
void maple_sites_free(struct maple_session *s);
u32 maple_site_of(struct maple_session *s, u64 caller, u32 *hits);
void maple_sites_forget(struct maple_session *s);

/* engine.c */
void maple_engine_before(struct maple_thread *t, struct maple_op *op,
			 bool may_arm);
void maple_engine_after(struct maple_thread *t, struct maple_op *op,
			bool may_arm);
void maple_engine_pass(struct maple_thread *t, const struct maple_op *op);
bool maple_engine_glance(struct maple_thread *t, struct maple_op *op);
bool maple_engine_did(struct maple_thread *t, const struct maple_op *op);
void maple_engine_freed(struct maple_thread *t, u64 addr, u64 size,
			bool may_arm);
void maple_engine_written(struct maple_thread *t, u64 addr, u64 size);
void maple_engine_log_access(struct maple_thread *t, const struct maple_op *op);
bool maple_engine_wanted(const struct maple_session *s, u32 site);
int maple_engine_create(struct maple_session *s, const struct maple_plan *plan);

/* turn.c */
void maple_turn_begin(struct maple_session *s);
void maple_turn_end(struct maple_thread *t, bool may_arm);
void maple_turn_before(struct maple_thread *t, const struct maple_op *op,
		       bool may_arm);
void maple_turn_born(struct maple_thread *t);
void maple_turn_gone(struct maple_thread *t, bool may_arm);
void maple_turn_spins(struct maple_thread *t, bool spins);

/* watch.c */
void maple_watch_follow(struct maple_session *s);
void maple_watch_drop(struct maple_thread *t);
bool maple_watch_concerns(const struct maple_thread *t,
			  const struct maple_access *acc);
void maple_watch_step(struct maple_thread *t, const struct maple_access *acc);
void maple_watch_stepped(struct maple_thread *t);
void maple_watches_remove(struct maple_session *s);

/* watchdog.c */
int maple_watchdog_init(void);
void maple_watchdog_exit(void);
void maple_watchdog_start(struct maple_session *s);
void maple_watchdog_stop(struct maple_session *s);

/* crash.c */
int maple_crash_init(void);
void maple_crash_exit(void);

/* log.c */
int maple_log_init(struct maple_log *log, u32 entries);
void maple_log_deinit(struct maple_log *log);
bool maple_log_put(struct maple_log *log, struct maple_log_entry *entry,
		   u32 *clock);
u32 maple_log_take(struct maple_log *log, struct maple_log_entry *to, u32 max);
void maple_log_event(struct maple_thread *t, unsigned int kind,
		     const struct maple_access *acc, u64 value,
		     unsigned int flags, u32 aux, u64 caller);
void maple_log_exit(struct maple_thread *t);

/* debug.c */
void maple_debug_init(void);
void maple_debug_exit(void);

/* selftest.c */
int maple_selftest(void);

#endif
