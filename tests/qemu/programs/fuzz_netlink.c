// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A fuzzer of maple.ko's netlink family: valid messages, changed at random,
 * on several sockets that come and go.  fuzz_netlink MESSAGES SEED
 *
 * The kernel has to answer, to refuse most of it, and to be as it was before;
 * what it must not do is seen by the guest that this runs in: panic, warn,
 * leak, hang. The targets are erratic.h's: under their sessions they exec,
 * fork, make threads, crash, become undumpable and end, and are replaced.
 * Probes go into their code, or into a file that nobody runs. Messages must
 * have met sessions in every state.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <netlink/genl/genl.h>
#include "../../any_plan.h"
#include "backend/kernel/module/exchange.h"
#include "draw.h"
#include "erratic.h"

#define MESSAGE	 65536
#define LIFETIME 100 /* messages on one socket, on the average, */
#define AGE	 10  /* ... and between what is done to a target */
#define SOCKETS	 4
#define TARGETS	 4
#define STATES	 (MAPLE_SESSION_BARRED + 1)
#define MORE	 100000 /* messages at most, until all states were met */

static const char *const state_names[STATES] = {
	"armed",    "running", "crashed", "released",
	"deadline", "starved", "gone",	  "barred",
};

static struct {
	pid_t pid;
	int fd;
} targets[TARGETS];

static int family, code_fd, own_fd;
static uint64_t sent, answered, refused, agreed, started, placed, silent;
static uint64_t met[STATES]; /* messages to a session in that state */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- valid messages ---- */

struct message {
	union {
		struct nlmsghdr head;
		char bytes[MESSAGE];
	};
};

static void put(struct message *m, int type, const void *data, size_t size)
{
	struct nlattr *attr =
		(void *)(m->bytes + NLMSG_ALIGN(m->head.nlmsg_len));

	memset(attr, 0, NLA_ALIGN(NLA_HDRLEN + size));
	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + size;
	if (size)
		memcpy((char *)attr + NLA_HDRLEN, data, size);
	m->head.nlmsg_len =
		NLMSG_ALIGN(m->head.nlmsg_len) + NLA_ALIGN(NLA_HDRLEN + size);
}

static void put32(struct message *m, int type, uint32_t value)
{
	put(m, type, &value, sizeof(value));
}

/* Of any shape that is well-formed. */
static void put_plan(struct message *m)
{
	static const struct maple_iroot_event at[] = { { 1, MAPLE_EV_WRITE },
						       { 2, MAPLE_EV_READ } };
	uint64_t seed = draw(UINT32_MAX);
	struct maple_plan plan;

	any_plan(&plan, &seed, at, 2);
	put(m, MAPLE_A_PLAN, &plan, sizeof(plan));
}

static void fill_start(struct message *m)
{
	static const uint32_t scheds[] = { MAPLE_UAPI_NATIVE, MAPLE_UAPI_OLDER,
					   MAPLE_UAPI_YOUNGER, MAPLE_UAPI_PLAN };
	uint32_t sched = scheds[draw(4)];
	uint64_t value = draw(1000);

	put32(m, MAPLE_A_VERSION, MAPLE_GENL_VERSION);
	put32(m, MAPLE_A_PIDFD, targets[draw(TARGETS)].fd);
	put32(m, MAPLE_A_CPU, sched == MAPLE_UAPI_NATIVE ? draw(3) - 1 : 1);
	put32(m, MAPLE_A_SCHED, sched);
	put(m, MAPLE_A_SEED, &value, sizeof(value));
	put32(m, MAPLE_A_DEADLINE, 1 + draw(chance(4) ? 20 : 4000));
	if (sched == MAPLE_UAPI_PLAN)
		put_plan(m);
	if (chance(2))
		put(m, MAPLE_A_STRICT, NULL, 0);
}

/* Of code that is nobody's: anywhere. */
static void odd_probe(struct maple_uapi_probe *p)
{
	*p = (struct maple_uapi_probe){
		.offset = 0x1000 + draw(0x2000),
		.number = (uint32_t)draw(1000),
		.size = 1u << draw(4),
		.kind = (uint8_t)(1 + draw(3)),
		.base = (uint8_t)draw(16),
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};
	p->next = p->offset + 1 + draw(8);
}

/*
 * Of the targets' code: as it is, and of no number that is in the plan, since
 * QEMU does not stand a watchpoint on what is stepped over (hostile_sessions.h).
 */
static void label_probe(struct maple_uapi_probe *p)
{
	bool store = chance(2);

	*p = (struct maple_uapi_probe){
		.offset = (uint64_t)((store ? insn_store : insn_load) -
				     __ehdr_start),
		.next = (uint64_t)((store ? next_store : next_load) -
				   __ehdr_start),
		.number = 10 + (uint32_t)draw(10),
		.size = 8,
		.kind = store ? MAPLE_EV_WRITE : MAPLE_EV_READ,
		.base = 7, /* rdi */
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};
}

static void call_probe(struct maple_uapi_probe *p, bool own)
{
	if (own)
		p->offset = (uint64_t)(insn_deep - __ehdr_start);
	p->flags = MAPLE_PROBE_CALL | MAPLE_PROBE_RETURN;
	p->next = 0;
	p->number = MAPLE_SITE_NONE;
	p->kind = MAPLE_EV_BLOCK;
	p->after = MAPLE_EV_LOCK;
}

static void fill_probes(struct message *m)
{
	struct maple_uapi_probe probe[8];
	unsigned int i, n = 1 + (unsigned int)draw(8);
	bool own = chance(2);

	for (i = 0; i < n; i++) {
		if (own)
			label_probe(&probe[i]);
		else
			odd_probe(&probe[i]);
		if (chance(3))
			call_probe(&probe[i], own);
	}
	put32(m, MAPLE_A_FD, (uint32_t)(own ? own_fd : code_fd));
	put(m, MAPLE_A_PROBES, probe, n * sizeof(*probe));
}

static void fill_sites(struct message *m)
{
	struct maple_uapi_site site[4];
	unsigned int i, n = 1 + draw(4);

	for (i = 0; i < n; i++)
		site[i] = (struct maple_uapi_site){
			draw(0x4000), MAPLE_SITE_CALL | (uint32_t)draw(100), 0
		};
	put32(m, MAPLE_A_FD, code_fd);
	put(m, MAPLE_A_SITES, site, n * sizeof(*site));
}

/* Mostly what changes something. */
static void fill(struct message *m)
{
	static const uint8_t commands[] = {
		MAPLE_CMD_INFO,	  MAPLE_CMD_START,  MAPLE_CMD_START,
		MAPLE_CMD_PROBE,  MAPLE_CMD_PROBE,  MAPLE_CMD_PROBE,
		MAPLE_CMD_PROBE,  MAPLE_CMD_PROBE,  MAPLE_CMD_RELEASE,
		MAPLE_CMD_STATUS, MAPLE_CMD_STATUS, MAPLE_CMD_STATUS,
		MAPLE_CMD_STATUS, MAPLE_CMD_STATUS, MAPLE_CMD_STATUS,
		MAPLE_CMD_LOG,	  MAPLE_CMD_LOG,    MAPLE_CMD_LOG,
		MAPLE_CMD_RESUME, MAPLE_CMD_STOP,   MAPLE_CMD_RETURNS,
	};
	struct genlmsghdr *head = NLMSG_DATA(&m->head);

	memset(m, 0, NLMSG_HDRLEN + GENL_HDRLEN);
	m->head.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	m->head.nlmsg_type = family;
	m->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	head->cmd = commands[draw(sizeof(commands))];
	head->version = MAPLE_GENL_VERSION;
	if (head->cmd == MAPLE_CMD_START)
		fill_start(m);
	else if (head->cmd == MAPLE_CMD_PROBE)
		chance(4) ? fill_sites(m) : fill_probes(m);
	else if ((head->cmd == MAPLE_CMD_STATUS ||
		  head->cmd == MAPLE_CMD_RETURNS) &&
		 chance(2))
		put32(m, MAPLE_A_FROM, draw(10));
}

/* ---- what is done to them ---- */

static uint32_t odd_value(void)
{
	static const uint32_t odd[] = { 0,	    1,		2,
					0x7fffffff, 0x80000000, 0xffffffff,
					0xfffffffe, 65535,	65536 };

	return chance(2) ? odd[draw(sizeof(odd) / sizeof(*odd))]
			 : (uint32_t)draw(1ull << 32);
}

/* A random attribute of the message; NULL if it has none. */
static struct nlattr *pick(struct message *m)
{
	uint32_t at = NLMSG_LENGTH(GENL_HDRLEN), size = m->head.nlmsg_len;
	struct nlattr *attr, *found = NULL;
	unsigned int n = 0;

	while (at + NLA_HDRLEN <= size) {
		attr = (void *)(m->bytes + at);
		if (attr->nla_len < NLA_HDRLEN)
			break;
		if (chance(++n))
			found = attr;
		at += NLA_ALIGN(attr->nla_len);
	}
	return found;
}

static void damage(struct message *m)
{
	uint32_t first = NLMSG_LENGTH(0), size = m->head.nlmsg_len;
	struct nlattr *attr = pick(m);
	uint32_t value = odd_value();

	if (size == first) /* nothing is left to be damaged */
		return;
	switch (draw(10)) {
	case 0: /* any byte */
		m->bytes[first + draw(size - first)] ^= 1 << draw(8);
		break;
	case 1:
		m->bytes[first + draw(size - first)] = draw(256);
		break;
	case 2: /* shorter */
		m->head.nlmsg_len = first + draw(size - first + 1);
		break;
	case 3: /* longer */
		value = 1 + draw(chance(20) ? 30000 : 64);
		while (value-- && m->head.nlmsg_len < MESSAGE)
			m->bytes[m->head.nlmsg_len++] = draw(256);
		break;
	case 4: /* an attribute of another kind, */
		if (attr)
			attr->nla_type = draw(MAPLE_A_MAX + 3) |
					 (chance(8) ? NLA_F_NESTED : 0);
		break;
	case 5: /* ... of another length, */
		if (attr)
			attr->nla_len = chance(2) ? draw(64) : draw(65536);
		break;
	case 6: /* ... of another value, */
		if (attr && attr->nla_len >= NLA_HDRLEN + sizeof(value))
			memcpy((char *)attr + NLA_HDRLEN, &value, sizeof(value));
		break;
	case 7: /* ... twice */
		if (attr && size + NLA_ALIGN(attr->nla_len) <= MESSAGE) {
			memcpy(m->bytes + size, attr, NLA_ALIGN(attr->nla_len));
			m->head.nlmsg_len += NLA_ALIGN(attr->nla_len);
		}
		break;
	case 8: /* another command, with this one's attributes */
		((struct genlmsghdr *)NLMSG_DATA(&m->head))->cmd =
			draw(MAPLE_CMD_MAX + 3);
		break;
	case 9:
		m->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | draw(65536);
		break;
	}
}

/* ---- the kernel's side ---- */

static int open_socket(void)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int one = 1;

	if (fd < 0 || connect(fd, (void *)&kernel, sizeof(kernel)))
		die("socket");
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	return fd;
}

/* Whether @head ends the exchange; counts it. */
static bool ends(const struct nlmsghdr *head, uint8_t command)
{
	const struct nlmsgerr *error = NLMSG_DATA(head);

	if (head->nlmsg_type == NLMSG_DONE)
		return true;
	if (head->nlmsg_type != NLMSG_ERROR)
		return false;
	answered++;
	if (error->error) {
		refused++;
	} else {
		agreed++;
		started += command == MAPLE_CMD_START;
		placed += command == MAPLE_CMD_PROBE;
	}
	return true;
}

/* Which state the session is in that it is about. */
static void note_state(const struct nlmsghdr *head)
{
	const struct genlmsghdr *genl = NLMSG_DATA(head);
	int left = (int)head->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	const struct nlattr *attr = (const void *)(genl + 1);
	uint32_t state;

	if (head->nlmsg_type != family || genl->cmd != MAPLE_CMD_STATUS)
		return;
	for (; nla_ok(attr, left); attr = nla_next(attr, &left))
		if (nla_type(attr) == MAPLE_A_STATE &&
		    nla_len(attr) == sizeof(state)) {
			memcpy(&state, nla_data(attr), sizeof(state));
			if (state < STATES)
				met[state]++;
		}
}

/* A message without a whole head gets no answer. */
static void take_answer(int fd, uint8_t command)
{
	static char buf[MESSAGE];
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct nlmsghdr *head;
	bool over = false;
	int n;

	while (!over) {
		/* The kernel answers before sendto() returns. */
		if (poll(&pfd, 1, 0) <= 0) {
			silent++;
			return;
		}
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n < 0)
			die("recv");
		for (head = (void *)buf; NLMSG_OK(head, n);
		     head = NLMSG_NEXT(head, n)) {
			note_state(head);
			over |= ends(head, command);
		}
	}
}

static void drain(int fd)
{
	static char buf[MESSAGE];

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
		;
}

static void send_one(int fd)
{
	static struct message m;
	unsigned int n = chance(2) ? 0 : 1 + draw(3);
	uint8_t command;
	uint32_t size;

	fill(&m);
	while (n--)
		damage(&m);
	command = ((struct genlmsghdr *)NLMSG_DATA(&m.head))->cmd;
	size = m.head.nlmsg_len;
	if (chance(50)) /* what the head says is not so */
		m.head.nlmsg_len = odd_value();
	if (send(fd, m.bytes, size, 0) < 0)
		die("send");
	sent++;
	take_answer(fd, command);
	drain(fd);
}

/* ---- the surroundings ---- */

static void crash(int signo)
{
	(void)signo;
	__builtin_trap();
}

static pid_t fork_target(const struct target_kind *kind)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	close_range(3, ~0u, 0);
	alarm(2 + (unsigned int)draw(6)); /* whatever it forks ends as well */
	signal(SIGUSR1, crash);
	draw_seed(draw_state + (uint64_t)getpid());
	if (nice(10) >= 0 && chance(4))
		execl(target_self, "erratic", "target", kind->name, NULL);
	target_run(kind);
}

/* Often one that has hits, or other rights, under its session. */
static const struct target_kind *any_kind(void)
{
	const struct target_kind *kind;

	do
		kind = &target_kinds[draw(TARGET_KINDS)];
	while (kind->act == target_spin ||
	       (chance(2) && kind->act != target_threads &&
		kind->act != target_sleep && kind->act != target_hidden));
	return kind;
}

static void start_target(unsigned int i)
{
	targets[i].pid = fork_target(any_kind());
	targets[i].fd = (int)syscall(SYS_pidfd_open, targets[i].pid, 0);
	if (targets[i].fd < 0)
		die("pidfd_open");
}

static void end_target(unsigned int i)
{
	kill(targets[i].pid, SIGKILL);
	waitpid(targets[i].pid, NULL, 0);
	close(targets[i].fd);
}

/* One that has ended stays for a while. */
static void disturb_target(void)
{
	static const int signals[] = { SIGCONT, SIGSTOP, SIGCONT, SIGUSR1 };
	unsigned int i = (unsigned int)draw(TARGETS);

	struct pollfd pfd = { .fd = targets[i].fd, .events = POLLIN };

	if (!poll(&pfd, 1, 0) && !chance(3)) {
		kill(targets[i].pid, signals[draw(4)]);
		return;
	}
	end_target(i);
	start_target(i);
}

/* A copy of ourselves that nobody executes. */
static void make_code(void)
{
	char name[] = "/dev/shm/fuzz_netlink_XXXXXX";
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	code_fd = mkstemp(name);
	if (from < 0 || code_fd < 0 || fstat(from, &st) ||
	    sendfile(code_fd, from, NULL, st.st_size) != st.st_size)
		die("a copy of the program");
	unlink(name);
	close(from);
}

/* The module is as sound as it was: it says what it is, and has a session. */
static void check_alive(void)
{
	struct maple_control_order order = {
		.cpu = 1,
		.sched = MAPLE_UAPI_OLDER,
		.deadline_ms = 1000,
	};
	pid_t pid = fork_target(&target_kinds[0]);
	struct maple_control_info info;
	struct maple_control *control;
	struct maple_error err;

	order.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (maple_control_open(&control, &err) ||
	    maple_control_info(control, &info, &err) ||
	    maple_control_start(control, &order, &err) ||
	    maple_control_stop(control, &err)) {
		fprintf(stderr, "fuzz_netlink: %s\n", err.text);
		exit(1);
	}
	family = control->family;
	maple_control_close(control);
	close(order.pidfd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A CPU starves for seconds only. */
static bool all_met(void)
{
	for (unsigned int i = 0; i < STATES; i++)
		if (!met[i] && i != MAPLE_SESSION_STARVED)
			return false;
	return true;
}

/* @n messages, or more, until all states were met. */
static void fuzz(uint64_t n)
{
	int fd[SOCKETS];

	for (unsigned int i = 0; i < SOCKETS; i++)
		fd[i] = open_socket();
	for (unsigned int i = 0; i < TARGETS; i++)
		start_target(i);
	while (sent < n || (!all_met() && sent < n + MORE)) {
		unsigned int i = (unsigned int)draw(SOCKETS);

		send_one(fd[i]);
		if (chance(LIFETIME)) {
			close(fd[i]);
			fd[i] = open_socket();
		}
		if (chance(AGE))
			disturb_target();
	}
	for (unsigned int i = 0; i < TARGETS; i++)
		end_target(i);
	for (unsigned int i = 0; i < SOCKETS; i++)
		close(fd[i]);
}

/* A fuzzer whose messages all bounce, or none, tests nothing. */
static bool has_tested(uint64_t n)
{
	for (unsigned int i = 0; i < STATES; i++)
		printf("%s%s %llu", i ? ", " : "", state_names[i],
		       (unsigned long long)met[i]);
	putchar('\n');
	return all_met() && started && placed && refused > n / 4 &&
	       silent < n / 4;
}

int main(int argc, char **argv)
{
	uint64_t n;

	target_self = "/proc/self/exe";
	if (argc == 3 && !strcmp(argv[1], "target"))
		return target_main(argv[2]);
	if (argc != 3) {
		fprintf(stderr, "usage: fuzz_netlink MESSAGES SEED\n");
		return 2;
	}
	n = strtoull(argv[1], NULL, 10);
	draw_seed(strtoull(argv[2], NULL, 10));
	own_fd = open(target_self, O_RDONLY | O_CLOEXEC);
	make_code();
	check_alive();
	fuzz(n);
	check_alive();
	printf("%llu messages, %llu refused, %llu agreed, %llu silent: "
	       "%llu sessions, %llu times probes\n",
	       (unsigned long long)sent, (unsigned long long)refused,
	       (unsigned long long)agreed, (unsigned long long)silent,
	       (unsigned long long)started, (unsigned long long)placed);
	return has_tested(sent) ? 0 : 1;
}
