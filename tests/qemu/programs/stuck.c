// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who waits for a process' memory with maple.ko by way of mapled keeps nobody
 * else waiting for mapled:
 *   stuck SOCKET HOLDER
 *
 * HOLDER is tests/qemu/holder.c, as a file. mapled lends one CPU to users of
 * group 54399; one of them has it, and a session there whose probe waits. This
 * one's second connection gets on, and so does another user, but without the
 * CPU, until the session has ended. Nothing forks while somebody waits: that
 * would wait as well.
 */
#include <grp.h>
#include <pthread.h>
#include <sys/socket.h>
#include "host/host.h"
#include "touch.h"
#include "victims.h"

#define GROUP	54399
#define PATIENT 60 /* seconds for one thing */

enum word { READY, SESSION, PROBE, REQUESTS, LEASE };

/* One of the users, and what it is told and says: an int each. */
struct party {
	pid_t pid;
	int to, from;
};

static const char *path;
static struct maple_host *first, *second;
static struct maple_control *control;
static pid_t target[2];

/* ---- what a user does ---- */

static struct maple_host *connect_to(void)
{
	struct maple_host *host;
	struct maple_error err;

	if (maple_host_open(path, &host, &err))
		fail("mapled: %s", err.text);
	return host;
}

static int lease(struct maple_host *host)
{
	struct maple_error err;
	cpu_set_t cpus;
	int cpu;

	memset(&cpus, 0xff, sizeof(cpus));
	return maple_host_lease(host, &cpus, NULL, &cpu, &err) ? -1 : cpu;
}

static void begin(struct maple_control *c, pid_t pid, int cpu,
		  unsigned int sched)
{
	struct maple_control_order order = {
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.cpu = cpu,
		.sched = sched,
		.deadline_ms = 300000,
	};
	struct maple_error err;

	if (maple_control_start(c, &order, &err))
		fail("start: %s", err.text);
	close(order.pidfd);
}

/* Of the memo, and a session. */
static void make_requests(struct maple_host *host)
{
	struct maple_memo_program_info *programs;
	struct maple_control_status status;
	struct maple_control *c;
	struct maple_memo *memo;
	struct maple_error err;
	size_t n;

	if (maple_host_memo(host, &memo, &err) ||
	    maple_memo_programs(memo, &programs, &n, &err))
		fail("memo: %s", err.text);
	maple_memo_programs_destroy(programs, n);
	maple_memo_close(memo);
	if (maple_control_open_by(host, &c, &err))
		fail("open: %s", err.text);
	begin(c, target[1], -1, MAPLE_UAPI_NATIVE);
	if (maple_control_status(c, false, &status, &err))
		fail("status: %s", err.text);
	maple_control_close(c);
}

static void *probe(void *unused)
{
	const struct maple_uapi_probe probe = probe_of_touch();
	int fd = open("/proc/self/exe", O_RDONLY);
	struct maple_error err;

	if (fd < 0 || !maple_control_probes(control, fd, &probe, 1, &err))
		fail("the probe does not wait");
	return unused; /* it has waited for too long */
}

static void become_user(uid_t uid)
{
	const gid_t group = GROUP;

	if (setgroups(1, &group) || setresgid(uid, uid, uid) ||
	    setresuid(uid, uid, uid) || prctl(PR_SET_DUMPABLE, 1) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL))
		fail("no other user: %s", strerror(errno));
}

static pid_t start_target(void)
{
	volatile long value;
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		touch(&value);
		pause();
	}
}

static int obey(enum word word)
{
	struct maple_host *host;
	struct maple_error err;
	pthread_t thread;
	int cpu;

	switch (word) {
	case READY:
		return target[0];
	case SESSION:
		cpu = lease(first);
		if (cpu < 0 || maple_control_open_by(first, &control, &err))
			fail("no CPU, or no session");
		begin(control, target[0], cpu, MAPLE_UAPI_PCTLARGE);
		return 0;
	case PROBE:
		return pthread_create(&thread, NULL, probe, NULL);
	case REQUESTS:
		make_requests(second);
		return 0;
	case LEASE:
		host = connect_to();
		cpu = lease(host);
		maple_host_close(host);
		return cpu;
	}
	return -1;
}

static _Noreturn void be_user(uid_t uid, int in, int out)
{
	int word, answer;

	become_user(uid);
	for (int i = 0; i < 2; i++)
		target[i] = start_target();
	first = connect_to();
	second = connect_to();
	while (read(in, &word, sizeof(word)) == sizeof(word)) {
		alarm(PATIENT);
		answer = obey(word);
		alarm(0);
		if (write(out, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

/* ---- who tells them ---- */

static void start_user(struct party *p, uid_t uid)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		fail("no pipe");
	p->pid = fork();
	if (!p->pid) {
		close(to[1]);
		close(from[0]);
		be_user(uid, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	p->to = to[1];
	p->from = from[0];
}

static int tell(const struct party *p, int word, const char *what)
{
	int answer;

	if (write(p->to, &word, sizeof(word)) != sizeof(word) ||
	    read(p->from, &answer, sizeof(answer)) != sizeof(answer))
		fail("%s: not done in %d s", what, PATIENT);
	return answer;
}

static pid_t pid_of_mapled(void)
{
	struct maple_host *host = connect_to();
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(host->sock, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		fail("whose socket?");
	maple_host_close(host);
	return peer.pid;
}

/* Whether a thread of it can neither go on nor be killed. */
static bool is_stuck(pid_t pid)
{
	char name[300], line[512];
	struct dirent *e;
	bool stuck = false;
	FILE *file;
	DIR *dir;

	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	dir = opendir(name);
	while (dir && (e = readdir(dir))) {
		snprintf(name, sizeof(name), "/proc/%d/task/%s/stat", pid,
			 e->d_name);
		file = fopen(name, "r");
		stuck |= file && fgets(line, sizeof(line), file) &&
			 strrchr(line, ')')[2] == 'D';
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
	return stuck;
}

static void await_stuck(pid_t pid)
{
	unsigned int same = 0;

	for (unsigned int tries = 0; same < 50; tries++) {
		same = is_stuck(pid) ? same + 1 : 0;
		if (tries == 100 * PATIENT)
			fail("nobody waits for the target's memory");
		nap(10000);
	}
}

static void unload_holder(void)
{
	syscall(SYS_delete_module, "holder", O_NONBLOCK);
}

/* Until the end at most: nobody else can be begun meanwhile. */
static void load_holder(const char *file, pid_t pid)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	char parameter[32];

	snprintf(parameter, sizeof(parameter), "pid=%d", pid);
	if (syscall(SYS_finit_module, fd, parameter, 0))
		fail("%s: %s", file, strerror(errno));
	close(fd);
	atexit(unload_holder);
}

static void await_cpu(const struct party *p)
{
	for (unsigned int tries = 0; tell(p, LEASE, "a CPU") < 0; tries++) {
		if (tries == 100)
			fail("the CPU is not lent again");
		nap(100000);
	}
}

int main(int argc, char **argv)
{
	struct party one, other;
	pid_t mapled, pid;

	if (argc != 3)
		return 2;
	path = argv[1];
	mapled = pid_of_mapled();
	start_user(&one, 54321);
	start_user(&other, 54322);
	tell(&other, READY, "to connect");
	pid = tell(&one, READY, "to connect");
	tell(&one, SESSION, "a session");
	load_holder(argv[2], pid);
	tell(&one, PROBE, "a probe");
	await_stuck(mapled);

	tell(&other, REQUESTS, "what another user asks for");
	tell(&one, REQUESTS, "what the same user asks for");
	kill(one.pid, SIGKILL);
	waitpid(one.pid, NULL, 0);
	for (int i = 0; i < 5; i++) {
		if (tell(&other, LEASE, "a CPU") >= 0)
			fail("the CPU is lent, and a session is there");
		nap(100000);
	}
	tell(&other, REQUESTS, "what is asked for then");
	if (!is_stuck(mapled))
		fail("it does not wait any more");

	unload_holder();
	await_cpu(&other);
	puts("got on");
	return 0;
}
