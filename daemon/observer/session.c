// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A session of the observer: a child of the service's, for one client. Whose
 * process a client may have observed is said by access.c, as for all of mapled's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <maple/observer.h>
#include "../access.h"
#include "observer.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* from Linux 6.5 on */
#endif

static int owns(void *ctx, int pidfd, struct maple_error *err)
{
	return maple_access_process(ctx, pidfd, MAPLE_ACCESS_TRACE, err);
}

/* Who connected, by the kernel's word; also how it may be known to have ended. */
static int find_asker(struct maple_client *asker, struct maple_error *err)
{
	socklen_t size = sizeof(asker->peer), fd_size = sizeof(asker->process);

	if (getsockopt(asker->sock, SOL_SOCKET, SO_PEERCRED, &asker->peer,
		       &size) ||
	    getsockopt(asker->sock, SOL_SOCKET, SO_PEERPIDFD, &asker->process,
		       &fd_size))
		return maple_error_set(err, errno,
				       "who asks is not known: %m; it takes "
				       "Linux 6.5");
	return maple_access_self(asker, asker->process, err);
}

/* maple_observer_session - serves who is at @sock, and ends with @parent */
_Noreturn void maple_observer_session(int sock, pid_t parent)
{
	struct maple_client asker = { .sock = sock, .process = -1 };
	struct maple_observer_rules rules = { .owns = owns, .ctx = &asker };
	struct maple_error err = { "" };
	int e;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "maple-observing");
	e = find_asker(&asker, &err);
	if (e) {
		maple_observer_refuse(sock, e, err.text);
		_exit(1);
	}
	rules.asker = asker.process;
	/* What fails is the asker's to be told. */
	e = maple_observer_serve(sock, &rules, &err);
	_exit(e != 0);
}
