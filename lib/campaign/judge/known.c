// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Known findings: what earlier campaigns found in this program, in this build
 * or another one, is replayed before anything else.
 *
 * One that still fails is a finding of this campaign, with the identity and
 * the date of the first. One that does not, in as many replays as a finding is
 * confirmed with, is mended, if the program is another build than the one that
 * failed: the same build may only not have failed this time. One whose order
 * cannot be found again in this build is mended if the whole campaign finds
 * nothing. What was found with other arguments is another input: it is left
 * alone.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "campaign/internal.h"

static bool same(const char *a, const char *b)
{
	return !a || !b ? a == b : !strcmp(a, b);
}

/* The program's own name may have changed with its place. */
static bool same_input(const struct maple_campaign *c,
		       const struct maple_finding *f)
{
	char *const *ours = c->options->argv, *const *theirs = f->argv;

	if (!theirs || !*theirs || !same(f->exe, c->options->exe))
		return false;
	for (ours++, theirs++; *ours && *theirs; ours++, theirs++)
		if (strcmp(*ours, *theirs))
			return false;
	return !*ours && !*theirs;
}

static bool is_open(const struct maple_campaign *c,
		    const struct maple_finding *f)
{
	return !f->fixed_at && !f->attached && f->plan && same_input(c, f) &&
	       !maple_suppressions_match(c->options->suppressions, f);
}

static int add(struct maple_campaign *c, struct maple_finding *f,
	       struct maple_finding ***list, unsigned int *n)
{
	if (!maple_array_resize(*list, *n + 1))
		return maple_error_set(c->err, ENOMEM, "out of memory");
	(*list)[(*n)++] = f;
	return 0;
}

/* Takes *@f over. */
static int mended(struct maple_campaign *c, struct maple_finding **f)
{
	struct maple_campaign_result *r = c->result;
	struct maple_finding *finding = *f;
	int e;

	assert(!finding->fixed_at); /* it was open, and only once */
	finding->fixed_at = (uint64_t)time(NULL);
	e = maple_findings_store(c, finding);
	if (!e)
		e = add(c, finding, &r->fixed, &r->nfixed);
	if (!e)
		*f = NULL;
	return e;
}

/* Its orders count as exposed again when they are. */
static int forgive(struct maple_campaign *c, const struct maple_trial *order)
{
	const struct maple_job *job = &order->job;
	struct maple_goal goal, *one = &goal;
	unsigned int i;
	int e = 0;

	assert(job->kind == MAPLE_RUN_ENFORCE);
	for (i = 0; i <= job->nthen && !e; i++) {
		if (maple_goal_of_plan(i ? &job->then[i - 1] : &job->plan,
				       &goal))
			continue;
		goal.marks = 1u << MAPLE_MEMO_MENDED;
		e = maple_campaign_learn(c, &one, 1);
	}
	return e;
}

/* It still fails: told anew, from @trial, since this may be another build. */
static int still_fails(struct maple_campaign *c, const struct maple_finding *f,
		       struct maple_trial *trial)
{
	struct maple_finding *again = maple_story_tell(c, trial);
	int e;

	assert(!trial->stopped && trial->judgement.failure);
	if (!again)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	e = maple_confirm_details(c, trial, &again);
	if (!e)
		e = maple_findings_replace(again, f, c->err);
	if (e) {
		maple_finding_destroy(again);
		return e;
	}
	again->known = true;
	again->times_seen++;
	return maple_findings_keep(c, again, trial);
}

/* Takes *@f over if it keeps it. */
static int replay(struct maple_campaign *c, struct maple_finding **f,
		  const struct maple_trial *order, bool rebuilt)
{
	unsigned int times = maple_confirm_times(c), judged = 0, i;
	struct maple_trial trial;
	bool fails = false;
	int e = 0;

	for (i = 0; i < times && !e && !fails; i++) {
		if (!maple_campaign_may_go_on(c))
			return 0;
		e = maple_confirm_again(c, order, &trial);
		if (!e && !trial.stopped) {
			judged += trial.run.delivered;
			fails = maple_confirm_same(*f, &trial);
			maple_campaign_progress(c, true);
		}
		if (!e && fails)
			e = still_fails(c, *f, &trial);
		maple_trial_deinit(&trial);
	}
	if (e || fails)
		return e;
	assert(judged <= times);
	if (judged < times) {
		maple_campaign_notice(c,
				      "known finding %s could not be replayed: "
				      "%s",
				      (*f)->id,
				      *c->why_not ? c->why_not : "cut short");
		return 0;
	}
	if (!rebuilt) {
		maple_campaign_notice(c,
				      "known finding %s did not fail again in "
				      "%u replays, in the same build: it stays "
				      "open",
				      (*f)->id, times);
		return 0;
	}
	if (order->job.kind == MAPLE_RUN_ENFORCE)
		e = forgive(c, order);
	return e ? e : mended(c, f);
}

static int take_up(struct maple_campaign *c, struct maple_finding **f)
{
	struct maple_planfile file;
	struct maple_trial order = { 0 };
	struct maple_error why, *err = c->err;
	int unread, e;

	c->err = &why;
	unread = maple_planfile_read(c, (*f)->plan, &order, &file);
	c->err = err;
	if (!unread && maple_campaign_lacks(c, &order)) {
		maple_campaign_notice(
			c,
			"known finding %s is not replayed: that "
			"takes real-time priorities; it stays open",
			(*f)->id);
		maple_trial_deinit(&order);
		return 0;
	}
	e = unread ? unread : replay(c, f, &order, file.refound > 0);
	maple_trial_deinit(&order);
	if (!unread)
		return e;
	if (e == -ENOMEM)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	maple_campaign_notice(c,
			      "known finding %s cannot be replayed: %s; it is "
			      "looked for anew",
			      (*f)->id, why.text);
	e = add(c, *f, &c->gone, &c->ngone);
	if (!e)
		*f = NULL;
	return e;
}

/*
 * Whether what another user knows under this id is told by one of ours, or by
 * a third user's before it.
 */
static bool is_told(struct maple_finding **known, size_t n, size_t i)
{
	const struct maple_finding *f = known[i], *other;
	uid_t we = geteuid();

	for (size_t k = 0; k < n && f->owner != we; k++) {
		other = known[k];
		if (k != i && !strcmp(other->id, f->id) &&
		    (other->owner == we || k < i))
			return true;
	}
	return false;
}

/*
 * maple_known_replay - replays what is known of the program, which has to be
 * known
 */
int maple_known_replay(struct maple_campaign *c)
{
	struct maple_finding **known;
	size_t n, i;
	int e;

	assert(c->memo_program && !c->replayed);
	c->replayed = true;
	if (!c->subject->repeats || !c->strategy->forces)
		return 0;
	e = maple_memo_known(c->memo, c->memo_program, &known, &n, c->err);
	if (e)
		return e;
	for (i = n; i-- > 0;)
		if (is_told(known, n, i)) {
			maple_finding_destroy(known[i]);
			memmove(known + i, known + i + 1,
				(--n - i) * sizeof(*known));
		}
	for (i = 0; i < n && !e; i++)
		if (is_open(c, known[i]))
			e = take_up(c, &known[i]);
	maple_memo_findings_destroy(known, n);
	return e;
}

/*
 * maple_known_mended - the campaign has found nothing: what could not be
 * replayed is mended as well
 */
int maple_known_mended(struct maple_campaign *c)
{
	unsigned int i;
	int e = 0;

	assert(!c->result->nfindings);
	for (i = 0; i < c->ngone && !e; i++)
		e = mended(c, &c->gone[i]);
	return e;
}

void maple_known_deinit(struct maple_campaign *c)
{
	maple_memo_findings_destroy(c->gone, c->ngone);
}
