// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who waits for a process' memory with maple.ko keeps nobody else waiting:
 *   neighbours probe HOLDER NEIGHBOUR   ... a message that adds a probe
 *   neighbours close HOLDER NEIGHBOUR   ... who closes a session's socket
 *
 * HOLDER and NEIGHBOUR are tests/qemu/holder.c and neighbour.c, as files.
 * Nothing here forks while somebody waits for memory, since that waits as well:
 * the kernel's probes have it so.
 */
#include <pthread.h>
#include <stdatomic.h>
#include "touch.h"
#include "victims.h"

static struct maple_control *control;
static const char *neighbour;
static atomic_int waits, registers; /* tids; 0: done, or not yet */
static atomic_int failed;
static atomic_bool registered;

static int add_probe(void)
{
	const struct maple_uapi_probe probe = probe_of_touch();
	int fd = open("/proc/self/exe", O_RDONLY), e;
	struct maple_error err;

	e = maple_control_probes(control, fd, &probe, 1, &err);
	close(fd);
	return e;
}

static pid_t start_target(void)
{
	volatile long value;
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		touch(&value);
}

static void begin(pid_t pid)
{
	struct maple_control_order order = {
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.cpu = -1,
		.sched = MAPLE_UAPI_PCTLARGE,
		.deadline_ms = 100000,
	};
	struct maple_error err;

	control = session_open();
	if (maple_control_start(control, &order, &err))
		fail("start: %s", err.text);
	close(order.pidfd);
}

/* ---- those who wait ---- */

static void *probe_it(void *unused)
{
	waits = (int)syscall(SYS_gettid);
	if (add_probe())
		failed = 1;
	waits = 0;
	return unused;
}

static void *close_it(void *unused)
{
	waits = (int)syscall(SYS_gettid);
	maple_control_close(control);
	waits = 0;
	return unused;
}

static void *register_it(void *unused)
{
	int fd = open(neighbour, O_RDONLY | O_CLOEXEC);

	registers = (int)syscall(SYS_gettid);
	if (syscall(SYS_finit_module, fd, "", 0))
		failed = errno;
	registered = true;
	close(fd);
	return unused;
}

/* The state in which a thread of ours has been for some time; ?: it is gone. */
static char state_of(int tid)
{
	char path[64], line[512], state = '?', *end;
	unsigned int same = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	while (same < 20) {
		file = fopen(path, "r");
		if (!file)
			return '?';
		end = fgets(line, sizeof(line), file);
		fclose(file);
		if (!end)
			return '?';
		end = strrchr(line, ')');
		same = end[2] == state ? same + 1 : 0;
		state = end[2];
		nap(10000);
	}
	return state;
}

static void load_holder(const char *path, pid_t pid)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char parameter[32];

	snprintf(parameter, sizeof(parameter), "pid=%d", pid);
	if (syscall(SYS_finit_module, fd, parameter, 0))
		fail("%s: %s", path, strerror(errno));
	close(fd);
}

static void unload(const char *name)
{
	if (syscall(SYS_delete_module, name, O_NONBLOCK))
		fail("%s does not unload: %s", name, strerror(errno));
}

/* Whether somebody else gets on while the thread of waits does not. */
static bool others_get_on(void)
{
	struct maple_control_info info;
	struct maple_control *other;
	struct maple_error err;
	pthread_t thread;

	if (pthread_create(&thread, NULL, register_it, NULL))
		fail("no thread");
	while (!registers)
		nap(1000);
	/* It is done, or waits, and not for want of CPU time. */
	while (!registered && state_of(registers) != 'D')
		;
	if (registered) {
		pthread_join(thread, NULL);
		other = session_open();
		if (maple_control_info(other, &info, &err))
			fail("info: %s", err.text);
		maple_control_close(other);
		return true;
	}
	pthread_detach(thread);
	return false;
}

int main(int argc, char **argv)
{
	bool closes = argc == 4 && !strcmp(argv[1], "close");
	pthread_t thread;
	bool got_on;
	pid_t pid;

	if (argc != 4 || (!closes && strcmp(argv[1], "probe")))
		return 2;
	neighbour = argv[3];
	pid = start_target();
	begin(pid);
	if (closes && add_probe())
		fail("no probe");
	load_holder(argv[2], pid);
	if (pthread_create(&thread, NULL, closes ? close_it : probe_it, NULL))
		fail("no thread");
	while (!waits)
		nap(1000);
	while (state_of(waits) != 'D')
		if (!waits)
			fail("nobody waits for the target's memory");
	got_on = others_get_on();
	if (!waits)
		fail("it does not wait any more");
	unload("holder");
	pthread_join(thread, NULL);
	if (!got_on)
		fail("another family's registration waits for a %s", argv[1]);
	if (failed)
		fail("it failed: %d", failed);
	if (!closes)
		maple_control_close(control);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unload("neighbour");
	puts("got on");
	return 0;
}
