/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Threads that come and go, told by the kernel; other processes are not ours. */
#ifndef MAPLE_BPF_THREADS_H
#define MAPLE_BPF_THREADS_H

#include "session.bpf.h"

#define LEVELS 8 /* of pid namespaces within each other that we look at */

/* The thread's id where our namespace has one for it. */
static __always_inline __s32 tid_here(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid *numbers = (void *)pid + bpf_core_field_offset(pid->numbers);
	struct upid *upid;

	for (int i = 0; i < LEVELS && i <= level; i++) {
		upid = (void *)numbers + i * bpf_core_type_size(struct upid);
		if (BPF_CORE_READ(upid, ns, ns.inum) == session.ino)
			return BPF_CORE_READ(upid, nr);
	}
	return 0;
}

/* Where the creator called from, if it was a function that we know. */
static __always_inline __u64 creator(const struct thread *t)
{
	const struct frame *f;

	if (!t->depth || t->depth > MAPLE_OBSERVE_FRAMES)
		return 0;
	f = &t->frame[(t->depth - 1) & (MAPLE_OBSERVE_FRAMES - 1)];
	return f->flags & MAPLE_OBSERVE_CREATE ? f->caller : 0;
}

SEC("raw_tp/sched_process_fork")
int observe_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct maple_observe_record r = { .what = MAPLE_OBSERVED_CREATE };
	struct task_struct *parent = (void *)ctx->args[0];
	struct task_struct *child = (void *)ctx->args[1];
	__u32 tid = BPF_CORE_READ(parent, pid), n;
	struct thread *t;

	/* The parent is who runs here, and it may have said nothing so far. */
	t = session.joined ? self() : bpf_map_lookup_elem(&threads, &tid);

	if (!t || session.gone ||
	    BPF_CORE_READ(child, tgid) != BPF_CORE_READ(parent, tgid))
		return 0;
	tid = BPF_CORE_READ(child, pid);
	n = new_number(tid);
	if (n == MAPLE_THREAD_NONE)
		return 0;
	r.thread = t->number;
	r.caller = creator(t);
	if (bpf_map_update_elem(&threads, &tid, &new_thread, BPF_ANY)) {
		lose();
		return 0;
	}
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t)
		return 0;
	t->number = n;
	if (maple_observe_renews(n))
		__sync_fetch_and_add(&session.epoch, 1);
	r.aux = n;
	r.other = tid_here(child);
	say(&r);
	return 0;
}

/* How the process ends, told by the first of its threads that does. */
static __always_inline void note_end(struct task_struct *task)
{
	if (!end.pid || end.seen ||
	    !(BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT) ||
	    !is_process(end.dev, end.ino, end.pid, end.start))
		return;
	end.status = BPF_CORE_READ(task, signal, group_exit_code);
	end.seen = 1;
}

static __always_inline int leave(void)
{
	struct maple_observe_record r = { .what = MAPLE_OBSERVED_EXIT };
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 tid = bpf_get_current_pid_tgid();
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);

	note_end(task);
	if (!t) {
		if (session.threads_over)
			bpf_map_delete_elem(&numberless, &tid);
		return 0;
	}
	r.thread = t->number;
	/* Of those that the end of the process takes along nothing is said. */
	if (t->started && !session.gone &&
	    !(BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT))
		say(&r);
	bpf_map_delete_elem(&threads, &tid);
	return 0;
}

/* Before anybody who waits for the thread can know of its end. */
SEC("kprobe/do_exit")
int observe_exit(struct pt_regs *regs)
{
	return leave();
}

/* Where no probe can be on that: not before, but soon. */
SEC("raw_tp/sched_process_exit")
int observe_exited(struct bpf_raw_tracepoint_args *ctx)
{
	return leave();
}

SEC("raw_tp/sched_process_exec")
int observe_exec(struct bpf_raw_tracepoint_args *ctx)
{
	/* By any thread: that of one that has said nothing yet counts as well. */
	if (is_target())
		session.gone = 1;
	return 0;
}

#endif
