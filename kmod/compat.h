/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels. Kbuild compiles a probe for each and defines
 * MAPLE_HAS_... ; nothing else in the module asks for versions.
 */
#ifndef MAPLE_COMPAT_H
#define MAPLE_COMPAT_H

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/uprobes.h>

/* 6.11, 59da880afed2: the filter is not told why it is asked */
#ifdef MAPLE_HAS_FILTER_CTX
#define MAPLE_FILTER(name)                          \
	bool name(struct uprobe_consumer *consumer, \
		  enum uprobe_filter_ctx ctx, struct mm_struct *mm)
#else
#define MAPLE_FILTER(name) \
	bool name(struct uprobe_consumer *consumer, struct mm_struct *mm)
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

#endif
