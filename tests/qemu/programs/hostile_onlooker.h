/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A program of another user's, in the same file that hostile.c has probes in:
 * nobody has a part in how its threads are scheduled, and nobody changes its
 * code. It looks until SIGTERM, and says how often, or what is wrong.
 */
#ifndef MAPLE_TESTS_HOSTILE_ONLOOKER_H
#define MAPLE_TESTS_HOSTILE_ONLOOKER_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "labels.h"

static const struct onlooker {
	int policy, nice;   /* above that of who started us */
	unsigned long cpus; /* the first two */
} onlookers[] = {
	{ SCHED_OTHER, 0, 3 },
	{ SCHED_BATCH, 5, 3 },
	{ SCHED_OTHER, 2, 2 },
	{ SCHED_IDLE, 0, 1 },
};

static char onlooker_code[64]; /* as it is at the labels */
static int onlooker_nice;
static volatile sig_atomic_t onlooker_over;
static _Atomic unsigned long onlooker_looks;

static void onlooker_stop(int signo)
{
	onlooker_over = 1;
}

static unsigned long onlooker_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	return (CPU_ISSET(0, &set) ? 1 : 0) | (CPU_ISSET(1, &set) ? 2 : 0);
}

static void onlooker_check(const struct onlooker *as)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	int policy = sched_getscheduler(0);
	int nice = getpriority(PRIO_PROCESS, (id_t)tid) - onlooker_nice;

	if (policy != as->policy || nice != as->nice ||
	    onlooker_cpus() != as->cpus) {
		printf("wrong: policy %d nice %d cpus %lu, not %d %d %lu\n",
		       policy, nice, onlooker_cpus(), as->policy, as->nice,
		       as->cpus);
		_exit(fflush(stdout) ? 2 : 1);
	}
	if (memcmp(onlooker_code, insn_store, sizeof(onlooker_code)) != 0) {
		puts("wrong: the code is another");
		_exit(fflush(stdout) ? 2 : 1);
	}
}

static void *onlooker_thread(void *arg)
{
	const struct onlooker *as = arg;
	struct sched_param param = { 0 };
	uint64_t word[4] = { 0 };
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = 0; i < 2; i++)
		if (as->cpus >> i & 1)
			CPU_SET(i, &set);
	if (sched_setscheduler(0, as->policy, &param) ||
	    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid),
			onlooker_nice + as->nice) ||
	    sched_setaffinity(0, sizeof(set), &set)) {
		perror("onlooker");
		_exit(2);
	}
	while (!onlooker_over) {
		hit(word, 1, 3);
		onlooker_check(as);
		onlooker_looks++;
		usleep(20000);
	}
	return NULL;
}

static inline int onlooker_main(void)
{
	unsigned int n = sizeof(onlookers) / sizeof(*onlookers);
	pthread_t thread[sizeof(onlookers) / sizeof(*onlookers)];

	memcpy(onlooker_code, insn_store, sizeof(onlooker_code));
	onlooker_nice = getpriority(PRIO_PROCESS, 0);
	signal(SIGTERM, onlooker_stop);
	for (unsigned int i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, onlooker_thread,
				   (void *)&onlookers[i]))
			return 2;
	usleep(200000);
	puts("onlooker");
	fflush(stdout);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	printf("looks %lu\n", onlooker_looks);
	return 0;
}

#endif
