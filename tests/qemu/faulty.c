// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that does one thing wrong, for tests/qemu/selftest: the guest, and
 * the debug kernels, must notice.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "none, warn, oops, account, busy, silent, leak, "
			"after_free, inversion, sleep or race");

static DEFINE_MUTEX(a);
static DEFINE_MUTEX(b);
static DEFINE_SPINLOCK(spin);
static int counter;

/* GCC must not see what happens to the pointer. */
static char *hidden(char *p)
{
	OPTIMIZER_HIDE_VAR(p);
	return p;
}

static void inversion(void)
{
	mutex_lock(&a);
	mutex_lock(&b);
	mutex_unlock(&b);
	mutex_unlock(&a);
	mutex_lock(&b);
	mutex_lock(&a);
	mutex_unlock(&a);
	mutex_unlock(&b);
}

static int race(void *unused)
{
	while (!kthread_should_stop()) {
		counter++;
		cond_resched();
	}
	return 0;
}

static int two_racers(void)
{
	struct task_struct *racers[2];
	int i;

	for (i = 0; i < 2; i++)
		racers[i] = kthread_run(race, NULL, "racer%d", i);
	msleep(3000);
	for (i = 0; i < 2; i++)
		if (!IS_ERR(racers[i]))
			kthread_stop(racers[i]);
	return 0;
}

static int __init faulty_init(void)
{
	char *p = hidden(kmalloc(100, GFP_KERNEL));

	if (!p)
		return -ENOMEM;
	if (!strcmp(fault, "after_free")) {
		kfree(p);
		WRITE_ONCE(p[7], 1);
		return 0;
	}
	if (strcmp(fault, "leak"))
		kfree(p);
	WARN_ON(!strcmp(fault, "warn"));
	if (!strcmp(fault, "oops"))
		WRITE_ONCE(*(int *)hidden((char *)8), 1);
	if (!strcmp(fault, "busy"))
		__module_get(THIS_MODULE);
	if (!strcmp(fault, "inversion"))
		inversion();
	if (!strcmp(fault, "race"))
		return two_racers();
	if (!strcmp(fault, "sleep")) {
		spin_lock(&spin);
		msleep(1);
		spin_unlock(&spin);
	}
	return 0;
}

static void __exit faulty_exit(void)
{
	if (strcmp(fault, "silent"))
		pr_info("maple: unloaded, 3 created, %d destroyed\n",
			strcmp(fault, "account") ? 3 : 2);
}

module_init(faulty_init);
module_exit(faulty_exit);
MODULE_DESCRIPTION("Does one thing wrong");
MODULE_LICENSE("GPL");
