// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The netlink family of maple.ko as the kernel has it, from the outside: what
 * it says of itself, that it refuses what it has to with the text that helps,
 * that sessions are their sockets' and end with them. Runs in a guest, as
 * root, with the module loaded (tests/qemu/netlink.bats).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "backend/kernel/module/exchange.h"
#include "backend/process.h"

#define THREADS 5 /* of a target, main included */
#define CPU	1 /* the one it is pinned to */

/* ---- targets ---- */

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

/* What a target does: stops, to be continued with a session, and sleeps. */
static int be_target(void)
{
	struct sched_param param = { 0 };
	pthread_t thread;
	cpu_set_t cpus;
	int i;

	/* Its own, to be found again afterwards. */
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	CPU_SET(CPU, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	sched_setscheduler(0, SCHED_BATCH, &param);
	setpriority(PRIO_PROCESS, 0, 7);
	raise(SIGSTOP);
	for (i = 1; i < THREADS; i++)
		if (pthread_create(&thread, NULL, sleep_on, NULL))
			return 1;
	sleep_on(NULL);
	return 0;
}

static pid_t start_target(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execl("/proc/self/exe", "target", NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void end_target(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int pidfd_of(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	assert_true(fd >= 0);
	return fd;
}

/* Waits until it has all its threads and they all sleep. */
static int settled(pid_t pid, pid_t tids[THREADS])
{
	uint64_t cpu;
	char state;
	int i, n, ms;

	for (ms = 0; ms < 10000; ms++, usleep(1000)) {
		n = maple_process_threads(pid, tids, THREADS);
		for (i = 0; i < n; i++)
			if (!maple_process_cpu(pid, tids[i], &cpu, &state) ||
			    state != 'S')
				break;
		if (n == THREADS && i == n)
			return n;
	}
	return 0;
}

static bool is_native(pid_t pid)
{
	pid_t tids[THREADS];
	cpu_set_t cpus;
	int i, n = maple_process_threads(pid, tids, THREADS);

	for (i = 0; i < n; i++)
		if (sched_getscheduler(tids[i]) != SCHED_BATCH ||
		    getpriority(PRIO_PROCESS, tids[i]) != 7 ||
		    sched_getaffinity(tids[i], sizeof(cpus), &cpus) ||
		    CPU_COUNT(&cpus) != 2)
			return false;
	return n == THREADS;
}

/* Under a session: real-time, each at a level of its own, on the one CPU. */
static bool is_ordered(pid_t pid)
{
	bool seen[100] = { false };
	struct sched_param param;
	pid_t tids[THREADS];
	cpu_set_t cpus;
	int i, n = maple_process_threads(pid, tids, THREADS);

	for (i = 0; i < n; i++) {
		if (sched_getparam(tids[i], &param) ||
		    (sched_getscheduler(tids[i]) & ~SCHED_RESET_ON_FORK) !=
			    SCHED_FIFO ||
		    seen[param.sched_priority])
			return false;
		seen[param.sched_priority] = true;
		if (sched_getaffinity(tids[i], sizeof(cpus), &cpus) ||
		    CPU_COUNT(&cpus) != 1 || !CPU_ISSET(CPU, &cpus))
			return false;
	}
	return n == THREADS;
}

static struct maple_control *opened(void)
{
	struct maple_control *control;
	struct maple_error err;

	if (maple_control_open(&control, &err))
		fail_msg("%s", err.text);
	return control;
}

static int start_on(struct maple_control *control, pid_t pid,
		    struct maple_error *err)
{
	struct maple_control_order order = {
		.pidfd = pidfd_of(pid),
		.cpu = CPU,
		.sched = MAPLE_UAPI_OLDER,
		.seed = 1,
		.deadline_ms = 60000,
	};
	int e = maple_control_start(control, &order, err);

	close(order.pidfd);
	return e;
}

static struct maple_control *session_on(pid_t pid)
{
	struct maple_control *control = opened();
	struct maple_error err;

	if (start_on(control, pid, &err))
		fail_msg("%s", err.text);
	return control;
}

/* ---- what it says of itself ---- */

static void test_info(void **state)
{
	struct maple_control *control = opened();
	struct maple_control_info info;
	struct maple_error err;

	if (maple_control_info(control, &info, &err))
		fail_msg("%s", err.text);
	assert_int_equal(info.version, MAPLE_GENL_VERSION);
	assert_int_equal(info.plan_size, sizeof(struct maple_plan));
	assert_true(info.features & MAPLE_FEATURE_ENFORCE);
	assert_true(info.features & MAPLE_FEATURE_SCHEDULE);
	assert_true(info.max_probes >= 1000);
	assert_true(info.max_sites >= 256);
	assert_true(info.log_size >= 1024);
	maple_control_close(control);
}

/* ---- refusals ---- */

struct request {
	struct nl_msg *msg;
	struct maple_control *control;
	pid_t target;
	int pidfd, file;
};

static struct maple_uapi_probe good_probe(void)
{
	return (struct maple_uapi_probe){
		.offset = 0x1000,
		.next = 0x1004,
		.number = 1,
		.size = 4,
		.kind = MAPLE_EV_READ,
		.base = 0,
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};
}

#define U32(attr, value) nla_put_u32(r->msg, attr, value)
#define S32(attr, value) nla_put_s32(r->msg, attr, value)

static void start_all(struct request *r, int pidfd, int cpu, uint32_t sched)
{
	U32(MAPLE_A_VERSION, MAPLE_GENL_VERSION);
	S32(MAPLE_A_PIDFD, pidfd);
	S32(MAPLE_A_CPU, cpu);
	U32(MAPLE_A_SCHED, sched);
	U32(MAPLE_A_DEADLINE, 1000);
}

static void no_deadline(struct request *r)
{
	U32(MAPLE_A_VERSION, MAPLE_GENL_VERSION);
	S32(MAPLE_A_PIDFD, r->pidfd);
	S32(MAPLE_A_CPU, CPU);
	U32(MAPLE_A_SCHED, MAPLE_UAPI_OLDER);
}

static void other_version(struct request *r)
{
	no_deadline(r);
	U32(MAPLE_A_DEADLINE, 1000);
	*(uint32_t *)nla_data(nlmsg_find_attr(nlmsg_hdr(r->msg), GENL_HDRLEN,
					      MAPLE_A_VERSION)) = 99;
}

static void long_deadline(struct request *r)
{
	no_deadline(r);
	U32(MAPLE_A_DEADLINE, MAPLE_DEADLINE_MAX + 1);
}

static void far_cpu(struct request *r)
{
	start_all(r, r->pidfd, 4000, MAPLE_UAPI_OLDER);
}

static void odd_sched(struct request *r)
{
	start_all(r, r->pidfd, CPU, __MAPLE_UAPI_SCHED_MAX);
}

static void plan_missing(struct request *r)
{
	start_all(r, r->pidfd, CPU, MAPLE_UAPI_PLAN);
}

static void plan_unsound(struct request *r)
{
	struct maple_plan plan = { .idiom = 77 };

	start_all(r, r->pidfd, CPU, MAPLE_UAPI_PLAN);
	nla_put(r->msg, MAPLE_A_PLAN, sizeof(plan), &plan);
}

/* Its steps point out of the table. */
static void plan_outside(struct request *r)
{
	struct maple_plan plan = {
		.nsteps = 2,
		.step = { { .kind = MAPLE_EV_WRITE, .dep = -1, .pair = -1 },
			  { .kind = MAPLE_EV_READ,
			    .dep = 100,
			    .pair = -1,
			    .pre = 1 } },
	};

	start_all(r, r->pidfd, CPU, MAPLE_UAPI_PLAN);
	nla_put(r->msg, MAPLE_A_PLAN, sizeof(plan), &plan);
}

static void plan_short(struct request *r)
{
	start_all(r, r->pidfd, CPU, MAPLE_UAPI_PLAN);
	nla_put(r->msg, MAPLE_A_PLAN, 8, "12345678");
}

static void no_pidfd(struct request *r)
{
	start_all(r, r->file, CPU, MAPLE_UAPI_OLDER);
}

static void no_file(struct request *r)
{
	start_all(r, 777, CPU, MAPLE_UAPI_OLDER);
}

static int own_pidfd = -1, init_pidfd = -1, kernel_pidfd = -1, dead_pidfd = -1,
	   other_pidfd = -1;

static void own_self(struct request *r)
{
	start_all(r, own_pidfd, CPU, MAPLE_UAPI_OLDER);
}

static void init_itself(struct request *r)
{
	start_all(r, init_pidfd, CPU, MAPLE_UAPI_OLDER);
}

static void kernel_thread(struct request *r)
{
	start_all(r, kernel_pidfd, CPU, MAPLE_UAPI_OLDER);
}

static void dead_one(struct request *r)
{
	start_all(r, dead_pidfd, CPU, MAPLE_UAPI_OLDER);
}

static void of_32_bits(struct request *r)
{
	start_all(r, other_pidfd, CPU, MAPLE_UAPI_OLDER);
}

static void unknown_attr(struct request *r)
{
	start_all(r, r->pidfd, CPU, MAPLE_UAPI_OLDER);
	U32(MAPLE_A_MAX + 1, 1);
}

static void attr_of_others(struct request *r)
{
	U32(MAPLE_A_FROM, 1);
}

static void nothing(struct request *r)
{
}

static void again(struct request *r)
{
	start_all(r, r->pidfd, CPU, MAPLE_UAPI_OLDER);
}

static void put_probe(struct request *r, int fd, struct maple_uapi_probe *p)
{
	S32(MAPLE_A_FD, fd);
	nla_put(r->msg, MAPLE_A_PROBES, sizeof(*p), p);
}

#define PROBE(name, change)                               \
	static void name(struct request *r)               \
	{                                                 \
		struct maple_uapi_probe p = good_probe(); \
                                                          \
		change;                                   \
		put_probe(r, r->file, &p);                \
	}

PROBE(reserved_set, p.reserved = 1)
PROBE(flag_unknown, p.flags = MAPLE_PROBE_FLAGS + 1)
PROBE(register_far, p.base = 16)
PROBE(scale_odd, p.scale = 3; p.index = 1)
PROBE(scale_alone, p.scale = 4)
PROBE(both_ways, p.flags = MAPLE_PROBE_BEHIND | MAPLE_PROBE_AHEAD)
PROBE(kind_odd, p.kind = 200)
PROBE(kind_not_memory, p.kind = MAPLE_EV_LOCK)
PROBE(after_no_call, p.after = MAPLE_EV_LOCK)
PROBE(size_none, p.size = 0)
PROBE(call_numbered, p.flags = MAPLE_PROBE_CALL; p.number = 3)
PROBE(beyond_file, p.offset = 1ull << 40; p.next = p.offset + 4)

static void probe_nowhere(struct request *r)
{
	struct maple_uapi_probe p = good_probe();

	put_probe(r, 777, &p);
}

static void probe_pidfd(struct request *r)
{
	struct maple_uapi_probe p = good_probe();

	put_probe(r, r->pidfd, &p);
}

static void probe_cut(struct request *r)
{
	S32(MAPLE_A_FD, r->file);
	nla_put(r->msg, MAPLE_A_PROBES, 47, "");
}

static void probe_alone(struct request *r)
{
	S32(MAPLE_A_FD, r->file);
}

static void probe_and_site(struct request *r)
{
	struct maple_uapi_site site = { 0x1000, MAPLE_SITE_CALL | 1, 0 };
	struct maple_uapi_probe p = good_probe();

	put_probe(r, r->file, &p);
	nla_put(r->msg, MAPLE_A_SITES, sizeof(site), &site);
}

static void site_plain(struct request *r)
{
	struct maple_uapi_site site = { 0x1000, 1, 0 };

	S32(MAPLE_A_FD, r->file);
	nla_put(r->msg, MAPLE_A_SITES, sizeof(site), &site);
}

static void site_reserved(struct request *r)
{
	struct maple_uapi_site site = { 0x1000, MAPLE_SITE_CALL | 1, 5 };

	S32(MAPLE_A_FD, r->file);
	nla_put(r->msg, MAPLE_A_SITES, sizeof(site), &site);
}

#define START MAPLE_CMD_START
#define PUT   MAPLE_CMD_PROBE

/* "" stands for the kernel's own texts, which differ between its versions. */
static const struct refusal {
	void (*fill)(struct request *r);
	enum maple_cmd command;
	bool with_session;
	int error;
	const char *text;
} refusals[] = {
	{ no_deadline, START, false, EINVAL, "that the command needs" },
	{ other_version, START, false, EPROTO, "different versions" },
	{ long_deadline, START, false, ERANGE, "" },
	{ far_cpu, START, false, EINVAL, "that CPU is not online" },
	{ odd_sched, START, false, ERANGE, "" },
	{ plan_missing, START, false, EINVAL, "MAPLE_UAPI_PLAN takes" },
	{ plan_unsound, START, false, EINVAL, "the plan is of no idiom" },
	{ plan_outside, START, false, EINVAL, "depends on no earlier step" },
	{ plan_short, START, false, ERANGE, "" },
	{ no_pidfd, START, false, EINVAL, "is no pidfd" },
	{ no_file, START, false, EBADF, "no open file of the sender" },
	{ own_self, START, false, EINVAL, "the sender itself" },
	{ init_itself, START, false, EINVAL, "init is no target" },
	{ kernel_thread, START, false, EINVAL, "a kernel thread" },
	{ dead_one, START, false, ESRCH, "the target has ended" },
	{ of_32_bits, START, false, EINVAL, "a 32-bit program" },
	{ unknown_attr, START, false, EINVAL, "" },
	{ attr_of_others, MAPLE_CMD_INFO, false, EINVAL, "" },
	{ attr_of_others, MAPLE_CMD_STOP, true, EINVAL, "" },
	{ nothing, MAPLE_CMD_STATUS, false, ENOTCONN, "has no session" },
	{ nothing, MAPLE_CMD_LOG, false, ENOTCONN, "has no session" },
	{ nothing, MAPLE_CMD_STOP, false, ENOTCONN, "has no session" },
	{ nothing, MAPLE_CMD_RELEASE, false, ENOTCONN, "has no session" },
	{ nothing, MAPLE_CMD_RESUME, false, ENOTCONN, "has no session" },
	{ nothing, MAPLE_CMD_RETURNS, false, ENOTCONN, "has no session" },
	{ size_none, PUT, false, ENOTCONN, "has no session" },
	{ again, START, true, EBUSY, "has a session already" },
	{ reserved_set, PUT, true, EINVAL, "reserved field of a probe" },
	{ flag_unknown, PUT, true, EINVAL, "a flag that this module" },
	{ register_far, PUT, true, EINVAL, "beyond r15" },
	{ scale_odd, PUT, true, EINVAL, "scale is 1, 2, 4 or 8" },
	{ scale_alone, PUT, true, EINVAL, "scale is 1, 2, 4 or 8" },
	{ both_ways, PUT, true, EINVAL, "not both" },
	{ kind_odd, PUT, true, EINVAL, "kind is none" },
	{ kind_not_memory, PUT, true, EINVAL, "its kind is another" },
	{ after_no_call, PUT, true, EINVAL, "only calls have" },
	{ size_none, PUT, true, EINVAL, "has a size" },
	{ call_numbered, PUT, true, EINVAL, "no number of its own" },
	{ beyond_file, PUT, true, EINVAL, "" },
	{ probe_nowhere, PUT, true, EBADF, "no open file of the sender" },
	{ probe_pidfd, PUT, true, EINVAL, "only a regular file" },
	{ probe_cut, PUT, true, EINVAL, "whole elements" },
	{ probe_alone, PUT, true, EINVAL, "either probes or sites" },
	{ probe_and_site, PUT, true, EINVAL, "either probes or sites" },
	{ site_plain, PUT, true, EINVAL, "has MAPLE_SITE_CALL set" },
	{ site_reserved, PUT, true, EINVAL, "reserved field of a site" },
};

static void check_refusal(const struct refusal *refusal, struct request *r)
{
	struct maple_exchange_answer answer = { 0 };
	struct maple_error err = { "" };

	r->msg = maple_exchange_message(r->control, refusal->command, 4096);
	assert_non_null(r->msg);
	refusal->fill(r);
	assert_int_equal(maple_exchange(r->control, r->msg, &answer, "", &err),
			 -refusal->error);
	/* Whoever it comes from: without a text it helps nobody. */
	assert_string_not_equal(answer.text, "");
	if (!strstr(answer.text, refusal->text))
		fail_msg("'%s' is not '%s'", answer.text, refusal->text);
}

static pid_t dead_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	dead_pidfd = pidfd_of(pid);
	waitpid(pid, NULL, 0);
	return pid;
}

/* The program beside us that is one of 32 bits, when it runs. */
static pid_t start_32_bits(void)
{
	static const char name[] = "pause32";
	char path[4096] = "", comm[16] = "", proc[64];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 20);
	pid_t pid = fork();
	FILE *file;

	assert_true(n > 0 && pid >= 0);
	strcpy(strrchr(path, '/') + 1, name);
	if (!pid) {
		execl(path, name, NULL);
		_exit(127);
	}
	other_pidfd = pidfd_of(pid);
	snprintf(proc, sizeof(proc), "/proc/%d/comm", pid);
	while (strncmp(comm, name, strlen(name))) {
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		file = fopen(proc, "r");
		assert_true(file && fgets(comm, sizeof(comm), file));
		fclose(file);
	}
	return pid;
}

static void test_refusals(void **state)
{
	struct request r = { .target = start_target() };
	struct maple_error err;
	pid_t other = start_32_bits();
	unsigned int i;
	int with;

	own_pidfd = pidfd_of(getpid());
	init_pidfd = pidfd_of(1);
	kernel_pidfd = pidfd_of(2);
	dead_child();
	r.pidfd = pidfd_of(r.target);
	r.file = open("/proc/self/exe", O_RDONLY);
	for (with = 0; with < 2; with++) {
		r.control = opened();
		if (with && start_on(r.control, r.target, &err))
			fail_msg("%s", err.text);
		for (i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
			if (refusals[i].with_session == with)
				check_refusal(&refusals[i], &r);
		maple_control_close(r.control);
	}
	end_target(r.target);
	end_target(other);
	close(r.pidfd);
	close(r.file);
}

/* Without the privileges: INFO, and nothing else. */
static void test_nobody(void **state)
{
	struct maple_control_info info;
	struct maple_control *control;
	pid_t target = start_target();
	struct maple_error err;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		if (setresgid(65534, 65534, 65534) ||
		    setresuid(65534, 65534, 65534))
			_exit(1);
		if (maple_control_open(&control, &err) ||
		    maple_control_info(control, &info, &err))
			_exit(2);
		if (start_on(control, target, &err) != -EPERM ||
		    !strstr(err.text, "CAP_SYS_ADMIN"))
			_exit(3);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end_target(target);
}

/* ---- sessions and their sockets ---- */

static void test_two_sessions(void **state)
{
	pid_t target[2] = { start_target(), start_target() }, tids[THREADS];
	struct maple_control *control[2], *third = opened();
	struct maple_control_status status;
	struct maple_error err;
	int i, k;

	for (i = 0; i < 2; i++)
		control[i] = session_on(target[i]);
	/* One target, one session. */
	assert_int_equal(start_on(third, target[0], &err), -EBUSY);
	for (i = 0; i < 2; i++) {
		kill(target[i], SIGCONT);
		assert_int_equal(settled(target[i], tids), THREADS);
		assert_true(is_ordered(target[i]));
	}
	for (i = 0; i < 2; i++) {
		if (maple_control_status(control[i], true, &status, &err))
			fail_msg("%s", err.text);
		assert_int_equal(status.state, MAPLE_SESSION_RUNNING);
		assert_int_equal(status.nthreads, THREADS);
		assert_int_equal(status.threads[0].tid, target[i]);
		assert_string_equal(status.threads[0].name, "0");
		for (k = 1; k < THREADS; k++) {
			assert_int_equal(status.threads[k].number, k);
			assert_int_equal(status.threads[k].parent, 0);
			assert_true(status.threads[k].alive);
		}
		free(status.threads);
	}
	/* The end of one leaves the other alone. */
	maple_control_close(control[0]);
	assert_true(is_native(target[0]));
	assert_true(is_ordered(target[1]));
	if (maple_control_stop(control[1], &err))
		fail_msg("%s", err.text);
	assert_true(is_native(target[1]));
	/* The socket may have another session. */
	if (start_on(control[1], target[0], &err))
		fail_msg("%s", err.text);
	assert_true(is_ordered(target[0]));
	maple_control_close(control[1]);
	assert_true(is_native(target[0]));
	maple_control_close(third);
	end_target(target[0]);
	end_target(target[1]);
}

static void test_release(void **state)
{
	pid_t target = start_target(), tids[THREADS];
	struct maple_control *control = session_on(target);
	struct maple_control_status status;
	struct maple_error err;

	kill(target, SIGCONT);
	assert_int_equal(settled(target, tids), THREADS);
	assert_true(is_ordered(target));
	if (maple_control_release(control, &err) ||
	    maple_control_status(control, false, &status, &err))
		fail_msg("%s", err.text);
	assert_int_equal(status.state, MAPLE_SESSION_RELEASED);
	free(status.threads);
	assert_true(is_native(target));
	maple_control_close(control);
	assert_true(is_native(target));
	end_target(target);
}

/* The target is gone before its session; nothing is left of either. */
static void test_target_killed(void **state)
{
	pid_t target = start_target(), tids[THREADS];
	struct maple_control *control = session_on(target);
	struct maple_control_status status = { 0 };
	struct maple_error err;
	int ms;

	kill(target, SIGCONT);
	assert_int_equal(settled(target, tids), THREADS);
	end_target(target);
	for (ms = 0; ms < 5000 && status.state != MAPLE_SESSION_GONE; ms++) {
		if (maple_control_status(control, false, &status, &err))
			fail_msg("%s", err.text);
		free(status.threads);
		usleep(1000);
	}
	assert_int_equal(status.state, MAPLE_SESSION_GONE);
	maple_control_close(control);
}

static void test_rmmod(void **state)
{
	pid_t target = start_target();
	struct maple_control *control = session_on(target);
	struct maple_error err;

	assert_int_equal(syscall(SYS_delete_module, "maple", O_NONBLOCK), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	if (maple_control_stop(control, &err))
		fail_msg("%s", err.text);
	maple_control_close(control);
	end_target(target);
}

/* kill -9 of who holds the session, in the middle of it. */
static void test_holder_killed(void **state)
{
	pid_t target = start_target(), tids[THREADS], holder;
	int ready[2], i;
	char c;

	assert_int_equal(pipe(ready), 0);
	holder = fork();
	if (!holder) {
		session_on(target);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		sleep_on(NULL);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	kill(target, SIGCONT);
	assert_int_equal(settled(target, tids), THREADS);
	assert_true(is_ordered(target));
	kill(holder, SIGKILL);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	for (i = 0; i < 5000 && !is_native(target); i++)
		usleep(1000);
	assert_true(is_native(target));
	end_target(target);
}

/* Starts and ends in quick succession, the target in any state. */
static void test_many(void **state)
{
	pid_t target = start_target(), tids[THREADS];
	int i;

	kill(target, SIGCONT);
	assert_int_equal(settled(target, tids), THREADS);
	for (i = 0; i < 200; i++) {
		maple_control_close(session_on(target));
		assert_true(is_native(target));
	}
	end_target(target);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_two_sessions),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_target_killed),
		cmocka_unit_test(test_rmmod),
		cmocka_unit_test(test_holder_killed),
		cmocka_unit_test(test_many),
	};

	if (!strcmp(argv[0], "target"))
		return be_target();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
