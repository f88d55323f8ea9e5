/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * maple.ko on behalf of somebody else, for mapled: commands and answers of
 * <maple/uapi.h> as their bare attributes. What they may say is the module's
 * to check; whose target it is and which CPU, the caller's.
 *
 * Context: a struct maple_module has one session at most, which ends with it;
 * it belongs to one thread.
 */
#ifndef MAPLE_MODULE_H
#define MAPLE_MODULE_H

#include <stdbool.h>
#include <maple/error.h>
#include <maple/uapi.h>
#include <maple/wire.h>

struct maple_module;

/* maple_module_open - -ENOENT when maple.ko is not there */
int maple_module_open(struct maple_module **module, struct maple_error *err);
void maple_module_close(struct maple_module *module); /* takes NULL */

#define MAPLE_MODULE_ANY_CPU (-2)

struct maple_module_request {
	unsigned int command; /* enum maple_cmd */
	const void *attributes;
	size_t size;
	int fd;	     /* what the attribute PIDFD or FD is about, or -1 */
	int cpu;     /* the only one that START may name, besides none; or -1 */
	bool strict; /* START with STRICT: as if we could not trace everybody */
	bool bound;  /* START with BOUND: as long as it has the rights it has */
};

/* What a request takes, where that has limits. */
struct maple_module_need {
	uint32_t deadline_ms; /* of START */
	uint32_t sites;	      /* of PROBE: how many are probed or named */
	bool unpinned;	      /* START: real-time priorities, on any CPU */
};

/* maple_module_needs - -EBADMSG when these are no attributes */
int maple_module_needs(const struct maple_module_request *request,
		       struct maple_module_need *need, struct maple_error *err);

/*
 * maple_module_ask - sends @request, appends the answer's attributes
 *
 * Errors: -EBADMSG when these are no attributes, or name a file without one;
 * -EACCES for another CPU; what the module refuses with, in its own words.
 */
int maple_module_ask(struct maple_module *module,
		     const struct maple_module_request *request,
		     struct maple_wire_buffer *answer, struct maple_error *err);

#endif
