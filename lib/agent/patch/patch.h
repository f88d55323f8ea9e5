/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_AGENT_PATCH_H
#define MAPLE_AGENT_PATCH_H

#include "agent/core.h"

/* An instruction in a slot: hooks, itself at @body, more hooks. */
struct maple_patch_moved {
	uint64_t slot;
	uint32_t offset; /* where it stood */
	uint32_t group;
	uint16_t body, end; /* from slot */
	uint8_t length;
	uint8_t push; /* of the first hook, from slot; 0: it has none */
	struct maple_slot_halves halves; /* if it is split, else zero */
};

struct maple_patch_group {
	uint64_t addr;
	uint64_t slot;
	uint32_t bytes; /* the program's, from here in bytes[] */
	uint8_t length;
	bool pun, trap;
	bool in;
	bool under;  /* a pun's displacement ends in it */
	bool steady; /* nobody can stand within the bytes of its jump */
};

struct maple_patch_page {
	uint64_t at;
	uint32_t used;
};

/* What was done to one image. */
struct maple_patched {
	struct maple_patched *next;
	uint64_t bias, lo, hi; /* of its text */
	uint64_t code, code_end;
	struct maple_slot slot; /* the one to be filled next */
	struct maple_agent_site *site;
	struct maple_patch_moved *moved;
	struct maple_patch_group *group;
	struct maple_patch_page *page; /* of puns */
	uint8_t *bytes;
	uint8_t *wanted;   /* bits by site: the plan names it, */
	uint8_t *picked;   /* ... and by group of the table: it has such */
	uint32_t *retired; /* groups that are out because they went quiet */
	uint32_t nretired;
	uint32_t njumps; /* these groups come first, ascending */
	uint32_t nsites, nmoved, ngroups, npages, nbytes;
	uint32_t first_trap, first_pun; /* in moved; slots before it ascend */
	bool gone;			/* unloaded */
};

#define MAPLE_PAGE	4096ull
#define MAPLE_PUN_PAGES 2048
#define MAPLE_PUN_SIZE	8192
#define MAPLE_PUN_SLOT	512

static inline uint64_t maple_page_up(uint64_t n)
{
	return (n + MAPLE_PAGE - 1) & ~(MAPLE_PAGE - 1);
}

/* patch.c */
void maple_patch_lead_in(struct maple_patched *p, struct maple_patch_group *g);

/* room.c */
uint64_t maple_room_near(uint64_t lo, uint64_t hi, uint64_t size);
uint64_t maple_room_pun(struct maple_patched *p, uint64_t addr,
			unsigned int length);
void maple_room_pun_used(struct maple_patched *p, uint64_t at, uint64_t end);

/* patch.c */
void maple_patch_changes(struct maple_patched *p, uint32_t base);

/* moved.c */
struct maple_patched *maple_patch_first(void);
void maple_patch_add(struct maple_patched *p);
void maple_patch_protect(uint64_t lo, uint64_t hi, int prot);
void maple_patch_write(const struct maple_patched *p, uint64_t addr,
		       const uint8_t *bytes, unsigned int n);

#endif
