// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the module by itself, when it is loaded with selftest=1: what can
 * be tested without a target. All must pass, or it is not loaded.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "kmod.h"

static unsigned int total, passed;

#define CHECK(what)                                                         \
	do {                                                                \
		total++;                                                    \
		if (what)                                                   \
			passed++;                                           \
		else                                                        \
			pr_err("selftest: line %d: not so: %s\n", __LINE__, \
			       #what);                                      \
	} while (0)

static void test_operands(void)
{
	struct pt_regs regs = {
		.ax = 0x1000,
		.cx = 3,
		.di = 0x2000,
		.ip = 0x400000,
		.r15 = 0x7000,
		.sp = 0x9000,
	};
	struct maple_uapi_probe p = {
		.kind = MAPLE_EV_READ,
		.size = 8,
		.base = MAPLE_REG_ABSENT,
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
		.disp = 16,
	};

	CHECK(maple_operand_valid(&p));
	CHECK(maple_operand_address(&p, &regs) == 16);
	p.base = 7;
	CHECK(maple_operand_address(&p, &regs) == 0x2010);
	p.index = 1;
	p.scale = 8;
	CHECK(maple_operand_address(&p, &regs) == 0x2028);
	p.disp = -32;
	CHECK(maple_operand_address(&p, &regs) == 0x1ff8);
	p.base = 15;
	CHECK(maple_operand_address(&p, &regs) == 0x6ff8);
	p.base = 4;
	p.index = MAPLE_REG_ABSENT;
	CHECK(maple_operand_address(&p, &regs) == 0x8fe0);
	p.base = MAPLE_REG_ABSENT;
	p.flags = MAPLE_PROBE_RIP;
	CHECK(maple_operand_address(&p, &regs) == 0x3fffe0);
	CHECK(maple_operand_size(&p, &regs) == 8);
	p.flags = MAPLE_PROBE_REP;
	CHECK(maple_operand_size(&p, &regs) == 24);
	p.flags = MAPLE_PROBE_CALL;
	p.size = 0;
	p.aux = 0;
	CHECK(maple_operand_size(&p, &regs) == 0x1000);
	p.flags = 0;
	CHECK(!maple_operand_valid(&p)); /* an access of no bytes */
	p.size = 8;
	p.base = 16;
	CHECK(!maple_operand_valid(&p));
}

static void test_names(void)
{
	char name[MAPLE_PLAN_NAME], longer[MAPLE_PLAN_NAME];

	maple_thread_name(name, "0", 2);
	CHECK(!strcmp(name, "0.2"));
	maple_thread_name(name, "0.2", 11);
	CHECK(!strcmp(name, "0.2.11"));
	memset(name, '1', sizeof(name));
	name[24] = 0;
	maple_thread_name(longer, name, 7);
	CHECK(longer[MAPLE_PLAN_NAME - 1] == 0);
	CHECK(longer[MAPLE_PLAN_NAME - 2] == '+');
	CHECK(!strncmp(longer, name, 24));
}

static void test_log(void)
{
	struct maple_log_entry e = {}, out[20];
	struct maple_log log;
	unsigned int i;

	if (maple_log_init(&log, 10)) {
		CHECK(!"memory for a log");
		return;
	}
	CHECK(log.size == 16);
	for (i = 0; i < 16; i++) {
		e.event.clock = i;
		CHECK(maple_log_put(&log, &e, NULL));
	}
	CHECK(!maple_log_put(&log, &e, NULL));
	CHECK(maple_log_take(&log, out, 5) == 5);
	CHECK(out[0].event.clock == 0 && out[4].event.clock == 4);
	e.event.clock = 16;
	CHECK(maple_log_put(&log, &e, NULL));
	CHECK(maple_log_take(&log, out, 20) == 12);
	CHECK(out[0].event.clock == 5 && out[11].event.clock == 16);
	CHECK(maple_log_take(&log, out, 20) == 0);
	/* Counters wrap, and nothing is lost by it. */
	log.head = log.tail = U32_MAX - 1;
	for (i = 0; i < 4; i++) {
		e.event.clock = i;
		CHECK(maple_log_put(&log, &e, NULL));
	}
	CHECK(maple_log_take(&log, out, 20) == 4);
	CHECK(out[3].event.clock == 3);
	maple_log_deinit(&log);
}

/* All level changes; the last one of @t, or 0. */
static unsigned int levels(struct maple_auto *a, unsigned int self,
			   unsigned int t)
{
	unsigned int n, prio, last = 0;

	while (maple_auto_change(a, self, &n, &prio))
		if (n == t)
			last = prio;
	return last;
}

/* Thread 1 comes to the read first, is held, and reads after 2 has written. */
static void drive(struct maple_auto *a, const struct maple_plan *plan)
{
	struct maple_access w = { 0, MAPLE_EV_WRITE, 0x1000, 8 };
	struct maple_access r = { 1, MAPLE_EV_READ, 0x1000, 8 };
	const struct maple_waits none = { 0 };
	struct maple_auto_result result;
	u64 addr, size;

	maple_auto_init(a, plan);
	maple_auto_start(a, 0, 0);
	maple_auto_start(a, 1, 0);
	maple_auto_start(a, 2, 0);
	CHECK(levels(a, 0, 1) == MAPLE_PRIO_NORM_LAST - 1);
	CHECK(maple_auto_before(a, 1, &r) == MAPLE_HELD);
	CHECK(levels(a, 1, 1) < MAPLE_PRIO_NORM_FIRST);
	CHECK(maple_auto_before(a, 2, &w) == MAPLE_GO);
	CHECK(levels(a, 2, 2) == MAPLE_PRIO_HIGH);
	CHECK(!maple_auto_watched(a, &addr, &size));
	maple_auto_after(a, 2, &w, 1);
	CHECK(maple_auto_watched(a, &addr, &size));
	CHECK(addr == 0x1000 && size == 8);
	CHECK(levels(a, 2, 1) == MAPLE_PRIO_HIGH);
	CHECK(maple_auto_resumed(a, 1, &none) == MAPLE_GO);
	maple_auto_after(a, 1, &r, 1);
	maple_auto_result(a, &result);
	CHECK(result.exposed && result.finished && !result.attempts);
	CHECK(result.steps == 3 && result.holds == 1 && !result.broken);
	CHECK(!levels(a, 1, 0)); /* never anything but its own */
}

static void test_automaton(void)
{
	struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { .site = 0, .kind = MAPLE_EV_WRITE },
		       { .site = 1, .kind = MAPLE_EV_READ } },
	};
	struct maple_plan *plan = kvmalloc(sizeof(*plan), GFP_KERNEL);
	struct maple_auto *a =
		kvmalloc(maple_auto_size(MAPLE_THREADS), GFP_KERNEL);

	CHECK(plan && a);
	if (plan && a) {
		CHECK(!maple_plan_init(plan, &iroot, 3, 0, 1));
		CHECK(maple_plan_valid(plan));
		drive(a, plan);
		plan->nsteps = 9;
		CHECK(!maple_plan_valid(plan));
	}
	kvfree(plan);
	kvfree(a);
}

static void test_native(void)
{
	struct maple_native *from, *to;

	from = kzalloc(sizeof(*from), GFP_KERNEL);
	to = kzalloc(sizeof(*to), GFP_KERNEL);
	CHECK(from && to);
	if (from && to) {
		maple_native_save(from, current);
		CHECK(from->known && from->policy == current->policy);
		CHECK(cpumask_equal(&from->cpus, &current->cpus_mask));
		from->policy = SCHED_FIFO;
		from->priority = 7;
		from->nice = -5;
		maple_native_inherit(to, from);
		CHECK(to->policy == SCHED_FIFO && to->priority == 7);
		from->reset_on_fork = true;
		maple_native_inherit(to, from);
		CHECK(to->policy == SCHED_NORMAL && !to->priority);
		CHECK(!to->nice && !to->reset_on_fork);
		from->policy = SCHED_DEADLINE;
		maple_native_inherit(to, from);
		CHECK(to->policy == SCHED_NORMAL);
	}
	kfree(from);
	kfree(to);
}

static MAPLE_HANDLER(never)
{
	return 0;
}

/* What kernels differ in: a probe outside its file is refused, by each. */
static void test_compat(void)
{
	struct uprobe_consumer consumer = { .handler = never };
	struct file *file = filp_open("/proc/self/exe", O_RDONLY, 0);
	struct uprobe *uprobe;
	struct inode *inode;
	u64 value;

	CHECK(copy_from_user_nofault(&value, NULL, sizeof(value)));
	CHECK(!IS_ERR(file));
	if (IS_ERR(file))
		return;
	inode = d_real_inode(file->f_path.dentry);
	CHECK(maple_uprobe_add(inode, i_size_read(inode) + 1, &consumer,
			       &uprobe) == -EINVAL);
	filp_close(file, NULL);
}

/* A file may outlive the module, so nothing of that is the module's. */
static bool known_as(const char *name)
{
	struct pid *pid = task_tgid(current);
	struct file *file =
		anon_inode_getfile(name, &generic_ro_fops, pid, O_RDONLY);
	bool known;

	if (IS_ERR(file))
		return false;
	known = maple_pidfd_pid(file) == pid;
	fput(file);
	return known;
}

/* What a pidfd is where it does not live in pidfs. */
static void test_pidfd(void)
{
	CHECK(known_as("[pidfd]"));
	CHECK(!known_as("[other]"));
}

/* Whatever the room, threads of a plan are above or below the same others. */
static void test_prios(void)
{
	const unsigned int top = maple_top_prio;
	unsigned int i;
	bool rises = true, same = true;

	maple_top_prio = 10;
	for (i = 1; i < MAPLE_PRIO_HOOK; i++)
		rises &= maple_task_prio(i) <= maple_task_prio(i + 1);
	CHECK(rises);
	CHECK(maple_task_prio(0) == 0 && maple_task_prio(MAPLE_PRIO_MIN) == 1);
	CHECK(maple_task_prio(MAPLE_PRIO_NEXT) <
	      maple_task_prio(MAPLE_PRIO_NORM_FIRST));
	CHECK(maple_task_prio(MAPLE_PRIO_NORM_LAST) == 8);
	CHECK(maple_task_prio(MAPLE_PRIO_HIGH) == 9);
	CHECK(maple_task_prio(MAPLE_PRIO_HOOK) == 10);
	maple_top_prio = MAPLE_PRIO_HOOK;
	for (i = 0; i <= MAPLE_PRIO_HOOK; i++)
		same &= maple_task_prio(i) == i;
	CHECK(same);
	maple_top_prio = top;
}

/* maple_selftest - 0, or -EIO if any of it fails */
int maple_selftest(void)
{
	total = passed = 0;
	test_operands();
	test_names();
	test_log();
	test_automaton();
	test_native();
	test_compat();
	test_pidfd();
	test_prios();
	pr_info("selftest: %u of %u passed\n", passed, total);
	return total && passed == total ? 0 : -EIO;
}
