// SPDX-License-Identifier: GPL-2.0-only
/*
 * Crashes: a thread that got a fatal signal for what it did itself stands
 * before it for a while, so that user space can look at a process that is
 * still whole.
 */
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/tracepoint.h>
#include "kmod.h"
#include "netlink/rights.h"

#define LOOK_MS 20 /* how often it is looked whether it may go on */

/* Somebody has come to look: this thread is about to stop for him. */
static bool is_stopped(void)
{
	return READ_ONCE(current->ptrace) &&
	       READ_ONCE(current->jobctl) & JOBCTL_TRAP_STOP;
}

static bool is_over(struct maple_session *s)
{
	return READ_ONCE(s->resumed) || READ_ONCE(s->ended) ||
	       fatal_signal_pending(current);
}

/*
 * Above all others, and at work rather than asleep: on the one CPU no other
 * thread of the target does anything more. Without one, all go on, and a
 * sleep will do.
 */
static void stand(struct maple_thread *t)
{
	struct maple_session *s = t->session;
	unsigned long until =
		jiffies + msecs_to_jiffies(MAPLE_SLOW * MAPLE_CRASH_MS);
	bool alone;

	raw_spin_lock(&s->lock);
	alone = s->cpu >= 0 && !READ_ONCE(s->native);
	maple_task_hook(t);
	raw_spin_unlock(&s->lock);
	while (!is_over(s) && !is_stopped() && time_before(jiffies, until)) {
		if (alone) {
			cond_resched();
			cpu_relax();
		} else {
			schedule_timeout_killable(msecs_to_jiffies(LOOK_MS));
		}
	}
}

/* Of the instruction, also while it is stepped over out of its line. */
static u64 program_counter(void)
{
	const struct uprobe_task *stepping = current->utask;

	if (stepping && stepping->active_uprobe)
		return stepping->vaddr;
	return task_pt_regs(current)->ip;
}

static void crash_work(struct callback_head *work)
{
	struct maple_thread *t = container_of(work, struct maple_thread, crash);
	struct maple_session *s = t->session;
	bool first;

	raw_spin_lock(&s->threads_lock);
	first = !s->crashed && !(current->flags & PF_EXITING);
	if (first) {
		s->crash = (struct maple_uapi_crash){
			.signo = t->signo,
			.address = t->fault,
			.pc = program_counter(),
			.thread = t->number,
			.standing = 1,
		};
		s->crash_pid = t->pid;
		WRITE_ONCE(s->crashed, true);
	}
	raw_spin_unlock(&s->threads_lock);
	if (first) {
		stand(t);
		WRITE_ONCE(s->resumed, true);
	}
	maple_work_done(t, MAPLE_WORK_CRASH);
}

static bool fatal(int sig)
{
	switch (sig) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGABRT:
	case SIGTRAP:
	case SIGSYS:
		return true;
	default:
		return false;
	}
}

/* Context: siglock, interrupts off. */
static void on_signal(void *data, int sig, struct kernel_siginfo *info,
		      struct task_struct *task, int group, int result)
{
	struct maple_session *s;
	struct maple_thread *t;

	if (task != current || !fatal(sig) || result)
		return;
	rcu_read_lock();
	s = maple_session_of(task);
	t = s ? maple_thread_find(s, task) : NULL;
	if (t && !READ_ONCE(s->crashed) && maple_rights_kept(s, current->mm) &&
	    task->sighand->action[sig - 1].sa.sa_handler == SIG_DFL) {
		t->signo = sig;
		t->fault = info == SEND_SIG_NOINFO || info == SEND_SIG_PRIV ||
					   sig == SIGABRT
				   ? 0
				   : (u64)info->si_addr;
		maple_work_add(t, task, &t->crash, crash_work, MAPLE_WORK_CRASH);
	}
	rcu_read_unlock();
}

/* maple_session_crash - false if there was none */
bool maple_session_crash(struct maple_session *s, struct maple_uapi_crash *crash)
{
	raw_spin_lock(&s->threads_lock);
	*crash = s->crash;
	crash->standing = s->crashed && !s->resumed;
	if (s->crashed)
		crash->tid = pid_vnr(s->crash_pid);
	raw_spin_unlock(&s->threads_lock);
	return READ_ONCE(s->crashed);
}

/* maple_session_resume - the crashed thread goes on to its end */
void maple_session_resume(struct maple_session *s)
{
	WRITE_ONCE(s->resumed, true);
	wake_up_all(&s->moved);
}

static struct tracepoint *point;

static void find_point(struct tracepoint *tp, void *priv)
{
	if (!strcmp(tp->name, "signal_generate"))
		point = tp;
}

int maple_crash_init(void)
{
	for_each_kernel_tracepoint(find_point, NULL);
	if (!point)
		return -ENOENT;
	return tracepoint_probe_register(point, on_signal, NULL);
}

void maple_crash_exit(void)
{
	tracepoint_probe_unregister(point, on_signal, NULL);
	tracepoint_synchronize_unregister();
}
