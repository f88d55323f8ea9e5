// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Relocations: a pointer in a position-independent image stands in its
 * relocation, not in its place. Applying the relative ones to our copy lets
 * everything after this read pointers as the program will.
 */
#include <errno.h>
#include <string.h>
#include "internal.h"

struct dynamic {
	uint64_t rela, rela_size, rela_entry;
};

static void read_dynamic(const struct maple_image *image, struct dynamic *dyn)
{
	uint64_t n = image->dynamic_size / sizeof(Elf64_Dyn);

	for (uint64_t i = 0; i < n; i++) {
		const uint8_t *at = maple_image_bytes(
			image, image->dynamic + i * sizeof(Elf64_Dyn),
			sizeof(Elf64_Dyn));
		Elf64_Dyn entry;

		if (!at)
			break;
		memcpy(&entry, at, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_RELA)
			dyn->rela = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_RELASZ)
			dyn->rela_size = entry.d_un.d_val;
		else if (entry.d_tag == DT_RELAENT)
			dyn->rela_entry = entry.d_un.d_val;
	}
}

/*
 * maple_image_relocate - puts the addends of R_X86_64_RELATIVE and IRELATIVE
 * relocations where they apply
 *
 * DT_RELR relocations have their addends in place already; relocations to
 * symbols lead to symbols, which count as targets themselves.
 */
int maple_image_relocate(struct maple_image *image)
{
	struct dynamic dyn = { 0 };
	uint64_t n;

	read_dynamic(image, &dyn);
	if (dyn.rela_entry != sizeof(Elf64_Rela))
		return 0;
	n = dyn.rela_size / sizeof(Elf64_Rela);
	for (uint64_t i = 0; i < n; i++) {
		const uint8_t *at = maple_image_bytes(
			image, dyn.rela + i * sizeof(Elf64_Rela),
			sizeof(Elf64_Rela));
		uint8_t *place;
		Elf64_Rela rela;
		uint64_t type;

		if (!at)
			break;
		memcpy(&rela, at, sizeof(rela));
		type = ELF64_R_TYPE(rela.r_info);
		if (type != R_X86_64_RELATIVE && type != R_X86_64_IRELATIVE)
			continue;
		place = (uint8_t *)maple_image_bytes(image, rela.r_offset, 8);
		if (place)
			memcpy(place, &rela.r_addend, 8);
		maple_image_mark(image, rela.r_addend);
	}
	return 0;
}
