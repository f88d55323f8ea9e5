// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapletest report --html and serve: the page, with what is known of programs:
 * their growth, and the map of what their runs have reached.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

/* What of a program is on the page; each build has one map. */
struct maple_page_program {
	struct maple_unreached map;
	char *why;
};

static int grow(struct maple_memo *memo, struct maple_report_program *program,
		struct maple_error *err)
{
	struct maple_memo_sample *samples;
	int e = maple_memo_samples(memo, program->info->id, 0, &samples,
				   &program->nsamples, err);

	if (!e)
		program->samples = samples;
	return e;
}

static const struct maple_report_program *
same_build(const struct maple_report_program *programs, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(programs[k].info->build_id,
			    programs[i].info->build_id))
			return &programs[k];
	return NULL;
}

static void add_map(struct maple_memo *memo, struct maple_page *page, size_t i)
{
	const struct maple_report_program *same = same_build(page->grown, i);
	struct maple_report_program *program = &page->grown[i];
	struct maple_page_program *own = &page->own[i];

	if (same) {
		program->map = same->map;
		program->unmapped = same->unmapped;
	} else if (!maple_map_find(memo, program->info, &own->map, &own->why)) {
		program->map = &own->map;
	} else {
		program->unmapped = own->why;
	}
}

/*
 * maple_page_fill - the programs of @memo, for @report
 * @most: only so many of them, the last used; 0: all
 * @maps: with their maps, which takes their binaries
 * @page: zeroed; to be emptied in any case, when @report is written
 */
int maple_page_fill(struct maple_memo *memo, size_t most, bool maps,
		    struct maple_page *page, struct maple_report *report,
		    struct maple_error *err)
{
	int e = maple_memo_programs(memo, &page->programs, &page->n, err);
	size_t n;

	if (e)
		return e;
	n = most && page->n > most ? most : page->n;
	page->grown = calloc(n + 1, sizeof(*page->grown));
	page->own = calloc(n + 1, sizeof(*page->own));
	if (!page->grown || !page->own)
		return maple_error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++, page->ngrown++) {
		page->grown[i].info = &page->programs[i];
		e = grow(memo, &page->grown[i], err);
		if (e)
			return e;
		if (maps)
			add_map(memo, page, i);
	}
	report->programs = page->grown;
	report->nprograms = n;
	return 0;
}

void maple_page_empty(struct maple_page *page)
{
	for (size_t i = 0; i < page->ngrown; i++) {
		maple_memo_samples_destroy((void *)page->grown[i].samples,
					   page->grown[i].nsamples);
		maple_unreached_deinit(&page->own[i].map);
		free(page->own[i].why);
	}
	free(page->grown);
	free(page->own);
	if (page->programs)
		maple_memo_programs_destroy(page->programs, page->n);
}

/*
 * maple_machines_fill - the machines of @memo, and its hours, for @report
 * @always: else if there are two machines at least
 *
 * maple_machines_empty - when it is written, in any case
 */
int maple_machines_fill(struct maple_memo *memo, bool always,
			struct maple_report *report, struct maple_error *err)
{
	struct maple_memo_machine *machines;
	struct maple_memo_hour *hours;
	int e = maple_memo_machines(memo, always, &machines, &report->nmachines,
				    err);

	if (e)
		return e;
	report->machines = machines;
	if (!report->nmachines)
		return 0;
	e = maple_memo_hours(memo, &hours, &report->nhours, err);
	if (!e)
		report->hours = hours;
	return e;
}

void maple_machines_empty(struct maple_report *report)
{
	maple_memo_machines_destroy((void *)report->machines, report->nmachines);
	free((void *)report->hours);
	report->machines = NULL;
	report->hours = NULL;
	report->nmachines = report->nhours = 0;
}

static int write_page(struct maple_memo *memo, FILE *out,
		      struct maple_report *report, struct maple_error *err)
{
	struct maple_page page = { 0 };
	int e = maple_page_fill(memo, 0, true, &page, report, err);

	if (!e)
		e = maple_report_html(out, report, err);
	report->programs = NULL;
	report->nprograms = 0;
	maple_page_empty(&page);
	return e;
}

/*
 * maple_page_write - writes @report to the file of --html
 *
 * Returns 0 or the exit status, the error said.
 */
int maple_page_write(struct maple_memo *memo,
		     const struct maple_settings *settings,
		     struct maple_report *report)
{
	struct maple_error err = { "" };
	FILE *out = fopen(settings->html, "we");
	int e;

	if (!out)
		return maple_say_error(MAPLE_STATUS_FAILED, "--html '%s': %s",
				       settings->html, strerror(errno));
	maple_out_about(settings, report);
	e = write_page(memo, out, report, &err);
	if (fclose(out) && !e)
		e = maple_error_set(&err, errno,
				    "the report could not be written: %m");
	return e ? maple_say_error(MAPLE_STATUS_FAILED, "--html '%s': %s",
				   settings->html, err.text)
		 : 0;
}
