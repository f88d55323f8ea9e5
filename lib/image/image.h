/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What can be observed in a binary: its memory-access sites, the patch table
 * that leads the agent to them, and where in the source they are.
 */
#ifndef MAPLE_IMAGE_IMAGE_H
#define MAPLE_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <maple/error.h>
#include <maple/event.h>
#include <maple/finding.h>
#include "abi/table.h"

/* Why a memory operand is no site. */
enum maple_left_out {
	MAPLE_LEFT_STACK,	/* relative to the stack or frame pointer */
	MAPLE_LEFT_IMPLICIT,	/* the stack operand of push, pop, leave ... */
	MAPLE_LEFT_TLS,		/* fs: or gs: */
	MAPLE_LEFT_READ_ONLY,	/* read-only data and RELRO */
	MAPLE_LEFT_BRANCH,	/* call or jump through memory */
	MAPLE_LEFT_VECTOR,	/* gather and scatter */
	MAPLE_LEFT_ODD,		/* 32-bit addresses, xlat, xsave and the like */
	MAPLE_LEFT_PREFETCH,	/* hints: prefetch, cache line flush, nop */
	MAPLE_LEFT_RSEQ,	/* in a restartable sequence */
	MAPLE_LEFT_UNDECODABLE, /* functions with bytes Zydis does not know */
	MAPLE_LEFT_LIBRARY,	/* in a C++ library, but in no container */
	MAPLE_LEFT_SHADOW,	/* what AddressSanitizer knows of memory */
	MAPLE_LEFT_RUNTIME,	/* functions that a runtime has put in */
	MAPLE_LEFT_REASONS
};

struct maple_image_stats {
	uint64_t functions;
	uint64_t instructions;
	uint64_t text;	    /* bytes of code */
	uint64_t uncovered; /* ... that belong to no known function */
	uint64_t left[MAPLE_LEFT_REASONS];
	uint64_t ways[MAPLE_WAYS]; /* sites by the way in */
	uint64_t splits; /* plain read-modify-writes that can be split */
	uint64_t whole;	 /* ... and that cannot */
};

struct maple_image;

/* maple_left_out_name - "stack-relative", "thread-local", ... */
const char *maple_left_out_name(enum maple_left_out reason);

/*
 * maple_image_file - opens a file of the target's for reading; -errno, or
 * -ENOEXEC: it is no regular file. It waits for nobody, whatever has that name.
 */
int maple_image_file(const char *path);

/*
 * maple_image_elf - opens a 64-bit ELF file of the target's; NULL: see errno.
 * The caller ends it with elf_end(), and closes *@fd after that.
 */
struct Elf *maple_image_elf(const char *path, int *fd);

int maple_image_open(const char *path, struct maple_image **image,
		     struct maple_error *err);

/* How an image is decoded; zero is the default. */
struct maple_image_way {
	const char *kept;	 /* what is decoded is kept in a folder of its
				    own in this one, and taken from there */
	bool (*over)(void *ctx); /* asked while it takes long: enough? */
	void *ctx;
	bool names; /* it is not decoded: it has names and no sites */
};

int maple_image_open_by(const char *path, const struct maple_image_way *way,
			struct maple_image **image, struct maple_error *err);
char *maple_image_cache_home(void);
int maple_image_cache_place(const char *parent, char **path);
void maple_image_destroy(struct maple_image *image);

const char *maple_image_path(const struct maple_image *image);
const char *maple_image_build_id(const struct maple_image *image);
const struct maple_image_stats *
maple_image_stats(const struct maple_image *image);
const struct maple_table_site *
maple_image_sites(const struct maple_image *image, uint32_t *n);
int64_t maple_image_find(const struct maple_image *image, uint64_t offset,
			 bool second);

/* The neighbours of a LOCK-prefixed site; ELF addresses, 0 if none will do. */
struct maple_locked {
	uint32_t site;
	uint32_t ahead;	 /* the instruction before */
	uint32_t behind; /* the instruction after */
};

bool maple_image_locked(const struct maple_image *image, uint32_t index,
			struct maple_locked *locked);

uint64_t maple_image_function_at(const struct maple_image *image,
				 uint64_t offset);

int maple_image_keep_containers(struct maple_image *image);
int maple_image_table(const struct maple_image *image, void **blob,
		      size_t *size, struct maple_error *err);

int maple_image_place(struct maple_image *image, uint64_t offset, bool is_call,
		      struct maple_place *place);
bool maple_image_data(struct maple_image *image, uint64_t offset, char *buf,
		      size_t size);

/* What of a site lasts over a rebuild; text is the form that is stored. */
struct maple_fingerprint {
	uint64_t hash;
	uint32_t line; /* of its source line's text; 0 if not known */
	char text[96];
};

int maple_image_fingerprint(struct maple_image *image, uint64_t offset,
			    bool is_call, struct maple_fingerprint *fingerprint);
int maple_image_refind(struct maple_image *image, const char *text,
		       bool is_call, uint64_t *offset);

/* Code from lo on, up to hi; ELF addresses. */
struct maple_stretch {
	uint64_t lo, hi;
};

const struct maple_stretch *maple_image_runtime(struct maple_image *image,
						unsigned int *n);
bool maple_image_is_runtime(struct maple_image *image, uint64_t offset);

/* By this name libc comes in or stays out, where it is no file of its own. */
#define MAPLE_IMAGE_LIBC "libc.so.6"

bool maple_image_wanted(const char *path, bool is_main,
			const char *const *include, const char *const *exclude);
bool maple_image_in_parts(const char *path, const char *const *include);
void maple_image_needed(const char *path,
			void (*each)(void *ctx, const char *name), void *ctx);
bool maple_image_mentions(const char *path, const char *beginning);
bool maple_image_is_sanitizer(const char *name);
bool maple_image_function_wanted(const char *name);

#endif
