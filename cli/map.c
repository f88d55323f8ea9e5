// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The map of a program of the memo: what of its pairs of places that may meet
 * runs have reached. Nobody asked for it by name where coverage and the page
 * have it, so there it is left out when it cannot be had, and why is said.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli.h"

#define LISTED 20 /* programs of a report, those that were used last */

/* Root reads what users own only when it is asked to. */
static bool is_a_strangers(const struct maple_memo_program_info *program)
{
	struct stat st;

	return !geteuid() && program->path && !stat(program->path, &st) &&
	       st.st_uid;
}

/*
 * maple_map_find - the map of @program, unasked
 * @why: to be freed, if there is none
 *
 * Returns 0, or -errno.
 */
int maple_map_find(struct maple_memo *memo,
		   const struct maple_memo_program_info *program,
		   struct maple_unreached *map, char **why)
{
	struct maple_error err = { "" };
	int e;

	*why = NULL;
	if (is_a_strangers(program))
		e = maple_error_set(&err, EPERM,
				    "%s is another user's; coverage "
				    "--unreached reads it all the same",
				    program->path);
	else
		e = maple_unreached_find(memo, program, map, &err);
	if (e)
		*why = strdup(err.text);
	return e;
}

/* Each build has one map, whatever its inputs. */
static bool is_repeated(const struct maple_report_program *programs, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (programs[k].map == programs[i].map &&
		    programs[k].unmapped == programs[i].unmapped)
			return true;
	return false;
}

/*
 * maple_map_list - of the programs that were tested last, for the end of a report
 *
 * Returns 0, or the exit status, the error said.
 */
int maple_map_list(struct maple_memo *memo,
		   const struct maple_settings *settings, FILE *out)
{
	struct maple_report_style style = maple_out_style(out, settings);
	struct maple_page page = { 0 };
	struct maple_report report = { 0 };
	struct maple_error err = { "" };
	int e = maple_page_fill(memo, LISTED, true, &page, &report, &err);

	for (size_t i = 0; !e && i < report.nprograms; i++) {
		const struct maple_report_program *p = &report.programs[i];

		if (is_repeated(report.programs, i))
			continue;
		putc('\n', out);
		maple_database_name(out, p->info);
		if (p->map) {
			fputs("\n", out);
			maple_report_unexecuted(out, p->map, &style);
		} else {
			fputs(": which places may meet is not known: ", out);
			maple_report_clean(out, p->unmapped ? p->unmapped
							    : "out of memory");
			putc('\n', out);
		}
	}
	maple_page_empty(&page);
	return e ? maple_say_failed(&err) : 0;
}

/* maple_map_print - coverage --unreached: 0, or the exit status */
int maple_map_print(struct maple_memo *memo,
		    const struct maple_settings *settings,
		    const struct maple_memo_program_info *program, FILE *out)
{
	struct maple_report_style style = maple_out_style(out, settings);
	struct maple_unreached map;
	struct maple_error err = { "" };
	int ret = 0;

	if (maple_unreached_find(memo, program, &map, &err))
		return maple_say_failed(&err);
	if (settings->format) {
		if (maple_report_json_unreached(out, program, &map, &err))
			ret = maple_say_failed(&err);
	} else {
		maple_database_name(out, program);
		fputs("\n\n", out);
		maple_report_unreached(out, &map, &style);
	}
	maple_unreached_deinit(&map);
	return ret;
}
