/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The session, its threads, and the way out for records. All threads of the
 * target share one CPU, so the order of the ring is the order of the program;
 * they can be preempted in here, which is why a record goes out in one piece.
 */
#ifndef MAPLE_BPF_SESSION_H
#define MAPLE_BPF_SESSION_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "kernel_types.h"
#include "observe.h"

/* A call whose return is waited for. */
struct frame {
	__u64 sp; /* where its return address stands */
	__u64 caller;
	__u64 arg[2];
	__u32 index;
	__u32 flags;
};

struct thread {
	__u32 number;
	__u32 started;
	__u32 depth;
	__u32 repeats;		/* of the last access */
	__u64 index, addr, seq; /* ... which was this one */
	__u64 rep, left;	/* the last one that repeats, and how often */
	struct frame frame[MAPLE_OBSERVE_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, MAPLE_OBSERVE_RING);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAPLE_OBSERVE_THREADS);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* Those that there was no number for: each is counted once. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAPLE_OBSERVE_THREADS);
	__type(key, __u32);
	__type(value, __u32);
} numberless SEC(".maps");

struct maple_observe_session session;
struct maple_observe_end end;

static const struct thread new_thread;

/* Something of the target's is not told, or not told rightly. */
static __always_inline void lose(void)
{
	__sync_fetch_and_add(&session.lost, 1);
}

static __always_inline void say(struct maple_observe_record *r)
{
	__sync_fetch_and_add(&session.seq, 1);
	if (bpf_ringbuf_output(&events, r, sizeof(*r), BPF_RB_NO_WAKEUP))
		lose();
}

static long note_stack(struct task_struct *task, struct vm_area_struct *vma,
		       struct maple_observe_record *r)
{
	r->addr = vma->vm_start;
	r->other = vma->vm_end - vma->vm_start;
	return 0;
}

/* A thread's first event is said when it has something else to say. */
static __noinline void start(struct thread *t, __u64 sp)
{
	struct maple_observe_record r = { .what = MAPLE_OBSERVED_START };
	struct task_struct *task = bpf_get_current_task_btf();
	struct bpf_pidns_info ns = { 0 };

	if (!t)
		return;
	t->started = 1;
	r.thread = t->number;
	r.caller = BPF_CORE_READ(task, thread.fsbase);
	if (!bpf_get_ns_current_pid_tgid(session.dev, session.ino, &ns,
					 sizeof(ns)))
		r.aux = ns.pid;
	/* The first thread's stack was there before. */
	if (t->number)
		bpf_find_vma(task, sp, note_stack, &r, 0);
	say(&r);
}

static __always_inline __u32 new_number(__u32 tid)
{
	__u32 n = session.nthreads;

	if (n < MAPLE_THREADS) {
		n = __sync_fetch_and_add(&session.nthreads, 1);
		if (n < MAPLE_THREADS)
			return n;
		__sync_fetch_and_add(&session.nthreads, -1);
	}
	if (!bpf_map_update_elem(&numberless, &tid, &n, BPF_NOEXIST))
		__sync_fetch_and_add(&session.threads_over, 1);
	return MAPLE_THREAD_NONE;
}

#define TICK 10000000 /* ns of one of /proc's */

/* Whether this runs in process @pid, which began at @start: no other had its
   number before, or has it after. */
static __always_inline bool is_process(__u64 dev, __u64 ino, __u32 pid,
				       __u64 start)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct bpf_pidns_info ns;

	return pid && !bpf_get_ns_current_pid_tgid(dev, ino, &ns, sizeof(ns)) &&
	       ns.tgid == pid &&
	       (!start ||
		BPF_CORE_READ(task, group_leader, start_boottime) / TICK ==
			start);
}

static __always_inline bool is_target(void)
{
	return is_process(session.dev, session.ino, session.pid, session.start);
}

/* The calling thread, made known if it is of the target; NULL if not. */
static __noinline struct thread *self(void)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = id, number;
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);

	if (t)
		return session.gone ? NULL : t;
	if (!session.heard || session.gone ||
	    (session.kernel_pid && session.kernel_pid != id >> 32) ||
	    !is_target())
		return NULL;
	session.kernel_pid = id >> 32;
	number = new_number(tid);
	if (number == MAPLE_THREAD_NONE)
		return NULL;
	if (bpf_map_update_elem(&threads, &tid, &new_thread, BPF_NOEXIST)) {
		lose();
		return NULL;
	}
	t = bpf_map_lookup_elem(&threads, &tid);
	if (t)
		t->number = number;
	return t;
}

/* Whether this is within its budget; @last says that it is the last time. */
static __always_inline bool spend(struct maple_observe_count *c, bool *last)
{
	__u32 epoch = session.epoch;

	*last = false;
	if (c->epoch != epoch) {
		c->epoch = epoch;
		c->n = 0;
	}
	if (!session.budget)
		return true;
	/* It goes on counting, for who wants to know what silence costs. */
	c->n += c->n < 0xffffffff;
	*last = c->n == session.budget + 1;
	return c->n <= session.budget;
}

/*
 * Whether the thread is in a call of its own that is all libc's. In a program
 * of its own libraries, libc's calls and accesses are known by where they come
 * from, so only what libc jumped to instead of calling it is in question; what
 * a signal handler does in the midst of a call is the program's. In a static
 * program everything is.
 *
 * Calls that were left by longjmp() or an exception never return: what stands
 * below the stack pointer is gone.
 */
static __always_inline bool inside(struct thread *t, __u64 sp)
{
	struct frame *f;

	for (int i = 0; i < MAPLE_OBSERVE_FRAMES; i++) {
		if (!t->depth || t->depth > MAPLE_OBSERVE_FRAMES)
			return false;
		f = &t->frame[(t->depth - 1) & (MAPLE_OBSERVE_FRAMES - 1)];
		if (f->sp >= sp)
			return !(f->flags & MAPLE_OBSERVE_OPEN) &&
			       (session.is_static || f->sp == sp);
		t->depth--;
	}
	return false;
}

#endif
