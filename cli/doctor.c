// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapletest doctor: what works here. It ends with a canary: a campaign on a
 * bug of our own, because answers about parts do not add up to the whole.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

#define PROBES	    64
#define CANARY_TIME 30.0 /* seconds; it is found in one or two */

static void print_probe(FILE *out, const struct maple_probe *p,
			const struct maple_report_style *style)
{
	static const char *const marks[][2] = {
		[MAPLE_PROBE_OK] = { "ok", "✓" },
		[MAPLE_PROBE_MISSING] = { "NO", "✗" },
		[MAPLE_PROBE_INFO] = { "--", "•" },
	};
	static const char *const colours[] = {
		[MAPLE_PROBE_OK] = "\033[32m",
		[MAPLE_PROBE_MISSING] = "\033[1;31m",
		[MAPLE_PROBE_INFO] = "",
	};

	fprintf(out, "%s%s%s %s: %s\n", style->colour ? colours[p->state] : "",
		marks[p->state][style->unicode], style->colour ? "\033[0m" : "",
		p->name, p->text);
	if (*p->mend)
		fprintf(out, "     to mend: %s\n", p->mend);
}

/* Fills @probe with what became of the canary. */
static void try_canary(struct maple_probe *probe)
{
	struct maple_campaign_options options = { .max_time = CANARY_TIME,
						  .quiet_target = true,
						  .confirm = 1 };
	struct maple_campaign_result *result = NULL;
	struct maple_memo *memo = NULL;
	struct maple_error err = { "" };
	char self[4096] = "";
	char *argv[] = { self, "__canary", NULL };

	probe->name = "canary";
	probe->state = MAPLE_PROBE_MISSING;
	options.argv = argv;
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
		snprintf(probe->text, sizeof(probe->text),
			 "/proc is not there: %m");
		return;
	}
	if (maple_memo_open(":memory:", 0, &memo, &err) ||
	    maple_campaign_run(&options, memo, &result, &err)) {
		snprintf(probe->text, sizeof(probe->text), "%.255s", err.text);
	} else if (result->outcome == MAPLE_FOUND) {
		probe->state = MAPLE_PROBE_OK;
		snprintf(probe->text, sizeof(probe->text),
			 "found its bug in %u run%s, %.1f s",
			 result->first_finding_runs,
			 result->first_finding_runs == 1 ? "" : "s",
			 result->first_finding_seconds);
	} else {
		snprintf(probe->text, sizeof(probe->text),
			 "its bug was NOT found in %u runs%s%.200s",
			 result->runs.profile + result->runs.enforced,
			 result->undelivered ? ": " : "",
			 result->undelivered ? result->undelivered : "");
	}
	maple_campaign_result_destroy(result);
	maple_memo_close(memo);
}

int maple_command_doctor(struct maple_settings *settings)
{
	struct maple_report_style style = maple_out_style(stdout, settings);
	static struct maple_probe probes[PROBES + 1];
	char *const *argv = settings->argc ? settings->argv : NULL;
	unsigned int n = maple_campaign_probe(argv, NULL, probes, PROBES);
	unsigned int missing = 0;

	for (unsigned int i = 0; i < n && !settings->format; i++)
		print_probe(stdout, &probes[i], &style);
	fflush(stdout);
	try_canary(&probes[n++]);
	if (settings->format)
		maple_report_json_probes(stdout, probes, n, NULL);
	else
		print_probe(stdout, &probes[n - 1], &style);
	for (unsigned int i = 0; i < n; i++)
		missing += probes[i].state == MAPLE_PROBE_MISSING;
	return maple_out_close(stdout,
			       missing ? MAPLE_STATUS_FAILED : MAPLE_STATUS_OK);
}
