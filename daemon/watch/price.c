// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The price of a stretch decides how long nothing is done after it. It is made
 * of what the job used of the CPU, and of what the process lost by it: hooks
 * cost time of CPU, sharing one CPU costs waiting. Both are compared with how
 * the process did before. Where it had less to do by then, nothing is given
 * back for that, so noise makes the price higher and never lower.
 *
 * It is not for: the milliseconds in which all threads stand, at both ends of a
 * stretch, which the kernel counts as nobody's.
 */
#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "../stat.h"
#include "price.h"

#define PAUSE_LEAST 1.0

static bool read_thread(pid_t pid, const char *tid,
			struct maple_price_sample *sample)
{
	unsigned long long used, waited;
	char name[40], text[64];

	snprintf(name, sizeof(name), "task/%.16s/schedstat", tid);
	if (!maple_stat_text(pid, name, text, sizeof(text)) ||
	    sscanf(text, "%llu %llu", &used, &waited) != 2)
		return false;
	sample->used += (double)used / 1e9;
	sample->waited += (double)waited / 1e9;
	return true;
}

bool maple_price_look(pid_t pid, struct maple_price_sample *sample)
{
	struct timespec now;
	const struct dirent *entry;
	bool any = false;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	*sample = (struct maple_price_sample){
		.at = (double)now.tv_sec + (double)now.tv_nsec / 1e9,
	};
	while ((entry = readdir(dir)))
		if (*entry->d_name != '.')
			any |= read_thread(pid, entry->d_name, sample);
	closedir(dir);
	return any;
}

/* By how much [@begin, @end] is more than the habit of [@before, @begin]. */
static double beyond(double before, double begin, double end, double habit,
		     double lasted)
{
	double usual = habit > 0 ? (begin - before) / habit * lasted : 0;
	double more = end - begin - (usual > 0 ? usual : 0);

	return more > 0 ? more : 0;
}

double maple_price_lost(const struct maple_price_sample *before,
			const struct maple_price_sample *begin,
			const struct maple_price_sample *end)
{
	double habit = begin->at - before->at, lasted = end->at - begin->at;

	assert(habit >= 0 && lasted >= 0);
	return beyond(before->used, begin->used, end->used, habit, lasted) +
	       beyond(before->waited, begin->waited, end->waited, habit, lasted);
}

double maple_price_pause(double cost, double lasted, double share)
{
	double pause;

	assert(share > 0 && cost >= 0 && lasted >= 0);
	pause = cost / share - lasted;
	return pause > PAUSE_LEAST ? pause : PAUSE_LEAST;
}
