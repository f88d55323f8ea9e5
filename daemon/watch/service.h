/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The watch while it runs. */
#ifndef MAPLE_DAEMON_WATCH_SERVICE_H
#define MAPLE_DAEMON_WATCH_SERVICE_H

#include "state.h"

struct maple_watch {
	const char *path;   /* of the state */
	const char *socket; /* of mapled, for the jobs; or NULL */
	gid_t gid;	    /* who may read the state, or (gid_t)-1 */
	int signals;	    /* a signalfd: we are to end */
	bool ends, unsaved;
	struct maple_watch_state state;
};

void maple_watch_run(struct maple_watch *watch);

#endif
