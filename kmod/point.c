// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes: points in files at which the kernel calls us, by uprobes. All that
 * one message says of one offset shares a point, and so does the place behind
 * an instruction that cannot be probed with the instruction that stands there.
 *
 * Points are added while a session lives and removed all at once at its end,
 * also those of a message that was refused when some of it was in place already:
 * threads may have been there, and to take a probe away waits for them.
 *
 * Where a file has been cut off before a probe, and somebody has it mapped, the
 * kernel cannot take the probe away, and forgets it where it is: 6.12 says
 * "failed to unregister, leaking uprobe", 6.1 nothing. Whose file has its inode
 * at the same place later would be stepped with this one's instruction. So such
 * a point lingers when its session is over: it tells nothing, and keeps its file,
 * until nobody has that mapped, or it is long enough again.
 *
 * Nor can the kernel take it away, or all of it back that it could not place,
 * for a process that is being killed: looking for the page it gives up. So both
 * are a worker's, whom nobody kills.
 */
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>
#include "plan/step.h"
#include "kmod.h"
#include "netlink/rights.h"

#define LINGER_MS  100	/* how often those that linger are looked at */
#define LINGER_MAX 4096 /* of all users; the kernel forgets the others */

/* What is called at a point holds it: the session may be freed afterwards. */
DEFINE_SRCU(maple_handlers);

static LIST_HEAD(lingering); /* lingering_lock */
static DEFINE_MUTEX(lingering_lock);
u32 maple_lingering;

/* Existing mappings are the session's; new ones are mapped by the target. */
static bool concerns(struct maple_session *s, struct mm_struct *mm)
{
	if (!s || READ_ONCE(s->ended))
		return false;
	return mm == maple_session_mm(s) ||
	       (current->mm == mm && maple_session_has(s, current) &&
		maple_rights_kept(s, mm));
}

static MAPLE_FILTER(point_filter)
{
	struct maple_probe_point *p =
		container_of(consumer, struct maple_probe_point, consumer);
	int idx = srcu_read_lock(&maple_handlers);
	bool is_so = concerns(READ_ONCE(p->session), mm);

	srcu_read_unlock(&maple_handlers, idx);
	return is_so;
}

static void point_destroy(struct maple_probe_point *p)
{
	struct maple_spot *spot, *next;

	list_for_each_entry_safe(spot, next, &p->spots, list)
		kfree(spot);
	path_put(&p->path);
	kfree(p);
}

static struct maple_probe_point *point_get(struct maple_session *s,
					   struct list_head *points,
					   const struct path *path, u64 offset,
					   bool call)
{
	struct maple_probe_point *p;

	list_for_each_entry_reverse(p, points, list)
		if (p->offset == offset && p->call == call)
			return p;
	p = kzalloc(sizeof(*p), MAPLE_GFP);
	if (!p)
		return NULL;
	p->session = s;
	p->path = *path;
	path_get(&p->path);
	p->inode = d_real_inode(path->dentry);
	p->offset = offset;
	p->call = call;
	p->consumer.handler = maple_hit_handler;
	p->consumer.filter = point_filter;
	INIT_LIST_HEAD(&p->spots);
	list_add_tail(&p->list, points);
	return p;
}

static int spot_add(struct maple_session *s, struct list_head *points,
		    const struct path *path,
		    const struct maple_uapi_probe *probe, bool after)
{
	bool call = probe->flags & MAPLE_PROBE_CALL;
	struct maple_probe_point *p;
	struct maple_spot *spot;

	p = point_get(s, points, path, after ? probe->next : probe->offset,
		      call);
	if (!p)
		return -ENOMEM;
	spot = kzalloc(sizeof(*spot), MAPLE_GFP);
	if (!spot)
		return -ENOMEM;
	spot->probe = *probe;
	spot->after = after;
	list_add_tail(&spot->list, &p->spots);
	p->ops += call ? maple_call_ops(probe) : 1;
	if (call && probe->flags & MAPLE_PROBE_RETURN)
		p->consumer.ret_handler = maple_hit_ret_handler;
	return 0;
}

static int spots_of(struct maple_session *s, struct list_head *points,
		    const struct path *path,
		    const struct maple_uapi_probe *probe,
		    struct netlink_ext_ack *extack)
{
	loff_t size = i_size_read(d_real_inode(path->dentry));
	int err;

	if (!maple_operand_valid(probe)) {
		NL_SET_ERR_MSG(extack, "a probe's operand makes no sense");
		return -EINVAL;
	}
	if (probe->offset >= size || probe->next >= size) {
		NL_SET_ERR_MSG(extack, "a probe lies outside its file");
		return -EINVAL;
	}
	err = spot_add(s, points, path, probe, false);
	if (!err && probe->next && probe->flags & MAPLE_PROBE_AHEAD)
		err = spot_add(s, points, path, probe, true);
	return err;
}

/* What one hit where @p is may lead to, by the points in @points. */
static unsigned int ops_at(const struct maple_probe_point *p,
			   const struct list_head *points)
{
	const struct maple_probe_point *other;
	unsigned int n = 0;

	list_for_each_entry(other, points, list)
		if (other->offset == p->offset && other->inode == p->inode)
			n += other->ops;
	return n;
}

/* Whether a thread has room for all that a hit may lead to. */
static int points_fit(struct maple_session *s, struct list_head *points,
		      struct netlink_ext_ack *extack)
{
	struct maple_probe_point *p;

	list_for_each_entry(p, points, list) {
		if (ops_at(p, points) + ops_at(p, &s->points) <= MAPLE_OPS)
			continue;
		NL_SET_ERR_MSG(
			extack,
			"too many probes at one offset: an access takes 1, a call up to 3, of " __stringify(
				MAPLE_OPS) " that there are");
		return -ENOSPC;
	}
	return 0;
}

/* No probe can be there; nothing else is wrong. */
static bool cannot_be(int err)
{
	return err == -ENOTSUPP || err == -EOPNOTSUPP || err == -ENOEXEC ||
	       err == -EINVAL;
}

static void points_destroy(struct list_head *points)
{
	struct maple_probe_point *p, *next;

	list_for_each_entry_safe(p, next, points, list) {
		list_del(&p->list);
		point_destroy(p);
	}
}

static void point_unregister(struct maple_probe_point *p)
{
	if (p->registered)
		maple_uprobe_remove(p->inode, p->offset, &p->consumer,
				    p->uprobe);
	p->registered = false;
}

/* False if that has to wait. Nobody cuts the file off meanwhile. */
static bool point_remove(struct maple_probe_point *p)
{
	bool can;

	if (!p->registered)
		return true;
	if (!inode_trylock_shared(p->inode))
		return false;
	can = p->offset < PAGE_ALIGN(i_size_read(p->inode)) ||
	      !mapping_mapped(p->inode->i_mapping);
	if (can)
		point_unregister(p);
	inode_unlock_shared(p->inode);
	return can;
}

static void linger(struct work_struct *work);
static DECLARE_DELAYED_WORK(linger_work, linger);

static void linger(struct work_struct *work)
{
	struct maple_probe_point *p, *next;
	unsigned int n = 0;
	LIST_HEAD(done);

	mutex_lock(&lingering_lock);
	list_for_each_entry_safe(p, next, &lingering, list)
		if (point_remove(p)) {
			list_move(&p->list, &done);
			n++;
		}
	if (!list_empty(&lingering))
		schedule_delayed_work(&linger_work, msecs_to_jiffies(LINGER_MS));
	mutex_unlock(&lingering_lock);
	if (!n)
		return;
	maple_uprobe_sync();
	points_destroy(&done);
	mutex_lock(&lingering_lock);
	maple_lingering -= n;
	mutex_unlock(&lingering_lock);
}

/* From now on @points linger, of a session that is over; but for too many. */
static void points_leave(struct list_head *points)
{
	struct maple_probe_point *p, *next;

	synchronize_srcu(&maple_handlers);
	mutex_lock(&lingering_lock);
	list_for_each_entry_safe(p, next, points, list)
		if (maple_lingering < LINGER_MAX) {
			list_move(&p->list, &lingering);
			maple_lingering++;
		} else {
			point_unregister(p);
		}
	schedule_delayed_work(&linger_work, msecs_to_jiffies(LINGER_MS));
	mutex_unlock(&lingering_lock);
	maple_uprobe_sync();
	points_destroy(points);
}

/* Those that cannot be removed yet linger. Context: a worker. */
static void points_remove(void *list)
{
	struct list_head *points = list;
	struct maple_probe_point *p, *next;
	LIST_HEAD(left);

	list_for_each_entry_safe(p, next, points, list)
		if (!point_remove(p)) {
			WRITE_ONCE(p->session, NULL);
			list_move(&p->list, &left);
		}
	maple_uprobe_sync();
	points_destroy(points);
	if (!list_empty(&left))
		points_leave(&left);
}

static void remove_lingering(void *unused)
{
	struct maple_probe_point *p;

	list_for_each_entry(p, &lingering, list)
		point_unregister(p);
	maple_uprobe_sync();
	points_destroy(&lingering);
}

/* maple_points_exit - whatever becomes of them; there are no sessions */
void maple_points_exit(void)
{
	cancel_delayed_work_sync(&linger_work);
	maple_work_away(remove_lingering, NULL);
}

/* The kernel would step some instructions, and step them wrongly. */
static int point_register(struct maple_probe_point *p, struct file *file)
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

/* Of one message; what came of it. */
struct placing {
	struct list_head *points;
	struct file *file;
	unsigned int placed, unreached;
	int err;
};

/* Context: a worker. */
static void points_register(void *arg)
{
	struct placing *placing = arg;
	struct maple_probe_point *p;
	int err;

	list_for_each_entry(p, placing->points, list) {
		err = point_register(p, placing->file);
		p->registered = !err;
		if (err && !cannot_be(err)) {
			placing->err = err;
			return;
		}
		if (err)
			placing->unreached++;
		else
			placing->placed++;
	}
}

static int points_place(struct maple_session *s, struct list_head *points,
			struct file *file, struct netlink_ext_ack *extack)
{
	struct placing placing = { .points = points, .file = file };

	maple_work_away(points_register, &placing);
	if (placing.err) {
		NL_SET_ERR_MSG(extack, "the kernel refuses probes in this file");
		return placing.err;
	}
	if (placing.unreached)
		NL_SET_ERR_MSG(extack,
			       "no probe can be at some of the instructions");
	maple_count_add(s, unreached, placing.unreached);
	maple_count_add(s, probes, placing.placed);
	return 0;
}

static int probes_add(struct maple_session *s, struct file *file,
		      const struct maple_uapi_probe *probes, unsigned int n,
		      struct netlink_ext_ack *extack)
{
	struct maple_probe_point *p;
	LIST_HEAD(points);
	unsigned int i;
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = spots_of(s, &points, &file->f_path, &probes[i], extack);
	err = err ?: points_fit(s, &points, extack);
	if (err) {
		points_destroy(&points);
		return err;
	}
	err = points_place(s, &points, file, extack);
	if (err)
		list_for_each_entry(p, &points, list) {
			WRITE_ONCE(p->off, true);
			p->ops = 0;
		}
	s->nprobes += n;
	list_splice_tail(&points, &s->points);
	return err;
}

/*
 * Whether a program answers for what is in the file. While the kernel reads
 * there to put a probe in place, it lets nobody fork.
 */
static bool is_served(const struct inode *inode)
{
	return !strncmp(inode->i_sb->s_type->name, "fuse", 4);
}

/*
 * maple_session_probe - adds @probes of @file, all of one message
 *
 * Where the kernel can put no probe (LOCK prefixes, some of AVX), the others
 * are put in place, it is counted as unreached, and @extack says so. With any
 * other error none of them tells of anything.
 */
int maple_session_probe(struct maple_session *s, struct file *file,
			const struct maple_uapi_probe *probes, unsigned int n,
			struct netlink_ext_ack *extack)
{
	struct inode *inode = d_real_inode(file->f_path.dentry);
	int err;

	if (!S_ISREG(inode->i_mode) || !i_size_read(inode)) {
		NL_SET_ERR_MSG(extack, "only a regular file, and not an empty "
				       "one, has code to probe");
		return -EINVAL;
	}
	if (!(file->f_mode & FMODE_READ)) {
		NL_SET_ERR_MSG(extack, "the file is not open for reading");
		return -EBADF;
	}
	if (s->rights && is_served(inode)) {
		NL_SET_ERR_MSG(extack,
			       "the file is some program's (FUSE), which could "
			       "have all of the machine wait for it: only root "
			       "may probe it");
		return -EPERM;
	}
	mutex_lock(&s->probes_lock);
	if (READ_ONCE(s->native)) {
		NL_SET_ERR_MSG(extack, "the session is native by now: "
				       "released, cut, or over its deadline");
		err = -ESHUTDOWN;
	} else if (s->nprobes + n > MAPLE_SESSION_PROBES) {
		NL_SET_ERR_MSG(extack, "too many probes in one session");
		err = -ENOSPC;
	} else {
		err = probes_add(s, file, probes, n, extack);
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
	maple_work_away(points_remove, &s->points);
	mutex_unlock(&s->probes_lock);
}
