// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The file that changes while a job runs. It is as long from the beginning as
 * it will ever be, and written over in place: on a disk that has filled up
 * since, a job can still say how it ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <jansson.h>
#include "detached/state.h"

#define SIZE 160

/* maple_state_write - returns 0 or -errno */
int maple_state_write(int fd, const struct maple_job_state *state)
{
	char text[SIZE + 1], status[16] = "null";
	int n;

	if (state->status >= 0)
		snprintf(status, sizeof(status), "%d", state->status);
	n = snprintf(
		text, sizeof(text),
		"{\"runs\":%u,\"findings\":%u,\"status\":%s,\"ended\":%" PRId64
		",\"reported\":%s,\"user\":%" PRId64 "}",
		state->runs, state->findings, status, state->ended,
		state->reported ? "true" : "false", state->user);
	memset(text + n, ' ', SIZE - n);
	text[SIZE - 1] = '\n';
	errno = ENOSPC;
	return pwrite(fd, text, SIZE, 0) == SIZE ? 0 : -errno;
}

static int parse(const char *text, struct maple_job_state *state)
{
	json_int_t runs, findings, ended, user = state->user;
	int reported, e = -EBADMSG;
	json_t *status, *object = json_loads(text, 0, NULL);

	if (object && !json_unpack(object, "{s:I, s:I, s:o, s:I, s:b, s?:I}",
				   "runs", &runs, "findings", &findings,
				   "status", &status, "ended", &ended,
				   "reported", &reported, "user", &user)) {
		*state = (struct maple_job_state){
			.runs = (unsigned int)runs,
			.findings = (unsigned int)findings,
			.status = json_is_integer(status)
					  ? (int)json_integer_value(status)
					  : -1,
			.ended = ended,
			.reported = reported,
			.user = user,
		};
		e = 0;
	}
	json_decref(object);
	return e;
}

/*
 * maple_state_read - -EBADMSG where it is none
 *
 * One who reads while it is written may get a part of each; then it is whole a
 * moment later.
 */
int maple_state_read(int fd, struct maple_job_state *state)
{
	char text[SIZE + 1];
	int e = -EBADMSG;
	ssize_t n;

	for (int tries = 0; e && tries < 5; tries++) {
		n = pread(fd, text, SIZE, 0);
		if (n < 0)
			return -errno;
		text[n] = '\0';
		e = parse(text, state);
	}
	return e;
}
