/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The patch table of one image: everything the agent needs to move the
 * instructions around each site into an out-of-line slot, without decoding.
 * Made by lib/image, read by lib/agent. One blob, position-independent: all
 * offsets are ELF virtual addresses (address minus load bias).
 */
#ifndef MAPLE_AGENT_TABLE_H
#define MAPLE_AGENT_TABLE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"

#define MAPLE_TABLE_MAGIC   0x314c4254u /* TBL1 */
#define MAPLE_TABLE_VERSION 4
#define MAPLE_REG_NONE	    0xff /* no base, or no index register */

/* How control gets from a site into its slot. */
enum maple_way {
	MAPLE_WAY_JUMP,	      /* 5-byte jump, the instruction is long enough */
	MAPLE_WAY_NEIGHBOURS, /* 5-byte jump over several instructions */
	MAPLE_WAY_PUN,	      /* jump whose displacement reuses next bytes */
	MAPLE_WAY_TRAP,	      /* int3; only for enforced sites */
	MAPLE_WAYS
};

enum maple_insn_flag {
	MAPLE_INSN_RIPREL = 1, /* 32-bit displacement at disp_at to adjust */
	MAPLE_INSN_JCC = 2,    /* conditional branch to target */
	MAPLE_INSN_JMP = 4,    /* unconditional direct branch to target */
	MAPLE_INSN_STOP = 8,   /* control never goes on to the next one: JMP,
				  and indirect jumps and RET, copied as is */
};

/* An instruction that moves. Its bytes are read from memory in the agent. */
struct maple_table_insn {
	uint32_t offset;
	uint8_t length;
	uint8_t flags;	 /* enum maple_insn_flag */
	uint8_t disp_at; /* byte of the displacement */
	uint8_t cond;	 /* JCC: condition code, 0 to 15 */
	uint32_t target; /* branch target */
	uint32_t site;	 /* index of its (first) site, or MAPLE_SITE_NONE */
};

/* Instructions that move together; one jump leads to the first. */
struct maple_table_group {
	uint32_t first; /* index of its first instruction */
	uint16_t ninsns;
	uint8_t length; /* bytes covered; >= 5 for a jump */
	uint8_t way;	/* PUN and TRAP groups have one instruction */
};

enum maple_site_flag {
	MAPLE_SITEF_ATOMIC = 1, /* LOCK prefix or XCHG */
	MAPLE_SITEF_REP = 2,	/* string instruction: up to rcx * size bytes */
	MAPLE_SITEF_RIPREL = 4, /* disp is the address, as an ELF one */
	MAPLE_SITEF_MORE = 8,	/* the next site is of this instruction too */
	MAPLE_SITEF_NOFLAGS = 16,     /* nobody reads the status flags that its
					 instruction finds */
	MAPLE_SITEF_SPLIT = 32,	      /* stands among the splits */
	MAPLE_SITEF_FENCE_AFTER = 64, /* before anything is read, or the */
	MAPLE_SITEF_FENCE_BEFORE = 128, /* ... since anything was written */
};

/* A site: where it is and how its effective address is made. */
struct maple_table_site {
	uint32_t offset;
	uint8_t kind;  /* READ, WRITE or UPDATE */
	uint8_t flags; /* enum maple_site_flag */
	uint8_t base;  /* 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp ... 15 r15 */
	uint8_t index;
	uint8_t scale;	/* 1, 2, 4, 8; 0 without an index */
	uint8_t way;	/* enum maple_way, of this site (not of its group) */
	uint8_t length; /* of the instruction */
	uint8_t alone;	/* set by the campaign: not to be observed this time */
	uint16_t size;	/* bytes accessed */
	uint16_t kept;	/* the campaign's own: in the stem of controlled runs */
	int64_t disp;
};

/*
 * How a site's plain read-modify-write is done in two halves: it is loaded into
 * a register, which its instruction does not use, changed there, and stored.
 */
struct maple_table_split {
	uint32_t site;	   /* index */
	uint8_t reg;	   /* 0 rax, 1 rcx ...; never rsp or rbp */
	uint8_t length;	   /* of what follows */
	uint8_t bytes[10]; /* the instruction, on that register */
};

enum maple_frame_base {
	MAPLE_FRAME_NONE, /* nothing is known of the caller */
	MAPLE_FRAME_RSP,
	MAPLE_FRAME_RBP,
	MAPLE_FRAME_BASE = 0x7f,  /* which of these; and a flag: */
	MAPLE_FRAME_FIRST = 0x80, /* a function begins here */
};

#define MAPLE_FRAME_LOST 0xff /* the caller's rbp is not known */

/*
 * From @offset on, to where the next one begins: the caller's stack pointer
 * will be @base and @cfa, and the return address stands below that.
 */
struct maple_table_frame {
	uint32_t offset;
	int16_t cfa;
	uint8_t base; /* enum maple_frame_base, of both */
	uint8_t rbp;  /* the caller's is so many words below that pointer; 0:
			 the register has it; or LOST */
};

struct maple_table {
	uint32_t magic;
	uint32_t version;
	uint32_t size; /* of the whole blob */
	uint32_t nsites;
	uint32_t ninsns;
	uint32_t ngroups;
	uint32_t sites_at; /* byte offsets from the start of the blob */
	uint32_t insns_at;
	uint32_t groups_at; /* jumps, then traps, then puns, those in
			       descending order of offset: patch them in
			       this order */
	uint32_t text_lo;   /* executable range of the image */
	uint32_t text_hi;
	uint32_t nsplits;
	uint32_t splits_at; /* ascending by site */
	uint32_t nframes;
	uint32_t frames_at; /* ascending by offset */
	uint32_t pad;
};

static_assert(sizeof(struct maple_table_insn) == 16, "form is fixed");
static_assert(sizeof(struct maple_table_group) == 8, "form is fixed");
static_assert(sizeof(struct maple_table_site) == 24, "form is fixed");
static_assert(sizeof(struct maple_table_split) == 16, "form is fixed");
static_assert(sizeof(struct maple_table_frame) == 8, "form is fixed");
static_assert(sizeof(struct maple_table) == 64, "form is fixed");

static inline const struct maple_table_site *
maple_table_sites(const struct maple_table *t)
{
	return (const void *)((const char *)t + t->sites_at);
}

static inline const struct maple_table_insn *
maple_table_insns(const struct maple_table *t)
{
	return (const void *)((const char *)t + t->insns_at);
}

static inline const struct maple_table_split *
maple_table_splits(const struct maple_table *t)
{
	return (const void *)((const char *)t + t->splits_at);
}

static inline const struct maple_table_frame *
maple_table_frames(const struct maple_table *t)
{
	return (const void *)((const char *)t + t->frames_at);
}

static inline const struct maple_table_group *
maple_table_groups(const struct maple_table *t)
{
	return (const void *)((const char *)t + t->groups_at);
}

/* The group of @g, from number @lo to @hi, in which instruction @k moves. */
static inline size_t maple_table_part(const struct maple_table_group *g,
				      size_t lo, size_t hi, size_t k,
				      bool descending)
{
	size_t n = hi - lo, at;

	g += lo;
	at = descending ? maple_array_lead(n, i, g[i].first > k)
			: maple_array_lead(n, i, g[i].first + g[i].ninsns <= k);
	return at < n && g[at].first <= k && k < g[at].first + g[at].ninsns
		       ? lo + at
		       : hi;
}

/*
 * maple_table_group_of - the number of the group that @site is in; or ngroups
 *
 * It is looked up in each of the three parts of the table: to go through
 * thousands of groups for the handful that a plan is about takes as long as
 * many a run.
 */
static inline uint32_t maple_table_group_of(const struct maple_table *t,
					    uint32_t site)
{
	const struct maple_table_insn *insn = maple_table_insns(t);
	const struct maple_table_group *g = maple_table_groups(t);
	uint32_t offset = maple_table_sites(t)[site].offset;
	size_t k = maple_array_lead(t->ninsns, i, insn[i].offset < offset);
	size_t traps = maple_array_lead(t->ngroups, i, g[i].way < MAPLE_WAY_PUN);
	size_t puns = maple_array_lead(t->ngroups, i, g[i].way != MAPLE_WAY_PUN);
	size_t at = maple_table_part(g, 0, traps, k, false);

	if (at < traps)
		return at;
	at = maple_table_part(g, traps, puns, k, false);
	return at < puns ? at : maple_table_part(g, puns, t->ngroups, k, true);
}

/* maple_table_frame_at - what holds before the instruction at @offset; or NULL */
static inline const struct maple_table_frame *
maple_table_frame_at(const struct maple_table *t, uint64_t offset)
{
	const struct maple_table_frame *f = maple_table_frames(t);
	size_t n = maple_array_lead(t->nframes, i, f[i].offset <= offset);

	return n && f[n - 1].base & MAPLE_FRAME_BASE ? &f[n - 1] : NULL;
}

#endif
