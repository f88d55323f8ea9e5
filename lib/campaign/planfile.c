// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The order of a run as JSON, in the form that lasts: sites by build-id and
 * offset instead of this campaign's numbers. Kept with every run and every
 * finding; read back by a replay.
 *
 * {"kind": "enforced", "profile" or "controlled", "schedule": 0, "seed": 1,
 * "expected": 0, "timeout": 10.0, "changes": [{"site": 0, "hit": 3}], "sites":
 * [{"image": path, "build_id": hex, "offset": 1, "call": false, "second":
 * false, "function": name, "print": fingerprint}, ...], "plan": {"idiom",
 * "flags", "attempt", "slice", "hints": ["0.1", "0.2"], "steps": [{"site",
 * "kind", "role", "var", "dep", "pair", "event", "pre", "occurrence", "gates":
 * [], "context": who called, a hash, if it is about these callers}], "guards":
 * [], "covers": []}, "then": [plans that follow it], if there
 * are, "policy": {"policy": 4, "blind": 0, "real_time": 0, "threads": ["0",
 * "0.1"], "switches":
 * [{"thread": 1, "next": 0, "what": 0, "site": 0 or null, "hit": 1}]}, if it is
 * controlled, "between": the command of a server's round, if there is,
 * "rounds": how many of them the server has, if not one}
 *
 * All that names a site is an index into "sites". In another build of an
 * image its sites are found again by their fingerprints, which a finding's
 * order has; no order is forced in part.
 *
 * Schedules that a strategy goes on with are an array of {"sites": [...],
 * "threads": [...], "switches": [[thread, next, what, site, hit], ...]}.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/bytes.h"
#include "internal.h"

/* ---- writing ---- */

struct writer {
	struct maple_campaign *c;
	bool lasts;
	json_t *sites;
	json_t *numbers; /* this campaign's, of each of them */
};

static json_t *site_object(const struct writer *w, uint32_t site)
{
	const char *function = NULL, *print = NULL;
	struct maple_site_info info;

	if (maple_registry_site(w->c->registry, site, &info))
		memset(&info, 0, sizeof(info));
	else if (w->lasts)
		print = maple_campaign_print(w->c, site, &function);
	return json_pack("{s:s*,s:s*,s:I,s:b,s:b,s:o*,s:o*}", "image",
			 info.path, "build_id", info.build_id, "offset",
			 (json_int_t)info.offset, "call", info.is_call,
			 "second", info.second, "function",
			 function ? maple_bytes_encode(function) : NULL,
			 "print", print ? maple_bytes_encode(print) : NULL);
}

/* The index of @site in the sites. */
static json_t *site_index(const struct writer *w, uint32_t site)
{
	size_t i, n = json_array_size(w->numbers);

	for (i = 0; i < n; i++)
		if (json_integer_value(json_array_get(w->numbers, i)) == site)
			return json_integer(i);
	json_array_append_new(w->numbers, json_integer(site));
	json_array_append_new(w->sites, site_object(w, site));
	return json_integer(n);
}

static json_t *write_step(const struct writer *w,
			  const struct maple_plan_step *step)
{
	json_t *gates = json_array(), *root;
	uint32_t i;

	for (i = 0; i < step->ngates; i++)
		json_array_append_new(gates, site_index(w, step->gate[i]));
	root = json_pack("{s:o,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:I,s:o}", "site",
			 site_index(w, step->site), "kind", step->kind, "role",
			 step->role, "var", step->var, "dep", step->dep, "pair",
			 step->pair, "event", step->event, "pre", step->pre,
			 "occurrence", (json_int_t)step->occurrence, "gates",
			 gates);
	if (step->context != MAPLE_CONTEXT_ANY)
		json_object_set_new(root, "context",
				    json_integer(step->context));
	return root;
}

static json_t *write_plan(const struct writer *w, const struct maple_plan *plan)
{
	json_t *steps = json_array(), *guards = json_array();
	json_t *covers = json_array();
	uint32_t i;

	for (i = 0; i < plan->nsteps; i++)
		json_array_append_new(steps, write_step(w, &plan->step[i]));
	for (i = 0; i < plan->nguards; i++)
		json_array_append_new(guards, site_index(w, plan->guard[i]));
	for (i = 0; i < plan->ncovers; i++)
		json_array_append_new(covers, site_index(w, plan->cover[i]));
	return json_pack("{s:i,s:i,s:i,s:i,s:[s,s],s:o,s:o,s:o}", "idiom",
			 plan->idiom, "flags", plan->flags, "attempt",
			 plan->attempt, "slice", plan->slice_ms, "hints",
			 plan->hint[0], plan->hint[1], "steps", steps, "guards",
			 guards, "covers", covers);
}

static json_t *write_switch(const struct writer *w,
			    const struct maple_policy_switch *s)
{
	return json_pack("{s:i,s:i,s:i,s:o,s:I}", "thread", s->thread, "next",
			 s->next, "what", s->what, "site",
			 s->site == MAPLE_SITE_NONE ? json_null()
						    : site_index(w, s->site),
			 "hit", (json_int_t)s->hit);
}

static json_t *write_threads(const struct maple_switches *list)
{
	json_t *threads = json_array();

	for (uint32_t i = 0; i < list->nnames; i++)
		json_array_append_new(threads, json_string(list->name[i].text));
	return threads;
}

/* By the schedule, where all of it is known; else by what chose it. */
static json_t *write_policy(const struct writer *w,
			    const struct maple_trial *trial)
{
	struct maple_switches had = maple_trial_switches(trial);
	json_t *switches = json_array();
	uint32_t i;

	for (i = 0; i < had.n; i++)
		json_array_append_new(switches, write_switch(w, &had.entry[i]));
	return json_pack("{s:i,s:i,s:i,s:o,s:o}", "policy",
			 had.nnames ? MAPLE_POLICY_LIST
				    : trial->job.policy.policy,
			 "blind", trial->job.policy.blind, "real_time",
			 trial->job.policy.real_time, "threads",
			 write_threads(&had), "switches", switches);
}

/*
 * maple_planfile_write - the order of @trial as JSON; to be freed
 * @lasts: it may be asked for in another build; to find out what lasts of a
 * site takes a while
 */
char *maple_planfile_write(struct maple_campaign *c,
			   const struct maple_trial *trial, bool lasts)
{
	static const char *const kinds[] = {
		[MAPLE_RUN_NATIVE] = "profile",
		[MAPLE_RUN_PROFILE] = "profile",
		[MAPLE_RUN_ENFORCE] = "enforced",
		[MAPLE_RUN_CONTROL] = "controlled",
	};
	struct writer w = { c, lasts, json_array(), json_array() };
	json_t *changes = json_array(), *plan = json_null(), *root;
	json_t *then = json_array();
	char *text;
	uint32_t i;

	for (i = 0; i < trial->job.nchanges; i++)
		json_array_append_new(
			changes,
			json_pack("{s:o,s:I}", "site",
				  site_index(&w, trial->job.change[i].site),
				  "hit", (json_int_t)trial->job.change[i].hit));
	if (trial->job.kind == MAPLE_RUN_ENFORCE)
		plan = write_plan(&w, &trial->job.plan);
	root = json_pack("{s:s,s:i,s:I,s:b,s:i,s:f,s:o,s:o,s:o}", "kind",
			 kinds[trial->job.kind], "schedule",
			 trial->job.schedule, "seed",
			 (json_int_t)trial->job.seed, "fill", trial->job.fill,
			 "expected", c->expected, "timeout", c->timeout,
			 "changes", changes, "sites", w.sites, "plan", plan);
	for (i = 0; i < trial->job.nthen; i++)
		json_array_append_new(then, write_plan(&w, &trial->job.then[i]));
	if (trial->job.nthen)
		json_object_set(root, "then", then);
	json_decref(then);
	if (trial->job.kind == MAPLE_RUN_CONTROL)
		json_object_set_new(root, "policy", write_policy(&w, trial));
	if (c->between)
		json_object_set_new(root, "between",
				    maple_bytes_encode(c->between));
	if (trial->rounds > 1)
		json_object_set_new(root, "rounds", json_integer(trial->rounds));
	text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	json_decref(w.numbers);
	return text;
}

/* All that it names has a name, or there is no text. */
static char *write_list(struct maple_campaign *c,
			const struct maple_switches *list)
{
	/* To find out what lasts takes a while. */
	struct writer w = { c, !maple_campaign_is_late(c), json_array(),
			    json_array() };
	json_t *threads = write_threads(list), *switches = json_array();
	json_t *root, *site;
	char *text = NULL;
	bool all;
	size_t i;

	for (i = 0; i < list->n; i++) {
		const struct maple_policy_switch *s = &list->entry[i];

		json_array_append_new(
			switches,
			json_pack("[i,i,i,o,I]", s->thread, s->next, s->what,
				  s->site == MAPLE_SITE_NONE
					  ? json_null()
					  : site_index(&w, s->site),
				  (json_int_t)s->hit));
	}
	all = json_array_size(threads) == list->nnames &&
	      json_array_size(switches) == list->n &&
	      json_array_size(w.sites) == json_array_size(w.numbers);
	json_array_foreach (w.sites, i, site)
		all &= json_object_get(site, "image") &&
		       json_object_get(site, "build_id");
	root = json_pack("{s:o,s:o,s:o}", "sites", w.sites, "threads", threads,
			 "switches", switches);
	if (all)
		text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	json_decref(w.numbers);
	return text;
}

/*
 * maple_planfile_write_lists - @lists as JSON of less than @most bytes, to be
 * freed; one that does not fit is left out. NULL: none of them is there
 */
char *maple_planfile_write_lists(struct maple_campaign *c,
				 const struct maple_switches *lists, size_t n,
				 size_t most)
{
	char *all = malloc(most), *text;
	size_t size = 0, length;

	for (size_t i = 0; i < n && all; i++) {
		text = write_list(c, &lists[i]);
		length = text ? strlen(text) : 0;
		if (text && size + 1 + length + sizeof("]") <= most) {
			all[size] = size ? ',' : '[';
			memcpy(all + size + 1, text, length);
			size += 1 + length;
		}
		free(text);
	}
	if (!size) {
		free(all);
		return NULL;
	}
	strcpy(all + size, "]");
	return all;
}

/* ---- reading ---- */

struct reader {
	struct maple_campaign *c;
	char *program; /* where the program under test is; NULL: not known */
	struct maple_planfile *file;
	uint32_t *number; /* by index in "sites" */
	size_t n;
};

/*
 * The image that is @path's by now: the program under test may have been
 * built, or copied, elsewhere.
 */
static int find_image(struct reader *r, const char *path, uint32_t *index)
{
	struct maple_registry *reg = r->c->registry;

	if (r->program && !strcmp(basename(r->program), basename(path)))
		path = r->program;
	else if (access(path, R_OK) &&
		 (*index = maple_registry_namesake(reg, path)) !=
			 MAPLE_REGISTRY_NONE)
		return 0;
	return maple_registry_add(reg, path, index, r->c->err);
}

/* Where the site is in @image, another build than the one it was seen in. */
static int refind(struct reader *r, json_t *object, struct maple_image *image,
		  bool call, uint64_t *offset)
{
	const char *path = maple_image_path(image);
	json_t *named = json_object_get(object, "function");
	json_t *kept = json_object_get(object, "print");
	char *function = named ? maple_bytes_decode(named) : NULL;
	char *print = kept ? maple_bytes_decode(kept) : NULL;
	const char *name = function ? function : "a function without a name";
	int e;

	e = print ? maple_image_refind(image, print, call, offset) : -ENODATA;
	r->file->refound++;
	if (e == -ESTALE) /* the same code, as if a comment had changed */
		e = 0;
	if (e == -ENODATA)
		maple_error_set(r->c->err, ESTALE,
				"%s was rebuilt since, and the order has "
				"nothing to find its places again by: run a "
				"new campaign, or replay on the old binary",
				path);
	else if (e == -ENOTUNIQ)
		maple_error_set(r->c->err, ESTALE,
				"%s was rebuilt since, and %s is there more "
				"than once: run a new campaign, or replay on "
				"the old binary",
				path, name);
	else if (e)
		maple_error_set(r->c->err, ESTALE,
				"%s was rebuilt since, and %s is not what it "
				"was: run a new campaign, or replay on the "
				"old binary",
				path, name);
	free(function);
	free(print);
	return e ? -ESTALE : 0;
}

static int read_site(struct reader *r, json_t *object, uint32_t *number)
{
	const char *path, *id;
	struct maple_image *image;
	json_int_t was;
	uint64_t offset;
	int call, second, e;
	uint32_t index;

	if (json_unpack(object, "{s:s,s:s,s:I,s:b,s:b}", "image", &path,
			"build_id", &id, "offset", &was, "call", &call,
			"second", &second))
		return maple_error_set(r->c->err, EBADMSG,
				       "the plan has a site without an image");
	e = find_image(r, path, &index);
	if (e)
		return e;
	image = maple_registry_image(r->c->registry, index);
	offset = was;
	if (strcmp(maple_image_build_id(image), id))
		e = refind(r, object, image, call, &offset);
	if (e)
		return e;
	*number = call ? maple_registry_call(r->c->registry, index, offset)
		       : maple_registry_find(r->c->registry,
					     maple_image_build_id(image),
					     offset, false, second);
	if (*number == MAPLE_SITE_NONE)
		return maple_error_set(r->c->err, EBADMSG,
				       "%s has no site at 0x%" PRIx64,
				       maple_image_path(image), offset);
	return 0;
}

static int read_sites(struct reader *r, json_t *sites)
{
	int e = 0;

	r->n = json_array_size(sites);
	r->number = calloc(r->n + 1, sizeof(*r->number));
	if (!r->number)
		return -ENOMEM;
	for (size_t i = 0; i < r->n && !e; i++)
		e = read_site(r, json_array_get(sites, i), &r->number[i]);
	return e;
}

static uint32_t number_of(const struct reader *r, json_t *index)
{
	json_int_t i = json_integer_value(index);

	return json_is_integer(index) && i >= 0 && (size_t)i < r->n
		       ? r->number[i]
		       : MAPLE_SITE_NONE;
}

/*
 * Who called, of a step. It is told by places in one build: in another one the
 * step is whoever's.
 */
static uint32_t read_context(const struct reader *r, json_t *object)
{
	json_int_t context =
		json_integer_value(json_object_get(object, "context"));

	return r->file->refound || context < MAPLE_CONTEXT_LEAST ||
			       context > UINT32_MAX
		       ? MAPLE_CONTEXT_ANY
		       : (uint32_t)context;
}

static int read_step(const struct reader *r, json_t *object,
		     struct maple_plan_step *step)
{
	int kind, role, var, dep, pair, event, pre;
	json_int_t occurrence;
	json_t *site, *gates;
	size_t i;

	if (json_unpack(object, "{s:o,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:I,s:o}",
			"site", &site, "kind", &kind, "role", &role, "var",
			&var, "dep", &dep, "pair", &pair, "event", &event,
			"pre", &pre, "occurrence", &occurrence, "gates", &gates))
		return -EBADMSG;
	*step = (struct maple_plan_step){
		.site = number_of(r, site),
		.kind = kind,
		.role = role,
		.var = var,
		.dep = dep,
		.pair = pair,
		.event = event,
		.pre = pre,
		.occurrence = occurrence,
		.context = read_context(r, object),
	};
	for (i = 0; i < json_array_size(gates) && i < MAPLE_PLAN_GATES; i++)
		step->gate[step->ngates++] =
			number_of(r, json_array_get(gates, i));
	return 0;
}

/* What comes in the middle of an instruction has to find one, and to be able. */
static int check_halves(const struct reader *r, const struct maple_plan *plan)
{
	struct maple_site_info info;
	uint32_t i, site;

	for (i = 0; i < plan->nsteps; i++) {
		site = plan->step[i].site;
		if (!maple_plan_splits(plan, site))
			continue;
		if (!r->c->study.splits)
			return maple_error_set(
				r->c->err, ENOTSUP,
				"the order comes in the middle of one "
				"instruction, which only the agent can "
				"split: --backend agent");
		if (maple_registry_site(r->c->registry, site, &info) ||
		    !info.splits)
			return maple_error_set(
				r->c->err, ESTALE,
				"the order comes in the middle of one "
				"instruction, which is another one now");
	}
	return 0;
}

/* Not every half can tell who calls. */
static int check_callers(const struct reader *r, const struct maple_plan *plan)
{
	for (uint32_t i = 0; i < plan->nsteps && !r->c->study.callers; i++)
		if (plan->step[i].context != MAPLE_CONTEXT_ANY)
			return maple_error_set(
				r->c->err, ENOTSUP,
				"the order is about who calls a function, "
				"which only the agent can tell: --backend "
				"agent");
	return 0;
}

static int read_plan(const struct reader *r, json_t *object,
		     struct maple_plan *plan)
{
	json_t *steps, *guards, *covers;
	const char *p, *q;
	int idiom, flags, attempt, slice, e;
	struct maple_iroot iroot;
	size_t i;

	if (json_unpack(object, "{s:i,s:i,s:i,s:i,s:[s,s],s:o,s:o,s:o}",
			"idiom", &idiom, "flags", &flags, "attempt", &attempt,
			"slice", &slice, "hints", &p, &q, "steps", &steps,
			"guards", &guards, "covers", &covers) ||
	    json_array_size(steps) > MAPLE_PLAN_STEPS ||
	    json_array_size(guards) > MAPLE_PLAN_GUARDS ||
	    json_array_size(covers) > MAPLE_PLAN_COVERS ||
	    strlen(p) >= MAPLE_PLAN_NAME || strlen(q) >= MAPLE_PLAN_NAME)
		return -EBADMSG;
	plan->idiom = idiom;
	plan->flags = flags;
	plan->attempt = attempt;
	plan->slice_ms = slice;
	strcpy(plan->hint[0], p);
	strcpy(plan->hint[1], q);
	for (i = 0; i < json_array_size(steps); i++)
		if (read_step(r, json_array_get(steps, i),
			      &plan->step[plan->nsteps++]))
			return -EBADMSG;
	for (i = 0; i < json_array_size(guards); i++)
		plan->guard[plan->nguards++] =
			number_of(r, json_array_get(guards, i));
	for (i = 0; i < json_array_size(covers); i++)
		plan->cover[plan->ncovers++] =
			number_of(r, json_array_get(covers, i));
	if (!maple_plan_valid(plan) || maple_plan_iroot(plan, &iroot))
		return -EBADMSG;
	e = check_callers(r, plan);
	return e ? e : check_halves(r, plan);
}

/* By names in an order, by places in a list. */
static int read_switch(const struct reader *r, json_t *from, uint32_t nthreads,
		       struct maple_policy_switch *s)
{
	int thread, next, what, bad;
	json_int_t hit;
	json_t *site;

	if (json_is_array(from))
		bad = json_unpack(from, "[i,i,i,o,I]", &thread, &next, &what,
				  &site, &hit);
	else
		bad = json_unpack(from, "{s:i,s:i,s:i,s:o,s:I}", "thread",
				  &thread, "next", &next, "what", &what, "site",
				  &site, "hit", &hit);
	if (bad || thread < 0 || (uint32_t)thread >= nthreads || next < 0 ||
	    (uint32_t)next >= nthreads || what < MAPLE_POLICY_AT ||
	    what > MAPLE_POLICY_ARRIVED || hit < 0 || hit > UINT32_MAX)
		return -EBADMSG;
	*s = (struct maple_policy_switch){
		.thread = thread,
		.next = next,
		.what = what,
		.site = json_is_null(site) ? MAPLE_SITE_NONE
					   : number_of(r, site),
		.hit = hit,
		.next_site = MAPLE_SITE_NONE,
	};
	return json_is_null(site) || s->site != MAPLE_SITE_NONE ? 0 : -EBADMSG;
}

static int read_threads(json_t *threads, struct maple_switches *to)
{
	const char *name;
	size_t i, n = json_array_size(threads);

	if (n > MAPLE_THREADS)
		return -EBADMSG;
	to->name = calloc(n + 1, sizeof(*to->name));
	if (!to->name)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		name = json_string_value(json_array_get(threads, i));
		if (!name || strlen(name) >= sizeof(to->name[i].text))
			return -EBADMSG;
		strcpy(to->name[i].text, name);
	}
	to->nnames = n;
	return 0;
}

static int read_switches(const struct reader *r, json_t *threads,
			 json_t *switches, struct maple_switches *to)
{
	size_t i, n = json_array_size(switches);
	int e;

	if (n > MAPLE_POLICY_ENTRIES)
		return -EBADMSG;
	e = read_threads(threads, to);
	if (e)
		return e;
	to->entry = calloc(n + 1, sizeof(*to->entry));
	if (!to->entry)
		return -ENOMEM;
	for (i = 0; i < n && !e; i++)
		e = read_switch(r, json_array_get(switches, i), to->nnames,
				&to->entry[i]);
	to->n = n;
	return e;
}

static int read_policy(const struct reader *r, json_t *object,
		       struct maple_job *job)
{
	json_t *threads, *switches;
	int policy, blind, real_time;

	if (json_unpack(object, "{s:i,s:i,s:i,s:o,s:o}", "policy", &policy,
			"blind", &blind, "real_time", &real_time, "threads",
			&threads, "switches", &switches) ||
	    policy < 0 || policy >= MAPLE_POLICIES)
		return -EBADMSG;
	job->policy.policy = policy;
	job->policy.blind = blind != 0;
	job->policy.real_time = real_time != 0;
	job->policy.seed = job->seed;
	return read_switches(r, threads, switches, &job->switches);
}

static int read_kind(const char *text, enum maple_run_kind *kind)
{
	if (!strcmp(text, "profile"))
		*kind = MAPLE_RUN_PROFILE;
	else if (!strcmp(text, "controlled"))
		*kind = MAPLE_RUN_CONTROL;
	else if (!strcmp(text, "enforced"))
		*kind = MAPLE_RUN_ENFORCE;
	else
		return -EBADMSG;
	return 0;
}

/* Of profile runs; others have theirs by their kind. */
static bool is_schedule(json_int_t number)
{
	return number >= 0 && number < MAPLE_SCHEDULES &&
	       number != MAPLE_SCHEDULE_PLAN &&
	       number != MAPLE_SCHEDULE_CONTROL;
}

static int read_order(struct reader *r, json_t *root, struct maple_trial *trial)
{
	json_t *sites, *changes, *plan, *site, *then;
	json_int_t schedule, seed, hit;
	const char *kind;
	int fill = false, rounds = 1, e = 0;
	size_t i;

	/* Those of before knew nothing of filling. */
	if (json_unpack(root, "{s:s,s:I,s:I,s?b,s?i,s:i,s:f,s:o,s:o,s:o}",
			"kind", &kind, "schedule", &schedule, "seed", &seed,
			"fill", &fill, "rounds", &rounds, "expected",
			&r->file->expected, "timeout", &r->file->timeout,
			"changes", &changes, "sites", &sites, "plan", &plan) ||
	    !is_schedule(schedule) || r->file->timeout <= 0)
		return -EBADMSG;
	e = read_sites(r, sites);
	if (e)
		return e;
	trial->job.seed = seed;
	trial->job.schedule = schedule;
	trial->job.fill = fill;
	trial->rounds = rounds > 0 ? rounds : 1;
	if (read_kind(kind, &trial->job.kind))
		return -EBADMSG;
	for (i = 0; i < json_array_size(changes) && i < MAPLE_RUN_CHANGES; i++) {
		if (json_unpack(json_array_get(changes, i), "{s:o,s:I}", "site",
				&site, "hit", &hit))
			return -EBADMSG;
		trial->job.change[trial->job.nchanges].site = number_of(r, site);
		trial->job.change[trial->job.nchanges++].hit = hit;
	}
	trial->job.plan.seed = seed;
	if (trial->job.kind == MAPLE_RUN_CONTROL)
		return read_policy(r, json_object_get(root, "policy"),
				   &trial->job);
	if (trial->job.kind != MAPLE_RUN_ENFORCE)
		return 0;
	e = read_plan(r, plan, &trial->job.plan);
	then = json_object_get(root, "then");
	if (json_array_size(then) > MAPLE_RUN_THEN)
		return -EBADMSG;
	for (i = 0; i < json_array_size(then) && !e; i++) {
		trial->job.then[i].seed = seed + i + 1;
		e = read_plan(r, json_array_get(then, i), &trial->job.then[i]);
		trial->job.nthen++;
	}
	return e;
}

/*
 * maple_planfile_read - the way back, into @trial (zeroed)
 * @file: what else is known of the order, and whether it is of this build
 *
 * Errors: -ESTALE the program was rebuilt, and what the order needs of it is
 * not the same any more; -EBADMSG it is no plan.
 */
int maple_planfile_read(struct maple_campaign *c, const char *text,
			struct maple_trial *trial, struct maple_planfile *file)
{
	struct reader r = { .c = c, .file = file };
	json_t *root = json_loads(text, 0, NULL);
	int e;

	memset(file, 0, sizeof(*file));
	/* Targets' images are known by the files behind links. */
	if (!c->options->exe)
		r.program = realpath(c->program, NULL);
	c->err->text[0] = '\0';
	e = root ? read_order(&r, root, trial) : -EBADMSG;
	if (e && !c->err->text[0])
		maple_error_set(c->err, -e, "the stored plan is damaged");
	free(r.program);
	free(r.number);
	json_decref(root);
	return e;
}

static int read_list(struct reader *r, json_t *object,
		     struct maple_switches *list)
{
	json_t *sites, *threads, *switches;
	int e = -EBADMSG;

	*list = (struct maple_switches){ 0 };
	if (!json_unpack(object, "{s:o,s:o,s:o}", "sites", &sites, "threads",
			 &threads, "switches", &switches))
		e = read_sites(r, sites);
	if (!e)
		e = read_switches(r, threads, switches, list);
	if (e)
		maple_switches_deinit(list);
	free(r->number);
	r->number = NULL;
	return e;
}

/*
 * maple_planfile_read_lists - the way back; they and the array are to be freed
 * @left_out: how many are damaged, or name what is not in this build any more
 *
 * Returns how many @lists there are.
 */
size_t maple_planfile_read_lists(struct maple_campaign *c, const char *text,
				 struct maple_switches **lists, size_t *left_out)
{
	struct maple_planfile file = { 0 };
	struct reader r = { .c = c, .file = &file };
	json_t *root = json_loads(text, 0, NULL);
	size_t n = 0, all = json_array_size(root);

	if (all > MAPLE_MEMO_CORPUS_LISTS)
		all = MAPLE_MEMO_CORPUS_LISTS;
	if (!c->options->exe && c->program)
		r.program = realpath(c->program, NULL);
	*left_out = 0;
	*lists = calloc(all + 1, sizeof(**lists));
	for (size_t i = 0; i < all && *lists; i++) {
		if (read_list(&r, json_array_get(root, i), &(*lists)[n]))
			++*left_out;
		else
			n++;
	}
	/* Nobody is told why. */
	c->err->text[0] = '\0';
	free(r.program);
	json_decref(root);
	return n;
}

/* maple_planfile_between - the command of its round; to be freed; or NULL */
char *maple_planfile_between(const char *text)
{
	json_t *root = json_loads(text, 0, NULL);
	char *command = maple_bytes_decode(json_object_get(root, "between"));

	json_decref(root);
	return command;
}
