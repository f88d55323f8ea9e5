/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * maple.ko from user space: each function is one command of <maple/uapi.h>.
 * Internal to lib/backend/kernel.
 */
#ifndef MAPLE_BACKEND_KERNEL_CONTROL_H
#define MAPLE_BACKEND_KERNEL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <maple/error.h>
#include <maple/uapi.h>
#include "plan/automaton.h"

struct maple_control;
struct maple_host;

struct maple_control_info {
	uint32_t version, features; /* enum maple_feature */
	uint32_t max_probes, max_sites, log_size, plan_size;
};

struct maple_control_order {
	int pidfd;
	int cpu;
	uint32_t sched; /* enum maple_uapi_sched */
	uint64_t seed;
	uint32_t changes; /* of PCT */
	uint32_t deadline_ms;
	const struct maple_plan *plan; /* with MAPLE_UAPI_PLAN */
};

struct maple_control_status {
	uint32_t state; /* enum maple_session_state */
	struct maple_counters counters;
	struct maple_auto_result result; /* zero without a plan */
	bool crashed;
	struct maple_uapi_crash crash;
	char reason[MAPLE_REASON_MAX]; /* why it is barred; or "" */
	uint32_t nthreads;
	struct maple_uapi_thread *threads; /* by number; free() */
};

int maple_control_open(struct maple_control **control, struct maple_error *err);
int maple_control_open_by(struct maple_host *host,
			  struct maple_control **control,
			  struct maple_error *err);
void maple_control_close(struct maple_control *control);

int maple_control_info(struct maple_control *control,
		       struct maple_control_info *info, struct maple_error *err);
int maple_control_start(struct maple_control *control,
			const struct maple_control_order *order,
			struct maple_error *err);
int maple_control_probes(struct maple_control *control, int fd,
			 const struct maple_uapi_probe *probes, size_t n,
			 struct maple_error *err);
int maple_control_sites(struct maple_control *control, int fd,
			const struct maple_uapi_site *sites, size_t n,
			struct maple_error *err);
int maple_control_release(struct maple_control *control,
			  struct maple_error *err);
int maple_control_resume(struct maple_control *control, struct maple_error *err);
int maple_control_stop(struct maple_control *control, struct maple_error *err);
int maple_control_status(struct maple_control *control, bool threads,
			 struct maple_control_status *status,
			 struct maple_error *err);
int maple_control_returns(struct maple_control *control, uint32_t thread,
			  struct maple_uapi_return returns[MAPLE_PER_MESSAGE],
			  struct maple_error *err);
int maple_control_log(struct maple_control *control,
		      struct maple_log_entry entries[MAPLE_PER_MESSAGE],
		      struct maple_error *err);

#endif
