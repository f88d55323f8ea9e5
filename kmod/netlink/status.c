// SPDX-License-Identifier: GPL-2.0-only
/* What user space asks of a session: how it and its threads are, and its log. */
#include <linux/sched/task.h>
#include "../kmod.h"

u32 maple_session_state(struct maple_session *s)
{
	u32 cut = READ_ONCE(s->cut), state = READ_ONCE(s->state);

	/* Whatever was cut may have ended since; of other rights we say no more. */
	if (cut && (cut == MAPLE_SESSION_BARRED || state != MAPLE_SESSION_GONE))
		return cut;
	return READ_ONCE(s->crashed) && !READ_ONCE(s->resumed) &&
			       state < MAPLE_SESSION_RELEASED
		       ? MAPLE_SESSION_CRASHED
		       : state;
}

/* maple_session_why - what bars it from the target; NULL: nothing */
const char *maple_session_why(struct maple_session *s)
{
	return READ_ONCE(s->why);
}

/* maple_session_result - false without a plan */
bool maple_session_result(struct maple_session *s,
			  struct maple_auto_result *result)
{
	if (!s->drive.automaton)
		return false;
	raw_spin_lock(&s->lock);
	maple_auto_result(s->drive.automaton, result);
	raw_spin_unlock(&s->lock);
	return true;
}

void maple_session_counters(struct maple_session *s,
			    struct maple_counters *counters)
{
	u64 *to = (u64 *)counters;
	unsigned int i;

	static_assert(sizeof(*counters) == sizeof(s->counter), "one by one");
	for (i = 0; i < ARRAY_SIZE(s->counter); i++)
		to[i] = atomic64_read(&s->counter[i]);
}

unsigned int maple_session_threads(struct maple_session *s)
{
	return smp_load_acquire(&s->nthreads);
}

/* maple_session_thread - -ENOENT if there is no thread @number */
int maple_session_thread(struct maple_session *s, unsigned int number,
			 struct maple_uapi_thread *thread)
{
	struct task_struct *task;
	struct maple_thread *t;

	if (number >= maple_session_threads(s))
		return -ENOENT;
	t = s->thread[number];
	memset(thread, 0, sizeof(*thread));
	thread->tid = pid_vnr(t->pid);
	thread->number = t->number;
	thread->parent = t->parent;
	thread->alive = READ_ONCE(t->alive);
	thread->at = READ_ONCE(t->at);
	thread->pthread = t->pthread;
	strscpy(thread->name, t->name, sizeof(thread->name));
	task = maple_thread_task(t);
	if (task) {
		if (!thread->pthread && !READ_ONCE(s->ended))
			thread->pthread = task->thread.fsbase;
		put_task_struct(task);
	}
	return 0;
}

unsigned int maple_session_log(struct maple_session *s,
			       struct maple_log_entry *entries, unsigned int max)
{
	return maple_log_take(&s->log, entries, max);
}

u32 maple_session_features(void)
{
	return MAPLE_FEATURE_ENFORCE | MAPLE_FEATURE_SCHEDULE |
	       MAPLE_FEATURE_WATCH | MAPLE_FEATURE_CRASH;
}
