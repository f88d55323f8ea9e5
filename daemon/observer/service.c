// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The observer's service: a child for each client, so many in all and of a
 * user. It reads nothing that a client sends. Who may connect is said by the
 * socket's mode, whose process may be observed by the session (session.c).
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <maple/observer.h>
#include "../journal.h"
#include "../limits/talk.h"
#include "observer.h"

#define REFUSED 32 /* that may still be reading why */

struct service {
	int sock, signals;
	struct {
		pid_t pid; /* 0: there is none */
		uid_t uid;
	} session[MAPLE_OBSERVER_SESSIONS];
	int refused[REFUSED];
	unsigned int nrefused;
	struct maple_talk talk;
};

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Closed at once, what it was told might be lost with what it has asked. */
static void refuse(struct service *s, int sock, const struct ucred *peer,
		   int error, const char *why)
{
	int *slot = &s->refused[s->nrefused++ % REFUSED];

	maple_observer_refuse(sock, error, why);
	if (*slot >= 0)
		close(*slot);
	*slot = sock;
	if (maple_talk_take(&s->talk, peer->uid, MAPLE_TALK_WARNING, now_us()))
		maple_journal(LOG_WARNING, NULL, "process %d of user %d: %s",
			      peer->pid, (int)peer->uid, why);
}

static unsigned int sessions_of(const struct service *s, uid_t uid)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < MAPLE_OBSERVER_SESSIONS; i++)
		n += s->session[i].pid && s->session[i].uid == uid;
	return n;
}

/* In the child there is nothing of the service's, nor of the others'. */
static void leave_service(const struct service *s, int sock)
{
	sigset_t none;

	close(s->sock);
	close(s->signals);
	for (unsigned int i = 0; i < REFUSED; i++)
		if (s->refused[i] >= 0)
			close(s->refused[i]);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void begin(struct service *s, int sock, const struct ucred *peer)
{
	pid_t parent = getpid(), pid;
	unsigned int i = 0;

	while (i < MAPLE_OBSERVER_SESSIONS && s->session[i].pid)
		i++;
	if (i == MAPLE_OBSERVER_SESSIONS) {
		refuse(s, sock, peer, -EBUSY,
		       "all sessions of the observer are taken: try later");
		return;
	}
	if (sessions_of(s, peer->uid) >= MAPLE_OBSERVER_EACH) {
		refuse(s, sock, peer, -EDQUOT,
		       "its user has as many sessions of the observer as one "
		       "may have: end another campaign");
		return;
	}
	pid = fork();
	if (!pid) {
		leave_service(s, sock);
		maple_observer_session(sock, parent);
	}
	if (pid < 0) {
		refuse(s, sock, peer, -EAGAIN, "there is no process for it");
		return;
	}
	s->session[i].pid = pid;
	s->session[i].uid = peer->uid;
	close(sock);
}

static void welcome(struct service *s)
{
	int sock = accept4(s->sock, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (sock < 0)
		return;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		close(sock);
	else
		begin(s, sock, &peer);
}

static void reap(struct service *s)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (unsigned int i = 0; i < MAPLE_OBSERVER_SESSIONS; i++)
			if (s->session[i].pid == pid)
				s->session[i].pid = 0;
}

/* Whether it goes on. */
static bool take_signal(struct service *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != sizeof(info))
		return true;
	if (info.ssi_signo != SIGCHLD)
		return false;
	reap(s);
	return true;
}

/*
 * maple_observer_run - serves who connects to @sock, until SIGTERM or SIGINT;
 * sessions end when this process does. Returns 0 or -errno.
 */
int maple_observer_run(int sock)
{
	struct service s = { .sock = sock };
	struct pollfd pfd[2] = { { .fd = sock, .events = POLLIN } };
	sigset_t set;
	bool goes_on = true;

	memset(s.refused, -1, sizeof(s.refused));
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	s.signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (s.signals < 0)
		return -errno;
	pfd[1] = (struct pollfd){ .fd = s.signals, .events = POLLIN };
	while (goes_on) {
		if (poll(pfd, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (pfd[1].revents)
			goes_on = take_signal(&s);
		if (goes_on && pfd[0].revents)
			welcome(&s);
	}
	return 0;
}
