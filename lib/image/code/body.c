// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What lasts of a function when it moves: its instructions with every address
 * taken out and, where there is one, the name of what is there put in. A jump
 * within the function keeps its target, counted from the function's start.
 * Padding does not count, and neither does the line number that assert() has
 * in it, which changes with any line above.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>
#include <xxhash.h>
#include "prints.h"

#define ASSERT_BACK 8 /* instructions that pass the arguments of a call */

/* An instruction on its way into the hash. */
struct taken {
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	uint64_t inside;  /* target within the function, + 1 */
	uint64_t name[2]; /* of what the displacement, the immediate refer to */
};

static void take_out(struct taken *taken, unsigned int at, unsigned int bits)
{
	memset(taken->bytes + at, 0, bits / 8);
}

static void take_displacement(const struct maple_prints *prints,
			      const ZydisDecodedInstruction *insn,
			      uint64_t next, struct taken *taken)
{
	bool relative = insn->raw.modrm.mod == 0 && insn->raw.modrm.rm == 5;
	uint64_t value = insn->raw.disp.value;

	if (!(insn->attributes & ZYDIS_ATTRIB_HAS_MODRM) ||
	    insn->raw.disp.size != 32)
		return;
	if (relative)
		value += next;
	else if (!maple_image_is_address(&prints->code, value))
		return;
	take_out(taken, insn->raw.disp.offset, insn->raw.disp.size);
	taken->name[0] = maple_names_hash(prints, value);
}

static void take_immediate(const struct maple_prints *prints,
			   const ZydisDecodedInstruction *insn, uint64_t next,
			   const struct maple_code_range *range,
			   struct taken *taken)
{
	uint64_t value = insn->raw.imm[0].value.u;

	if (!insn->raw.imm[0].size)
		return;
	if (insn->raw.imm[0].is_relative)
		value += next;
	else if (insn->raw.imm[0].size < 32 ||
		 !maple_image_is_address(&prints->code, value))
		return;
	take_out(taken, insn->raw.imm[0].offset, insn->raw.imm[0].size);
	if (value > range->lo && value < range->hi)
		taken->inside = value - range->lo + 1;
	else
		taken->name[1] = maple_names_hash(prints, value);
}

/* Where a line number on its way to assert() was last seen. */
struct line_number {
	size_t at;     /* index of the print + 1; 0: none */
	uint64_t hash; /* without the number */
};

static void note_line(const ZydisDecodedInstruction *insn,
		      const struct taken *taken, size_t n,
		      struct line_number *line)
{
	struct taken without = *taken;

	/* mov $line, %edx: the third argument */
	if (insn->opcode != 0xba || insn->raw.imm[0].size != 32 ||
	    insn->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
		return;
	take_out(&without, insn->raw.imm[0].offset, insn->raw.imm[0].size);
	line->at = n;
	line->hash = XXH3_64bits(&without, sizeof(without));
}

/* Hashes the last of @array, whose bytes are at @bytes. */
static void hash_one(const struct maple_prints *prints,
		     const ZydisDecodedInstruction *insn, const uint8_t *bytes,
		     const struct maple_code_range *range,
		     const struct maple_array *array, struct line_number *line)
{
	struct maple_print *print = array->at, *now = &print[array->n - 1];
	struct taken taken;

	memset(&taken, 0, sizeof(taken));
	memcpy(taken.bytes, bytes, insn->length);
	take_displacement(prints, insn, now->next, &taken);
	take_immediate(prints, insn, now->next, range, &taken);
	now->hash = XXH3_64bits(&taken, sizeof(taken));
	note_line(insn, &taken, array->n, line);
	if (insn->meta.category != ZYDIS_CATEGORY_CALL || !line->at ||
	    array->n - line->at > ASSERT_BACK)
		return;
	if (maple_names_is(taken.name[0] | taken.name[1], "__assert_fail"))
		print[line->at - 1].hash = line->hash;
}

static int decode(struct maple_prints *prints,
		  const struct maple_code_range *range,
		  struct maple_array *array)
{
	const uint8_t *bytes = maple_image_bytes(&prints->code, range->lo,
						 range->hi - range->lo);
	ZydisDecodedInstruction insn;
	ZydisDecoderContext context;
	struct line_number line = { 0 };
	struct maple_print *print;
	ZydisDecoder zydis;

	if (!bytes ||
	    !ZYAN_SUCCESS(ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64)))
		return -ENOENT;
	for (uint64_t addr = range->lo; addr < range->hi; addr += insn.length) {
		const uint8_t *at = bytes + (addr - range->lo);

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
			    &zydis, &context, at, range->hi - addr, &insn)))
			return -ENOENT;
		if (insn.mnemonic == ZYDIS_MNEMONIC_NOP)
			continue;
		print = maple_array_more(array, sizeof(*print));
		if (!print)
			return -ENOMEM;
		*print = (struct maple_print){
			.offset = addr,
			.next = addr + insn.length,
		};
		hash_one(prints, &insn, at, range, array, &line);
	}
	return 0;
}

static int compare_equals(const void *a, const void *b)
{
	const struct maple_print *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_offsets(const void *a, const void *b)
{
	const struct maple_print *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* From hashes of instructions to those of instructions in this function. */
static void settle(struct maple_body *body)
{
	struct {
		uint64_t name, whole, own, rank;
	} parts = { 0 };
	struct maple_print *print = body->print;
	XXH3_state_t *state = XXH3_createState();

	XXH3_64bits_reset(state);
	for (uint32_t i = 0; i < body->n; i++)
		XXH3_64bits_update(state, &print[i].hash, sizeof(print[i].hash));
	parts.whole = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	if (body->name)
		parts.name = XXH3_64bits(body->name, strlen(body->name));
	qsort(print, body->n, sizeof(*print), compare_equals);
	for (uint32_t i = 1; i < body->n; i++)
		if (print[i].hash == print[i - 1].hash)
			print[i].rank = print[i - 1].rank + 1;
	for (uint32_t i = 0; i < body->n; i++) {
		parts.own = print[i].hash;
		parts.rank = print[i].rank;
		print[i].hash = XXH3_64bits(&parts, sizeof(parts));
	}
	qsort(print, body->n, sizeof(*print), compare_offsets);
}

/*
 * maple_body_hash - fills in the body of range @range, once
 *
 * A function that cannot be decoded has no instructions. Returns 0 or
 * -ENOMEM.
 */
int maple_body_hash(struct maple_prints *prints, size_t range)
{
	const struct maple_code_range *ranges = prints->code.ranges.at;
	struct maple_body *body = &prints->body[range];
	struct maple_array array = { 0 };
	int ret;

	if (body->done)
		return 0;
	ret = decode(prints, &ranges[range], &array);
	if (ret == -ENOMEM) {
		free(array.at);
		return ret;
	}
	body->done = true;
	if (ret || !array.n) {
		free(array.at);
		return 0;
	}
	body->name = maple_names_function(prints, ranges[range].lo);
	body->print = array.at;
	body->n = array.n;
	settle(body);
	return 0;
}
