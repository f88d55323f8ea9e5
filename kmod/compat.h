/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels. Kbuild compiles a probe for each form that a
 * thing has had, and defines MAPLE_HAS_... for those that compile; nothing else
 * in the module asks for versions. Where none of them does, or more than one,
 * the probes say nothing, and nothing is built.
 */
#ifndef MAPLE_COMPAT_H
#define MAPLE_COMPAT_H

#ifndef CONFIG_X86_64
#error "maple.ko decodes x86-64 instructions: it is for 64-bit x86 kernels alone"
#endif

#if defined(MAPLE_HAS_UPROBE_INT) == defined(MAPLE_HAS_UPROBE_PTR) ||         \
	defined(MAPLE_HAS_FILTER_CTX) == defined(MAPLE_HAS_FILTER_MM) ||      \
	defined(MAPLE_HAS_HANDLER_DATA) == defined(MAPLE_HAS_HANDLER_REGS) || \
	defined(MAPLE_HAS_EXIT_TASK) == defined(MAPLE_HAS_EXIT_DEAD) ||       \
	defined(MAPLE_HAS_NEWTASK_LONG) == defined(MAPLE_HAS_NEWTASK_U64) ||  \
	defined(MAPLE_HAS_DUMPABLE_FLAGS) +                                   \
			defined(MAPLE_HAS_DUMPABLE_BITMAP) +                  \
			defined(MAPLE_HAS_DUMPABLE_TASK) !=                   \
		1
#error "Kbuild's probes of this kernel fail: build with the compiler that it was built with (LLVM=1 for clang), with its whole headers, and CONFIG_UPROBES=y"
#endif

/*
 * From 5.3 (710da3c8ea7d) to 6.5 (111cd11bbc54), and 6.1 until it took that one
 * over in 6.1.50, sched_setattr_nocheck() waits for changes of cpusets, but is
 * called here where nobody may sleep. maple_work_init() asks the kernel itself.
 */
#if defined(MAPLE_HAS_CPUSET_RWSEM) && defined(CONFIG_CPUSETS)
#error "this kernel sleeps when it sets priorities: maple.ko needs 6.1.50 or later of 6.1, or 6.5 or later"
#endif

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/sched/coredump.h>
#ifdef MAPLE_HAS_DUMPABLE_TASK
#include <linux/sched/exec_state.h>
#endif
#include <linux/uprobes.h>

/*
 * The pid behind a pidfd; NULL if it is none. The kernel's own way,
 * pidfd_pid(), is not for modules; a pidfd is known by where it lives instead:
 * in pidfs, which has nothing else, or, before 6.9 (cb12fd8e0dab) and without
 * FS_PID, as an anonymous inode of a name that only pidfd_create() gives.
 */
#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC 0x50494446
#endif
static inline struct pid *maple_pidfd_pid(struct file *file)
{
	switch (file_inode(file)->i_sb->s_magic) {
	case PID_FS_MAGIC:
		return file_inode(file)->i_private;
	case ANON_INODE_FS_MAGIC:
		if (!strcmp(file->f_path.dentry->d_name.name, "[pidfd]"))
			return file->private_data;
	}
	return NULL;
}

/* 6.11, 59da880afed2: the filter is not told why it is asked */
#ifdef MAPLE_HAS_FILTER_CTX
#define MAPLE_FILTER(name)                          \
	bool name(struct uprobe_consumer *consumer, \
		  enum uprobe_filter_ctx ctx, struct mm_struct *mm)
#else
#define MAPLE_FILTER(name) \
	bool name(struct uprobe_consumer *consumer, struct mm_struct *mm)
#endif

/* 6.16: whether the task is the last of its process, which is of no use here */
#ifdef MAPLE_HAS_EXIT_DEAD
#define MAPLE_ON_EXIT(name) \
	void name(void *data, struct task_struct *task, bool group_dead)
#else
#define MAPLE_ON_EXIT(name) void name(void *data, struct task_struct *task)
#endif

/* 6.18: what clone() is told has 64 bits wherever it goes */
#ifdef MAPLE_HAS_NEWTASK_U64
#define MAPLE_ON_NEWTASK(name) \
	void name(void *data, struct task_struct *task, u64 flags)
#else
#define MAPLE_ON_NEWTASK(name) \
	void name(void *data, struct task_struct *task, unsigned long flags)
#endif

/* 6.13, da09a9e0c3ea: handlers share a word between entry and return */
#ifdef MAPLE_HAS_HANDLER_DATA
#define MAPLE_HANDLER(name)                                              \
	int name(struct uprobe_consumer *consumer, struct pt_regs *regs, \
		 __u64 *data)
#define MAPLE_RET_HANDLER(name)                                        \
	int name(struct uprobe_consumer *consumer, unsigned long func, \
		 struct pt_regs *regs, __u64 *data)
#else
#define MAPLE_HANDLER(name) \
	int name(struct uprobe_consumer *consumer, struct pt_regs *regs)
#define MAPLE_RET_HANDLER(name)                                        \
	int name(struct uprobe_consumer *consumer, unsigned long func, \
		 struct pt_regs *regs)
#endif

/*
 * Whether its user may trace @task, whose memory is @mm. That is a part of the
 * memory's flags, which are a bitmap from 6.18 on, and from 7.2 on is kept for
 * the task, where the kernel's own way to it is not for modules.
 */
#ifdef MAPLE_HAS_DUMPABLE_FLAGS
static inline bool maple_dumpable(const struct task_struct *task,
				  const struct mm_struct *mm)
{
	return __get_dumpable(READ_ONCE(mm->flags)) == SUID_DUMP_USER;
}
#elif defined(MAPLE_HAS_DUMPABLE_BITMAP)
static inline bool maple_dumpable(const struct task_struct *task,
				  const struct mm_struct *mm)
{
	return __get_dumpable(__mm_flags_get_dumpable((struct mm_struct *)mm)) ==
	       SUID_DUMP_USER;
}
#else
static inline bool maple_dumpable(const struct task_struct *task,
				  const struct mm_struct *mm)
{
	bool may;

	rcu_read_lock();
	may = READ_ONCE(rcu_dereference(task->exec_state)->dumpable) ==
	      TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return may;
}
#endif

/*
 * 6.12, 3c83a9ad0295 and 04b01625da13: registration hands out the uprobe,
 * and unregistration has two halves.
 */
#ifdef MAPLE_HAS_UPROBE_INT
static inline int maple_uprobe_add(struct inode *inode, loff_t offset,
				   struct uprobe_consumer *consumer,
				   struct uprobe **uprobe)
{
	*uprobe = NULL;
	return uprobe_register(inode, offset, consumer);
}

static inline void maple_uprobe_remove(struct inode *inode, loff_t offset,
				       struct uprobe_consumer *consumer,
				       struct uprobe *uprobe)
{
	uprobe_unregister(inode, offset, consumer);
}

static inline void maple_uprobe_sync(void)
{
}
#else
static inline int maple_uprobe_add(struct inode *inode, loff_t offset,
				   struct uprobe_consumer *consumer,
				   struct uprobe **uprobe)
{
	*uprobe = uprobe_register(inode, offset, 0, consumer);
	return PTR_ERR_OR_ZERO(*uprobe);
}

static inline void maple_uprobe_remove(struct inode *inode, loff_t offset,
				       struct uprobe_consumer *consumer,
				       struct uprobe *uprobe)
{
	uprobe_unregister_nosync(uprobe, consumer);
}

static inline void maple_uprobe_sync(void)
{
	uprobe_unregister_sync();
}
#endif

/* 6.4, 54e6842d0775: vhost's workers are threads of a process, too */
#ifdef PF_USER_WORKER
#define MAPLE_PF_WORKER (PF_IO_WORKER | PF_USER_WORKER)
#else
#define MAPLE_PF_WORKER PF_IO_WORKER
#endif

#endif
