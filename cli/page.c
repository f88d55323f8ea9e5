// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest report --html: the page, with the growth of every program. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

static int write_page(const struct maple_settings *settings,
		      struct maple_report *report)
{
	struct maple_error err = { "" };
	FILE *out = fopen(settings->html, "we");
	int ret;

	if (!out)
		return maple_say_error(MAPLE_STATUS_FAILED, "--html '%s': %s",
				       settings->html, strerror(errno));
	maple_out_about(settings, report);
	ret = maple_report_html(out, report, &err);
	if (fclose(out) && !ret)
		ret = maple_error_set(&err, errno,
				      "the report could not be written: %m");
	return ret ? maple_say_error(MAPLE_STATUS_FAILED, "--html '%s': %s",
				     settings->html, err.text)
		   : 0;
}

/*
 * maple_page_write - writes @report to the file of --html
 *
 * Fills in @report's programs for the time of the call. Returns 0 or the exit
 * status, the error said.
 */
int maple_page_write(struct maple_memo *memo,
		     const struct maple_settings *settings,
		     struct maple_report *report)
{
	struct maple_memo_program_info *programs;
	struct maple_report_program *grown;
	struct maple_error err = { "" };
	size_t n, done = 0;
	int ret;

	if (maple_memo_programs(memo, &programs, &n, &err))
		return maple_say_error(MAPLE_STATUS_FAILED, "%s", err.text);
	grown = calloc(n + 1, sizeof(*grown));
	ret = grown ? 0 : maple_say_error(MAPLE_STATUS_FAILED, "out of memory");
	for (; !ret && done < n; done++) {
		struct maple_memo_sample *samples;

		if (maple_memo_samples(memo, programs[done].id, 0, &samples,
				       &grown[done].nsamples, &err)) {
			ret = maple_say_error(MAPLE_STATUS_FAILED, "%s",
					      err.text);
			break;
		}
		grown[done].info = &programs[done];
		grown[done].samples = samples;
	}
	report->programs = grown;
	report->nprograms = done;
	if (!ret)
		ret = write_page(settings, report);
	report->programs = NULL;
	report->nprograms = 0;
	for (size_t i = 0; i < done; i++)
		maple_memo_samples_destroy((void *)grown[i].samples,
					   grown[i].nsamples);
	free(grown);
	maple_memo_programs_destroy(programs, n);
	return ret;
}
