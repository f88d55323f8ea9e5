// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Between the campaign's numbers and what the memo database keeps. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"
#include "campaign/subject/interrupt.h"

#define LESSONS 4096 /* in one question to the memo */
#define GRACE	2.0  /* seconds after the time limit */

static const char letters[] = {
	[MAPLE_EV_READ] = 'R',	 [MAPLE_EV_WRITE] = 'W',
	[MAPLE_EV_LOCK] = 'L',	 [MAPLE_EV_UNLOCK] = 'U',
	[MAPLE_EV_NOTIFY] = 'S', [MAPLE_EV_SLEEP] = 'C',
};

/* A site in the form that lasts; finding it out takes a while. */
struct maple_known_site {
	uint32_t site; /* the key */
	struct maple_site_info info;
	struct maple_place place;
	struct maple_fingerprint fingerprint;
	UT_hash_handle hh;
};

static struct maple_known_site *know(struct maple_campaign *c, uint32_t site)
{
	struct maple_known_site *known;
	struct maple_image *image;

	HASH_FIND(hh, c->known, &site, sizeof(site), known);
	if (known)
		return known;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->site = site;
	if (maple_registry_site(c->registry, site, &known->info)) {
		free(known);
		return NULL;
	}
	/* What cannot be found out stays empty. */
	maple_registry_place(c->registry, site, &known->place);
	image = maple_registry_image(c->registry, known->info.image);
	if (image)
		maple_image_fingerprint(image, known->info.offset,
					known->info.is_call,
					&known->fingerprint);
	HASH_ADD(hh, c->known, site, sizeof(known->site), known);
	return known;
}

/* maple_campaign_unknow - frees what is known of sites */
void maple_campaign_unknow(struct maple_campaign *c)
{
	struct maple_known_site *known, *next;

	HASH_ITER (hh, c->known, known, next) {
		HASH_DEL(c->known, known);
		maple_place_deinit(&known->place);
		free(known);
	}
}

/*
 * maple_campaign_print - what of @site lasts over a rebuild: its fingerprint,
 *                        or NULL; and the name of its @function, or NULL
 *
 * The strings are @c's.
 */
const char *maple_campaign_print(struct maple_campaign *c, uint32_t site,
				 const char **function)
{
	const struct maple_known_site *known = know(c, site);

	*function = known ? known->place.function : NULL;
	return known && *known->fingerprint.text ? known->fingerprint.text
						 : NULL;
}

static int fill_key(struct maple_campaign *c, const struct maple_goal *goal,
		    struct maple_memo_goal_key *key)
{
	unsigned int i;

	assert(goal->n && goal->n <= MAPLE_GOAL_USES);
	key->class = goal->class;
	key->n = goal->n;
	for (i = 0; i < goal->n; i++) {
		const struct maple_goal_use *use = &goal->use[i];
		const struct maple_known_site *known = know(c, use->site);

		/* A goal is about accesses that the memo has letters for. */
		assert(use->kind < sizeof(letters) && letters[use->kind]);
		if (!known)
			return maple_error_set(c->err, EBADMSG,
					       "site %u is unknown", use->site);
		key->use[i] = (struct maple_memo_event){
			.build_id = known->info.build_id ? known->info.build_id
							 : "none",
			.image = known->info.path,
			.offset = known->info.offset,
			.call = known->info.is_call,
			.kind = letters[use->kind],
			.function = known->place.function,
			.file = known->place.file,
			.line = known->place.line,
			.fingerprint = *known->fingerprint.text
					       ? known->fingerprint.text
					       : NULL,
			.context = use->context,
		};
	}
	return 0;
}

/*
 * maple_campaign_is_late - whether it is over the limit, and a little: what a
 * run has cost is worth keeping
 */
bool maple_campaign_is_late(const struct maple_campaign *c)
{
	return maple_interrupt_stops() ||
	       (c->deadline > 0 && maple_clock_now() > c->deadline + GRACE);
}

/* Whether this exposes what nobody had exposed before. */
static bool is_news(const struct maple_memo_lesson *lesson)
{
	const unsigned int shown = 1u << MAPLE_MEMO_OBSERVED |
				   1u << MAPLE_MEMO_EXPOSED;

	return lesson->marks & shown && !lesson->state.exposed &&
	       !(lesson->marks & 1u << MAPLE_MEMO_BROKE);
}

/*
 * Some of @goals, in one question to the memo. @done: how many of the
 * @n; the first of those whose sites would have to be looked up too late is
 * the last.
 */
static int learn_some(struct maple_campaign *c, struct maple_goal *const *goals,
		      size_t n, size_t *done)
{
	struct maple_memo_lesson *lessons;
	size_t i, filled = 0;
	int e = 0;

	assert(n && n <= LESSONS);
	lessons = calloc(n, sizeof(*lessons));
	if (!lessons)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	while (filled < n && !e && !maple_campaign_is_late(c)) {
		lessons[filled].marks = goals[filled]->marks;
		e = fill_key(c, goals[filled], &lessons[filled].key);
		filled++;
	}
	if (!e && filled)
		e = maple_memo_learn(c->memo, c->memo_program, lessons, filled,
				     c->err);
	for (i = 0; i < filled && !e; i++) {
		goals[i]->row = lessons[i].goal;
		goals[i]->known = lessons[i].state;
		c->news += is_news(&lessons[i]);
	}
	free(lessons);
	*done = filled;
	return e;
}

/*
 * maple_campaign_learn - tells the memo of @goals and their marks, and fills in
 * what is known of them; needs the program to be known
 *
 * When time is up the rest is left: nobody will try it in this campaign.
 */
int maple_campaign_learn(struct maple_campaign *c,
			 struct maple_goal *const *goals, size_t n)
{
	size_t at = 0, done = 1;
	int e = 0;

	assert(!n || c->memo_program);
	for (; at < n && done && !e; at += done)
		e = learn_some(c, goals + at,
			       n - at < LESSONS ? n - at : LESSONS, &done);
	return e;
}

/* ---- campaigns that share the memo ---- */

/*
 * maple_campaign_claim - see claim() in strategy/strategy.h
 */
int maple_campaign_claim(struct maple_campaign *c,
			 struct maple_goal *const *goals, size_t n)
{
	struct maple_memo_claim claims[1 + MAPLE_RUN_THEN];
	size_t i;
	int e;

	/* By now, perhaps: the server may be lost, and come back. */
	for (i = 0; i < n && !maple_memo_shares(c->memo); i++)
		goals[i]->taken = goals[i]->claimed = false;
	if (!maple_memo_shares(c->memo))
		return 0;
	assert(c->memo_program && n <= sizeof(claims) / sizeof(*claims));
	for (i = 0; i < n; i++) {
		assert(goals[i]->row && !goals[i]->claimed);
		claims[i].goal = goals[i]->row;
	}
	e = maple_memo_claim(c->memo, c->memo_program, claims, n, c->err);
	for (i = 0; i < n && !e; i++) {
		goals[i]->taken = claims[i].taken;
		goals[i]->claimed = !claims[i].taken;
		if (goals[i]->claimed)
			goals[i]->known = claims[i].state;
	}
	return e;
}

/* maple_campaign_release - those of @goals that are claimed */
int maple_campaign_release(struct maple_campaign *c,
			   struct maple_goal *const *goals, size_t n)
{
	int64_t rows[1 + MAPLE_RUN_THEN];
	size_t i, claimed = 0;

	assert(n <= sizeof(rows) / sizeof(*rows));
	for (i = 0; i < n; i++) {
		if (goals[i]->claimed)
			rows[claimed++] = goals[i]->row;
		goals[i]->claimed = false;
	}
	return claimed ? maple_memo_release(c->memo, c->memo_program, rows,
					    claimed, c->err)
		       : 0;
}

/* ---- older builds ---- */

struct refind {
	struct maple_image *image;
	struct maple_place place;
	struct maple_fingerprint fingerprint;
};

static int refind(void *ctx, const char *fingerprint, bool call,
		  struct maple_memo_event *now)
{
	struct refind *r = ctx;
	uint64_t offset;
	int e = maple_image_refind(r->image, fingerprint, call, &offset);

	if (!e)
		e = maple_image_fingerprint(r->image, offset, call,
					    &r->fingerprint);
	if (e)
		return e;
	maple_place_deinit(&r->place);
	e = maple_image_place(r->image, offset, call, &r->place);
	if (e) {
		memset(&r->place, 0, sizeof(r->place));
		return e;
	}
	now->offset = offset;
	now->function = r->place.function;
	now->file = r->place.file;
	now->line = r->place.line;
	now->fingerprint = r->fingerprint.text;
	return 0;
}

/*
 * maple_campaign_carry - what the memo knows of older builds of the images
 * seen since the last call; needs the program to be known
 */
int maple_campaign_carry(struct maple_campaign *c)
{
	unsigned int carried;
	int e = 0;

	assert(c->memo_program);
	assert(c->carried <= maple_registry_images(c->registry));
	for (; !e && !maple_campaign_is_late(c) &&
	       c->carried < maple_registry_images(c->registry);
	     c->carried++) {
		struct refind r = {
			.image = maple_registry_image(c->registry, c->carried),
		};
		struct maple_memo_build build = {
			.build_id = maple_image_build_id(r.image),
			.path = maple_image_path(r.image),
			.find = c->options->fresh ? NULL : refind,
			.ctx = &r,
		};

		e = maple_memo_carry(c->memo, &build, &carried, c->err);
		maple_place_deinit(&r.place);
		if (!e && carried)
			maple_campaign_notice(c,
					      "%u iRoots are known from an "
					      "older build of %s",
					      carried, build.path);
	}
	return e;
}
