/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * mapled as a campaign sees it: what lends it a CPU, real-time priorities and
 * maple.ko, and keeps the memo of all.
 *
 * When mapled goes away, every call waits some seconds for it to come back,
 * takes up what there was, and repeats what had not been answered; nothing is
 * done twice. If it does not come back the call fails with -ECONNRESET.
 *
 * Context: a struct maple_host belongs to one thread and one campaign at a
 * time. Do not carry one across fork().
 */
#ifndef MAPLE_HOST_H
#define MAPLE_HOST_H

#include <stdbool.h>
#include <maple/error.h>
#include <maple/memo.h>

struct maple_host;

struct maple_host_info {
	char release[64];
	char database[1024]; /* path of its memo */
	bool is_root;	     /* we are, to it */
	unsigned int cpus, leased, waiting, clients;
};

/*
 * maple_host_open - the mapled that listens at @path
 *
 * Errors: -ENOENT, -ECONNREFUSED: none does. -EACCES: not to us, the mend is
 * said. -EPROTO: it is of another version, both are named.
 */
int maple_host_open(const char *path, struct maple_host **host,
		    struct maple_error *err);

/* maple_host_close - ends the connection; what was lent goes back; takes NULL */
void maple_host_close(struct maple_host *host);

/* maple_host_info - as it was when we came */
const struct maple_host_info *maple_host_info(const struct maple_host *host);

/*
 * maple_host_memo - mapled's memo, to be used as any other
 *
 * Close it, with maple_memo_close(), before the host.
 */
int maple_host_memo(struct maple_host *host, struct maple_memo **memo,
		    struct maple_error *err);

/*
 * maple_host_job - what this connection is for is a job, as long as it lasts
 *
 * It stays one when mapled restarts. Errors: -EDQUOT its user has as many as
 * mapled allows at once; the limit is named, and the mend.
 */
int maple_host_job(struct maple_host *host, struct maple_error *err);

#endif
