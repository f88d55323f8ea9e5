// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Both sides of the porter: see porter.h. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <maple/wire.h>
#include "backend/guard/door.h"
#include "sandbox/sandbox.h"
#include "join.h"
#include "porter.h"

enum op { FITS, MEND, LET_IN };

/* What goes with LET_IN, in this order. */
enum file { STATE, SHM, TABLES, SOCKET, FILES };

struct question {
	uint32_t op;
	uint32_t turn; /* of LET_IN: the joiner's */
};

struct answer {
	int32_t error;
	int32_t pid;	 /* LET_IN: the joiner's; its pidfd comes with it */
	uint32_t mended; /* MEND */
	char text[MAPLE_ERROR_MAX];
};

static struct {
	pid_t self, target;
	int sock; /* -1: there is none */
	char agent[256];
} porter = { .sock = -1 };

/* ---- the porter ---- */

static int let_in(const int *files, pid_t maker, unsigned int turn,
		  struct answer *answer)
{
	struct maple_joiner j = {
		.shm_fd = files[SHM],
		.tables_fd = files[TABLES],
		.turn = turn,
	};
	pid_t child = fork();

	if (!child) {
		close(porter.sock);
		maple_joiner_run(&j, files[STATE], files[SOCKET], maker,
				 porter.target, porter.agent);
	}
	answer->pid = child;
	if (child < 0)
		return -errno;
	/* It is ours: until we have waited for it, the number is its own. */
	return (int)syscall(SYS_pidfd_open, child, 0);
}

/* Returns the descriptor that goes with the answer, or -1. */
static int carry_out(const struct question *q, const int *files, unsigned int n,
		     pid_t maker, struct answer *answer)
{
	struct maple_error err = { "" };
	bool mended = false;
	int fd = -1;

	if (q->op == FITS) {
		answer->error = maple_join_fits(porter.target, &err);
	} else if (q->op == MEND) {
		answer->error = maple_join_mend(porter.target, &mended, &err);
		answer->mended = mended;
	} else if (q->op == LET_IN && n == FILES) {
		fd = let_in(files, maker, q->turn, answer);
		answer->error = fd < 0 ? fd : 0;
	} else {
		answer->error = -EINVAL;
	}
	memcpy(answer->text, err.text, sizeof(answer->text));
	return fd < 0 ? -1 : fd;
}

static bool serve_one(pid_t maker)
{
	struct answer answer = { 0 };
	struct question q;
	unsigned int n = 0;
	int files[FILES], fd;
	ssize_t size = maple_wire_receive(porter.sock, &q, sizeof(q), files, &n,
					  FILES);
	bool sent;

	if (size <= 0)
		return size == -EINTR;
	if (size != sizeof(q))
		q.op = FILES; /* no question at all */
	fd = carry_out(&q, files, n, maker, &answer);
	while (n)
		close(files[--n]);
	sent = maple_wire_send(porter.sock, &answer, sizeof(answer), &fd,
			       fd >= 0) == sizeof(answer);
	if (fd >= 0)
		close(fd);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return sent;
}

/* Of what mapletest has open nothing is the porter's. */
static void shut(void)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (porter.sock > 3)
		close_range(3, porter.sock - 1, 0);
	close_range(porter.sock + 1, ~0u, 0);
}

static _Noreturn void serve(pid_t maker)
{
	static const int ignored[] = { SIGINT,	SIGTERM, SIGHUP,
				       SIGQUIT, SIGPIPE, SIGTSTP };
	const struct maple_sandbox box = {
		.traces = true,
		.target = porter.target,
		/* Those of them that the process has, too, a joiner has. */
		.capabilities = 1ull << CAP_SYS_NICE | 1ull << CAP_SYS_PTRACE |
				1ull << CAP_SYS_RESOURCE,
	};
	struct maple_error err;

	/* It is ended by the end of who asks, not by the keyboard. */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "maple-porter");
	shut();
	maple_door_forget();
	if (maple_sandbox_enter(&box, &err))
		_exit(1);
	while (serve_one(maker))
		;
	_exit(0);
}

/* ---- by who asks ---- */

bool maple_porter_is_there(void)
{
	return porter.sock >= 0;
}

static int ask(const struct question *q, const int *files, unsigned int n,
	       struct answer *answer, int *fd, struct maple_error *err)
{
	unsigned int got = 0;
	ssize_t size;

	assert(porter.sock >= 0 && n <= FILES);
	*fd = -1;
	size = maple_wire_send(porter.sock, q, sizeof(*q), files, n);
	if (size == sizeof(*q))
		size = maple_wire_receive(porter.sock, answer, sizeof(*answer),
					  fd, &got, 1);
	if (size != sizeof(*answer))
		return maple_error_set(err, ECONNRESET,
				       "mapletest's own part outside of its "
				       "sandbox is gone: run it again");
	answer->text[sizeof(answer->text) - 1] = '\0';
	return 0;
}

/* A question with which nothing goes. */
static int ask_plain(enum op op, struct answer *answer, struct maple_error *err)
{
	const struct question q = { .op = op };
	int fd, e = ask(&q, NULL, 0, answer, &fd, err);

	if (fd >= 0)
		close(fd);
	if (e || !answer->error)
		return e;
	return maple_error_set(err, -answer->error, "%s", answer->text);
}

/* maple_porter_fits - maple_join_fits() of the process that it knows */
int maple_porter_fits(struct maple_error *err)
{
	struct answer answer;

	return ask_plain(FITS, &answer, err);
}

/* maple_porter_mend - maple_join_mend() of it */
int maple_porter_mend(bool *mended, struct maple_error *err)
{
	struct answer answer;
	int e = ask_plain(MEND, &answer, err);

	*mended = !e && answer.mended;
	return e;
}

/*
 * maple_porter_let_in - a joiner that has @socket, which is taken
 *
 * Sets its pid and its pidfd.
 */
int maple_porter_let_in(struct maple_joiner *j, int socket,
			struct maple_error *err)
{
	const int files[FILES] = {
		[STATE] = j->state_fd,
		[SHM] = j->shm_fd,
		[TABLES] = j->tables_fd,
		[SOCKET] = socket,
	};
	const struct question q = { .op = LET_IN, .turn = j->turn };
	struct answer answer;
	int fd, e = ask(&q, files, FILES, &answer, &fd, err);

	close(socket);
	if (!e && (answer.error || fd < 0))
		e = maple_error_set(err, answer.error ? -answer.error : EPROTO,
				    "no joiner: %s", strerror(-answer.error));
	if (e) {
		if (fd >= 0)
			close(fd);
		return e;
	}
	j->pid = answer.pid;
	j->pidfd = fd;
	return 0;
}

/*
 * maple_porter_open - from now on a porter, with the rights that we have now,
 * lets joiners of ours in to process @pid
 * @agent: what they load there; NULL: none is found, and none is let in
 *
 * Context: there is one thread, and no porter yet.
 */
int maple_porter_open(pid_t pid, const char *agent, struct maple_error *err)
{
	pid_t maker = getpid(), child;
	int pair[2];

	assert(porter.sock < 0);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return maple_error_set(err, errno, "no socket: %m");
	porter.target = pid;
	snprintf(porter.agent, sizeof(porter.agent), "%s", agent ? agent : "");
	fflush(NULL);
	child = fork();
	if (!child) {
		porter.sock = pair[1];
		serve(maker);
	}
	close(pair[1]);
	if (child < 0) {
		close(pair[0]);
		return maple_error_set(err, errno, "no process: %m");
	}
	porter.self = child;
	porter.sock = pair[0];
	return 0;
}

/* maple_porter_close - the porter, if there is one, has ended when this returns */
void maple_porter_close(void)
{
	if (porter.sock < 0)
		return;
	close(porter.sock);
	porter.sock = -1;
	while (waitpid(porter.self, NULL, 0) < 0 && errno == EINTR)
		;
}
