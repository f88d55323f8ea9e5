// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The observer's service, asked by users who have no rights: what it refuses,
 * and that whoever asks wrongly, too much, or for what is another's, harms no
 * other session. The service is `mapled observer` with its two capabilities.
 *
 * It takes root, to be other users, and a kernel that lets links have many
 * uprobes; else the tests are skipped, and say so.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <maple/wire.h>
#include "backend/kernel/ebpf/observing.h"

#define USER	65534
#define OTHER	65532
#define SERVICE "65533"

static char folder[] = "/tmp/test_observer.XXXXXX";
static char path[64], mapled[4096];
static pid_t service;
static bool works;

/* ---- users and their processes ---- */

static void become(uid_t uid, gid_t gid)
{
	/* Other rights take the wish for a signal away. */
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) ||
	    setresuid(uid, uid, uid) || prctl(PR_SET_DUMPABLE, 1) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(99);
}

/* A child that waits to be killed, once @prepare is done. */
static pid_t process(uid_t uid, gid_t gid, void (*prepare)(void))
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		become(uid, gid);
		if (prepare)
			prepare();
		if (write(ready[1], "", 1) != 1)
			_exit(99);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* ---- asking ---- */

static struct {
	struct maple_probing_answer answer;
	unsigned char bytes[MAPLE_PROBING_MOST];
} reply;

static int connect_to_service(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		_exit(98);
	return sock;
}

/*
 * The answer's error, or -EPIPE when there is none. The second channel, which
 * comes with it, stays open: the session ends with either.
 */
static int hear_answer(int sock)
{
	unsigned int nfds = 0;
	int fd = -1;
	ssize_t n =
		maple_wire_receive(sock, &reply, sizeof(reply), &fd, &nfds, 1);

	return n < (ssize_t)sizeof(reply.answer) ? -EPIPE : reply.answer.error;
}

static int send_packet(int sock, const void *packet, size_t size,
		       const int *fds, unsigned int nfds)
{
	maple_wire_send(sock, packet, size, fds, nfds);
	return hear_answer(sock);
}

static int ask(int sock, struct maple_probing_question q, const void *bytes,
	       int fd)
{
	static unsigned char packet[sizeof(q) + MAPLE_PROBING_MOST];

	memcpy(packet, &q, sizeof(q));
	if (bytes)
		memcpy(packet + sizeof(q), bytes, q.size);
	return send_packet(sock, packet, sizeof(q) + q.size, &fd, fd >= 0);
}

static int greet(int sock)
{
	return ask(sock,
		   (struct maple_probing_question){
			   .op = MAPLE_PROBING_HELLO,
			   .value = MAPLE_PROBING_VERSION },
		   NULL, -1);
}

static int open_session(void)
{
	int sock = connect_to_service();

	if (greet(sock))
		_exit(97);
	return sock;
}

static int name_target(int sock, pid_t pid, int pidfd)
{
	return ask(sock,
		   (struct maple_probing_question){ .op = MAPLE_PROBING_TARGET,
						    .value = pid },
		   NULL, pidfd);
}

/* What another user's child finds out: an errno, by its status. */
static int as_user(uid_t uid, int (*what)(pid_t target), pid_t target)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		become(uid, uid);
		_exit(abs(what(target)));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int want_target(pid_t target)
{
	return name_target(open_session(), target, pidfd_of(target));
}

/* ---- the service ---- */

static void become_service(void)
{
	static const char caps[] = "-all,+bpf,+perfmon";
	char inherited[64], ambient[64], bounding[64];
	char *argv[] = { "setpriv",
			 "--reuid=" SERVICE,
			 "--regid=" SERVICE,
			 "--clear-groups",
			 inherited,
			 ambient,
			 bounding,
			 "--no-new-privs",
			 "--",
			 mapled,
			 "observer",
			 "--socket",
			 path,
			 NULL };

	snprintf(inherited, sizeof(inherited), "--inh-caps=%s", caps);
	snprintf(ambient, sizeof(ambient), "--ambient-caps=%s", caps);
	snprintf(bounding, sizeof(bounding), "--bounding-set=%s", caps);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execvp(argv[0], argv);
	_exit(99);
}

static int start(void **state)
{
	const char *build = getenv("BUILD");
	struct stat st;
	int sock;

	if (geteuid())
		return 0;
	if (!mkdtemp(folder) || chmod(folder, 0777))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", folder);
	snprintf(mapled, sizeof(mapled), "%s/mapled", build ? build : "build");
	service = fork();
	if (!service)
		become_service();
	for (int i = 0; i < 300 && stat(path, &st); i++)
		usleep(100000);
	if (chmod(path, 0666))
		return -1;
	sock = connect_to_service();
	works = !greet(sock);
	/* ... which ends it. */
	close(sock);
	if (!works)
		printf("the service says: %s\n", reply.answer.text);
	return 0;
}

static int stop(void **state)
{
	if (!service)
		return 0;
	end(service);
	unlink(path);
	return rmdir(folder);
}

/* A kernel from 6.6 on that says its types has no excuse. */
static void needs_service(void)
{
	if (geteuid()) {
		print_message("it takes root to be other users\n");
		skip();
	}
	if (!works && strstr(reply.answer.text, "Linux 6.6")) {
		print_message("%s\n", reply.answer.text);
		skip();
	}
	assert_true(works);
}

/* ---- whose process it is ---- */

static void hide(void)
{
	prctl(PR_SET_DUMPABLE, 0);
}

static void take_capability(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 };

	data[0].permitted = 1u << CAP_NET_RAW;
	if (prctl(PR_SET_KEEPCAPS, 1) || setresuid(USER, USER, USER) ||
	    syscall(SYS_capset, &head, data) || prctl(PR_SET_DUMPABLE, 1) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(99);
}

static void test_whose(void **state)
{
	const struct {
		uid_t uid;
		gid_t gid;
		void (*prepare)(void);
		int wanted;
	} tries[] = {
		{ USER, USER, NULL, 0 },
		{ OTHER, OTHER, NULL, EPERM },
		{ 0, 0, NULL, EPERM },
		{ USER, OTHER, NULL, EPERM },
		{ USER, USER, hide, EPERM },
		{ 0, USER, take_capability, EPERM },
	};

	needs_service();
	for (unsigned int i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		pid_t pid =
			process(tries[i].uid, tries[i].gid, tries[i].prepare);

		print_message("process %u of the table\n", i);
		assert_int_equal(as_user(USER, want_target, pid),
				 tries[i].wanted);
		end(pid);
	}
}

/* Who is root has no more of it than others: only what is root's. */
static void test_root_is_a_user(void **state)
{
	pid_t pid;

	needs_service();
	pid = process(USER, USER, NULL);
	assert_int_equal(as_user(0, want_target, pid), EPERM);
	end(pid);
}

static int want_other_number(pid_t target)
{
	return name_target(open_session(), target + 1, pidfd_of(target));
}

static int want_without_pidfd(pid_t target)
{
	return name_target(open_session(), target, -1);
}

static int want_by_file(pid_t target)
{
	return name_target(open_session(), target, open("/dev/null", O_RDONLY));
}

static void test_pidfd(void **state)
{
	pid_t pid;

	needs_service();
	pid = process(USER, USER, NULL);
	assert_int_equal(as_user(USER, want_other_number, pid), EPERM);
	assert_int_equal(as_user(USER, want_without_pidfd, pid), EINVAL);
	assert_int_equal(as_user(USER, want_by_file, pid), EINVAL);
	end(pid);
}

/* ---- probes ---- */

__attribute__((noinline)) static int somewhere(int x)
{
	return x * 3 + 1;
}

/* Where it stands in our file. */
static uint64_t offset_of(const void *code)
{
	unsigned long long lo, hi, offset, found = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %*s %llx", &lo, &hi, &offset) == 3 &&
		    (uint64_t)code >= lo && (uint64_t)code < hi)
			found = (uint64_t)code - lo + offset;
	if (maps)
		fclose(maps);
	return found;
}

static int probe(int sock, uint32_t id)
{
	const struct maple_probing_place place = { offset_of(somewhere), 0 };
	int fd = open("/proc/self/exe", O_RDONLY);
	int e = ask(
		sock,
		(struct maple_probing_question){ .op = MAPLE_PROBING_ATTACH,
						 .id = id,
						 .what = MAPLE_PROBING_ACCESS,
						 .size = sizeof(place) },
		&place, fd);

	close(fd);
	return e;
}

/* What one session does with numbers is no other's affair. */
static int use_two(pid_t target)
{
	int one = open_session(), two = open_session();
	uint32_t id;

	if (name_target(one, target, pidfd_of(target)) || probe(one, 0) ||
	    reply.answer.places != 1)
		return 1;
	id = reply.answer.id;
	for (uint32_t i = 0; i < 16; i++)
		if (ask(two,
			(struct maple_probing_question){
				.op = MAPLE_PROBING_UNDO, .id = i },
			NULL, -1))
			return 2;
	if (ask(two, (struct maple_probing_question){ MAPLE_PROBING_FORGET },
		NULL, -1))
		return 3;
	if (probe(two, id) != -ESRCH)
		return 4;
	return probe(one, id) || reply.answer.places != 2;
}

static void test_sessions_are_apart(void **state)
{
	pid_t pid;

	needs_service();
	pid = process(USER, USER, NULL);
	assert_int_equal(as_user(USER, use_two, pid), 0);
	end(pid);
}

/* ---- malformed questions ---- */

static int ask_malformed(pid_t target)
{
	static const unsigned char bytes[MAPLE_PROBING_MOST];
	const size_t hearing = sizeof(struct maple_probing_hearing);
	const struct maple_probing_hearing many = {
		.runtimes = MAPLE_OBSERVE_RUNTIMES + 1
	};
	const struct {
		struct maple_probing_question question;
		const void *bytes;
		bool file;
		int wanted;
	} tries[] = {
		{ { .op = 0 }, NULL, false, EINVAL },
		{ { .op = MAPLE_PROBING_OPS }, NULL, false, EINVAL },
		{ { .op = ~0u }, NULL, false, EINVAL },
		{ { .op = MAPLE_PROBING_HELLO, .value = 0 },
		  NULL,
		  false,
		  EPROTO },
		{ { .op = MAPLE_PROBING_PROBES, .size = 1 },
		  bytes,
		  false,
		  EINVAL },
		{ { .op = MAPLE_PROBING_PROBES,
		    .first = MAPLE_OBSERVE_PROBES,
		    .size = sizeof(struct maple_uapi_probe) },
		  bytes,
		  false,
		  EINVAL },
		{ { .op = MAPLE_PROBING_PROBES,
		    .first = ~0u,
		    .size = sizeof(struct maple_uapi_probe) },
		  bytes,
		  false,
		  EINVAL },
		{ { .op = MAPLE_PROBING_COUNTS, .first = 0, .n = ~0u },
		  NULL,
		  false,
		  EINVAL },
		{ { .op = MAPLE_PROBING_COUNTS, .first = ~0u, .n = 2 },
		  NULL,
		  false,
		  EINVAL },
		{ { .op = MAPLE_PROBING_COUNTS,
		    .first = 0,
		    .n = MAPLE_PROBING_MOST / 8 + 1 },
		  NULL,
		  false,
		  EINVAL },
		{ { .op = MAPLE_PROBING_GENERATION,
		    .first = MAPLE_OBSERVE_BATCHES },
		  NULL,
		  false,
		  EINVAL },
		{ { .op = MAPLE_PROBING_HEAR, .size = hearing - 1 },
		  bytes,
		  false,
		  EINVAL },
		{ { .op = MAPLE_PROBING_HEAR, .size = hearing },
		  &many,
		  false,
		  EINVAL },
		{ { .op = MAPLE_PROBING_ATTACH, .size = 16 },
		  bytes,
		  false,
		  EINVAL },
		{ { .op = MAPLE_PROBING_ATTACH, .size = 0 }, NULL, true, EINVAL },
		{ { .op = MAPLE_PROBING_ATTACH, .size = 15 },
		  bytes,
		  true,
		  EINVAL },
		{ { .op = MAPLE_PROBING_ATTACH, .size = 16, .what = 3 },
		  bytes,
		  true,
		  EINVAL },
		{ { .op = MAPLE_PROBING_ATTACH, .size = 16, .id = 7 },
		  bytes,
		  true,
		  EINVAL },
		{ { .op = MAPLE_PROBING_ATTACH, .size = 16 * 1025 },
		  bytes,
		  true,
		  EINVAL },
		{ { .op = MAPLE_PROBING_DROP, .id = 1 }, NULL, false, EINVAL },
		{ { .op = MAPLE_PROBING_AGAIN, .id = 1, .size = 16 },
		  bytes,
		  true,
		  EINVAL },
	};
	struct maple_probing_question q = { MAPLE_PROBING_STATE };
	int sock = open_session(), file = open("/dev/null", O_RDONLY);
	int two[2] = { file, file }, e;

	if (name_target(sock, target, pidfd_of(target)))
		return 1;
	for (unsigned int i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		e = ask(sock, tries[i].question, tries[i].bytes,
			tries[i].file ? file : -1);
		if (e != -tries[i].wanted || !*reply.answer.text) {
			print_message("question %u: %d, %s\n", i, e,
				      reply.answer.text);
			return 2;
		}
	}
	if (send_packet(sock, &q, 4, NULL, 0) != -EINVAL)
		return 3;
	q.size = 8;
	if (send_packet(sock, &q, sizeof(q), NULL, 0) != -EINVAL)
		return 4;
	q.size = 0;
	if (send_packet(sock, &q, sizeof(q), two, 2) != -EINVAL)
		return 5;
	/* A file that is no regular one is no place for probes. */
	if (!ask(sock,
		 (struct maple_probing_question){ .op = MAPLE_PROBING_ATTACH,
						  .size = 16 },
		 bytes, file))
		return 6;
	return greet(sock);
}

static void test_malformed(void **state)
{
	pid_t pid;

	needs_service();
	pid = process(USER, USER, NULL);
	assert_int_equal(as_user(USER, ask_malformed, pid), 0);
	end(pid);
}

static int probe_nobody(pid_t target)
{
	return probe(open_session(), 0);
}

static void test_nobody_is_probed(void **state)
{
	needs_service();
	assert_int_equal(as_user(USER, probe_nobody, 0), ESRCH);
}

/* ---- the ends ---- */

/* The target executes another program: from then on it is nobody's. */
static int outlive_exec(pid_t unused)
{
	static const struct maple_probing_hearing hearing;
	int sock = open_session(), go[2], gone[2];
	char byte;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) || pipe2(gone, O_CLOEXEC))
		return 1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &byte, 1) == 1)
			execlp("sleep", "sleep", "60", NULL);
		_exit(99);
	}
	close(gone[1]);
	if (name_target(sock, pid, pidfd_of(pid)) || probe(sock, 0))
		return 2;
	/* The pipe's end is closed by the exec. */
	if (write(go[1], "", 1) != 1 || read(gone[0], &byte, 1))
		return 3;
	if (probe(sock, 0) != -ESRCH)
		return 4;
	if (ask(sock,
		(struct maple_probing_question){ .op = MAPLE_PROBING_HEAR,
						 .size = sizeof(hearing) },
		&hearing, -1) != -ESRCH)
		return 5;
	kill(pid, SIGKILL);
	return 0;
}

static void test_exec_ends_it(void **state)
{
	needs_service();
	assert_int_equal(as_user(USER, outlive_exec, 0), 0);
}

/* A session is its asker's: who has the socket as well has nothing when that
   one has ended. */
static int outlive_asker(pid_t unused)
{
	int pair[2], sock = -1, status;
	unsigned int n = 0;
	char byte = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return 1;
	pid = fork();
	if (!pid) {
		sock = open_session();
		maple_wire_send(pair[1], &byte, 1, &sock, 1);
		_exit(read(pair[1], &byte, 1) != 1);
	}
	if (maple_wire_receive(pair[0], &byte, 1, &sock, &n, 1) != 1 || n != 1)
		return 2;
	if (greet(sock))
		return 3;
	if (write(pair[0], "", 1) != 1 || waitpid(pid, &status, 0) != pid ||
	    status)
		return 4;
	/* It may take up what was asked before it has seen that. */
	for (int i = 0; i < 600; i++) {
		if (greet(sock) == -EPIPE)
			return 0;
		usleep(100000);
	}
	return 5;
}

static void test_asker_ends_it(void **state)
{
	needs_service();
	assert_int_equal(as_user(USER, outlive_asker, 0), 0);
}

/* ---- too many ---- */

#define TRIES 300 /* sessions end a moment after who had them */

static int open_one(pid_t unused)
{
	return greet(connect_to_service());
}

static int open_soon(pid_t unused)
{
	int e = open_one(0);

	for (int i = 0; i < TRIES && e; i++) {
		usleep(100000);
		e = open_one(0);
	}
	return e;
}

static int open_many(unsigned int wanted)
{
	int e = 0;

	while (wanted-- && !e)
		e = open_soon(0);
	return e;
}

/* So many of its user's, kept until it is ended. */
static pid_t hoard(uid_t uid, int *result)
{
	int ready[2];
	unsigned char e;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		become(uid, uid);
		e = abs(open_many(4));
		if (write(ready[1], &e, 1) != 1)
			_exit(99);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &e, 1), 1);
	close(ready[0]);
	close(ready[1]);
	*result = e;
	return pid;
}

static void test_too_many(void **state)
{
	pid_t who[4];
	int e;

	needs_service();
	for (unsigned int i = 0; i < 4; i++) {
		who[i] = hoard(60000 + i, &e);
		assert_int_equal(e, 0);
		if (i == 3)
			break;
		assert_int_equal(as_user(60000 + i, open_one, 0), EDQUOT);
		assert_int_equal(as_user(USER, open_soon, 0), 0);
	}
	/* 16 of them: nobody gets another one, whoever it is. */
	assert_int_equal(as_user(USER, open_one, 0), EBUSY);
	end(who[0]);
	assert_int_equal(as_user(USER, open_soon, 0), 0);
	for (unsigned int i = 1; i < 4; i++)
		end(who[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whose),
		cmocka_unit_test(test_root_is_a_user),
		cmocka_unit_test(test_pidfd),
		cmocka_unit_test(test_sessions_are_apart),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_nobody_is_probed),
		cmocka_unit_test(test_exec_ends_it),
		cmocka_unit_test(test_asker_ends_it),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
