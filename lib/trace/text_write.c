// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Writes the text form that text.c reads. */
#include <errno.h>
#include "text.h"

static void write_object(FILE *out, const struct maple_event *event, char letter)
{
	uint64_t at = event->addr - maple_text_base(letter);
	uint64_t size = event->size;

	if (event->kind == MAPLE_EV_FREE || event->kind == MAPLE_EV_ALLOC)
		size = event->value;
	fprintf(out, " %c%llu", letter,
		(unsigned long long)(at / MAPLE_TEXT_SPACING));
	if (at % MAPLE_TEXT_SPACING)
		fprintf(out, "+%u", (unsigned int)(at % MAPLE_TEXT_SPACING));
	if (letter == 'x' && size != 4)
		fprintf(out, ":%llu", (unsigned long long)size);
}

static bool write_event(FILE *out, const struct maple_event *event)
{
	const struct maple_text_form *form = maple_text_forms;
	const struct maple_text_flag *flag;

	if (event->kind == MAPLE_EV_START)
		return true;
	while (form->word && form->kind != event->kind)
		form++;
	if (!form->word)
		return false;
	if (form->object && form->object != 'T' &&
	    (event->addr < maple_text_base(form->object) ||
	     event->addr - maple_text_base(form->object) >=
		     (uint64_t)MAPLE_TEXT_OBJECTS * MAPLE_TEXT_SPACING))
		return false;
	fprintf(out, "T%u %s", event->thread + 1u, form->word);
	if (form->site)
		fprintf(out, " s%u", event->site);
	if (form->object == 'T')
		fprintf(out, " T%u", event->aux + 1);
	else if (form->object)
		write_object(out, event, form->object);
	for (flag = maple_text_flags; flag->word; flag++)
		if (event->flags & flag->flag)
			fprintf(out, " %s", flag->word);
	fputc('\n', out);
	return true;
}

/* maple_trace_text_print_iroot - `1 W7 R5`, without a newline */
void maple_trace_text_print_iroot(FILE *out, const struct maple_iroot *iroot)
{
	static const char letters[] = "?RW?LU";
	unsigned int idiom = iroot->idiom;

	fprintf(out, "%u",
		idiom == MAPLE_IDIOM_DEADLOCK ? MAPLE_IDIOM_5 : idiom);
	for (unsigned int i = 0; i < maple_iroot_events(idiom); i++) {
		uint32_t kind = iroot->e[i].kind;

		fprintf(out, " %c%u", kind < 6 ? letters[kind] : '?',
			iroot->e[i].site);
	}
}

/*
 * maple_trace_text_write - writes @block so that it can be read back
 *
 * Errors: -EINVAL an event has no text form, -EIO.
 */
int maple_trace_text_write(FILE *out, const struct maple_trace_block *block)
{
	fprintf(out, "trace %u%s\n", block->number,
		block->deadlock ? " deadlock" : "");
	for (size_t i = 0; i < block->nevents; i++)
		if (!write_event(out, &block->events[i]))
			return -EINVAL;
	for (size_t i = 0; i < block->nexpects; i++) {
		fprintf(out, "expect %s ",
			block->expects[i].predicted ? "predicted" : "observed");
		maple_trace_text_print_iroot(out, &block->expects[i].iroot);
		fputc('\n', out);
	}
	fprintf(out, "end\n\n");
	return ferror(out) ? -EIO : 0;
}
