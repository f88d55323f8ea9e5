/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The warden: the part of mapletest that stays root when it has joined a
 * process. mapletest itself then is that process's user, since it reads what
 * that user has written: programs, libraries, debug information. The warden
 * reads none of it. It knows one process, answers the questions below
 * about it, and nothing more once the process has other rights, or is another
 * program, than when it was joined. It ends when nobody can ask it any more.
 *
 * A question is a packet: a head, and so many bytes; files go with it. So is
 * the answer. What may be long comes as a file.
 */
#ifndef MAPLE_BACKEND_WARDEN_H
#define MAPLE_BACKEND_WARDEN_H

#include <stdint.h>
#include <sys/types.h>
#include <maple/error.h>

#define MAPLE_WARDEN_NAME     64
#define MAPLE_WARDEN_SESSIONS 8
#define MAPLE_WARDEN_MOST     65536 /* bytes behind a head */

enum maple_warden_op {
	MAPLE_WARDEN_OPEN,   /* name -> a file: /proc/PID/name */
	MAPLE_WARDEN_STOP,   /* -> a file of struct maple_stopped */
	MAPLE_WARDEN_LET_GO, /* those who were stopped */
	/* offset, at_return, a file -> the event that the process comes there;
	 * some kernels want more for it than CAP_PERFMON */
	MAPLE_WARDEN_UPROBE,
	/* session, command, attributes, [file] -> attributes; command
	 * MAPLE_CMD_UNSPEC ends the session */
	MAPLE_WARDEN_MODULE,
};

struct maple_warden_question {
	uint32_t op;
	uint32_t session, command; /* enum maple_cmd */
	uint64_t offset;
	uint32_t at_return;
	uint32_t size;
	char name[MAPLE_WARDEN_NAME];
};

struct maple_warden_answer {
	int32_t error; /* -errno */
	int32_t n;     /* STOP: as of maple_stop_all() */
	uint32_t size;
	char text[MAPLE_ERROR_MAX]; /* MODULE: in words */
};

/* What a process runs, and whose it is. */
struct maple_identity {
	dev_t dev;
	ino_t ino;
	/* lines of its status: Uid, Gid, Groups, CapPrm; Files: its owner */
	char *rights;
};

int maple_identify(pid_t pid, int pidfd, struct maple_identity *identity);
int maple_identify_again(pid_t pid, int pidfd, const struct maple_identity *was);
_Noreturn void maple_warden_serve(int sock, pid_t pid, int pidfd,
				  const struct maple_identity *identity);

#endif
