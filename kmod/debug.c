// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/maple/sessions, for whoever looks into a session, and
 * lingering, how many probes of sessions that are over are still in place.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "kmod.h"

static struct dentry *dir;

static void show_session(struct seq_file *m, struct maple_session *s)
{
	u32 i, n = smp_load_acquire(&s->nthreads);

	seq_printf(m,
		   "target %d cpu %d sched %u state %u%s threads %u "
		   "stepping %d moves %u\n",
		   s->tgid, s->cpu, s->sched, READ_ONCE(s->state),
		   READ_ONCE(s->native) ? " native" : "", n,
		   atomic_read(&s->stepping), READ_ONCE(s->moves));
	for (i = 0; i < n; i++) {
		struct maple_thread *t = s->thread[i];

		if (READ_ONCE(t->alive))
			seq_printf(m, "  %u %s prio %u%s%s at %#x\n", i,
				   t->name, READ_ONCE(t->prio),
				   READ_ONCE(t->demoted) ? " demoted" : "",
				   READ_ONCE(t->asleep) ? " asleep" : "",
				   READ_ONCE(t->at));
	}
}

static int sessions_show(struct seq_file *m, void *v)
{
	struct maple_session *s;

	rcu_read_lock();
	list_for_each_entry_rcu(s, &maple_sessions, list)
		show_session(m, s);
	rcu_read_unlock();
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sessions);

void maple_debug_init(void)
{
	dir = debugfs_create_dir("maple", NULL);
	debugfs_create_file("sessions", 0400, dir, NULL, &sessions_fops);
	debugfs_create_u32("lingering", 0400, dir, &maple_lingering);
}

void maple_debug_exit(void)
{
	debugfs_remove_recursive(dir);
}
