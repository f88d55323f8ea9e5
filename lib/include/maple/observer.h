/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The observer's service, for `mapled observer`: one client's session of the
 * eBPF observer. What a client asks is not public: both sides are of one build.
 */
#ifndef MAPLE_OBSERVER_H
#define MAPLE_OBSERVER_H

#include <maple/error.h>

#define MAPLE_OBSERVER_SOCKET "/run/mapled-observer.sock"

/* Whose session it is. */
struct maple_observer_rules {
	int asker; /* pidfd of who connected: the session ends with it */
	/*
	 * Whether the process behind @pidfd is the asker's: 0, or -errno with
	 * the reason in @err. Called before a process is observed.
	 */
	int (*owns)(void *ctx, int pidfd, struct maple_error *err);
	void *ctx;
};

/*
 * maple_observer_serve - answers what is asked over @sock, a SEQPACKET socket,
 * until nobody can ask, or the asker has ended; then nothing is probed any more
 *
 * @sock stays the caller's. Context: a process of its own, which ends soon
 * afterwards; threads are made. Returns 0, or -errno when nothing could be
 * answered.
 */
int maple_observer_serve(int sock, const struct maple_observer_rules *rules,
			 struct maple_error *err);

/*
 * maple_observer_refuse - has @error, a -errno, and @text be the answer to what
 * is asked first over @sock; nothing is read, and nobody waited for
 */
void maple_observer_refuse(int sock, int error, const char *text);

#endif
