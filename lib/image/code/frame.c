// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Call frame information: .eh_frame gives the ranges of functions, also in
 * stripped binaries, and leads to the landing pads of exceptions. It is read
 * from the loaded bytes, since section headers may be missing.
 */
#include <dwarf.h>
#include <errno.h>
#include <string.h>
#include "image/internal.h"

struct cie {
	uint64_t id;	 /* address; 0: none read yet */
	uint8_t pointer; /* encodings, DW_EH_PE_* */
	uint8_t lsda;
	bool sized; /* 'z': augmentation data has a length */
	bool usable;
};

/* To the end of the segment that @addr is in. */
static struct maple_cursor cursor_at(const struct maple_image *image,
				     uint64_t addr)
{
	for (unsigned int i = 0; i < image->nsegs; i++) {
		const struct maple_segment *seg = &image->seg[i];
		struct maple_cursor c = { .addr = addr };

		if (addr < seg->lo || addr - seg->lo >= seg->filesz)
			continue;
		c.at = seg->bytes + (addr - seg->lo);
		c.end = seg->bytes + seg->filesz;
		return c;
	}
	return (struct maple_cursor){ .bad = true };
}

static uint64_t left(const struct maple_cursor *c)
{
	return c->bad ? 0 : c->end - c->at;
}

static void skip(struct maple_cursor *c, uint64_t size)
{
	if (size > left(c)) {
		c->bad = true;
		return;
	}
	c->at += size;
	c->addr += size;
}

/* Little-endian; 0 and bad beyond the end. */
static uint64_t number(struct maple_cursor *c, unsigned int size)
{
	uint64_t value = 0;

	if (size > left(c)) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->at, size);
	skip(c, size);
	return value;
}

static uint64_t uleb(struct maple_cursor *c)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; left(c); shift += 7) {
		uint8_t byte = number(c, 1);

		if (shift < 64)
			value |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128))
			return value;
	}
	c->bad = true;
	return 0;
}

/* A pointer by its DW_EH_PE encoding; indirect and odd ones make bad. */
static uint64_t encoded(struct maple_cursor *c, uint8_t enc)
{
	uint64_t place = c->addr, value;

	if (enc == DW_EH_PE_omit)
		return 0;
	switch (enc & 15) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = number(c, 8);
		break;
	case DW_EH_PE_udata4:
		value = number(c, 4);
		break;
	case DW_EH_PE_sdata4:
		value = (int64_t)(int32_t)number(c, 4);
		break;
	case DW_EH_PE_udata2:
		value = number(c, 2);
		break;
	case DW_EH_PE_sdata2:
		value = (int64_t)(int16_t)number(c, 2);
		break;
	case DW_EH_PE_uleb128:
		value = uleb(c);
		break;
	default:
		c->bad = true;
		return 0;
	}
	if (value && (enc & 0x70) == DW_EH_PE_pcrel)
		value += place;
	else if ((enc & 0x70) != DW_EH_PE_absptr && value)
		c->bad = true;
	return value;
}

static void read_cie(struct cie *cie, struct maple_cursor c)
{
	char letters[8] = "";
	unsigned int n = 0;
	uint8_t letter, version;

	*cie = (struct cie){ .pointer = DW_EH_PE_absptr, .lsda = DW_EH_PE_omit };
	version = number(&c, 1);
	while ((letter = number(&c, 1)) && n < sizeof(letters) - 1)
		letters[n++] = letter;
	if (letter || !strncmp(letters, "eh", 2))
		return;
	uleb(&c);
	uleb(&c);
	if (version == 1)
		number(&c, 1);
	else
		uleb(&c);
	cie->sized = letters[0] == 'z';
	if (cie->sized)
		uleb(&c);
	for (unsigned int i = cie->sized; cie->sized && letters[i]; i++) {
		if (letters[i] == 'R')
			cie->pointer = number(&c, 1);
		else if (letters[i] == 'L')
			cie->lsda = number(&c, 1);
		else if (letters[i] == 'P')
			/* Where the personality is does not matter. */
			encoded(&c, number(&c, 1) & 15);
	}
	cie->usable = !c.bad && (cie->sized || !letters[0]);
}

static int read_fde(struct maple_image *image, const struct cie *cie,
		    struct maple_cursor c)
{
	struct maple_code_range range = { .framed = true };
	struct maple_code_range *new;
	uint64_t size;

	range.lo = encoded(&c, cie->pointer);
	size = encoded(&c, cie->pointer & 15);
	if (c.bad || !size || !maple_image_in_text(image, range.lo) ||
	    size > image->text_hi - range.lo)
		return 0;
	range.hi = range.lo + size;
	if (cie->sized) {
		uleb(&c);
		range.lsda = encoded(&c, cie->lsda & 0x7f);
		if (c.bad || cie->lsda == DW_EH_PE_omit)
			range.lsda = 0;
	}
	new = maple_array_more(&image->ranges, sizeof(*new));
	if (!new)
		return -ENOMEM;
	*new = range;
	return 0;
}

/* .eh_frame's start: from its header, else from the section table. */
static uint64_t find_frames(const struct maple_image *image)
{
	struct maple_cursor c;
	Elf_Scn *scn = NULL;
	size_t names;
	uint8_t enc;

	if (image->frame_hdr) {
		c = cursor_at(image, image->frame_hdr);
		if (number(&c, 1) == 1) {
			enc = number(&c, 1);
			skip(&c, 2);
			return encoded(&c, enc);
		}
	}
	if (!image->elf || elf_getshdrstrndx(image->elf, &names))
		return 0;
	while ((scn = elf_nextscn(image->elf, scn))) {
		const char *name;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(image->elf, names, sh.sh_name);
		if (name && !strcmp(name, ".eh_frame"))
			return sh.sh_addr;
	}
	return 0;
}

/* maple_image_frames - adds the range of each frame description */
int maple_image_frames(struct maple_image *image)
{
	uint64_t addr = find_frames(image);
	struct maple_cursor c = cursor_at(image, addr);
	struct cie cie = { 0 };

	while (addr && left(&c) >= 8) {
		uint64_t length = number(&c, 4), at, id;
		struct maple_cursor entry = c;

		if (!length || length == 0xffffffff || length > left(&c))
			break;
		entry.end = entry.at + length;
		skip(&c, length);
		at = entry.addr;
		id = number(&entry, 4);
		if (entry.bad || !id)
			continue;
		if (at - id != cie.id) {
			struct maple_cursor head = cursor_at(image, at - id);

			skip(&head, 8);
			read_cie(&cie, head);
			cie.id = at - id;
		}
		if (cie.usable && read_fde(image, &cie, entry))
			return -ENOMEM;
	}
	return 0;
}

/*
 * maple_image_landings - marks where the unwinder may enter @range: the
 * landing pads in its language-specific data
 */
void maple_image_landings(struct maple_image *image,
			  const struct maple_code_range *range)
{
	struct maple_cursor c = cursor_at(image, range->lsda);
	uint64_t base = range->lo, size;
	/* A call is a byte at least: a bound that no honest table meets. */
	uint64_t calls = range->hi - range->lo;
	uint8_t enc;

	if (!range->lsda)
		return;
	enc = number(&c, 1);
	if (enc != DW_EH_PE_omit)
		base = encoded(&c, enc);
	enc = number(&c, 1);
	if (enc != DW_EH_PE_omit)
		uleb(&c);
	enc = number(&c, 1);
	size = uleb(&c);
	if (c.bad || size > left(&c))
		return;
	c.end = c.at + size;
	while (left(&c) && calls--) {
		uint64_t pad;

		encoded(&c, enc);
		encoded(&c, enc);
		pad = encoded(&c, enc);
		uleb(&c);
		if (c.bad)
			return;
		if (pad)
			maple_image_mark(image, base + pad);
	}
}
