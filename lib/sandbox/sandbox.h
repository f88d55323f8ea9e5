/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The sandbox: what a process gives up for good before it reads what somebody
 * else has written. What is left to it is named; all else is refused, with
 * -EPERM or -EACCES, and kills nobody.
 *
 * Three locks, each for what the others cannot see: no new privileges, and no
 * capabilities but those that are named; a seccomp filter, for calls; Landlock,
 * for files, and against all that ptrace may do to processes outside of the
 * sandbox, which includes reading the secret files that /proc has of them.
 *
 * Context: the process has one thread. What it forks later is in it as well.
 */
#ifndef MAPLE_SANDBOX_H
#define MAPLE_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <maple/error.h>

/* Whoever is in it comes after all others. */
#define MAPLE_SANDBOX_NICE 5
#define MAPLE_SANDBOX_OOM  500 /* oom_score_adj: the first to be killed */

struct maple_sandbox {
	/*
	 * Files, and folders with all that is below them; NULL at the end. What
	 * is not there is left out.
	 */
	const char *const *reads;
	const char *const *writes; /* may be read as well */
	/* Files that are open, or descriptors of O_PATH: may be read. */
	const int *files;
	unsigned int nfiles;
	/* May have its limits set; 0: nobody but ourselves. */
	pid_t target;
	/*
	 * Traces: then no files are confined, since Landlock would forbid it,
	 * and nothing is lowered.
	 */
	bool traces;
	bool observes;	       /* loads eBPF: bpf(), perf_event_open() */
	bool connects;	       /* to sockets of this machine, by their path */
	bool network;	       /* to servers, by IP */
	uint64_t capabilities; /* bits of those that stay, if they are there */
	uint64_t memory;       /* bytes of its own at most; 0: no limit */
};

int maple_sandbox_landlock(void);
int maple_sandbox_seccomp(void);
int maple_sandbox_drop(uint64_t kept);
int maple_sandbox_enter(const struct maple_sandbox *box,
			struct maple_error *err);

/* Between the files of this room. */
int maple_sandbox_lock_files(const struct maple_sandbox *box,
			     struct maple_error *err);
int maple_sandbox_lock_calls(const struct maple_sandbox *box,
			     struct maple_error *err);

#endif
