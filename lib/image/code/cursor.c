// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Numbers and pointers of call frame information, as they stand in an image's
 * loaded bytes.
 */
#include <dwarf.h>
#include <string.h>
#include "image/internal.h"

/* maple_cursor_at - from @addr to the end of the segment that it is in */
struct maple_cursor maple_cursor_at(const struct maple_image *image,
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

/* maple_cursor_left - bytes before the end */
uint64_t maple_cursor_left(const struct maple_cursor *c)
{
	return c->bad ? 0 : c->end - c->at;
}

/* maple_cursor_skip - @size bytes on; bad beyond the end */
void maple_cursor_skip(struct maple_cursor *c, uint64_t size)
{
	if (size > maple_cursor_left(c)) {
		c->bad = true;
		return;
	}
	c->at += size;
	c->addr += size;
}

/* maple_cursor_number - little-endian; 0 and bad beyond the end */
uint64_t maple_cursor_number(struct maple_cursor *c, unsigned int size)
{
	uint64_t value = 0;

	if (size > maple_cursor_left(c)) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->at, size);
	maple_cursor_skip(c, size);
	return value;
}

/* maple_cursor_uleb - an unsigned LEB128; what is above 64 bits is lost */
uint64_t maple_cursor_uleb(struct maple_cursor *c)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; maple_cursor_left(c); shift += 7) {
		uint8_t byte = maple_cursor_number(c, 1);

		if (shift < 64)
			value |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128))
			return value;
	}
	c->bad = true;
	return 0;
}

/* maple_cursor_sleb - a signed LEB128 */
int64_t maple_cursor_sleb(struct maple_cursor *c)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; maple_cursor_left(c);) {
		uint8_t byte = maple_cursor_number(c, 1);

		if (shift < 64)
			value |= (uint64_t)(byte & 127) << shift;
		shift += 7;
		if (byte & 128)
			continue;
		if (byte & 64 && shift < 64)
			value |= ~0ull << shift;
		return (int64_t)value;
	}
	c->bad = true;
	return 0;
}

/* maple_cursor_encoded - a pointer by its DW_EH_PE encoding; indirect and odd
 * ones make bad */
uint64_t maple_cursor_encoded(struct maple_cursor *c, uint8_t enc)
{
	uint64_t place = c->addr, value;

	if (enc == DW_EH_PE_omit)
		return 0;
	switch (enc & 15) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = maple_cursor_number(c, 8);
		break;
	case DW_EH_PE_udata4:
		value = maple_cursor_number(c, 4);
		break;
	case DW_EH_PE_sdata4:
		value = (int64_t)(int32_t)maple_cursor_number(c, 4);
		break;
	case DW_EH_PE_udata2:
		value = maple_cursor_number(c, 2);
		break;
	case DW_EH_PE_sdata2:
		value = (int64_t)(int16_t)maple_cursor_number(c, 2);
		break;
	case DW_EH_PE_uleb128:
		value = maple_cursor_uleb(c);
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
