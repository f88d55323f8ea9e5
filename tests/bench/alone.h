/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A program under the agent without a campaign around it, for benchmarks that
 * are one file: what goes wrong ends them.
 */
#ifndef MAPLE_BENCH_ALONE_H
#define MAPLE_BENCH_ALONE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "backend/backend.h"

#define ALONE_PATIENCE 300 /* seconds to wait for a CPU */

struct alone {
	struct maple_backend_options options;
	struct maple_cpu cpu;
	struct maple_backend *backend;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		why);
	exit(2);
}

static void alone_notice(void *ctx, const char *text)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}

/* The agent lies in the build directory, two up. */
static const char *alone_agent(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);

	if (n <= 0)
		die("/proc/self/exe", strerror(errno));
	path[n] = '\0';
	for (int i = 0; i < 3; i++)
		*strrchr(path, '/') = '\0';
	return strcat(path, "/libmaple-agent.so");
}

static void alone_open(struct alone *a, char **argv)
{
	struct maple_error err;

	*a = (struct alone){ 0 };
	a->options = (struct maple_backend_options){
		.program = argv[0],
		.argv = argv,
		.agent = alone_agent(),
		.registry = maple_registry_create(),
		.cpu = &a->cpu,
		.notice = alone_notice,
	};
	maple_realtime_allow();
	if (maple_cpu_take(&a->cpu, ALONE_PATIENCE, alone_notice, NULL))
		die("CPU", "there is none for the program");
	if (maple_backend_agent_create(&a->options, &a->backend, &err))
		die("backend", err.text);
}

static void alone_close(struct alone *a)
{
	maple_backend_destroy(a->backend);
	maple_cpu_give_back(&a->cpu);
	maple_registry_destroy(a->options.registry);
}

#endif
