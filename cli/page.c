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

/* What of a program is on the page; each build has one map. */
struct grown {
	struct maple_unreached map;
	char *why;
};

static int grow(struct maple_memo *memo, struct maple_report_program *program,
		struct grown *grown, const struct maple_report_program *same)
{
	struct maple_memo_sample *samples;
	struct maple_error err = { "" };

	if (maple_memo_samples(memo, program->info->id, 0, &samples,
			       &program->nsamples, &err))
		return maple_say_error(MAPLE_STATUS_FAILED, "%s", err.text);
	program->samples = samples;
	if (same) {
		program->map = same->map;
		program->unmapped = same->unmapped;
	} else if (!maple_map_find(memo, program->info, &grown->map,
				   &grown->why)) {
		program->map = &grown->map;
	}
	if (!program->map && !same)
		program->unmapped = grown->why;
	return 0;
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
	struct maple_memo_program_info *infos;
	struct maple_report_program *programs;
	struct grown *grown;
	struct maple_error err = { "" };
	size_t n, i;
	int ret = 0;

	if (maple_memo_programs(memo, &infos, &n, &err))
		return maple_say_error(MAPLE_STATUS_FAILED, "%s", err.text);
	programs = calloc(n + 1, sizeof(*programs));
	grown = calloc(n + 1, sizeof(*grown));
	if (!programs || !grown)
		ret = maple_say_error(MAPLE_STATUS_FAILED, "out of memory");
	for (i = 0; !ret && i < n; i++) {
		programs[i].info = &infos[i];
		ret = grow(memo, &programs[i], &grown[i],
			   same_build(programs, i));
	}
	report->programs = programs;
	report->nprograms = n;
	if (!ret)
		ret = write_page(settings, report);
	report->programs = NULL;
	report->nprograms = 0;
	for (i = 0; programs && grown && i < n; i++) {
		maple_memo_samples_destroy((void *)programs[i].samples,
					   programs[i].nsamples);
		maple_unreached_deinit(&grown[i].map);
		free(grown[i].why);
	}
	free(programs);
	free(grown);
	maple_memo_programs_destroy(infos, n);
	return ret;
}
