/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the two kernel halves share: where the target's images are mapped,
 * which functions and which memory-access sites get probes. Internal to
 * lib/backend/kernel.
 */
#ifndef MAPLE_BACKEND_KERNEL_H
#define MAPLE_BACKEND_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <maple/error.h>
#include <maple/uapi.h>
#include "../../image/registry.h"
#include "backend/guard/door.h"

/* mappings.c */

#define MAPLE_MAPPED_PATH 1024

/* A file of which some part is mapped executable. */
struct maple_mapped {
	char path[MAPLE_MAPPED_PATH]; /* as the target sees it */
	char open[MAPLE_DOOR_PATH];   /* opens what is mapped; or "" */
	uint64_t lo, hi;	      /* of all its parts */
	uint64_t bias;		      /* address minus ELF address */
	bool is_code;
	bool is_main;
	bool is_replaced; /* path names another file by now */
	bool is_runtime;  /* what its calls do is not the program's doing */
	bool is_loader;	  /* ... ld.so */
	bool is_agent;	  /* ... libmaple-agent.so, in front of the C library */
};

struct maple_mappings {
	unsigned int n;
	struct maple_mapped *image;
	bool is_static; /* main has no interpreter */
};

int maple_mappings_read(pid_t pid, struct maple_mappings *mappings,
			struct maple_error *err);
const struct maple_mapped *
maple_mappings_find(const struct maple_mappings *mappings, uint64_t address);
void maple_mappings_deinit(struct maple_mappings *mappings);

/* functions.c */

/* What a function does with its arguments, and when which events tell it. */
enum maple_function_form {
	MAPLE_FN_LOCK,	  /* entry: BLOCK; return: LOCK, if it succeeded */
	MAPLE_FN_UNLOCK,  /* entry: UNLOCK */
	MAPLE_FN_WAIT,	  /* entry: UNLOCK mutex, WAIT, BLOCK; return: WAKE,
			     LOCK mutex */
	MAPLE_FN_NOTE,	  /* entry: the event itself */
	MAPLE_FN_BARRIER, /* entry: IN, BLOCK; return: OUT */
	MAPLE_FN_TAKE,	  /* entry: BLOCK; return: TAKE, if it succeeded */
	MAPLE_FN_ONCE,	  /* entry: BLOCK; return: [ONCE], ONCED */
	MAPLE_FN_JOIN,	  /* entry: BLOCK; return: JOIN, if it succeeded */
	MAPLE_FN_CREATE,  /* CREATE when the kernel makes the thread */
	MAPLE_FN_DESTROY, /* return: FREE of size bytes, if it succeeded */
	MAPLE_FN_FREE,	  /* entry: FREE of what the block could hold */
	MAPLE_FN_UNMAP,	  /* entry: FREE of the second argument's bytes */
	MAPLE_FN_REMAP,	  /* ... return: ALLOC of the new place */
	MAPLE_FN_BLOCK,	  /* entry: BLOCK */
	MAPLE_FN_LOAD,	  /* return: images may have changed */

	/* Memory: READ and WRITE of ranges, at the entry. */
	MAPLE_FN_COPY,	    /* (to, from, n) */
	MAPLE_FN_COPY_BACK, /* (from, to, n): bcopy */
	MAPLE_FN_FILL,	    /* (to, byte, n) */
	MAPLE_FN_ZERO,	    /* (to, n) */
	MAPLE_FN_COMPARE,   /* (a, b, n), all of both */
	MAPLE_FN_FIND,	    /* (s, byte, n), up to the byte */
	MAPLE_FN_FIND_LAST, /* (s, byte, n), from the byte on */
	MAPLE_FN_LENGTH,    /* (s) */
	MAPLE_FN_LENGTH_N,  /* (s, n) */
	MAPLE_FN_CHAR,	    /* (s, byte), up to the byte or the end */
	MAPLE_FN_STRCMP,    /* (a, b), up to the difference */
	MAPLE_FN_STRNCMP,   /* (a, b, n) */
	MAPLE_FN_STRCASE,
	MAPLE_FN_STRNCASE,
	MAPLE_FN_STRCPY,  /* (to, from) */
	MAPLE_FN_STRNCPY, /* (to, from, n), all of n written */
	MAPLE_FN_STRCAT,
	MAPLE_FN_STRNCAT,
};

struct maple_function {
	const char *name;
	uint8_t form;	/* enum maple_function_form */
	uint8_t kind;	/* enum maple_event_kind at the entry, or NONE */
	uint8_t after;	/* ... at the return, or NONE */
	uint8_t object; /* which argument the object is, from 0 */
	uint8_t second; /* of WAIT: the mutex */
	uint16_t flags; /* enum maple_probe_flag */
	/*
	 * Of DESTROY, of what is gone; of LOCK and UNLOCK, nonzero where the
	 * same function also makes such a lock.
	 */
	uint32_t size;
};

struct maple_function_at {
	const struct maple_function *function;
	uint64_t offset;  /* in the file, of its first steppable instruction */
	uint64_t address; /* ELF address */
	bool imported;	  /* under one of its names, see there */
};

const struct maple_function *maple_functions(unsigned int *n);
int maple_functions_find(const char *path, struct maple_function_at **found,
			 unsigned int *n, struct maple_error *err);
void maple_functions_imported(const char *path, bool *imported);
void maple_functions_mark(const char *path, const bool *imported,
			  struct maple_function_at *found, unsigned int n);
unsigned int maple_function_probes(const struct maple_function *function,
				   uint64_t offset,
				   struct maple_uapi_probe probe[2]);

/* step.c */
bool maple_step_can(int fd, uint64_t offset);
bool maple_step_on(int fd, uint64_t *offset, bool unchanged);

/* probes.c */

/* What stands in the file where, for one image. */
struct maple_probe_maker;

int maple_probe_maker_create(struct maple_image *image,
			     struct maple_probe_maker **maker,
			     struct maple_error *err);
int maple_probe_make(const struct maple_probe_maker *maker, uint32_t index,
		     uint32_t number, struct maple_uapi_probe *probe);
bool maple_probe_offset(const struct maple_probe_maker *maker, uint64_t address,
			uint64_t *offset);
void maple_probe_maker_destroy(struct maple_probe_maker *maker);

#endif
