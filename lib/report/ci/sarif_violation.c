// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A violation of an atomic set as a SARIF result: a note, that no reader takes
 * for a failure, unless the set was declared and --strict-sets asked.
 */
#include <stdlib.h>
#include "base/bytes.h"
#include "report/codec.h"
#include "report/words.h"
#include "sarif.h"

static json_t *message_of(const struct maple_finding *f)
{
	char *text = maple_words_violation(f);
	json_t *string = text ? maple_bytes_encode(text) : NULL;

	free(text);
	return string;
}

/* As the user's file of suppressions has it. */
static json_t *suppressions_of(const struct maple_finding *f)
{
	return f->suppressed ? json_pack("[{s:s, s:o}]", "kind", "external",
					 "justification",
					 maple_bytes_encode(f->suppressed))
			     : json_array();
}

/* maple_sarif_violation - @f as a result; NULL: no memory */
json_t *maple_sarif_violation(const struct maple_report *report,
			      const struct maple_finding *f, bool fails)
{
	json_t *related = json_array();

	for (unsigned int i = 1; i < f->nmoments; i++)
		json_array_append_new(related,
				      maple_sarif_location(report->root,
							   &f->moments[i].place,
							   NULL));
	return json_pack(
		"{s:o, s:i, s:s, s:s, s:{s:o}, s:[o], s:o, s:i, s:o,"
		" s:{s:o}}",
		"ruleId", maple_sarif_violation_id(), "ruleIndex",
		(int)maple_sarif_violation_rule(), "level",
		fails ? "error" : "none", "kind",
		fails ? "fail" : "informational", "message", "text",
		message_of(f), "locations",
		maple_sarif_location(report->root, &f->moments[0].place, NULL),
		"relatedLocations", related, "occurrenceCount",
		(int)f->violation.runs, "suppressions", suppressions_of(f),
		"properties", "violation", maple_codec_violation(f));
}
