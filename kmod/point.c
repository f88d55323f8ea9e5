// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes: points in files at which the kernel calls us, by uprobes. All that
 * one message says of one offset shares a point, and so does the place behind
 * an instruction that cannot be probed with the instruction that stands there.
 *
 * Points are added while a session lives and removed all at once at its end.
 */
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "plan/step.h"
#include "kmod.h"

/* Existing mappings are the session's; new ones are mapped by the target. */
static MAPLE_FILTER(point_filter)
{
	struct maple_session *s =
		container_of(consumer, struct maple_point, consumer)->session;

	return mm == maple_session_mm(s) ||
	       (current->mm == mm && current->tgid == s->tgid);
}

static void point_destroy(struct maple_point *p)
{
	struct maple_spot *spot, *next;

	list_for_each_entry_safe(spot, next, &p->spots, list)
		kfree(spot);
	iput(p->inode);
	kfree(p);
}

static struct maple_point *point_get(struct maple_session *s,
				     struct list_head *points,
				     struct inode *inode, u64 offset, bool call)
{
	struct maple_point *p;

	list_for_each_entry_reverse(p, points, list)
		if (p->offset == offset && p->call == call)
			return p;
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return NULL;
	p->session = s;
	p->inode = inode;
	ihold(inode);
	p->offset = offset;
	p->call = call;
	p->consumer.handler = maple_hit_handler;
	p->consumer.filter = point_filter;
	INIT_LIST_HEAD(&p->spots);
	list_add_tail(&p->list, points);
	return p;
}

static int spot_add(struct maple_session *s, struct list_head *points,
		    struct inode *inode, const struct maple_uapi_probe *probe,
		    bool after)
{
	bool call = probe->flags & MAPLE_PROBE_CALL;
	struct maple_point *p;
	struct maple_spot *spot;

	p = point_get(s, points, inode, after ? probe->next : probe->offset,
		      call);
	if (!p)
		return -ENOMEM;
	spot = kzalloc(sizeof(*spot), GFP_KERNEL);
	if (!spot)
		return -ENOMEM;
	spot->probe = *probe;
	spot->after = after;
	list_add_tail(&spot->list, &p->spots);
	if (call && probe->flags & MAPLE_PROBE_RETURN)
		p->consumer.ret_handler = maple_hit_ret_handler;
	return 0;
}

static int spots_of(struct maple_session *s, struct list_head *points,
		    struct inode *inode, const struct maple_uapi_probe *probe,
		    struct netlink_ext_ack *extack)
{
	loff_t size = i_size_read(inode);
	int err;

	if (!maple_operand_valid(probe)) {
		NL_SET_ERR_MSG(extack, "a probe's operand makes no sense");
		return -EINVAL;
	}
	if (probe->offset >= size || probe->next >= size) {
		NL_SET_ERR_MSG(extack, "a probe lies outside its file");
		return -EINVAL;
	}
	err = spot_add(s, points, inode, probe, false);
	if (!err && probe->next && probe->flags & MAPLE_PROBE_AHEAD)
		err = spot_add(s, points, inode, probe, true);
	return err;
}

/* No probe can be there; nothing else is wrong. */
static bool cannot_be(int err)
{
	return err == -ENOTSUPP || err == -EOPNOTSUPP || err == -ENOEXEC ||
	       err == -EINVAL;
}

static void points_unregister(struct list_head *points)
{
	struct maple_point *p;

	list_for_each_entry(p, points, list) {
		if (p->registered)
			maple_uprobe_remove(p->inode, p->offset, &p->consumer,
					    p->uprobe);
		p->registered = false;
	}
	maple_uprobe_sync();
}

static void points_destroy(struct list_head *points)
{
	struct maple_point *p, *next;

	list_for_each_entry_safe(p, next, points, list) {
		list_del(&p->list);
		point_destroy(p);
	}
}

/* The kernel would step some instructions, and step them wrongly. */
static int point_register(struct maple_point *p, struct file *file)
{
	u8 code[MAPLE_STEP_BYTES] = { 0 };
	loff_t at = p->offset;
	ssize_t n = kernel_read(file, code, sizeof(code), &at);

	if (n < 0)
		return n;
	if (maple_step_breaks(code))
		return -EOPNOTSUPP;
	return maple_uprobe_add(p->inode, p->offset, &p->consumer, &p->uprobe);
}

static int points_register(struct maple_session *s, struct list_head *points,
			   struct file *file, struct netlink_ext_ack *extack)
{
	struct maple_point *p;
	int err;

	list_for_each_entry(p, points, list) {
		err = point_register(p, file);
		if (!err) {
			p->registered = true;
			maple_count(s, probes);
			continue;
		}
		if (!cannot_be(err)) {
			NL_SET_ERR_MSG(extack,
				       "the kernel refuses probes in this file");
			return err;
		}
		maple_count(s, unreached);
		NL_SET_ERR_MSG(extack,
			       "no probe can be at some of the instructions");
	}
	return 0;
}

/*
 * maple_session_probe - adds @probes of @file, all of one message
 *
 * Where the kernel can put no probe (LOCK prefixes, some of AVX), the others
 * are put in place, it is counted as unreached, and @extack says so. With any
 * other error none of them is.
 */
int maple_session_probe(struct maple_session *s, struct file *file,
			const struct maple_uapi_probe *probes, unsigned int n,
			struct netlink_ext_ack *extack)
{
	struct inode *inode = d_real_inode(file->f_path.dentry);
	LIST_HEAD(points);
	unsigned int i;
	int err = 0;

	if (!S_ISREG(inode->i_mode) || !i_size_read(inode)) {
		NL_SET_ERR_MSG(extack, "only a regular file, and not an empty "
				       "one, has code to probe");
		return -EINVAL;
	}
	if (!(file->f_mode & FMODE_READ)) {
		NL_SET_ERR_MSG(extack, "the file is not open for reading");
		return -EBADF;
	}
	mutex_lock(&s->probes_lock);
	if (READ_ONCE(s->native)) {
		NL_SET_ERR_MSG(extack, "the session is over");
		err = -ESHUTDOWN;
	} else if (s->nprobes + n > MAPLE_SESSION_PROBES) {
		NL_SET_ERR_MSG(extack, "too many probes in one session");
		err = -ENOSPC;
	}
	for (i = 0; i < n && !err; i++)
		err = spots_of(s, &points, inode, &probes[i], extack);
	if (!err)
		err = points_register(s, &points, file, extack);
	if (err) {
		points_unregister(&points);
		points_destroy(&points);
	} else {
		s->nprobes += n;
		list_splice_tail(&points, &s->points);
	}
	mutex_unlock(&s->probes_lock);
	return err;
}

/*
 * maple_points_remove - Context: nobody is held, every thread of the target
 * has its own scheduling back: to take a probe away waits for those in its
 * handler
 */
void maple_points_remove(struct maple_session *s)
{
	mutex_lock(&s->probes_lock);
	points_unregister(&s->points);
	points_destroy(&s->points);
	mutex_unlock(&s->probes_lock);
}
