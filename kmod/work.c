// SPDX-License-Identifier: GPL-2.0-only
/*
 * Works that a thread does itself, on its way to user space; and those that are
 * none of its, since it may be killed.
 */
#include <linux/kprobes.h>
#include <linux/static_call.h>
#include <linux/workqueue.h>
#include "kmod.h"

/*
 * task_work_add() is there for modules in Debian's kernels, and in few others.
 * Where it is not, its address comes from a kprobe, and nothing but a direct
 * call may lead there: the kernel has taken away by which it is the end of an
 * indirect one (IBT), as it has none.
 */
extern typeof(task_work_add) task_work_add __weak;
static typeof(&task_work_add) const volatile exported = task_work_add;
DEFINE_STATIC_CALL_NULL(work_add, task_work_add);

/*
 * maple_work_add - @fn runs in @task before that is next in user space
 * @bit: of the work, which is in flight at most once; it is in @t
 *
 * Returns -EBUSY if it is in flight, -ESRCH if @task will run no more works.
 * Context: any but NMI.
 */
int maple_work_add(struct maple_thread *t, struct task_struct *task,
		   struct callback_head *work, task_work_func_t fn,
		   unsigned int bit)
{
	if (test_and_set_bit(bit, &t->queued))
		return -EBUSY;
	kref_get(&t->session->refs);
	init_task_work(work, fn);
	if (static_call(work_add)(task, work, TWA_RESUME)) {
		maple_work_done(t, bit);
		return -ESRCH;
	}
	return 0;
}

/*
 * maple_work_here - @fn runs in the caller, a process, before that is next in
 * user space, or ends; -ESRCH if it will run no more works
 */
int maple_work_here(struct callback_head *work, task_work_func_t fn)
{
	init_task_work(work, fn);
	return static_call(work_add)(current, work, TWA_RESUME);
}

struct away {
	struct work_struct work;
	void (*fn)(void *arg);
	void *arg;
};

static void carry_out(struct work_struct *work)
{
	struct away *away = container_of(work, struct away, work);

	away->fn(away->arg);
}

/*
 * maple_work_away - @fn is done by a worker, and has been when this returns
 *
 * For what the kernel gives up half way where its caller is to die.
 * Context: may sleep.
 */
void maple_work_away(void (*fn)(void *arg), void *arg)
{
	struct away away = { .fn = fn, .arg = arg };

	if (current->flags & PF_KTHREAD) {
		fn(arg);
		return;
	}
	INIT_WORK_ONSTACK(&away.work, carry_out);
	queue_work(maple_workers, &away.work);
	flush_work(&away.work);
	destroy_work_on_stack(&away.work);
}

/* maple_work_done - the last thing a work does */
void maple_work_done(struct maple_thread *t, unsigned int bit)
{
	struct maple_session *s = t->session;

	maple_thread_work_done(t, bit);
	maple_session_put(s);
}

/* Where a function of the kernel begins, behind its ENDBR; NULL if unknown. */
static void *find(const char *name)
{
	struct kprobe probe = { .symbol_name = name };

	if (register_kprobe(&probe))
		return NULL;
	unregister_kprobe(&probe);
	return probe.addr;
}

/* maple_work_init - works can be added from here on; or why none ever can */
int __init maple_work_init(void)
{
	void *add = exported ?: find("task_work_add");

	if (!add) {
		pr_err("not loaded: this kernel neither exports task_work_add() nor has kprobes that find it\n");
		return -ENOENT;
	}
	if (IS_ENABLED(CONFIG_CPUSETS) && find("cpuset_read_lock")) {
		pr_err("not loaded: this kernel sleeps when it sets priorities; 6.1.50 or later of 6.1, and 6.5 or later, do not\n");
		return -EOPNOTSUPP;
	}
	static_call_update(work_add, add);
	return 0;
}
