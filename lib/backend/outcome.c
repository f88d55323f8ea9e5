// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What came of a run: what is kept of its threads, and whose memory it is. */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "backend.h"
#include "process.h"
#include "stack.h"

/* maple_run_waits - which of @pid's threads sleep without a timeout, and where */
void maple_run_waits(struct maple_run *run, pid_t pid)
{
	pid_t tids[MAPLE_THREADS];
	int i, n = maple_process_threads(pid, tids, MAPLE_THREADS);
	uint64_t futex;

	assert(!run->waits && !run->stacks); /* looked at once, and first */
	run->waits = calloc(n + 1, sizeof(*run->waits));
	for (i = 0; run->waits && i < n; i++)
		if (maple_process_wait(pid, tids[i], &futex) ==
		    MAPLE_WAIT_FOREVER)
			run->waits[run->nwaits++] =
				(struct maple_run_wait){ tids[i], futex };
}

/*
 * maple_run_stacks - the stacks of @pid's threads, if the order asks for them
 * and there are none yet
 */
void maple_run_stacks(struct maple_run *run, const struct maple_run_order *order,
		      pid_t pid, const struct maple_stack_returns *returns)
{
	struct maple_error err;

	if (!order->stacks || run->stacks)
		return;
	run->no_stacks[0] = '\0';
	if (maple_stack_collect(pid, returns, &run->stacks, &run->nstacks, &err))
		snprintf(run->no_stacks, sizeof(run->no_stacks), "%s", err.text);
}

/*
 * maple_run_sent - the signal that @status says it died of, if it is one that
 * processes send each other; 0: it is not
 */
int maple_run_sent(int status)
{
	int signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	switch (signo) {
	case SIGKILL:
	case SIGTERM:
	case SIGINT:
	case SIGHUP:
	case SIGQUIT:
	case SIGUSR1:
	case SIGUSR2:
		return signo;
	}
	return 0;
}

/* maple_run_deinit - frees what a run owns */
void maple_run_deinit(struct maple_run *run)
{
	maple_stack_destroy(run->stacks, run->nstacks);
	free(run->threads);
	free(run->waits);
	free(run->images);
	free(run->decided);
	free(run->names);
	memset(run, 0, sizeof(*run));
}
