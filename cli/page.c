// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest report --html and serve: the page, with the growth of programs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

/*
 * maple_page_fill - the programs of @memo with their growth, for @report
 * @most: only so many of them, the last used; 0: all
 * @page: zeroed; to be emptied in any case, when @report is written
 */
int maple_page_fill(struct maple_memo *memo, size_t most,
		    struct maple_page *page, struct maple_report *report,
		    struct maple_error *err)
{
	size_t n;
	int e = maple_memo_programs(memo, &page->programs, &page->n, err);

	if (e)
		return e;
	n = most && page->n > most ? most : page->n;
	page->grown = calloc(n + 1, sizeof(*page->grown));
	if (!page->grown)
		return maple_error_set(err, ENOMEM, "out of memory");
	for (; page->ngrown < n; page->ngrown++) {
		struct maple_report_program *grown = &page->grown[page->ngrown];
		struct maple_memo_sample *samples;

		grown->info = &page->programs[page->ngrown];
		e = maple_memo_samples(memo, grown->info->id, 0, &samples,
				       &grown->nsamples, err);
		if (e)
			return e;
		grown->samples = samples;
	}
	report->programs = page->grown;
	report->nprograms = n;
	return 0;
}

void maple_page_empty(struct maple_page *page)
{
	for (size_t i = 0; i < page->ngrown; i++)
		maple_memo_samples_destroy((void *)page->grown[i].samples,
					   page->grown[i].nsamples);
	free(page->grown);
	if (page->programs)
		maple_memo_programs_destroy(page->programs, page->n);
}

static int write_page(struct maple_memo *memo, FILE *out,
		      struct maple_report *report, struct maple_error *err)
{
	struct maple_page page = { 0 };
	int e = maple_page_fill(memo, 0, &page, report, err);

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
