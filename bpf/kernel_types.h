/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The kernel's structures, as far as the observer reads them: names only,
 * where the fields are is found out when the program is loaded (CO-RE).
 */
#ifndef MAPLE_BPF_KERNEL_TYPES_H
#define MAPLE_BPF_KERNEL_TYPES_H

#ifndef __bpf__
#error "for eBPF programs alone"
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct thread_struct {
	unsigned long fsbase;
};

struct signal_struct {
	unsigned int flags;
	int group_exit_code;
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct uprobes_state uprobes_state;
};

struct task_struct {
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	unsigned long long start_boottime;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct thread_struct thread;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
};

#pragma clang attribute pop

#define SIGNAL_GROUP_EXIT 4 /* include/linux/sched/signal.h */

#endif
