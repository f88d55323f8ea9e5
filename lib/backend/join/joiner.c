// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The joiner: a process of ours that traces the one that is joined, for
 * milliseconds at a time, and gets the agent in and out.
 *
 * It is a process of its own since it has to outlive mapletest: when that is
 * killed, wherever it was, the joiner takes out what is in. What it knows of
 * the process is shared memory: if the joiner is killed, another one goes on
 * with that. Mapletest makes that one; if both are killed at one moment the
 * heir is there, a child of the joiner's, which does nothing but wait for this.
 * If all are, it is for whoever comes next: will.c.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi/shm.h"
#include "base/clock.h"
#include "backend/process.h"
#include "inside.h"
#include "porter.h"

#define LEAVE_TRIES 20 /* of some seconds each, where no thread waits */
#define HEIR_MS	    100 /* a joiner that is to be made is there by then, or soon */

enum command { LOAD = 'l', ENTER = 'e', LEAVE = 'v' };

static void carry_out(struct maple_inside *in, char command)
{
	struct maple_join_state *s = in->state;

	memset(&s->error, 0, sizeof(s->error));
	switch (command) {
	case LOAD:
		s->result = maple_inside_load(in, &s->error);
		break;
	case ENTER:
		s->result = maple_inside_enter(in, &s->error);
		break;
	default:
		s->result = maple_inside_leave(in, &s->error);
	}
}

static bool is_in(const struct maple_join_state *s)
{
	return s->entered || s->handle || *s->loading;
}

/*
 * maple_joiner_leave_for_good - whatever is in is taken out; the state has the
 * error if that was tried so often in vain, for whom finds it (will.c)
 */
void maple_joiner_leave_for_good(struct maple_inside *in, unsigned int tries)
{
	struct maple_error err;

	while (tries-- && is_in(in->state))
		carry_out(in, LEAVE);
	/* A call that has told its result is on its way back for a while. */
	if (!is_in(in->state) && in->state->call.room &&
	    !maple_inside_settle(in, &err))
		maple_call_clear(&in->state->call);
}

/* Until nobody asks any more. */
static void serve(struct maple_inside *in, int socket, int parent)
{
	struct pollfd from[2] = { { socket, POLLIN, 0 }, { parent, POLLIN, 0 } };
	char command;

	for (;;) {
		if (poll(from, 2, -1) < 0)
			continue;
		if (from[1].revents || read(socket, &command, 1) != 1)
			break;
		carry_out(in, command);
		if (send(socket, &command, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	/* Whoever asked is gone, at whatever moment. */
	maple_joiner_leave_for_good(in, LEAVE_TRIES);
}

/*
 * maple_joiner_let_look - our rights are no more than process @pid has: what
 * the agent opens it opens through us in /proc
 */
void maple_joiner_let_look(pid_t pid)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 }, its[2] = { 0 };

	head.pid = pid;
	if (syscall(SYS_capget, &head, its))
		return;
	head.pid = 0;
	if (syscall(SYS_capget, &head, data))
		return;
	for (unsigned int i = 0; i < 2; i++) {
		data[i].permitted &= its[i].permitted;
		data[i].effective &= its[i].permitted;
		data[i].inheritable = 0;
	}
	syscall(SYS_capset, &head, data);
	prctl(PR_SET_DUMPABLE, 1);
}

/* Until the process that @pidfd is of has ended, or @ms are over. */
static bool has_ended(int pidfd, int ms)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };

	return poll(&pfd, 1, ms) == 1;
}

/*
 * Of all that was open these two: whoever waits for the end of a socket of
 * mapletest's is to see it, as the warden does, and as mapletest does of ours.
 */
static void keep_open(int one, int other)
{
	const int kept[] = { one < other ? one : other,
			     one < other ? other : one };
	int from = STDERR_FILENO + 1;

	for (int i = 0; i < 2; i++) {
		if (kept[i] > from)
			close_range((unsigned int)from,
				    (unsigned int)kept[i] - 1, 0);
		if (kept[i] >= from)
			from = kept[i] + 1;
	}
	close_range((unsigned int)from, ~0u, 0);
}

/* Whose turn it was is over, and the process is the caller's; else another's. */
static bool take_turn(struct maple_join_state *s, unsigned int turn)
{
	return __atomic_compare_exchange_n(&s->turn, &turn, turn + 1, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static struct maple_call_process process(pid_t pid)
{
	return (struct maple_call_process){ (uint32_t)pid,
					    (uint32_t)maple_process_since(pid) };
}

/*
 * Waits for the end of the joiner that has this @turn. What that has left in the
 * process is taken out by another joiner, if @maker lives to make one; else here.
 */
static void inherit(struct maple_inside *in, int joiner, int maker,
		    unsigned int turn)
{
	prctl(PR_SET_NAME, "maple-heir");
	keep_open(joiner, maker);
	while (!has_ended(joiner, -1))
		;
	/* The code that makes calls is there before anything else is. */
	while ((is_in(in->state) || in->state->call.room) &&
	       in->state->turn == turn)
		if (has_ended(maker, HEIR_MS) && take_turn(in->state, turn)) {
			in->by.process[0] = process(getpid());
			maple_call_sign(&in->state->call, &in->by);
			maple_joiner_leave_for_good(in, LEAVE_TRIES);
		}
	_exit(0);
}

/* Before it does anything, a joiner has an heir; its pid, or -errno. */
static pid_t make_heir(struct maple_inside *in, int maker, unsigned int turn)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	pid_t heir = self < 0 ? -1 : fork();

	if (!heir)
		inherit(in, self, maker, turn);
	if (self >= 0)
		close(self);
	return heir < 0 ? -errno : heir;
}

static void *map_state(int fd)
{
	void *at = mmap(NULL, sizeof(struct maple_join_state),
			PROT_READ | PROT_WRITE,
			MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

/*
 * maple_joiner_run - is a joiner, for process @maker, until that asks no more
 * @state_fd: whose memory the state is; -1: it is there
 * @target: whom it joins, and no other; @agent: the file
 *
 * Context: a forked child, which it ends.
 */
_Noreturn void maple_joiner_run(const struct maple_joiner *j, int state_fd,
				int socket, pid_t maker, pid_t target,
				const char *agent)
{
	struct maple_inside in = { .state = state_fd < 0 ? j->state
							 : map_state(state_fd),
				   .pid = target,
				   .agent = agent,
				   .shm_fd = j->shm_fd,
				   .tables_fd = j->tables_fd };
	int parent = (int)syscall(SYS_pidfd_open, maker, 0);
	pid_t heir;

	if (!in.state)
		_exit(1);
	maple_memory_bind(target);
	setsid();
	for (int signo = 1; signo < 32; signo++)
		if (signo == SIGINT || signo == SIGTERM || signo == SIGHUP ||
		    signo == SIGQUIT || signo == SIGPIPE || signo == SIGTSTP)
			signal(signo, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "maple-joiner");
	maple_joiner_let_look(target);
	in.shm = mmap(NULL, sizeof(*in.shm), PROT_READ | PROT_WRITE, MAP_SHARED,
		      j->shm_fd, 0);
	if (in.shm == MAP_FAILED || parent < 0)
		_exit(1);
	/* First, so that no heir takes another joiner's turn for its own's. */
	heir = take_turn(in.state, j->turn)
		       ? make_heir(&in, parent, j->turn + 1)
		       : -1;
	if (heir < 0)
		_exit(1);
	in.by = (struct maple_call_by){ { process(maker), process(getpid()),
					  process(heir) } };
	maple_call_sign(&in.state->call, &in.by);
	serve(&in, socket, parent);
	/* What could not be taken out by now is not for another one to try. */
	take_turn(in.state, j->turn + 1);
	_exit(0);
}

static int begin(struct maple_joiner *j, struct maple_error *err)
{
	pid_t maker = getpid();
	int pair[2], e;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return maple_error_set(err, errno, "no joiner: %m");
	j->socket = pair[0];
	j->turn = j->state->turn;
	if (j->state_fd >= 0) {
		e = maple_porter_let_in(j, pair[1], err);
		if (e) {
			close(j->socket);
			j->socket = -1;
		}
		return e;
	}
	j->pid = fork();
	if (!j->pid) {
		close(pair[0]);
		maple_joiner_run(j, -1, pair[1], maker, j->state->pid, j->agent);
	}
	close(pair[1]);
	if (j->pid > 0)
		return 0;
	close(j->socket);
	j->socket = -1;
	return maple_error_set(err, errno, "no joiner: %m");
}

/*
 * maple_joiner_open - a joiner for process @pid
 * @agent: the file of it
 *
 * shm_fd and tables_fd are the caller's, and set. After maple_joiner_close()
 * nothing is left of it, whatever this has returned.
 */
int maple_joiner_open(struct maple_joiner *j, pid_t pid, const char *agent,
		      struct maple_error *err)
{
	struct maple_join_state *s;

	assert(agent && j->shm_fd >= 0 && j->tables_fd >= 0);
	j->pid = 0;
	j->socket = j->state_fd = j->pidfd = -1;
	j->state = NULL;
	if (maple_porter_is_there()) {
		j->state_fd = memfd_create("maple-join", MFD_CLOEXEC);
		if (j->state_fd < 0 || ftruncate(j->state_fd, sizeof(*s)))
			return maple_error_set(err, errno, "no joiner: %m");
	}
	j->state = s = map_state(j->state_fd);
	if (!s)
		return maple_error_set(err, ENOMEM, "out of memory");
	s->pid = pid;
	s->cpu = -1;
	snprintf(j->agent, sizeof(j->agent), "%s", agent);
	return begin(j, err);
}

/* Until it has ended, as the porter's child it is. */
static void await_end(struct maple_joiner *j)
{
	struct pollfd end = { .fd = j->pidfd, .events = POLLIN };

	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	close(j->pidfd);
	j->pidfd = -1;
}

static void bury(struct maple_joiner *j)
{
	if (j->socket >= 0)
		close(j->socket);
	j->socket = -1;
	if (j->pidfd >= 0)
		await_end(j);
	else if (j->pid > 0)
		waitpid(j->pid, NULL, __WALL);
	j->pid = 0;
}

static int ask(struct maple_joiner *j, char command, struct maple_error *err)
{
	char answer;
	int e;

	assert(j->state && j->state->pid > 0);
	for (int tries = 0; tries < 2; tries++) {
		if (j->socket < 0) {
			e = begin(j, err);
			if (e)
				return e;
		}
		if (send(j->socket, &command, 1, MSG_NOSIGNAL) == 1 &&
		    TEMP_FAILURE_RETRY(read(j->socket, &answer, 1)) == 1) {
			/* Memory that the joined process may reach as well. */
			*err = j->state->error;
			err->text[sizeof(err->text) - 1] = '\0';
			return j->state->result;
		}
		/* It was killed: another one takes out what is in. */
		bury(j);
		if (command != LEAVE)
			break;
	}
	return maple_error_set(err, EPIPE,
			       "the process that had joined %d was killed",
			       j->state->pid);
}

/* maple_joiner_load - the agent is there, and has listed the images */
int maple_joiner_load(struct maple_joiner *j, struct maple_error *err)
{
	return ask(j, LOAD, err);
}

/*
 * maple_joiner_enter - the run begins
 * @cpu: that all threads are to share, or -1
 */
int maple_joiner_enter(struct maple_joiner *j, int cpu, bool forces,
		       struct maple_error *err)
{
	assert(j->state->handle && (cpu >= 0 || !forces));
	j->state->cpu = cpu;
	j->state->forces = forces;
	return ask(j, ENTER, err);
}

/* maple_joiner_leave - the process is as it was before maple_joiner_load() */
int maple_joiner_leave(struct maple_joiner *j, struct maple_error *err)
{
	if (!is_in(j->state))
		return 0;
	return ask(j, LEAVE, err);
}

/* maple_joiner_close - leaves, if that is still to be done, and ends */
void maple_joiner_close(struct maple_joiner *j)
{
	if (!j->state)
		return;
	bury(j);
	munmap(j->state, sizeof(*j->state));
	j->state = NULL;
	if (j->state_fd >= 0)
		close(j->state_fd);
	j->state_fd = -1;
}
