// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What a campaign tells mapled's memo: a request each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <maple/report.h>
#include "host/host.h"

int maple_host_check(struct maple_host *host, struct maple_error *err)
{
	return maple_host_number(host, MAPLE_WIRE_CHECK, "", NULL, err);
}

/* maple_host_is_full - whether @e says that there is no room; it is noted */
bool maple_host_is_full(struct maple_host *host, int e,
			const struct maple_error *why)
{
	if (e != -EDQUOT && e != -ENOSPC)
		return false;
	if (!*host->full.text)
		host->full = *why;
	return true;
}

/*
 * maple_host_keep - a request that adds to the memo, and is answered with a
 * number; or NULL
 * @of: what it adds to
 *
 * What there is no room for is not kept, and has no number.
 */
int maple_host_keep(struct maple_host *host, unsigned int type,
		    const void *message, int64_t of, int64_t *number,
		    struct maple_error *err)
{
	struct maple_error why = { "" };
	int e = 0;

	if (number)
		*number = MAPLE_MEMO_UNKEPT;
	if (of == MAPLE_MEMO_UNKEPT)
		return 0;
	/* What had begun is told to have ended. */
	if (*host->full.text && type != MAPLE_WIRE_RUN_END &&
	    type != MAPLE_WIRE_END && type != MAPLE_WIRE_PROGRAM)
		return 0;
	e = maple_host_number(host, type, message, number, &why);
	if (maple_host_is_full(host, e, &why))
		return 0;
	return e ? maple_error_set(err, -e, "%s", why.text) : 0;
}

/* A name that nothing else has, by which a campaign is known again. */
static int draw_name(struct maple_host *host, struct maple_error *err)
{
	uint64_t bits[2];

	if (getrandom(bits, sizeof(bits), 0) != sizeof(bits))
		return maple_error_set(err, errno, "no random numbers: %m");
	snprintf(host->name, sizeof(host->name), "%016llx%016llx",
		 (unsigned long long)bits[0], (unsigned long long)bits[1]);
	return 0;
}

int maple_host_campaign_begin(struct maple_host *host,
			      const struct maple_memo_campaign *campaign,
			      int64_t *id, struct maple_error *err)
{
	struct maple_wire_campaign m = {
		.name = host->name,
		.argv = maple_wire_list(campaign->argv),
		.cwd = campaign->cwd,
		.input = campaign->input,
		.apart = campaign->apart,
		.exe = campaign->exe,
		.strategy = campaign->strategy,
		.seed = campaign->seed,
		.version = campaign->version,
		.job = campaign->job.number,
		.job_user = campaign->job.user,
		.backend = campaign->backend,
	};
	int e;

	if (!m.argv.data)
		return maple_error_set(err, ENOMEM, "out of memory");
	host->campaign = 0;
	*host->full.text = '\0';
	e = draw_name(host, err);
	if (!e)
		e = maple_host_keep(host, MAPLE_WIRE_CAMPAIGN, &m, 0, id, err);
	if (!e && *id != MAPLE_MEMO_UNKEPT)
		host->campaign = *id;
	host->job = campaign->job;
	free((void *)m.argv.data);
	return e;
}

int maple_host_campaign_end(struct maple_host *host, int64_t campaign,
			    const char *outcome, const char *unobserved,
			    const char *parts, struct maple_error *err)
{
	const struct maple_wire_end m = { campaign, outcome, unobserved, parts };
	int e = maple_host_keep(host, MAPLE_WIRE_END, &m, campaign, NULL, err);

	host->campaign = 0;
	return e;
}

int maple_host_program(struct maple_host *host, int64_t campaign,
		       const char *build_id, const char *path, int64_t *program,
		       struct maple_error *err)
{
	const struct maple_wire_program m = { campaign, build_id, path };

	return maple_host_keep(host, MAPLE_WIRE_PROGRAM, &m, campaign, program,
			       err);
}

int maple_host_mark(struct maple_host *host, int64_t program, int64_t goal,
		    enum maple_memo_mark mark, struct maple_error *err)
{
	const struct maple_wire_mark m = { program, goal, mark };

	return maple_host_keep(host, MAPLE_WIRE_MARK, &m, goal, NULL, err);
}

int maple_host_run_begin(struct maple_host *host, int64_t campaign,
			 const struct maple_memo_run *start, int64_t *run,
			 struct maple_error *err)
{
	const struct maple_wire_run m = {
		.campaign = campaign,
		.kind = start->kind,
		.goal = start->goal,
		.plan = start->plan,
		.seed = start->seed,
		.attempt = start->attempt,
		.flip = start->flip,
	};

	return maple_host_keep(host, MAPLE_WIRE_RUN, &m, campaign, run, err);
}

int maple_host_run_end(struct maple_host *host, int64_t run,
		       const struct maple_memo_run_end *end,
		       struct maple_error *err)
{
	const struct maple_wire_run_end m = {
		.run = run,
		.verdict = end->verdict,
		.signo = end->signo,
		.status = end->status,
		.seconds = end->seconds,
		.cpu_seconds = end->cpu_seconds,
		.delivered = end->delivered,
		.exposed = end->exposed,
		.claimed = end->claimed,
		.reason = end->reason,
		.rested = end->rested,
		.news = end->news,
	};

	return maple_host_keep(host, MAPLE_WIRE_RUN_END, &m, run, NULL, err);
}

int maple_host_sample(struct maple_host *host, int64_t run,
		      const struct maple_coverage *coverage,
		      struct maple_error *err)
{
	struct maple_wire_sample m = { .run = run };
	struct maple_wire_buffer classes = { 0 };
	int e = maple_wire_put_coverage(&classes, coverage, err);

	m.classes = (struct maple_wire_bytes){ classes.data,
					       (uint32_t)classes.size };
	if (!e)
		e = maple_host_keep(host, MAPLE_WIRE_SAMPLE, &m, run, NULL, err);
	free(classes.data);
	return e;
}

int maple_host_finding_store(struct maple_host *host, int64_t campaign,
			     const struct maple_finding *finding,
			     struct maple_error *err)
{
	struct maple_wire_store m = { .campaign = campaign };
	struct maple_error why;
	char *json = maple_report_finding_encode(finding);
	int e;

	err = err ? err : &why;
	if (!json)
		return maple_error_set(err, ENOMEM, "out of memory");
	m.finding = json;
	e = campaign == MAPLE_MEMO_UNKEPT
		    ? maple_error_set(err, EDQUOT, "%s", host->full.text)
		    : maple_host_number(host, MAPLE_WIRE_STORE, &m, NULL, err);
	maple_host_is_full(host, e, err);
	free(json);
	return e;
}

int maple_host_corpus_keep(struct maple_host *host, int64_t campaign,
			   const char *strategy, const char *text,
			   struct maple_error *err)
{
	const struct maple_wire_keep m = { campaign, strategy, text };

	return maple_host_keep(host, MAPLE_WIRE_KEEP, &m, campaign, NULL, err);
}

int maple_host_corpus_recall(struct maple_host *host, int64_t campaign,
			     const char *strategy, char **text,
			     struct maple_error *err)
{
	const struct maple_wire_recall m = { campaign, strategy };
	struct maple_host_answer answer;
	int e;

	*text = NULL;
	if (campaign == MAPLE_MEMO_UNKEPT)
		return 0;
	e = maple_host_ask(host, MAPLE_WIRE_RECALL, &m, MAPLE_WIRE_KEPT,
			   &answer, err);
	if (e || !answer.message.kept.lists)
		return e;
	*text = strdup(answer.message.kept.lists);
	return *text ? 0 : maple_error_set(err, ENOMEM, "out of memory");
}

int maple_host_forget_program(struct maple_host *host, int64_t program,
			      int64_t keep, struct maple_error *err)
{
	const struct maple_wire_forget m = { program, keep };

	return maple_host_number(host, MAPLE_WIRE_FORGET, &m, NULL, err);
}

int maple_host_forget_finding(struct maple_host *host, const char *id,
			      uid_t owner, struct maple_error *err)
{
	const struct maple_wire_forget_finding m = { id, owner };

	return maple_host_number(host, MAPLE_WIRE_FORGET_FINDING, &m, NULL, err);
}

int maple_host_forget_all(struct maple_host *host, struct maple_error *err)
{
	return maple_host_number(host, MAPLE_WIRE_FORGET_ALL, "", NULL, err);
}
