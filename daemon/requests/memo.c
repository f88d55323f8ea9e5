// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What campaigns write into the memo. A client writes to its own campaign, to
 * the runs of that, and about the program that it tests.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <maple/report.h>
#include "../journal.h"
#include "../limits/quota.h"
#include "request.h"

static struct maple_memo *memo_of(const struct maple_client *client)
{
	return client->server->memo;
}

static uint64_t owner(const struct maple_client *client)
{
	return (uint64_t)client->peer.uid + 1;
}

static int own_campaign(const struct maple_client *client, int64_t campaign,
			struct maple_error *err)
{
	if (campaign == client->campaign && campaign)
		return 0;
	return maple_error_set(err, EPERM, "campaign %lld is not yours",
			       (long long)campaign);
}

static int own_program(const struct maple_client *client, int64_t program,
		       struct maple_error *err)
{
	if (program == client->program && program)
		return 0;
	return maple_error_set(err, EPERM, "you do not test program %lld",
			       (long long)program);
}

static int own_run(const struct maple_client *client, int64_t run,
		   struct maple_error *err)
{
	int64_t campaign;
	int e = maple_memo_run_campaign(memo_of(client), run, &campaign, err);

	if (!e && campaign != client->campaign)
		e = maple_error_set(err, EPERM, "run %lld is not yours",
				    (long long)run);
	return e;
}

/* ---- campaigns ---- */

MAPLE_HANDLER(campaign)
{
	const struct maple_wire_campaign *m = &message->campaign;
	struct maple_memo_campaign campaign = {
		.argv = maple_wire_words(&m->argv),
		.cwd = m->cwd,
		.input = m->input,
		.apart = m->apart,
		.exe = m->exe,
		.strategy = m->strategy,
		.seed = m->seed,
		.version = m->version,
		.backend = m->backend,
		.name = m->name,
		.owner = owner(client),
	};
	size_t size = m->argv.size + sizeof(*m);
	int e;

	if (!m->name || strlen(m->name) < 16) {
		free((void *)campaign.argv);
		return maple_error_set(err, EINVAL, "a campaign has a name");
	}
	if (!campaign.argv)
		return maple_error_set(err, ENOMEM, "out of memory");
	e = maple_quota_check(client, MAPLE_WIRE_CAMPAIGN, size, err);
	if (!e)
		e = maple_memo_campaign_begin(memo_of(client), &campaign,
					      number, err);
	if (!e)
		e = maple_memo_charge(memo_of(client), *number, size, err);
	if (!e) {
		client->campaign = *number;
		client->program = 0;
		client->job = (struct maple_memo_job){ m->job, m->job_user };
		maple_lines_begin(client, campaign.argv[0], m->strategy);
	}
	free((void *)campaign.argv);
	return e;
}

MAPLE_HANDLER(resume)
{
	const struct maple_wire_resume *m = &message->resume;
	int e = maple_memo_resume(memo_of(client), m->campaign, m->name,
				  owner(client), number, err);

	if (e)
		return e;
	client->campaign = m->campaign;
	client->program = *number;
	client->job = (struct maple_memo_job){ m->job, m->job_user };
	client->lines = (struct maple_lines){ 0 };
	maple_journal(LOG_INFO, client, "campaign %lld goes on",
		      (long long)m->campaign);
	return 0;
}

MAPLE_HANDLER(end)
{
	const struct maple_wire_end *m = &message->end;
	int e = own_campaign(client, m->campaign, err);

	if (!e)
		e = maple_memo_campaign_end(memo_of(client), m->campaign,
					    m->outcome, m->unobserved, m->parts,
					    err);
	if (!e)
		maple_lines_end(client, m->outcome);
	return e;
}

MAPLE_HANDLER(program)
{
	const struct maple_wire_program *m = &message->program;
	int e = own_campaign(client, m->campaign, err);

	if (!e && (!m->build_id || !*m->build_id))
		e = maple_error_set(err, EINVAL, "a program has a build-id");
	if (!e)
		e = maple_memo_program(memo_of(client), m->campaign,
				       m->build_id, m->path, number, err);
	if (!e)
		client->program = *number;
	return e;
}

/* ---- runs ---- */

MAPLE_HANDLER(mark)
{
	const struct maple_wire_mark *m = &message->mark;
	int e = own_program(client, m->program, err);

	if (!e && m->mark >= MAPLE_MEMO_MARKS)
		e = maple_error_set(err, EINVAL, "there is no mark %u", m->mark);
	return e ? e
		 : maple_memo_mark(memo_of(client), m->program, m->goal,
				   m->mark, err);
}

MAPLE_HANDLER(run)
{
	const struct maple_wire_run *m = &message->run;
	const struct maple_memo_run run = {
		.kind = m->kind,
		.goal = m->goal,
		.plan = m->plan,
		.seed = m->seed,
		.attempt = m->attempt,
		.flip = m->flip,
	};
	int e = own_campaign(client, m->campaign, err);

	if (!e && !m->kind)
		e = maple_error_set(err, EINVAL, "a run has a kind");
	return e ? e
		 : maple_memo_run_begin(memo_of(client), m->campaign, &run,
					number, err);
}

MAPLE_HANDLER(run_end)
{
	const struct maple_wire_run_end *m = &message->run_end;
	const struct maple_memo_run_end end = {
		.verdict = m->verdict,
		.signo = (int)m->signo,
		.status = (int)m->status,
		.seconds = m->seconds,
		.cpu_seconds = m->cpu_seconds,
		.delivered = m->delivered,
		.exposed = m->exposed,
		.claimed = m->claimed,
		.reason = m->reason,
		.rested = m->rested,
		.news = m->news,
	};
	int e = own_run(client, m->run, err);

	if (!e && m->reason >= MAPLE_MEMO_REASONS)
		e = maple_error_set(err, EINVAL, "there is no reason %u",
				    m->reason);
	return e ? e : maple_memo_run_end(memo_of(client), m->run, &end, err);
}

MAPLE_HANDLER(sample)
{
	const struct maple_wire_sample *m = &message->sample;
	struct maple_coverage coverage;
	int e = own_run(client, m->run, err);

	if (!e)
		e = maple_wire_get_coverage(m->classes, &coverage, err);
	if (e)
		return e;
	e = maple_memo_sample(memo_of(client), m->run, &coverage, err);
	maple_coverage_deinit(&coverage);
	return e;
}

MAPLE_HANDLER(store)
{
	const struct maple_wire_store *m = &message->store;
	struct maple_finding *finding;
	int e = own_campaign(client, m->campaign, err);

	if (!e)
		e = maple_report_finding_decode(m->finding ? m->finding : "",
						&finding, err);
	if (e)
		return e;
	e = maple_memo_finding_store(memo_of(client), m->campaign, finding, err);
	if (!e && finding->kind != MAPLE_FAILURE_VIOLATION)
		maple_lines_finding(client, finding);
	maple_finding_destroy(finding);
	return e;
}

/* ---- what a strategy goes on with: its text is the client's to read ---- */

static int has_strategy(const char *strategy, struct maple_error *err)
{
	return strategy && *strategy
		       ? 0
		       : maple_error_set(err, EINVAL, "a strategy has a name");
}

MAPLE_HANDLER(keep)
{
	const struct maple_wire_keep *m = &message->keep;
	int e = own_campaign(client, m->campaign, err);

	if (!e)
		e = has_strategy(m->strategy, err);
	if (!e && !m->lists)
		e = maple_error_set(err, EINVAL, "nothing is kept");
	return e ? e
		 : maple_memo_corpus_keep(memo_of(client), m->campaign,
					  m->strategy, m->lists, err);
}

MAPLE_HANDLER(recall)
{
	const struct maple_wire_recall *m = &message->recall;
	struct maple_wire_kept kept;
	char *text = NULL;
	int e = own_campaign(client, m->campaign, err);

	if (!e)
		e = has_strategy(m->strategy, err);
	if (!e)
		e = maple_memo_corpus_recall(memo_of(client), m->campaign,
					     m->strategy, &text, err);
	if (e)
		return e;
	kept.lists = text;
	e = maple_client_say(client, MAPLE_WIRE_KEPT, &kept, client->serial, -1);
	free(text);
	return e ? e : MAPLE_ANSWERED;
}

/* ---- forgetting ---- */

/* What others have found out is not for one of them to throw away. */
MAPLE_HANDLER(forget)
{
	const struct maple_wire_forget *m = &message->forget;
	int64_t foreign = 0;
	int e = 0;

	if (!client->is_root)
		e = maple_memo_foreign(memo_of(client), m->program,
				       owner(client), &foreign, err);
	if (!e && foreign)
		e = maple_error_set(
			err, EPERM,
			"%lld campaigns and findings of other users "
			"know this program: to forget it (--fresh as well) "
			"takes root; --db FILE starts afresh",
			(long long)foreign);
	return e ? e
		 : maple_memo_forget_program(memo_of(client), m->program,
					     m->keep, err);
}

MAPLE_HANDLER(forget_finding)
{
	const struct maple_wire_forget_finding *m = &message->forget_finding;

	if (!client->is_root && m->owner != client->peer.uid)
		return maple_error_set(err, EPERM,
				       "the finding is another user's: to "
				       "forget it takes root, sudo");
	return maple_memo_forget_finding(memo_of(client), m->id ? m->id : "",
					 m->owner, err);
}

MAPLE_HANDLER(forget_all)
{
	return maple_memo_forget_all(memo_of(client), err);
}
