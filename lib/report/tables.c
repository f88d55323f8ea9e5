// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Lists, coverage, and the few lines at the end of a campaign. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "report/tests/cases.h"
#include "report/clean.h"
#include "report/words.h"

/*
 * Runs without a new iRoot after which nothing more is to be expected from
 * the same input; while candidates are left, it is never said.
 */
#define SATURATED  3

#define CURVE_ROWS 6

void maple_report_list(FILE *out, struct maple_finding *const *findings,
		       size_t n, const struct maple_report_style *style)
{
	if (!n)
		fputs("no findings\n", out);
	for (size_t i = 0; i < n; i++) {
		const struct maple_finding *f = findings[i];
		struct maple_clean title = maple_clean(f->title, style->unicode);
		char *command = maple_cases_command(f->argv);
		char control[64];

		maple_words_count(f, control, sizeof(control));
		fprintf(out, "%s  %s%s%s  %s (%s, seen %u)%s%s\n",
			maple_clean(f->id, false).text,
			f->exe ? maple_clean(f->exe, style->unicode).text : "",
			f->exe ? " by " : "",
			maple_clean(command, style->unicode).text, title.text,
			control, f->times_seen,
			f->suppressed ? ", suppressed by " : "",
			f->suppressed
				? maple_clean(f->suppressed, style->unicode).text
				: "");
		free(command);
	}
}

static void print_row(FILE *out, const struct maple_class_count *c, int width)
{
	fprintf(out, "  %-*s  %9" PRIu64 "  %9" PRIu64 "  %9" PRIu64 "\n",
		width, c->name, c->predicted, c->exposed, c->failed);
}

/* Columns that the name of a class takes. */
static int wider(int width, const char *name)
{
	return (int)strlen(name) > width ? (int)strlen(name) : width;
}

void maple_report_coverage(FILE *out, const struct maple_coverage *coverage,
			   const struct maple_report_style *style)
{
	struct maple_class_count all = maple_coverage_sum(coverage);
	const struct maple_class_count *c;
	int width = 8;

	for (unsigned int i = 0; i < coverage->nclasses; i++)
		width = wider(width, coverage->class[i].name);
	fprintf(out, "  %-*s  %9s  %9s  %9s\n", width, "class", "predicted",
		"exposed", "failed");
	for (unsigned int i = 0; i < coverage->nclasses; i++) {
		c = &coverage->class[i];
		if (c->predicted | c->exposed | c->failed)
			print_row(out, c, width);
	}
	print_row(out, &all, width);
}

/* The columns of maple_report_success(), and what each counts. */
static const struct {
	const char *head;
	enum maple_memo_reason reason;
} whys[] = {
	{ "missed", MAPLE_MEMO_REASON_UNREACHED },
	{ "gave up", MAPLE_MEMO_REASON_GAVE_UP },
	{ "unmet", MAPLE_MEMO_REASON_UNMET },
	{ "refused", MAPLE_MEMO_REASON_REFUSED },
	{ "failed", MAPLE_MEMO_REASON_FAILED },
	{ "other", MAPLE_MEMO_REASON_NONE },
};

#define WHYS (sizeof(whys) / sizeof(*whys))

/* What has no column of its own goes into the last. */
static unsigned int why_of(unsigned int reason)
{
	for (unsigned int w = 0; w < WHYS; w++)
		if (whys[w].reason == reason)
			return w;
	return WHYS - 1;
}

static void print_success(FILE *out, int width, const char *name, uint64_t tried,
			  uint64_t forced, const uint64_t why[WHYS])
{
	fprintf(out, "  %-*s %5" PRIu64 " %8" PRIu64 " %3.0f %%", width, name,
		tried, forced, tried ? 100.0 * forced / tried : 0.0);
	for (unsigned int w = 0; w < WHYS; w++)
		fprintf(out, " %*" PRIu64, (int)strlen(whys[w].head) + 1,
			why[w]);
	putc('\n', out);
}

/* A line for each class that was tried. @all: counts of all of them. */
static void print_tries(FILE *out, const struct maple_memo_success *success,
			const struct maple_class_tries *all)
{
	uint64_t whole[WHYS] = { 0 };
	int width = 8;

	for (unsigned int i = 0; i < success->nclasses; i++)
		width = wider(width, success->class[i].name);
	fprintf(out, "  %-*s %5s %8s %5s", width, "class", "tried", "exposed",
		"rate");
	for (unsigned int w = 0; w < WHYS; w++)
		fprintf(out, "  %s", whys[w].head);
	putc('\n', out);
	for (unsigned int i = 0; i < success->nclasses; i++) {
		const struct maple_class_tries *t = &success->class[i];
		uint64_t why[WHYS] = { 0 };

		for (unsigned int r = 0; r < MAPLE_MEMO_REASONS; r++) {
			why[why_of(r)] += t->failures[r];
			whole[why_of(r)] += t->failures[r];
		}
		if (t->attempted)
			print_success(out, width, t->name, t->attempted,
				      t->forced, why);
	}
	print_success(out, width, "all", all->attempted, all->forced, whole);
}

void maple_report_success(FILE *out, const struct maple_memo_success *success,
			  const struct maple_report_style *style)
{
	struct maple_class_tries all = { 0 };

	for (unsigned int i = 0; i < success->nclasses; i++) {
		all.attempted += success->class[i].attempted;
		all.forced += success->class[i].forced;
		all.rested += success->class[i].rested;
		all.rested_forced += success->class[i].rested_forced;
	}
	if (!all.attempted && !all.rested) {
		fputs("the scheduler was tried on nothing yet\n", out);
		return;
	}
	print_tries(out, success, &all);
	if (all.rested)
		fprintf(out,
			"%" PRIu64 " more tried last, put to rest as unlikely: "
			"%" PRIu64 " exposed\n",
			all.rested, all.rested_forced);
	fprintf(out,
		"%" PRIu64 " exposure%s claimed, %" PRIu64
		" refused by the observer (%.1f %%)\n",
		success->claims, success->claims == 1 ? "" : "s",
		success->refused,
		success->claims ? 100.0 * success->refused / success->claims
				: 0.0);
}

void maple_report_curve(FILE *out, const uint64_t *exposed, size_t n,
			const struct maple_report_style *style)
{
	size_t columns = maple_clean_width(style) - 12;
	const char *ink = style->unicode ? "█" : "#";
	uint64_t most = 0;

	columns = n < columns ? n : columns;
	for (size_t i = 0; i < n; i++)
		most = exposed[i] > most ? exposed[i] : most;
	if (!most)
		return;
	for (unsigned int row = CURVE_ROWS; row > 0; row--) {
		size_t end = 0;

		for (size_t x = 0; x < columns; x++)
			if (exposed[x * n / columns] * CURVE_ROWS >= most * row)
				end = x + 1;
		if (row == CURVE_ROWS)
			fprintf(out, "%9" PRIu64 " ", most);
		else
			fputs("          ", out);
		for (size_t x = 0; x < end; x++)
			fputs(exposed[x * n / columns] * CURVE_ROWS >= most * row
				      ? ink
				      : " ",
			      out);
		putc('\n', out);
	}
	fprintf(out, "          exposed iRoots over %zu run%s\n", n,
		n == 1 ? "" : "s");
}

static void print_counts(FILE *out, const char *noun, uint64_t exposed,
			 uint64_t left)
{
	fprintf(out, "%" PRIu64 " %s%s exposed, %" PRIu64 " candidate%s left; ",
		exposed, noun, exposed == 1 ? "" : "s", left,
		left == 1 ? "" : "s");
}

void maple_report_saturation(FILE *out, const struct maple_coverage *coverage,
			     unsigned int dry_runs)
{
	struct maple_class_count all = maple_coverage_sum(coverage);
	const char *noun = maple_coverage_noun(coverage);

	print_counts(out, noun, all.exposed, all.left);
	if (dry_runs >= SATURATED && !all.left)
		fprintf(out, "saturated: %u runs without a new %s\n", dry_runs,
			noun);
	else if (dry_runs)
		fprintf(out, "not saturated: %u run%s without a new %s\n",
			dry_runs, dry_runs == 1 ? "" : "s", noun);
	else
		fputs("still growing\n", out);
}

/* What a tester can say at most. */
static void print_bound(FILE *out, const struct maple_bound *b)
{
	fprintf(out, "all schedules with at most %u %s%s", b->bounds.preemptions,
		b->counted, b->bounds.preemptions == 1 ? "" : "s");
	if (b->bounds.variables)
		fprintf(out, " at at most %u variable%s", b->bounds.variables,
			b->bounds.variables == 1 ? "" : "s");
	if (b->bounds.threads)
		fprintf(out, " of at most %u threads", b->bounds.threads);
	fprintf(out,
		" were run, %" PRIu64 ", in %" PRIu64 " order%s: none fails\n",
		b->schedules, b->orders, b->orders == 1 ? "" : "s");
}

/* How far the campaign came, and why it ended. */
static void print_end(FILE *out, const struct maple_campaign_result *r)
{
	struct maple_class_count all = maple_coverage_sum(&r->coverage);
	const char *noun = maple_coverage_noun(&r->coverage);

	if (!r->runs.profile && !r->runs.controlled && r->nfindings) {
		fputs("nothing new was looked for: --keep-going does\n", out);
		return;
	}
	print_counts(out, noun, all.exposed, r->candidates_left);
	switch (r->stop) {
	case MAPLE_STOP_SATURATED:
		fprintf(out, "saturated: %u runs without a new %s\n",
			r->dry_runs, noun);
		break;
	case MAPLE_STOP_FOUND:
		fputs("ended at the finding\n", out);
		break;
	case MAPLE_STOP_TIME:
	case MAPLE_STOP_RUNS:
		fprintf(out, "%s reached, not saturated\n",
			maple_stop_name(r->stop));
		break;
	default:
		fprintf(out, "%s, not saturated\n", maple_stop_name(r->stop));
	}
	if (r->bound.exhausted && !r->nfindings)
		print_bound(out, &r->bound);
	if (r->candidates_resting)
		fprintf(out,
			"%" PRIu64 " of the candidates left were put to rest: "
			"they come last, what is like them failed\n",
			r->candidates_resting);
	if (all.barred && !strcmp(noun, "pattern"))
		fprintf(out,
			"%" PRIu64 " more are refuted: no order of what the "
			"runs did was found that shows them\n",
			all.barred);
	else if (all.barred)
		fprintf(out,
			"%" PRIu64 " more rest: a part of each could not be "
			"exposed by itself\n",
			all.barred);
	if (r->unseen)
		fprintf(out, "never ran, though created: thread %s\n",
			r->unseen);
	if (r->shared_cpu)
		fputs("the target's CPU was another campaign's as well: orders "
		      "may have been missed\n",
		      out);
	if (maple_words_weaker(r))
		fprintf(out, "%s\n", maple_words_weaker(r));
}

static void print_found(FILE *out, const struct maple_campaign_result *r,
			const struct maple_report_style *style)
{
	unsigned int known = 0, i;

	for (i = 0; i < r->nfindings; i++)
		known += r->findings[i]->known;
	if (r->nfindings > known)
		fprintf(out,
			"%u finding%s, the first after %u run%s and %.1f s\n",
			r->nfindings - known,
			r->nfindings - known == 1 ? "" : "s",
			r->first_finding_runs,
			r->first_finding_runs == 1 ? "" : "s",
			r->first_finding_seconds);
	else if (!known && r->undelivered)
		fprintf(out, "undelivered: %s\n",
			maple_clean(r->undelivered, style->unicode).text);
	else if (!known)
		fputs("no finding\n", out);
	if (known)
		fprintf(out, "%u known finding%s, not fixed\n", known,
			known == 1 ? "" : "s");
	for (i = 0; i < r->nfixed; i++) {
		fprintf(out, "fixed: %s, ", r->fixed[i]->id);
		fprintf(out, "%s: fails no more\n",
			maple_clean(r->fixed[i]->title, style->unicode).text);
	}
	if (r->nsuppressed)
		fprintf(out, "%u finding%s suppressed\n", r->nsuppressed,
			r->nsuppressed == 1 ? "" : "s");
}

static void print_unjudged(FILE *out, const struct maple_delivery *d)
{
	static const char *const why[MAPLE_UNJUDGEDS] = {
		[MAPLE_UNJUDGED_KILLED] = "killed from outside",
		[MAPLE_UNJUDGED_SAID] = "with status 77 or 125",
		[MAPLE_UNJUDGED_STARVED] = "without a CPU",
		[MAPLE_UNJUDGED_HUNG] = "hung, and never again",
	};

	fputs("runs not judged:", out);
	for (unsigned int i = 0; i < MAPLE_UNJUDGEDS; i++)
		fprintf(out, "%s %" PRIu64 " %s", i ? "," : "", d->unjudged[i],
			why[i]);
	putc('\n', out);
}

static void print_control(FILE *out, const struct maple_control_sum *c)
{
	if (!c->runs)
		return;
	fprintf(out,
		"controlled runs: a mean of %.0f points, %.0f with a choice, "
		"and %.0f switches in %.3f s\n",
		(double)c->points / (double)c->runs,
		(double)c->open / (double)c->runs,
		(double)c->switches / (double)c->runs,
		c->seconds / (double)c->runs);
}

static void print_delivery(FILE *out, const struct maple_delivery *d)
{
	static const char *const ways[] = { "jump", "neighbours", "pun",
					    "trap" };

	fprintf(out, "delivery: %" PRIu64 " sites; hits", d->sites);
	for (int i = 0; i < 4; i++)
		fprintf(out, "%s %" PRIu64 " by %s", i ? "," : "", d->hits[i],
			ways[i]);
	fprintf(out,
		"; %" PRIu64 " sites not reached, %" PRIu64
		" events lost, %" PRIu64 " runs undelivered\n",
		d->unreached, d->lost, d->undelivered_runs);
	if (d->let_go)
		fprintf(out, "runs over their time, and let go: %" PRIu64 "\n",
			d->let_go);
	print_control(out, &d->control);
	print_unjudged(out, d);
	if (d->left_out && *d->left_out) {
		fputs("left out: ", out);
		maple_report_clean(out, d->left_out);
		putc('\n', out);
	}
	fprintf(out,
		"plain read-modify-writes: %" PRIu64 " can be split, %" PRIu64
		" cannot\n",
		d->splits, d->whole);
	if (d->startup)
		fprintf(out,
			"not tried: %" PRIu64 " orders of the server's "
			"start-up; --whole tries them\n",
			d->startup);
	if (d->not_split)
		fprintf(out,
			"not tried: %" PRIu64 " orders that come in the middle "
			"of one instruction, which only the agent can split\n",
			d->not_split);
}

static void print_backends(FILE *out, const struct maple_backends *b,
			   const struct maple_report_style *style)
{
	if (!strcmp(b->enforce, "none"))
		fprintf(out, "observed by %s", b->observe);
	else if (!strcmp(b->observe, b->enforce))
		fprintf(out, "observed and enforced by %s", b->observe);
	else
		fprintf(out, "observed by %s, enforced by %s", b->observe,
			b->enforce);
	/* What a machine has does not change from run to run: doctor says it. */
	if (style->output || !strcmp(b->enforce, "none"))
		fprintf(out, ", %s", maple_clean(b->why, style->unicode).text);
	fputc('\n', out);
}

static void print_prediction(FILE *out, const struct maple_prediction *p)
{
	const char *before = "; cut:";

	fprintf(out, "prediction: %" PRIu64 " events", p->events);
	for (unsigned int i = 0; i < MAPLE_CUTS; i++) {
		if (!p->cut[i])
			continue;
		fprintf(out, "%s %" PRIu64 " %s", before, p->cut[i],
			maple_cut_name(i));
		before = ",";
	}
	fputs(*before == ';' ? "; nothing cut\n" : "\n", out);
}

static void print_parts(FILE *out, const struct maple_campaign_result *r)
{
	for (unsigned int i = 0; i < r->nparts; i++) {
		const struct maple_part_runs *p = &r->parts[i];

		if (!p->runs)
			continue;
		fprintf(out,
			"strategy %s: %u run%s in %.1f s, %u with news, %u "
			"finding%s\n",
			p->name, p->runs, p->runs == 1 ? "" : "s", p->seconds,
			p->news, p->findings, p->findings == 1 ? "" : "s");
	}
}

void maple_report_summary(FILE *out, const struct maple_campaign_result *result,
			  const struct maple_report_style *style)
{
	const struct maple_runs *runs = &result->runs;

	print_found(out, result, style);
	fprintf(out, "%u baseline, %u profile, %u enforced, ", runs->baseline,
		runs->profile, runs->enforced);
	if (runs->controlled)
		fprintf(out, "%u controlled, ", runs->controlled);
	fprintf(out, "%u confirming runs in %.1f s, seed %" PRIu64 "%s\n",
		runs->confirm, result->seconds, result->seed,
		result->interrupted ? ", interrupted" : "");
	if (runs->rounds)
		fprintf(out, "%u rounds of requests in these runs\n",
			runs->rounds);
	if (result->backends.observe)
		print_backends(out, &result->backends, style);
	if (result->outcome != MAPLE_UNDELIVERED)
		print_end(out, result);
	if (result->unobserved)
		fprintf(out, "not observed: %s\n",
			maple_clean(result->unobserved, style->unicode).text);
	if (result->cut_short)
		fprintf(out, "not done in time: %s\n",
			maple_clean(result->cut_short, style->unicode).text);
	if (style->output) {
		print_parts(out, result);
		print_delivery(out, &result->delivery);
		print_prediction(out, &result->prediction);
	}
}
