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
		return maple_say_error(MAPLE_STATUS_FAILED, "%s", err.text);
	if (settings->format) {
		if (maple_report_json_unreached(out, program, &map, &err))
			ret = maple_say_error(MAPLE_STATUS_FAILED, "%s",
					      err.text);
	} else {
		maple_database_name(out, program);
		fputs("\n\n", out);
		maple_report_unreached(out, &map, &style);
	}
	maple_unreached_deinit(&map);
	return ret;
}
