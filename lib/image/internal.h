/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Between the files of lib/image; see image.c for the order of the work. */
#ifndef MAPLE_IMAGE_INTERNAL_H
#define MAPLE_IMAGE_INTERNAL_H

#include <gelf.h>
#include <elfutils/libdwfl.h>
#include "image.h"
#include "image/source/scopes.h"
#include "static/pairs.h"

#define MAPLE_IMAGE_SEGMENTS 64

struct maple_segment {
	uint64_t lo, hi; /* ELF addresses, [lo, hi) */
	uint64_t filesz; /* bytes of it that stand in the file */
	uint8_t *bytes;	 /* those */
	bool write, exec;
};

/* A piece of text that is decoded from its first byte on. */
struct maple_code_range {
	uint64_t lo, hi;
	uint64_t lsda; /* language-specific data area, or 0 */
	bool framed;   /* from .eh_frame, not from a symbol */
	bool foreign;  /* put in by a runtime */
};

enum maple_decoded_flag {
	MAPLE_DEC_TARGET = 1, /* control may come here from elsewhere */
	MAPLE_DEC_FIXED = 2,  /* cannot run elsewhere than where it is */
	MAPLE_DEC_STOP = 4,   /* the next one is not reached from here */
	MAPLE_DEC_JMP = 8,
	MAPLE_DEC_JCC = 16,
	MAPLE_DEC_RIPREL = 32,
	MAPLE_DEC_LAST = 64,	 /* of its function */
	MAPLE_DEC_TAKEN = 128,	 /* in a group */
	MAPLE_DEC_BRANCH = 256,	 /* target is set */
	MAPLE_DEC_READS = 512,	 /* some status flag */
	MAPLE_DEC_WRITES = 1024, /* all status flags */
	MAPLE_DEC_FENCE = 2048,	 /* reads wait for the writes before it */
	MAPLE_DEC_CALL = 4096,
	MAPLE_DEC_SWITCH = 8192, /* a jump of which nobody knows where to */
};

struct maple_decoded {
	uint32_t offset;
	uint32_t target;
	uint32_t site; /* first of its sites, or MAPLE_SITE_NONE */
	uint16_t flags;
	uint8_t length;
	uint8_t disp_at;
	uint8_t cond;
};

/* An array that grows; see maple_array_more(). */
struct maple_array {
	void *at;
	size_t n, cap;
};

struct maple_symbol {
	uint64_t addr, size;
	const char *name; /* owned by libdwfl */
	bool local;
};

struct maple_prints;

struct maple_image {
	char *path;
	char *build_id; /* hex, or a stand-in */
	int fd;
	Elf *elf;
	uint16_t type; /* ET_EXEC or ET_DYN */
	struct maple_segment seg[MAPLE_IMAGE_SEGMENTS];
	unsigned int nsegs;
	uint64_t relro_lo, relro_hi;
	uint64_t frame_hdr; /* address of .eh_frame_hdr, or 0 */
	uint64_t dynamic, dynamic_size;
	uint64_t entry;
	uint64_t text_lo, text_hi;
	uint64_t *targets; /* a bit for each byte of text */
	uint64_t *starts;  /* ... where an instruction begins */

	struct maple_array ranges;  /* struct maple_code_range, ascending */
	struct maple_array rseqs;   /* struct maple_code_range */
	struct maple_array decoded; /* struct maple_decoded, ascending */
	struct maple_array leas;    /* uint64_t: what LEAs refer to */
	struct maple_array sites;   /* struct maple_table_site, ascending */
	struct maple_array groups;  /* struct maple_table_group */
	struct maple_array insns;   /* struct maple_table_insn */
	struct maple_array locked;  /* struct maple_locked, ascending */
	struct maple_array splits;  /* struct maple_table_split, ascending */
	struct maple_array frames;  /* struct maple_table_frame, ascending */
	struct maple_image_stats stats;

	/* place.c, made at the first question. */
	Dwfl *dwfl;
	Dwfl_Module *module;
	bool asked;
	struct maple_scopes scopes;
	struct maple_array objects, functions; /* struct maple_symbol,
						  ascending */
	uint64_t longest;		       /* size of a function */

	struct maple_array globals; /* variable.c, the same */
	bool globals_asked;

	struct maple_array
		runtime; /* struct maple_stretch; runtime.c, the same */
	bool runtime_asked;

	struct maple_prints *prints; /* fingerprint.c, the same */

	uint64_t content;	 /* cache.c: what it was decoded from */
	struct maple_array data; /* struct maple_datum, of each site; static/ */
	struct maple_array pairs; /* struct maple_static_pair, the same */
	struct maple_array text;  /* char: the names of data */
	struct maple_static_stats static_stats;
	bool static_known;
};

/* Bytes of an image under a moving finger; bad is set beyond the end. */
struct maple_cursor {
	const uint8_t *at, *end;
	uint64_t addr; /* ELF address of at */
	bool bad;
};

/* How the instructions of some frame descriptions are to be read. */
struct maple_unwind {
	uint64_t code; /* bytes that one of a distance is */
	int64_t data;
	struct maple_cursor initial; /* what comes before those of each */
};

void *maple_array_more(struct maple_array *array, size_t size);

int maple_image_load(struct maple_image *image, struct maple_error *err);
const uint8_t *maple_image_bytes(const struct maple_image *image, uint64_t addr,
				 uint64_t size);
bool maple_image_section(const struct maple_image *image, const char *name,
			 GElf_Shdr *sh);
bool maple_image_read_only(const struct maple_image *image, uint64_t addr);

int maple_image_functions(struct maple_image *image);
int maple_image_frames(struct maple_image *image);
int maple_unwind_range(struct maple_image *image, const struct maple_unwind *how,
		       struct maple_cursor c, uint64_t lo, uint64_t hi);
void maple_unwind_finish(struct maple_image *image);
struct maple_cursor maple_cursor_at(const struct maple_image *image,
				    uint64_t addr);
uint64_t maple_cursor_left(const struct maple_cursor *c);
void maple_cursor_skip(struct maple_cursor *c, uint64_t size);
uint64_t maple_cursor_number(struct maple_cursor *c, unsigned int size);
uint64_t maple_cursor_uleb(struct maple_cursor *c);
int64_t maple_cursor_sleb(struct maple_cursor *c);
uint64_t maple_cursor_encoded(struct maple_cursor *c, uint8_t enc);
void maple_image_landings(struct maple_image *image,
			  const struct maple_code_range *range);
int maple_image_relocate(struct maple_image *image);
int maple_image_rseq(struct maple_image *image);
int maple_image_decode(struct maple_image *image,
		       const struct maple_image_way *way);
void maple_image_liveness(struct maple_image *image, size_t from);
void maple_image_edges(struct maple_image *image);
int maple_image_neighbours(struct maple_image *image);
int maple_image_fences(struct maple_image *image);
int maple_image_splits(struct maple_image *image);
int maple_image_group(struct maple_image *image);
void maple_symbols_read(struct maple_image *image);
const char *maple_symbols_function(const struct maple_image *image,
				   uint64_t addr);
const struct maple_symbol *maple_symbols_object(const struct maple_image *image,
						uint64_t addr);
const struct maple_unit *maple_units(struct maple_image *image, size_t *n);
Dwarf_Die *maple_units_find(struct maple_image *image, uint64_t addr,
			    Dwarf_Addr *bias);
bool maple_image_debug(struct maple_image *image);
void maple_image_place_deinit(struct maple_image *image);
void maple_image_prints_deinit(struct maple_image *image);
void maple_image_discard(struct maple_image *image);
bool maple_image_cache_read(struct maple_image *image, const char *parent);
void maple_image_cache_write(struct maple_image *image, const char *parent);
bool maple_image_cache_take(struct maple_image *image, const char *parent);
void maple_image_cache_keep(struct maple_image *image, const char *parent);

/* Whether @value can be an address: in a program that has a fixed place. */
static inline bool maple_image_is_address(const struct maple_image *image,
					  uint64_t value)
{
	for (unsigned int i = 0; image->type == ET_EXEC && i < image->nsegs; i++)
		if (value >= image->seg[i].lo && value < image->seg[i].hi)
			return true;
	return false;
}

static inline bool maple_image_in_text(const struct maple_image *image,
				       uint64_t addr)
{
	return addr >= image->text_lo && addr < image->text_hi;
}

static inline void maple_image_mark(struct maple_image *image, uint64_t addr)
{
	uint64_t bit = addr - image->text_lo;

	if (maple_image_in_text(image, addr))
		image->targets[bit / 64] |= 1ull << bit % 64;
}

static inline bool maple_image_bit(const struct maple_image *image,
				   const uint64_t *bits, uint64_t addr)
{
	uint64_t bit = addr - image->text_lo;

	return maple_image_in_text(image, addr) &&
	       bits[bit / 64] >> bit % 64 & 1;
}

#endif
