/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Jobs: campaigns that go on without the terminal that began them. Each has a
 * folder of its own below the user's place for jobs, under its number: what was
 * asked for, its log, how far it is, its report in every form, its end.
 *
 * The process that carries a job out has a lock on it, which the kernel takes
 * back when that process dies in whichever way. So what was killed, or was
 * under way when the machine went down, is told as cut off, and the process
 * that is asked to stop is the lock's owner and no other.
 *
 * Ownership: strings and lists are the caller's, to be freed by the function
 * beside. Units: times are seconds since 1970. Context: any thread; one process
 * carries out one job at most.
 */
#ifndef MAPLE_DETACHED_H
#define MAPLE_DETACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <maple/error.h>

struct maple_detached;

enum maple_detached_state {
	MAPLE_DETACHED_RUNNING,
	MAPLE_DETACHED_CLEAN,	/* it ended with status 0 */
	MAPLE_DETACHED_FINDING, /* ... 66 */
	MAPLE_DETACHED_SKIPPED, /* ... 77 */
	MAPLE_DETACHED_FAILED,	/* ... any other */
	MAPLE_DETACHED_CUT_OFF, /* it never said how it ended */
	MAPLE_DETACHED_STATES,
};

/* maple_detached_state_name - "running", "clean", ..., "cut off" */
const char *maple_detached_state_name(enum maple_detached_state state);

/* maple_detached_state_of - how a job ended whose exit status is this */
enum maple_detached_state maple_detached_state_of(int status);

/* What a job is about, for maple_detached_create(). Nothing is owned. */
struct maple_detached_task {
	char *const *argv;    /* the command line that began it */
	char *const *program; /* and of the program that it tests */
	pid_t attached;	      /* which runs already; 0: the job starts it */
};

/* How much was known after so many runs of a job. */
struct maple_detached_point {
	unsigned int runs;
	uint64_t exposed, predicted; /* goals, of all classes together */
};

/* What is known of a job. */
struct maple_detached_info {
	uint64_t number;
	enum maple_detached_state state;
	int status; /* exit status of the campaign; -1: there is none */
	char **argv, **program;
	char *cwd, *host, *folder;
	pid_t attached;
	pid_t pid;     /* who carries it out; 0: nobody, or not known */
	uid_t user;    /* ... and as whom */
	int64_t began; /* 0: not known, as are the next */
	int64_t ended;
	unsigned int runs, findings;
	bool rebooted; /* it was cut off, and the machine has booted since */
	bool reported; /* its report is there */
	uint64_t bytes;
	struct maple_detached_point *curve; /* by runs, which grow */
	size_t npoints;
};

/* ---- by who begins a job, and who carries it out ---- */

/*
 * maple_detached_create - a job without a number, which no list shows
 * @place: the folder of all jobs; it is made if it is not there
 * @forms: names of the forms of report that it will have, NULL at the end
 *
 * All that the job writes is open from here on: who carries it out may have
 * other rights than who began it. Errors: of the file system, with the mend;
 * -EPERM @place is another user's.
 */
int maple_detached_create(const char *place,
			  const struct maple_detached_task *task,
			  const char *const *forms, struct maple_detached **job,
			  struct maple_error *err);

/*
 * maple_detached_own - the calling process carries it out from now on
 *
 * Until it ends, whoever of its children lives on.
 */
int maple_detached_own(struct maple_detached *job, struct maple_error *err);

/*
 * maple_detached_publish - gives it a number, which no job had and none will
 * @most: jobs of its place that may run at once, with it; 0: any number
 *
 * By who began it: it has the rights on @place. Errors: -EDQUOT @most run.
 */
int maple_detached_publish(struct maple_detached *job, unsigned int most,
			   uint64_t *number, struct maple_error *err);

/* maple_detached_discard - it is not to be; takes none with a number */
void maple_detached_discard(struct maple_detached *job);

/*
 * maple_detached_shed - closes all of the process's descriptors from 3 on, but
 * @keep and what the job writes to
 *
 * By who carries it out, who comes to no other job from here on.
 */
void maple_detached_shed(struct maple_detached *job, int keep);

/* maple_detached_log - the descriptor of its log, as long as @job lives */
int maple_detached_log(const struct maple_detached *job);

/*
 * maple_detached_report - where the report goes in the @i-th form
 *
 * To be closed; NULL: not now, see errno.
 */
FILE *maple_detached_report(struct maple_detached *job, unsigned int i);

/* maple_detached_reported - whether all of these were written */
void maple_detached_reported(struct maple_detached *job, bool whole);

/* maple_detached_progress - how far it is, by now, and as whom the process runs */
void maple_detached_progress(struct maple_detached *job, unsigned int runs,
			     unsigned int findings);

/*
 * maple_detached_grow - how much is known by now
 *
 * Of these a hundred at most are kept, the last one among them.
 */
void maple_detached_grow(struct maple_detached *job,
			 const struct maple_detached_point *point);

/*
 * maple_detached_end - it has ended with exit status @status
 *
 * Its place was taken when it began, so a disk that is full by now is no reason
 * that it fails. Returns 0 or -errno.
 */
int maple_detached_end(struct maple_detached *job, int status);

/* maple_detached_close - gives the lock back, if it is ours; takes NULL */
void maple_detached_close(struct maple_detached *job);

/* ---- by everybody of the user's ---- */

/*
 * maple_detached_list - all jobs, by number
 * @bytes: what they take on the disk, together; or NULL
 */
int maple_detached_list(const char *place, struct maple_detached_info **jobs,
			size_t *n, uint64_t *bytes, struct maple_error *err);
void maple_detached_list_destroy(struct maple_detached_info *jobs, size_t n);

/* maple_detached_look - one job; -ENOENT: there is none of this number */
int maple_detached_look(const char *place, uint64_t number,
			struct maple_detached_info *job,
			struct maple_error *err);
void maple_detached_info_deinit(struct maple_detached_info *job);

/* maple_detached_wait - until nobody carries it out; -EINTR at a signal */
int maple_detached_wait(const char *place, uint64_t number,
			struct maple_error *err);

/*
 * maple_detached_stop - asks it to end, as Ctrl-C does, and waits for that
 * @seconds: so long at most
 *
 * Errors: -ESRCH nobody carries it out; -EREMOTE somebody on another machine,
 * or in another PID namespace; -ETIMEDOUT it does not end.
 */
int maple_detached_stop(const char *place, uint64_t number, double seconds,
			struct maple_error *err);

/* maple_detached_remove - forgets it; -EBUSY: it runs */
int maple_detached_remove(const char *place, uint64_t number,
			  struct maple_error *err);

/*
 * maple_detached_open - "log", or its report in the form of this name
 *
 * Returns a descriptor to read from, or -errno.
 */
int maple_detached_open(const char *place, uint64_t number, const char *name,
			struct maple_error *err);

#endif
