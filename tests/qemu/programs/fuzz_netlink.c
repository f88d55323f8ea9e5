// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A fuzzer of maple.ko's netlink family: valid messages, changed at random,
 * on sockets that come and go.  fuzz_netlink MESSAGES SEED
 *
 * The kernel has to answer, to refuse most of it, and to be as it was before;
 * what it must not do is seen by the guest that this runs in: panic, warn,
 * leak, hang. The target is a process that sleeps, the file that probes go
 * into is one that nobody runs.
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
#include "backend/kernel/exchange.h"

#define MESSAGE	 65536
#define LIFETIME 100 /* messages on one socket, on the average */

static uint64_t seed;
static int family, target_fd, code_fd;
static struct maple_plan plan;
static uint64_t sent, answered, refused, agreed, started, placed, silent;

static uint64_t draw(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % n;
}

static bool chance(unsigned int in)
{
	return !draw(in);
}

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
	memcpy((char *)attr + NLA_HDRLEN, data, size);
	m->head.nlmsg_len =
		NLMSG_ALIGN(m->head.nlmsg_len) + NLA_ALIGN(NLA_HDRLEN + size);
}

static void put32(struct message *m, int type, uint32_t value)
{
	put(m, type, &value, sizeof(value));
}

static void fill_start(struct message *m)
{
	static const uint32_t scheds[] = { MAPLE_UAPI_NATIVE, MAPLE_UAPI_OLDER,
					   MAPLE_UAPI_YOUNGER, MAPLE_UAPI_PLAN };
	uint32_t sched = scheds[draw(4)];
	uint64_t value = draw(1000);

	put32(m, MAPLE_A_VERSION, MAPLE_GENL_VERSION);
	put32(m, MAPLE_A_PIDFD, target_fd);
	put32(m, MAPLE_A_CPU, draw(3) - 1);
	put32(m, MAPLE_A_SCHED, sched);
	put(m, MAPLE_A_SEED, &value, sizeof(value));
	put32(m, MAPLE_A_DEADLINE, 1 + draw(5000));
	if (sched == MAPLE_UAPI_PLAN)
		put(m, MAPLE_A_PLAN, &plan, sizeof(plan));
}

static void fill_probes(struct message *m)
{
	struct maple_uapi_probe probe[8];
	unsigned int i, n = 1 + draw(8);

	for (i = 0; i < n; i++) {
		probe[i] = (struct maple_uapi_probe){
			.offset = 0x1000 + draw(0x2000),
			.number = draw(1000),
			.size = 1 << draw(4),
			.kind = 1 + draw(3),
			.base = draw(16),
			.index = MAPLE_REG_ABSENT,
			.aux = MAPLE_REG_ABSENT,
		};
		probe[i].next = probe[i].offset + 1 + draw(8);
		if (chance(3)) {
			probe[i].flags = MAPLE_PROBE_CALL | MAPLE_PROBE_RETURN;
			probe[i].next = 0;
			probe[i].number = MAPLE_SITE_NONE;
			probe[i].kind = MAPLE_EV_BLOCK;
			probe[i].after = MAPLE_EV_LOCK;
		}
	}
	put32(m, MAPLE_A_FD, code_fd);
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
		     head = NLMSG_NEXT(head, n))
			over |= ends(head, command);
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
	unsigned int n = chance(4) ? 0 : 1 + draw(3);
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

static pid_t start_target(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid)
		for (;;)
			pause();
	target_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (target_fd < 0)
		die("pidfd_open");
	return pid;
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

static void make_plan(void)
{
	struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { 1, MAPLE_EV_WRITE }, { 2, MAPLE_EV_READ } },
	};

	if (maple_plan_init(&plan, &iroot, 1, 0, 1)) {
		fprintf(stderr, "no plan\n");
		exit(1);
	}
}

/* The module is as sound as it was: it says what it is, and has a session. */
static void check_alive(void)
{
	struct maple_control_order order = {
		.pidfd = target_fd,
		.cpu = -1,
		.sched = MAPLE_UAPI_OLDER,
		.deadline_ms = 1000,
	};
	struct maple_control_info info;
	struct maple_control *control;
	struct maple_error err;

	if (maple_control_open(&control, &err) ||
	    maple_control_info(control, &info, &err) ||
	    maple_control_start(control, &order, &err) ||
	    maple_control_stop(control, &err)) {
		fprintf(stderr, "fuzz_netlink: %s\n", err.text);
		exit(1);
	}
	family = control->family;
	maple_control_close(control);
}

int main(int argc, char **argv)
{
	uint64_t n;
	pid_t pid;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: fuzz_netlink MESSAGES SEED\n");
		return 2;
	}
	n = strtoull(argv[1], NULL, 10);
	seed = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
	make_plan();
	make_code();
	pid = start_target();
	check_alive();
	fd = open_socket();
	while (sent < n) {
		send_one(fd);
		if (chance(LIFETIME)) {
			close(fd);
			fd = open_socket();
		}
	}
	close(fd);
	check_alive();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("%llu messages, %llu refused, %llu agreed, %llu silent: "
	       "%llu sessions, %llu times probes\n",
	       (unsigned long long)sent, (unsigned long long)refused,
	       (unsigned long long)agreed, (unsigned long long)silent,
	       (unsigned long long)started, (unsigned long long)placed);
	/* A fuzzer whose messages all bounce, or none, tests nothing. */
	return started && placed && refused > n / 4 && silent < n / 4 ? 0 : 1;
}
