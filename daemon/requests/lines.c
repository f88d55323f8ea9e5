// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a campaign is up to, in the journal: that it begins, what was predicted
 * and exposed, what it found, how it ended. As far as its requests tell it: its
 * runs are its client's.
 *
 * Orders come by the hundred, so they are counted, and told a few times a
 * minute; the last one that was exposed is named.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <maple/finding.h>
#include <maple/memo.h>
#include "../client.h"
#include "../journal.h"

#define TELL_US 10000000 /* between two lines about orders */

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000;
}

/* maple_lines_begin - a campaign begins */
void maple_lines_begin(struct maple_client *client, const char *program,
		       const char *strategy)
{
	const struct maple_journal_field fields[] = {
		{ "MAPLE_PROGRAM", program },
		{ "MAPLE_STRATEGY", strategy },
		{ NULL, NULL },
	};

	client->lines = (struct maple_lines){ .at = now() };
	maple_journal_with(LOG_INFO, client, fields,
			   "campaign %lld: process %d of user %d tests %s%s%s",
			   (long long)client->campaign, client->peer.pid,
			   (int)client->peer.uid, program ? program : "nothing",
			   strategy ? ", strategy " : "",
			   strategy ? strategy : "");
}

/* A place of an order, behind those that @text has. */
static void add_place(char *text, size_t size, char kind, const char *file,
		      unsigned int line, const char *function)
{
	const char *name = file ? strrchr(file, '/') : NULL;
	size_t used = strlen(text);

	name = name ? name + 1 : file;
	snprintf(text + used, size - used, ", %c %.60s:%u %.80s", kind,
		 name ? name : "?", line, function ? function : "?");
}

static void name_goal(char *text, size_t size,
		      const struct maple_memo_goal_key *key)
{
	snprintf(text, size, "%s", key->class);
	for (unsigned int i = 0; i < key->n; i++)
		add_place(text, size, key->use[i].kind, key->use[i].file,
			  key->use[i].line, key->use[i].function);
}

#define MARK(name) (1u << MAPLE_MEMO_##name)

static bool is_predicted(const struct maple_memo_lesson *lesson)
{
	return lesson->marks & MARK(PREDICTED) && !lesson->state.predicted;
}

/* By force, or by itself. */
static bool is_exposed(const struct maple_memo_lesson *lesson)
{
	return lesson->marks & (MARK(OBSERVED) | MARK(EXPOSED)) &&
	       !lesson->state.exposed;
}

/* maple_lines_learnt - goals with their marks, and what was known of them before */
void maple_lines_learnt(struct maple_client *client,
			const struct maple_memo_lesson *lessons, size_t n)
{
	struct maple_lines *lines = &client->lines;
	const struct maple_memo_lesson *last = NULL;
	struct maple_journal_field fields[2] = { { NULL, NULL } };
	char text[512];

	for (size_t i = 0; i < n; i++) {
		lines->predicted += is_predicted(&lessons[i]);
		if (!is_exposed(&lessons[i]))
			continue;
		lines->exposed++;
		last = &lessons[i];
	}
	if (lines->told == lines->predicted + lines->exposed ||
	    now() - lines->at < TELL_US)
		return;
	if (last) {
		name_goal(text, sizeof(text), &last->key);
		fields[0] = (struct maple_journal_field){ "MAPLE_IROOT", text };
	}
	lines->told = lines->predicted + lines->exposed;
	lines->at = now();
	maple_journal_with(LOG_INFO, client, fields,
			   "campaign %lld: %" PRIu64 " candidates, %" PRIu64
			   " exposed%s%s",
			   (long long)client->campaign, lines->predicted,
			   lines->exposed, last ? ", the last one " : "",
			   last ? text : "");
}

/* maple_lines_finding - something was found */
void maple_lines_finding(struct maple_client *client,
			 const struct maple_finding *finding)
{
	char text[512];
	const struct maple_journal_field fields[] = {
		{ "MAPLE_FINDING", finding->id },
		{ "MAPLE_PROGRAM", finding->argv ? *finding->argv : NULL },
		{ finding->class ? "MAPLE_IROOT" : NULL, text },
		{ NULL, NULL },
	};

	snprintf(text, sizeof(text), "%s", finding->class ? finding->class : "");
	for (unsigned int i = 0; i < finding->nmoments; i++) {
		const struct maple_moment *m = &finding->moments[i];

		add_place(text, sizeof(text), m->kind, m->place.file,
			  m->place.line, m->place.function);
	}
	maple_journal_with(LOG_NOTICE, client, fields,
			   "campaign %lld: finding %s, %s",
			   (long long)client->campaign, finding->id,
			   finding->title ? finding->title : "");
}

/* maple_lines_end - the campaign is over */
void maple_lines_end(struct maple_client *client, const char *outcome)
{
	const struct maple_lines *lines = &client->lines;
	const struct maple_journal_field fields[] = {
		{ "MAPLE_OUTCOME", outcome },
		{ NULL, NULL },
	};

	maple_journal_with(LOG_INFO, client, fields,
			   "campaign %lld: %s, %" PRIu64 " candidates, %" PRIu64
			   " exposed",
			   (long long)client->campaign,
			   outcome ? outcome : "over", lines->predicted,
			   lines->exposed);
}
