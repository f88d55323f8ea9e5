// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapletest doctor: what works here. It ends with a canary: a campaign on a
 * bug of our own, because answers about parts do not add up to the whole.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

#define PROBES	    64
#define CANARY_TIME 30.0 /* seconds; it is found in one or two */

/* Where maple-canary is: beside us, or where it was installed. */
static char *find_canary(void)
{
	static const char *const places[] = {
		"maple-canary", "../lib/maple/maple-canary",
		"../lib/x86_64-linux-gnu/maple/maple-canary"
	};
	char self[PATH_MAX], path[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return NULL;
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s/%s", self, places[i]);
		if (!access(path, X_OK))
			return strdup(path);
	}
	return NULL;
}

/* Fills @probe with what became of the canary. */
static void try_canary(struct maple_host *host, struct maple_probe *probe)
{
	struct maple_campaign_options options = { .max_time = CANARY_TIME,
						  .quiet_target = true,
						  .confirm = 1,
						  .host = host };
	struct maple_campaign_result *result = NULL;
	struct maple_memo *memo = NULL;
	struct maple_error err = { "" };
	char *argv[] = { find_canary(), NULL };

	probe->name = "canary";
	probe->state = MAPLE_PROBE_MISSING;
	options.argv = argv;
	if (!argv[0]) {
		snprintf(probe->text, sizeof(probe->text),
			 "maple-canary was not found");
		snprintf(probe->mend, sizeof(probe->mend), "make install");
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
			 maple_runs_made(&result->runs),
			 result->undelivered ? ": " : "",
			 result->undelivered ? result->undelivered : "");
	}
	maple_campaign_result_destroy(result);
	maple_memo_close(memo);
	free(argv[0]);
}

int maple_command_doctor(struct maple_settings *settings)
{
	static struct maple_probe probes[PROBES + 1];
	char *const *argv = settings->argc ? settings->argv : NULL;
	struct maple_report report = { .source = MAPLE_REPORT_PROBES,
				       .argv = argv,
				       .probes = probes };
	unsigned int n;

	/* First, because of what it lends. */
	maple_host_probe(settings, &probes[0]);
	n = 1 + maple_campaign_probe(argv, NULL, settings->campaign.host,
				     settings->campaign.observer, probes + 1,
				     PROBES - 1);
	report.nprobes = n;
	/* The canary takes its time. */
	if (!settings->format) {
		maple_out_report(stdout, settings, &report);
		report.probes += n;
		report.nprobes = 0;
	}
	try_canary(settings->campaign.host, &probes[n++]);
	report.nprobes++;
	for (unsigned int i = 0; i < n; i++)
		if (probes[i].state == MAPLE_PROBE_MISSING)
			report.status = MAPLE_STATUS_FAILED;
	return maple_out_close(stdout,
			       maple_out_report(stdout, settings, &report));
}
