// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* --suppressions: read, used, and, if they are good for nothing, told. */
#include <stdlib.h>
#include <string.h>
#include <maple/suppressions.h>
#include "cli.h"

/*
 * maple_suppress_open - reads the file, if one was given
 *
 * Returns 0 or the exit status, the error said.
 */
int maple_suppress_open(struct maple_settings *settings)
{
	struct maple_error err = { "" };

	if (settings->suppressions &&
	    maple_suppressions_read(settings->suppressions,
				    &settings->campaign.suppressions, &err))
		return maple_say_error(MAPLE_STATUS_USAGE, "%s", err.text);
	return 0;
}

/*
 * maple_suppress_stored - marks the findings that the file names
 *
 * Without a file what was suppressed when it was found stays so.
 */
int maple_suppress_stored(struct maple_settings *settings,
			  struct maple_finding **findings, size_t n)
{
	struct maple_suppressions *s = settings->campaign.suppressions;

	for (size_t i = 0; s && i < n; i++) {
		const char *by = maple_suppressions_match(s, findings[i]);

		free(findings[i]->suppressed);
		findings[i]->suppressed = by ? strdup(by) : NULL;
		if (by && !findings[i]->suppressed)
			return maple_say_error(MAPLE_STATUS_FAILED,
					       "out of memory");
	}
	return 0;
}

/* maple_suppress_tell - with --verbose, what matched nothing */
void maple_suppress_tell(const struct maple_settings *settings)
{
	const struct maple_suppressions *s = settings->campaign.suppressions;
	const char *text;
	unsigned int line;

	for (size_t i = 0; settings->verbose; i++) {
		text = maple_suppressions_unused(s, i, &line);
		if (!text)
			break;
		maple_say_notice("%s:%u: suppression '%s' was not used",
				 settings->suppressions, line, text);
	}
}
