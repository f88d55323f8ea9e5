// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What reports read: the memo is one for all who may use it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <maple/report.h>
#include "request.h"

#define SAMPLES_AT_ONCE 1024

static int say_counts(struct maple_client *client, const void *data, size_t size)
{
	const struct maple_wire_counts m = { { data, (uint32_t)size } };
	int e = maple_client_say(client, MAPLE_WIRE_COUNTS, &m, client->serial,
				 -1);

	return e ? e : MAPLE_ANSWERED;
}

MAPLE_HANDLER(programs)
{
	struct maple_memo_program_info *p;
	size_t n;
	int e = maple_memo_programs(client->server->memo, &p, &n, err);

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

		e = maple_client_say(client, MAPLE_WIRE_INFO, &m,
				     client->serial, -1);
	}
	maple_memo_programs_destroy(p, n);
	*number = (int64_t)n;
	return e;
}

static int say_finding(struct maple_client *client,
		       const struct maple_finding *finding)
{
	struct maple_wire_found m = { .found_at = finding->found_at,
				      .times_seen = finding->times_seen,
				      .owner = finding->owner };
	char *json = maple_report_finding_encode(finding);
	int e = -ENOMEM;

	m.finding = json;
	if (json)
		e = maple_client_say(client, MAPLE_WIRE_FOUND, &m,
				     client->serial, -1);
	free(json);
	return e;
}

MAPLE_HANDLER(findings)
{
	struct maple_finding **findings;
	size_t n;
	int e = message->findings.known
			? maple_memo_known(client->server->memo,
					   message->findings.program, &findings,
					   &n, err)
			: maple_memo_findings(client->server->memo,
					      message->findings.program,
					      &findings, &n, err);

	if (e)
		return e;
	for (size_t i = 0; i < n && !e; i++)
		e = say_finding(client, findings[i]);
	maple_memo_findings_destroy(findings, n);
	*number = (int64_t)n;
	return e;
}

MAPLE_HANDLER(load)
{
	const struct maple_wire_load *m = &message->load;
	struct maple_finding *finding;
	int e = maple_memo_finding_load(client->server->memo, m->id ? m->id : "",
					m->owner, &finding, err);

	if (e)
		return e;
	e = say_finding(client, finding);
	maple_finding_destroy(finding);
	return e ? e : MAPLE_ANSWERED;
}

MAPLE_HANDLER(samples)
{
	const struct maple_wire_samples *m = &message->samples;
	struct maple_memo_sample *samples;
	size_t i, n, k;
	int e = maple_memo_samples(client->server->memo, m->program, m->since,
				   &samples, &n, err);

	if (e)
		return e;
	for (i = 0; i < n && e >= 0; i += k) {
		k = n - i < SAMPLES_AT_ONCE ? n - i : SAMPLES_AT_ONCE;
		e = say_counts(client, samples + i, k * sizeof(*samples));
	}
	free(samples);
	*number = (int64_t)n;
	return e < 0 ? e : 0;
}

MAPLE_HANDLER(coverage)
{
	struct maple_coverage coverage;
	int e = maple_memo_coverage(client->server->memo,
				    message->coverage.program, &coverage, err);

	return e ? e : say_counts(client, &coverage, sizeof(coverage));
}

MAPLE_HANDLER(success)
{
	struct maple_memo_success success;
	int e = maple_memo_success(client->server->memo,
				   message->success.program, &success, err);

	return e ? e : say_counts(client, &success, sizeof(success));
}

MAPLE_HANDLER(check)
{
	return maple_memo_check(client->server->memo, err);
}

static int fill_dump(struct maple_client *client, int fd,
		     struct maple_error *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3), e;
	FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;

	if (!out) {
		if (copy >= 0)
			close(copy);
		return maple_error_set(err, errno, "no file: %m");
	}
	e = maple_memo_export(client->server->memo, out, err);
	if (fclose(out) && !e)
		e = maple_error_set(err, errno, "no file: %m");
	return e;
}

MAPLE_HANDLER(dump)
{
	const struct maple_wire_number done = { 0 };
	int fd = memfd_create("maple-dump", MFD_CLOEXEC), e;

	if (fd < 0)
		return maple_error_set(err, errno, "no file: %m");
	e = fill_dump(client, fd, err);
	if (e) {
		close(fd);
		return e;
	}
	e = maple_client_say(client, MAPLE_WIRE_NUMBER, &done, client->serial,
			     fd);
	return e ? e : MAPLE_ANSWERED;
}
