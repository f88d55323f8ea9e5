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

#define RETURN 16 /* the column of the return address */

struct cie {
	uint64_t id;	 /* address; 0: none read yet */
	uint8_t pointer; /* encodings, DW_EH_PE_* */
	uint8_t lsda;
	bool sized; /* 'z': augmentation data has a length */
	bool usable;
	bool rows; /* its instructions can be followed */
	struct maple_unwind unwind;
};

/* What stands behind the augmentation, which begins at @c. */
static void read_unwind(struct cie *cie, struct maple_cursor c, uint64_t ret,
			bool signal)
{
	if (cie->sized)
		maple_cursor_skip(&c, maple_cursor_uleb(&c));
	cie->unwind.initial = c;
	/* A signal frame's pc is no return address. */
	cie->rows = cie->usable && !c.bad && ret == RETURN && !signal;
}

static void read_cie(struct cie *cie, struct maple_cursor c)
{
	char letters[8] = "";
	unsigned int n = 0;
	uint64_t ret;
	uint8_t letter, version;
	struct maple_cursor data;

	*cie = (struct cie){ .pointer = DW_EH_PE_absptr, .lsda = DW_EH_PE_omit };
	version = maple_cursor_number(&c, 1);
	while ((letter = maple_cursor_number(&c, 1)) && n < sizeof(letters) - 1)
		letters[n++] = letter;
	if (letter || !strncmp(letters, "eh", 2))
		return;
	cie->unwind.code = maple_cursor_uleb(&c);
	cie->unwind.data = maple_cursor_sleb(&c);
	ret = version == 1 ? maple_cursor_number(&c, 1) : maple_cursor_uleb(&c);
	cie->sized = letters[0] == 'z';
	data = c;
	if (cie->sized)
		maple_cursor_uleb(&c);
	for (unsigned int i = cie->sized; cie->sized && letters[i]; i++) {
		if (letters[i] == 'R')
			cie->pointer = maple_cursor_number(&c, 1);
		else if (letters[i] == 'L')
			cie->lsda = maple_cursor_number(&c, 1);
		else if (letters[i] == 'P')
			/* Where the personality is does not matter. */
			maple_cursor_encoded(&c,
					     maple_cursor_number(&c, 1) & 15);
	}
	cie->usable = !c.bad && (cie->sized || !letters[0]);
	read_unwind(cie, data, ret, strchr(letters, 'S'));
}

static int read_fde(struct maple_image *image, const struct cie *cie,
		    struct maple_cursor c)
{
	struct maple_code_range range = { .framed = true };
	struct maple_code_range *new;
	struct maple_cursor behind;
	uint64_t size;

	range.lo = maple_cursor_encoded(&c, cie->pointer);
	size = maple_cursor_encoded(&c, cie->pointer & 15);
	if (c.bad || !size || !maple_image_in_text(image, range.lo) ||
	    size > image->text_hi - range.lo)
		return 0;
	range.hi = range.lo + size;
	behind = c;
	if (cie->sized) {
		size = maple_cursor_uleb(&c);
		behind = c;
		maple_cursor_skip(&behind, size);
		range.lsda = maple_cursor_encoded(&c, cie->lsda & 0x7f);
		if (c.bad || cie->lsda == DW_EH_PE_omit)
			range.lsda = 0;
	}
	new = maple_array_more(&image->ranges, sizeof(*new));
	if (!new)
		return -ENOMEM;
	*new = range;
	return cie->rows && !behind.bad
		       ? maple_unwind_range(image, &cie->unwind, behind,
					    range.lo, range.hi)
		       : 0;
}

/* .eh_frame's start: from its header, else from the section table. */
static uint64_t find_frames(const struct maple_image *image)
{
	struct maple_cursor c;
	GElf_Shdr sh;
	uint8_t enc;

	if (image->frame_hdr) {
		c = maple_cursor_at(image, image->frame_hdr);
		if (maple_cursor_number(&c, 1) == 1) {
			enc = maple_cursor_number(&c, 1);
			maple_cursor_skip(&c, 2);
			return maple_cursor_encoded(&c, enc);
		}
	}
	return maple_image_section(image, ".eh_frame", &sh) ? sh.sh_addr : 0;
}

/* maple_image_frames - adds the range of each frame description */
int maple_image_frames(struct maple_image *image)
{
	uint64_t addr = find_frames(image);
	struct maple_cursor c = maple_cursor_at(image, addr);
	struct cie cie = { 0 };

	while (addr && maple_cursor_left(&c) >= 8) {
		uint64_t length = maple_cursor_number(&c, 4), at, id;
		struct maple_cursor entry = c;

		if (!length || length == 0xffffffff ||
		    length > maple_cursor_left(&c))
			break;
		entry.end = entry.at + length;
		maple_cursor_skip(&c, length);
		at = entry.addr;
		id = maple_cursor_number(&entry, 4);
		if (entry.bad || !id)
			continue;
		if (at - id != cie.id) {
			struct maple_cursor head =
				maple_cursor_at(image, at - id);

			length = maple_cursor_number(&head, 4);
			if (!head.bad && length <= maple_cursor_left(&head))
				head.end = head.at + length;
			maple_cursor_skip(&head, 4);
			read_cie(&cie, head);
			cie.id = at - id;
		}
		if (cie.usable && read_fde(image, &cie, entry))
			return -ENOMEM;
	}
	maple_unwind_finish(image);
	return 0;
}

/*
 * maple_image_landings - marks where the unwinder may enter @range: the
 * landing pads in its language-specific data
 */
void maple_image_landings(struct maple_image *image,
			  const struct maple_code_range *range)
{
	struct maple_cursor c = maple_cursor_at(image, range->lsda);
	uint64_t base = range->lo, size;
	/* A call is a byte at least: a bound that no honest table meets. */
	uint64_t calls = range->hi - range->lo;
	uint8_t enc;

	if (!range->lsda)
		return;
	enc = maple_cursor_number(&c, 1);
	if (enc != DW_EH_PE_omit)
		base = maple_cursor_encoded(&c, enc);
	enc = maple_cursor_number(&c, 1);
	if (enc != DW_EH_PE_omit)
		maple_cursor_uleb(&c);
	enc = maple_cursor_number(&c, 1);
	size = maple_cursor_uleb(&c);
	if (c.bad || size > maple_cursor_left(&c))
		return;
	c.end = c.at + size;
	while (maple_cursor_left(&c) && calls--) {
		uint64_t pad;

		maple_cursor_encoded(&c, enc);
		maple_cursor_encoded(&c, enc);
		pad = maple_cursor_encoded(&c, enc);
		maple_cursor_uleb(&c);
		if (c.bad)
			return;
		if (pad)
			maple_image_mark(image, base + pad);
	}
}
