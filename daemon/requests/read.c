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

static int say_counts(struct maple_reply *reply, int64_t run,
		      const struct maple_coverage *coverage,
		      struct maple_error *err)
{
	struct maple_wire_buffer classes = { 0 };
	struct maple_wire_counts m = { .run = run };
	int e = maple_wire_put_coverage(&classes, coverage, err);

	m.classes = (struct maple_wire_bytes){ classes.data,
					       (uint32_t)classes.size };
	if (!e)
		e = maple_reply_say(reply, MAPLE_WIRE_COUNTS, &m);
	free(classes.data);
	return e;
}

static int say_program(struct maple_reply *reply,
		       const struct maple_memo_program_info *p,
		       struct maple_error *err)
{
	struct maple_wire_buffer classes = { 0 };
	struct maple_wire_info m = {
		.id = p->id,
		.build_id = p->build_id,
		.path = p->path,
		.input = p->input,
		.campaigns = p->campaigns,
		.runs = p->runs,
		.findings = p->findings,
		.last_used = p->last_used,
		.unobserved = p->unobserved,
		.parts = p->parts,
	};
	int e = maple_wire_put_coverage(&classes, &p->coverage, err);

	m.classes = (struct maple_wire_bytes){ classes.data,
					       (uint32_t)classes.size };
	if (!e)
		e = maple_reply_say(reply, MAPLE_WIRE_INFO, &m);
	free(classes.data);
	return e;
}

MAPLE_READER(programs)
{
	struct maple_memo_program_info *p;
	size_t n;
	int e = maple_memo_programs(reply->memo, &p, &n, err);

	if (e)
		return e;
	for (size_t i = 0; i < n && !e; i++)
		e = say_program(reply, &p[i], err);
	maple_memo_programs_destroy(p, n);
	*number = (int64_t)n;
	return e;
}

MAPLE_READER(machines)
{
	struct maple_memo_machine *machines;
	size_t n;
	int e = maple_memo_machines(reply->memo, message->machines.always,
				    &machines, &n, err);

	if (e)
		return e;
	for (size_t i = 0; i < n && !e; i++) {
		const struct maple_memo_machine *is = &machines[i];
		const struct maple_wire_machine m = {
			.name = is->name,
			.cpu = is->cpu,
			.kernel = is->kernel,
			.backend = is->backend,
			.campaigns = is->campaigns,
			.runs = is->runs,
			.news = is->news,
			.findings = is->findings,
			.last_heard = is->last_heard,
		};

		e = maple_reply_say(reply, MAPLE_WIRE_MACHINE, &m);
	}
	maple_memo_machines_destroy(machines, n);
	*number = (int64_t)n;
	return e;
}

MAPLE_READER(hours)
{
	struct maple_memo_hour *hours;
	size_t n;
	int e = maple_memo_hours(reply->memo, &hours, &n, err);

	if (e)
		return e;
	for (size_t i = 0; i < n && !e; i++) {
		const struct maple_wire_hour m = {
			.since = hours[i].since,
			.runs = hours[i].runs,
			.news = hours[i].news,
			.findings = hours[i].findings,
		};

		e = maple_reply_say(reply, MAPLE_WIRE_HOUR, &m);
	}
	free(hours);
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
	size_t n;
	int e = maple_memo_samples(reply->memo, m->program, m->since, &samples,
				   &n, err);

	if (e)
		return e;
	for (size_t i = 0; i < n && !e; i++)
		e = say_counts(reply, samples[i].run, &samples[i].coverage, err);
	maple_memo_samples_destroy(samples, n);
	*number = (int64_t)n;
	return e;
}

MAPLE_READER(reached)
{
	char **texts;
	size_t n;
	int e = maple_memo_reached(reply->memo, message->reached.program,
				   &texts, &n, err);

	if (e)
		return e;
	for (size_t i = 0; i < n && !e; i++) {
		const struct maple_wire_kept m = { texts[i] };

		e = maple_reply_say(reply, MAPLE_WIRE_KEPT, &m);
	}
	maple_memo_texts_destroy(texts, n);
	*number = (int64_t)n;
	return e;
}

MAPLE_READER(coverage)
{
	struct maple_coverage coverage;
	int e = maple_memo_coverage(reply->memo, message->coverage.program,
				    &coverage, err);

	if (e)
		return e;
	e = say_counts(reply, 0, &coverage, err);
	maple_coverage_deinit(&coverage);
	return e ? e : MAPLE_ANSWERED;
}

MAPLE_READER(success)
{
	struct maple_wire_buffer tries = { 0 };
	struct maple_memo_success success;
	struct maple_wire_tried m;
	int e = maple_memo_success(reply->memo, message->success.program,
				   &success, err);

	if (e)
		return e;
	e = maple_wire_put_success(&tries, &success, &m, err);
	if (!e)
		e = maple_reply_say(reply, MAPLE_WIRE_TRIED, &m);
	free(tries.data);
	maple_memo_success_deinit(&success);
	return e ? e : MAPLE_ANSWERED;
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
