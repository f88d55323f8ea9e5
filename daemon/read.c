// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What reports read: the memo is one for all who may use it. It may take long,
 * so that each is done aside, and knows its reply alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <maple/report.h>
#include "request.h"

#define SAMPLES_AT_ONCE 1024

static int say_counts(struct maple_reply *reply, const void *data, size_t size)
{
	const struct maple_wire_counts m = { { data, (uint32_t)size } };
	int e = maple_reply_say(reply, MAPLE_WIRE_COUNTS, &m);

	return e ? e : MAPLE_ANSWERED;
}

MAPLE_READER(programs)
{
	struct maple_memo_program_info *p;
	size_t n;
	int e = maple_memo_programs(reply->memo, &p, &n, err);

	if (e)
		return e;
	for (size_t i = 0; i < n && !e; i++) {
		const struct maple_wire_info m = {
			.id = p[i].id,
			.build_id = p[i].build_id,
			.path = p[i].path,
			.input = p[i].input,
			.campaigns = p[i].campaigns,
			.runs = p[i].runs,
			.findings = p[i].findings,
			.last_used = p[i].last_used,
			.unobserved = p[i].unobserved,
			.coverage = { &p[i].coverage, sizeof(p[i].coverage) },
		};

		e = maple_reply_say(reply, MAPLE_WIRE_INFO, &m);
	}
	maple_memo_programs_destroy(p, n);
	*number = (int64_t)n;
	return e;
}

static int say_finding(struct maple_reply *reply,
		       const struct maple_finding *finding)
{
	struct maple_wire_found m = { .found_at = finding->found_at,
				      .times_seen = finding->times_seen,
				      .owner = finding->owner };
	char *json = maple_report_finding_encode(finding);
	int e = -ENOMEM;

	m.finding = json;
	if (json)
		e = maple_reply_say(reply, MAPLE_WIRE_FOUND, &m);
	free(json);
	return e;
}

MAPLE_READER(findings)
{
	struct maple_finding **findings;
	size_t n;
	int e = message->findings.known
			? maple_memo_known(reply->memo,
					   message->findings.program, &findings,
					   &n, err)
			: maple_memo_findings(reply->memo,
					      message->findings.program,
					      &findings, &n, err);

	if (e)
		return e;
	for (size_t i = 0; i < n && !e; i++)
		e = say_finding(reply, findings[i]);
	maple_memo_findings_destroy(findings, n);
	*number = (int64_t)n;
	return e;
}

MAPLE_READER(load)
{
	const struct maple_wire_load *m = &message->load;
	struct maple_finding *finding;
	int e = maple_memo_finding_load(reply->memo, m->id ? m->id : "",
					m->owner, &finding, err);

	if (e)
		return e;
	e = say_finding(reply, finding);
	maple_finding_destroy(finding);
	return e ? e : MAPLE_ANSWERED;
}

MAPLE_READER(samples)
{
	const struct maple_wire_samples *m = &message->samples;
	struct maple_memo_sample *samples;
	size_t i, n, k;
	int e = maple_memo_samples(reply->memo, m->program, m->since, &samples,
				   &n, err);

	if (e)
		return e;
	for (i = 0; i < n && e >= 0; i += k) {
		k = n - i < SAMPLES_AT_ONCE ? n - i : SAMPLES_AT_ONCE;
		e = say_counts(reply, samples + i, k * sizeof(*samples));
	}
	free(samples);
	*number = (int64_t)n;
	return e < 0 ? e : 0;
}

MAPLE_READER(coverage)
{
	struct maple_coverage coverage;
	int e = maple_memo_coverage(reply->memo, message->coverage.program,
				    &coverage, err);

	return e ? e : say_counts(reply, &coverage, sizeof(coverage));
}

MAPLE_READER(success)
{
	struct maple_memo_success success;
	int e = maple_memo_success(reply->memo, message->success.program,
				   &success, err);

	return e ? e : say_counts(reply, &success, sizeof(success));
}

MAPLE_READER(check)
{
	return maple_memo_check(reply->memo, err);
}

MAPLE_READER(dump)
{
	if (!reply->file)
		return maple_error_set(err, ENOMEM, "out of memory");
	return maple_memo_export(reply->memo, reply->file, err);
}
