// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: their beginning and their end.
 *
 * A child is a copy of its parent, as that was scheduled when it began to make
 * it; until the fork tracepoint nobody knows of it. So that none comes out of
 * a session with what its parent had there:
 *
 *   the end          native; everyone who has a record gets its own back;
 *                    until no thread is between copy and tracepoint, wait;
 *                    who got a record meanwhile, too; unlisted
 *   fork tracepoint  before native: makes a record. After it: the child, not
 *                    yet woken, gets its own back there and then
 *
 * When the wait takes too long, the session is left listed, without its owner,
 * until it is over.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "kmod.h"
#include "netlink/rights.h"
#include "trace.h"

#define NO_MEMORY \
	"there is no memory for a session, or the sender's control group has none left"
#define CLONE_MS 20 /* that the owner waits for children in the making, */
#define LEFT_MS	 20 /* ... and how often they are looked for then */

LIST_HEAD(maple_sessions); /* sessions_lock; read under RCU */
static DEFINE_MUTEX(sessions_lock);
atomic_t maple_created, maple_destroyed; /* sessions */

/*
 * maple_session_of - the session on the process of @task, the newest, since
 * others may be left; Context: RCU
 */
struct maple_session *maple_session_of(const struct task_struct *task)
{
	struct maple_session *s;

	list_for_each_entry_rcu(s, &maple_sessions, list,
				lockdep_is_held(&sessions_lock))
		if (maple_session_has(s, task))
			return s;
	return NULL;
}

/* maple_session_run - the target has shown itself */
void maple_session_run(struct maple_session *s)
{
	if (READ_ONCE(s->state) == MAPLE_SESSION_ARMED)
		cmpxchg(&s->state, MAPLE_SESSION_ARMED, MAPLE_SESSION_RUNNING);
}

static void session_free(struct kref *refs)
{
	struct maple_session *s = container_of(refs, struct maple_session, refs);

	WARN_ON_ONCE(s->watched || !list_empty(&s->points));
	while (s->nmm > 0)
		mmdrop(s->mm[--s->nmm]);
	put_pid(s->pid);
	maple_threads_free(s);
	maple_rights_deinit(s);
	maple_sites_free(s);
	maple_log_deinit(&s->log);
	bitmap_free(s->wanted);
	kvfree(s->drive.automaton);
	kvfree(s->plan);
	kvfree(s);
	atomic_inc(&maple_destroyed);
	/* Who runs this is waited for by synchronize_rcu_tasks() at exit. */
	module_put(THIS_MODULE);
}

/*
 * maple_session_put - the owner has ended the session, or a work is done
 *
 * After maple_session_destroy() only works in flight hold a session. Each of
 * them stands on the list of a thread that runs it before it is next in user
 * space, or when it exits, or is one of the watchdog's, whose workers get to
 * them when their CPU does not starve.
 */
void maple_session_put(struct maple_session *s)
{
	kref_put(&s->refs, session_free);
}

static struct maple_session *session_alloc(void)
{
	struct maple_session *s = kvzalloc(sizeof(*s), MAPLE_GFP);

	if (!s)
		return NULL;
	if (!try_module_get(THIS_MODULE)) {
		kvfree(s);
		return NULL;
	}
	atomic_inc(&maple_created);
	kref_init(&s->refs);
	INIT_LIST_HEAD(&s->list);
	INIT_LIST_HEAD(&s->records);
	INIT_LIST_HEAD(&s->spare);
	INIT_LIST_HEAD(&s->points);
	s->nalive = 1;
	hash_init(s->by_task);
	raw_spin_lock_init(&s->lock);
	raw_spin_lock_init(&s->threads_lock);
	raw_spin_lock_init(&s->returns_lock);
	mutex_init(&s->probes_lock);
	mutex_init(&s->watch_lock);
	mutex_init(&s->end_lock);
	init_waitqueue_head(&s->moved);
	return s;
}

/* The first thread's may be gone with it; the others have it still. */
static struct mm_struct *find_mm(struct task_struct *leader)
{
	struct mm_struct *mm = NULL;
	struct task_struct *task;

	rcu_read_lock();
	for_each_thread(leader, task)
		mm = mm ?: get_task_mm(task);
	rcu_read_unlock();
	return mm;
}

static int session_fill(struct maple_session *s,
			const struct maple_session_order *order,
			struct task_struct *leader,
			struct netlink_ext_ack *extack)
{
	struct mm_struct *mm;
	int err;

	s->pid = get_pid(order->target);
	s->tgid = leader->tgid;
	s->owner = current->tgid;
	s->cpu = order->cpu;
	s->sched = order->sched;
	s->native = order->sched == MAPLE_UAPI_NATIVE;
	maple_tasks_draw(s, order->seed, order->changes);
	s->restored = s->native;
	s->began = jiffies;
	s->deadline = jiffies + msecs_to_jiffies(order->deadline_ms);
	maple_rights_init(s, order, leader);
	mm = find_mm(leader);
	if (!mm) {
		NL_SET_ERR_MSG(extack, "the target has ended");
		return -ESRCH;
	}
	mmgrab(mm);
	s->mm[s->nmm++] = mm;
	mmput(mm);
	err = maple_log_init(&s->log, maple_log_entries);
	if (!err)
		err = maple_sites_init(s);
	if (!err && order->plan)
		err = maple_engine_create(s, order->plan);
	if (err)
		NL_SET_ERR_MSG(extack, NO_MEMORY);
	maple_thread_refill(s);
	return err;
}

/*
 * Whether its user has as many as it may: also those that nobody owns any more
 * count, as long as they take memory. Who may trace everybody has no limit.
 */
static bool too_many(const struct maple_session *s)
{
	const struct maple_session *other;
	unsigned int n = 0;

	lockdep_assert_held(&sessions_lock);
	if (!s->rights)
		return false;
	list_for_each_entry(other, &maple_sessions, list)
		n += other->rights && uid_eq(other->rights->uid, s->rights->uid);
	return n >= READ_ONCE(maple_user_sessions);
}

static int session_publish(struct maple_session *s, struct task_struct *leader,
			   struct netlink_ext_ack *extack)
{
	struct maple_session *other;
	int err = 0;

	mutex_lock(&sessions_lock);
	other = maple_session_of(leader);
	if (other && !READ_ONCE(other->left)) {
		NL_SET_ERR_MSG(extack, "the target has a session already");
		err = -EBUSY;
	} else if (too_many(s)) {
		NL_SET_ERR_MSG(
			extack,
			"too many sessions on processes of this user: end one, or raise user_sessions in /sys/module/maple/parameters");
		err = -EUSERS;
	} else {
		list_add_rcu(&s->list, &maple_sessions);
	}
	mutex_unlock(&sessions_lock);
	return err;
}

/* A thread that has no record yet; what the kernel does for it is none. */
static struct task_struct *next_thread_of(struct maple_session *s,
					  struct task_struct *leader)
{
	struct task_struct *task, *found = NULL;

	rcu_read_lock();
	for_each_thread(leader, task)
		if (!found && !(task->flags & (PF_EXITING | MAPLE_PF_WORKER)) &&
		    !maple_thread_find(s, task)) {
			found = task;
			get_task_struct(found);
		}
	rcu_read_unlock();
	return found;
}

/*
 * It may have been on its way out, and past the tracepoint, before it had a
 * record: then nobody else tells of its end. Nor does it find one if we see
 * it too early, since it has the flag before it looks.
 */
static bool thread_left(struct task_struct *task)
{
	smp_mb();
	return READ_ONCE(task->flags) & PF_EXITING;
}

static void thread_take(struct maple_session *s, struct maple_thread *t,
			struct task_struct *task)
{
	static const struct maple_access none = { .site = MAPLE_SITE_NONE };

	maple_log_event(t, MAPLE_EV_START, &none, 0, 0, 0, 0);
	if (!READ_ONCE(s->native) && s->cpu >= 0) {
		if (maple_task_take(t, task))
			maple_count(s, refused);
		else
			maple_count(s, pinned);
	}
	if (!s->native)
		maple_turn_born(t);
	if (thread_left(task)) {
		maple_thread_dies(t);
		maple_log_exit(t);
		maple_turn_gone(t, false);
		maple_thread_ended(t);
	}
}

/* Those that are there; from now on others come by the fork tracepoint. */
static int threads_take(struct maple_session *s, struct task_struct *leader,
			struct netlink_ext_ack *extack)
{
	struct maple_native native;
	struct task_struct *task;
	struct maple_thread *t;
	u32 n;

	while ((task = next_thread_of(s, leader))) {
		n = s->nthreads;
		maple_thread_refill(s);
		maple_native_save(&native, task);
		native.known = !READ_ONCE(s->native);
		t = n < MAPLE_THREADS
			    ? maple_thread_record(s, task,
						  n ? s->thread[0] : NULL,
						  &native, true)
			    : NULL;
		if (!IS_ERR_OR_NULL(t))
			thread_take(s, t, task);
		put_task_struct(task);
		if (!t && n < MAPLE_THREADS) {
			NL_SET_ERR_MSG(extack, NO_MEMORY);
			return -ENOMEM;
		}
		if (!t) {
			NL_SET_ERR_MSG(extack, "the target has too many "
					       "threads already");
			return -ENOSPC;
		}
	}
	maple_threads_taken(s);
	if (s->nthreads)
		return 0;
	NL_SET_ERR_MSG(extack, "the target has ended");
	return -ESRCH;
}

/*
 * maple_session_create - a session as @order says, which maple_request_order()
 * has let pass, on a target that stands still; its threads have their places
 * when this returns
 *
 * The caller owns *@session, and ends it by maple_session_destroy(), which no
 * other call on it may be concurrent with. Context: may sleep.
 */
int maple_session_create(const struct maple_session_order *order,
			 struct maple_session **session,
			 struct netlink_ext_ack *extack)
{
	struct task_struct *leader = get_pid_task(order->target, PIDTYPE_TGID);
	struct maple_session *s;
	int err;

	if (!leader) {
		NL_SET_ERR_MSG(extack, "the target has ended");
		return -ESRCH;
	}
	err = -EINVAL;
	if (order->sched != MAPLE_UAPI_NATIVE &&
	    order->sched != MAPLE_UAPI_PCTLARGE && !maple_task_may_run(leader)) {
		NL_SET_ERR_MSG(
			extack,
			"the target's control group has no real-time CPU time, which would stop it: give it cpu.rt_runtime_us, or move the target to the root group");
		goto put_leader;
	}
	err = -ENOMEM;
	s = session_alloc();
	if (!s) {
		NL_SET_ERR_MSG(extack, NO_MEMORY);
		goto put_leader;
	}
	err = session_fill(s, order, leader, extack);
	if (!err)
		err = session_publish(s, leader, extack);
	if (err) {
		maple_session_put(s);
		goto put_leader;
	}
	extack->_msg = maple_rights_grant(s, order, leader);
	err = extack->_msg ? -EPERM : threads_take(s, leader, extack);
	if (err) {
		maple_session_destroy(s);
		goto put_leader;
	}
	maple_watchdog_start(s);
	trace_maple_session(s->tgid, s->cpu, s->sched, 1);
	*session = s;
put_leader:
	put_task_struct(leader);
	return err;
}

/*
 * maple_session_loose - nobody is held any more, nor real-time by us; what may
 * sleep is left to maple_session_end()
 * @state: why
 *
 * Context: any but NMI, no lock of ours.
 */
void maple_session_loose(struct maple_session *s, u32 state)
{
	u32 i;

	raw_spin_lock(&s->lock);
	WRITE_ONCE(s->native, true);
	if (READ_ONCE(s->state) < MAPLE_SESSION_RELEASED ||
	    state == MAPLE_SESSION_GONE)
		WRITE_ONCE(s->state, state);
	raw_spin_unlock(&s->lock);
	wake_up_all(&s->moved);
	for (i = 0; i < smp_load_acquire(&s->nthreads); i++) {
		raw_spin_lock(&s->lock);
		maple_task_loose(s->thread[i]);
		raw_spin_unlock(&s->lock);
	}
}

/*
 * maple_session_end - native scheduling for everyone; nobody is held any
 * more; what happens is still told
 * @state: why
 *
 * All are out of real-time before anybody is waited for: to change where a
 * thread may run can take until it has run.
 *
 * Context: may sleep.
 */
void maple_session_end(struct maple_session *s, u32 state)
{
	mutex_lock(&s->end_lock);
	WRITE_ONCE(s->asked, 0);
	maple_session_loose(s, state);
	maple_threads_restore(s);
	WRITE_ONCE(s->restored, true);
	maple_watch_follow(s);
	mutex_unlock(&s->end_lock);
	if (state == MAPLE_SESSION_DEADLINE || state == MAPLE_SESSION_STARVED)
		pr_info("session on %d released: %s\n", s->tgid,
			state == MAPLE_SESSION_DEADLINE ? "deadline passed"
							: "its CPU starved");
}

static void cut_work(struct callback_head *work)
{
	struct maple_thread *t = container_of(work, struct maple_thread, cut);

	maple_thread_relieve(t);
	maple_work_done(t, MAPLE_WORK_CUT);
}

/*
 * maple_session_cut - it is over at once: nothing is told, and nobody is given
 * anything any more; the caller, if it is a thread of the target, has its own
 * scheduling back before its next instruction, the others when the watchdog
 * has seen it
 * @state: why
 *
 * Context: any but NMI.
 */
void maple_session_cut(struct maple_session *s, u32 state)
{
	struct maple_thread *t;

	if (cmpxchg(&s->cut, 0, state))
		return;
	WRITE_ONCE(s->native, true);
	WRITE_ONCE(s->ended, true);
	if (READ_ONCE(s->state) != state) /* or it has ended in that already */
		WRITE_ONCE(s->asked, state);
	t = maple_thread_find(s, current);
	if (t)
		maple_work_add(t, current, &t->cut, cut_work, MAPLE_WORK_CUT);
}

/* maple_session_release - as MAPLE_CMD_RELEASE says */
void maple_session_release(struct maple_session *s)
{
	maple_session_end(s, MAPLE_SESSION_RELEASED);
}

/* False while there are children in the making. */
static bool session_leave(struct maple_session *s)
{
	if (maple_task_clones(s))
		return false;
	maple_threads_restore(s);
	mutex_lock(&sessions_lock);
	list_del_rcu(&s->list);
	mutex_unlock(&sessions_lock);
	synchronize_rcu();
	maple_session_put(s);
	return true;
}

static void leave_work(struct work_struct *work)
{
	struct maple_session *s = container_of(to_delayed_work(work),
					       struct maple_session, leave);

	if (!session_leave(s))
		schedule_delayed_work(&s->leave, msecs_to_jiffies(LEFT_MS));
}

/*
 * maple_session_destroy - ends the session; when this returns, every thread
 * of the target, and every process that it forked, is as it was before; those
 * that are still in the making will be when they are seen
 *
 * First everyone gets its scheduling back, since to take a probe away waits
 * for those in its handler, and they may starve. Then what calls us goes:
 * watchpoints, probes, and last the tracepoints' way to the session, which
 * was needed so long for those that are forked meanwhile. What is left are
 * works in flight; see maple_session_put().
 */
void maple_session_destroy(struct maple_session *s)
{
	unsigned int i;

	trace_maple_session(s->tgid, s->cpu, s->sched, 0);
	maple_watchdog_stop(s);
	maple_session_end(s, MAPLE_SESSION_RELEASED);
	maple_watches_remove(s);
	WRITE_ONCE(s->ended, true);
	maple_points_remove(s);
	maple_sites_remove(s);
	for (i = 0; i < CLONE_MS && maple_task_clones(s); i++)
		usleep_range(1000, 2000);
	if (session_leave(s))
		return;
	/* Whoever has not seen that it is native has made its record. */
	synchronize_rcu();
	maple_threads_restore(s);
	WRITE_ONCE(s->left, true);
	INIT_DELAYED_WORK(&s->leave, leave_work);
	schedule_delayed_work(&s->leave, msecs_to_jiffies(LEFT_MS));
}
