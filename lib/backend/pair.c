// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which two backends a campaign works with.
 *
 * Asked for nothing, it takes eBPF and maple.ko where both can be had: they
 * need nothing inside the program. Else the agent alone, where the program
 * lets it in: a hit costs it some ten nanoseconds, and a uprobe microseconds,
 * so eBPF with the agent is for who asks for it. A program that the agent
 * cannot enter needs the module: nothing else enforces from outside.
 *
 * Both halves number sites by the one registry and threads in order of
 * creation, so that what one predicts the other can force.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/agent.h"
#include "pair.h"

#define SAID 448 /* bytes of a sentence about one half */

static const struct half {
	const char *name;
	bool observes, enforces;
	int (*create)(const struct maple_backend_options *options,
		      struct maple_backend **backend, struct maple_error *err);
	/* but the agent's */
	void (*probe)(const struct maple_backend_options *options,
		      struct maple_ability *ability);
} halves[MAPLE_HALVES] = {
	[MAPLE_HALF_AGENT] = { "agent", true, true, maple_backend_agent_create },
	[MAPLE_HALF_EBPF] = { "ebpf", true, false, maple_backend_ebpf_create,
			      maple_ebpf_probe },
	[MAPLE_HALF_MODULE] = { "module", false, true,
				maple_backend_module_create,
				maple_module_probe },
};

/* maple_half_name - "agent", "ebpf", "module" */
const char *maple_half_name(enum maple_half half)
{
	assert(half < MAPLE_HALVES);
	return halves[half].name;
}

/* maple_half_built - whether this build has it */
bool maple_half_built(enum maple_half half)
{
	return halves[half].create;
}

static int find(const char *name, size_t n)
{
	for (int i = 0; i < MAPLE_HALVES; i++)
		if (strlen(halves[i].name) == n &&
		    !strncmp(halves[i].name, name, n))
			return i;
	return -1;
}

/* maple_pair_name - as maple_pair_parse() reads it back */
const char *maple_pair_name(const struct maple_pair_choice *choice)
{
	static const char *const names[MAPLE_HALVES][MAPLE_HALVES] = {
		[MAPLE_HALF_AGENT] = { [MAPLE_HALF_AGENT] = "agent",
				       [MAPLE_HALF_MODULE] = "agent+module" },
		[MAPLE_HALF_EBPF] = { [MAPLE_HALF_AGENT] = "ebpf+agent",
				      [MAPLE_HALF_MODULE] = "ebpf+module" },
	};

	assert(choice->observe < MAPLE_HALVES && choice->enforce < MAPLE_HALVES);
	if (choice->alone)
		return halves[choice->observe].name;
	assert(choice->apart || names[choice->observe][choice->enforce]);
	return choice->apart ? "agent+agent"
			     : names[choice->observe][choice->enforce];
}

/*
 * maple_pair_parse - "kernel", "agent", or OBSERVING+ENFORCING, "agent+agent"
 * being two that know nothing of each other; not "auto"
 *
 * Returns 0 with the pair in *@choice, or -EINVAL for what is none.
 */
int maple_pair_parse(const char *text, struct maple_pair_choice *choice)
{
	const char *plus = strchrnul(text, '+');
	int first, second;

	if (!strcmp(text, "kernel"))
		return maple_pair_parse("ebpf+module", choice);
	first = find(text, plus - text);
	second = *plus ? find(plus + 1, strlen(plus + 1)) : first;
	if (first < 0 || second < 0 || !halves[first].observes ||
	    !halves[second].enforces)
		return -EINVAL;
	choice->observe = first;
	choice->enforce = second;
	choice->apart = *plus && first == second;
	choice->alone = false;
	return 0;
}

/* What @half says of itself, here and for the program in @options. */
static void look_at(const struct maple_backend_options *options,
		    enum maple_half half, struct maple_ability *ability)
{
	memset(ability, 0, sizeof(*ability));
	if (half == MAPLE_HALF_AGENT)
		maple_agent_probe(options, ability);
	else if (halves[half].probe)
		halves[half].probe(options, ability);
	if (halves[half].create)
		return;
	ability->error = -ENOTSUP;
	snprintf(ability->text, sizeof(ability->text),
		 "%s is not in this version of maple", halves[half].name);
}

/*
 * maple_pair_look - fills what each half says of itself, here and for the
 * program in @options (no program: of the machine alone)
 */
void maple_pair_look(const struct maple_backend_options *options,
		     struct maple_ability ability[MAPLE_HALVES])
{
	for (int i = 0; i < MAPLE_HALVES; i++)
		look_at(options, i, &ability[i]);
}

/* "maple.ko is not loaded; to mend: sudo modprobe maple" */
static void say(char text[SAID], const struct maple_ability *a)
{
	snprintf(text, SAID, "%.200s%s%.200s", a->text,
		 *a->mend ? "; to mend: " : "", a->mend);
}

/* What of @one and @other, if not the same, is missing; the first's errno. */
static int refuse(const struct maple_pair_choice *choice, enum maple_half one,
		  enum maple_half other, const char *before,
		  struct maple_error *err)
{
	const struct maple_ability *a = &choice->ability[one];
	const struct maple_ability *b = &choice->ability[other];
	char first[SAID] = "", second[SAID] = "";

	if (a->error)
		say(first, a);
	if (b->error && one != other)
		say(second, b);
	return maple_error_set(
		err, -maple_backend_errno(a->error ? a->error : b->error),
		"%.200s%.220s%s%.220s", before, first,
		*first && *second ? "; and: " : "", second);
}

static int choose_asked(struct maple_pair_choice *choice, const char *wanted,
			const struct maple_backend_options *options,
			struct maple_error *err)
{
	enum maple_half o, e;

	if (maple_pair_parse(wanted, choice))
		return maple_error_set(err, EINVAL, "no such backend: %s",
				       wanted);
	o = choice->observe;
	e = choice->enforce;
	look_at(options, o, &choice->ability[o]);
	if (e != o)
		look_at(options, e, &choice->ability[e]);
	snprintf(choice->why, sizeof(choice->why), "as asked for");
	/* The module first: it is what most often is missing. */
	if (choice->ability[o].error || choice->ability[e].error)
		return refuse(choice, e, o, "", err);
	return 0;
}

/*
 * The observer is loaded to see whether it can be, which costs the kernel's
 * verifier a tenth of a second: not where no module could go with it.
 */
static int choose_best(struct maple_pair_choice *choice,
		       const struct maple_backend_options *options,
		       struct maple_error *err)
{
	struct maple_ability *agent = &choice->ability[MAPLE_HALF_AGENT];
	struct maple_ability *ebpf = &choice->ability[MAPLE_HALF_EBPF];
	struct maple_ability *module = &choice->ability[MAPLE_HALF_MODULE];
	char text[SAID];

	look_at(options, MAPLE_HALF_AGENT, agent);
	look_at(options, MAPLE_HALF_MODULE, module);
	if (!module->error || agent->error)
		look_at(options, MAPLE_HALF_EBPF, ebpf);
	if (!ebpf->error && !module->error) {
		choice->observe = MAPLE_HALF_EBPF;
		choice->enforce = MAPLE_HALF_MODULE;
		snprintf(choice->why, sizeof(choice->why),
			 "from outside the program: maple.ko is there and "
			 "eBPF may be used");
		return 0;
	}
	if (!agent->error) {
		choice->observe = choice->enforce = MAPLE_HALF_AGENT;
		say(text, module->error ? module : ebpf);
		snprintf(choice->why, sizeof(choice->why),
			 "not from outside: %.230s", text);
		return 0;
	}
	snprintf(text, sizeof(text), "%.160s. From outside: ", agent->text);
	return refuse(choice, MAPLE_HALF_MODULE, MAPLE_HALF_EBPF, text, err);
}

/*
 * maple_pair_choose - which pair it is to be
 * @wanted: what --backend says, NULL and "auto" for the best there is
 *
 * Returns 0 with *@choice filled, or the errno of what is missing, named in
 * @err with what mends it.
 */
int maple_pair_choose(const char *wanted,
		      const struct maple_backend_options *options,
		      struct maple_pair_choice *choice, struct maple_error *err)
{
	memset(choice, 0, sizeof(*choice));
	if (wanted && strcmp(wanted, "auto"))
		return choose_asked(choice, wanted, options, err);
	return choose_best(choice, options, err);
}

/* The agent joins it, where it can; @why: nothing else was asked for. */
static int choose_joining(struct maple_pair_choice *choice,
			  const struct maple_backend_options *options,
			  const char *why, struct maple_error *err)
{
	struct maple_ability *agent = &choice->ability[MAPLE_HALF_AGENT];

	maple_agent_joined_probe(options, agent);
	choice->observe = choice->enforce = MAPLE_HALF_AGENT;
	if (agent->error)
		return refuse(choice, MAPLE_HALF_AGENT, MAPLE_HALF_AGENT, "",
			      err);
	choice->alone = !maple_agent_joined_forces(options);
	snprintf(choice->why, sizeof(choice->why), "%s%.140s",
		 choice->alone ? "nothing is enforced: the process may have no "
				 "real-time priorities (ulimit -r 85, before "
				 "it is started); "
			       : "",
		 why);
	return 0;
}

/* From outside; without maple.ko, nobody enforces. */
static int choose_outside(struct maple_pair_choice *choice,
			  struct maple_error *err)
{
	struct maple_ability *ebpf = &choice->ability[MAPLE_HALF_EBPF];
	struct maple_ability *module = &choice->ability[MAPLE_HALF_MODULE];
	char text[SAID];

	choice->observe = MAPLE_HALF_EBPF;
	choice->enforce = MAPLE_HALF_MODULE;
	if (ebpf->error)
		return refuse(choice, MAPLE_HALF_EBPF, MAPLE_HALF_MODULE,
			      "a running program is observed by eBPF: ", err);
	choice->alone = module->error;
	if (choice->alone)
		say(text, module);
	else
		snprintf(text, sizeof(text), "maple.ko is there");
	snprintf(choice->why, sizeof(choice->why), "%s%.200s",
		 choice->alone ? "nothing is enforced: " : "", text);
	return 0;
}

/*
 * maple_pair_choose_joined - the same for a process that runs already
 *
 * Asked for nothing, it is from outside where both halves can be used, as
 * root's with maple.ko; else the agent joins it, and what it does not let in is
 * observed from outside.
 */
int maple_pair_choose_joined(const char *wanted,
			     const struct maple_backend_options *options,
			     struct maple_pair_choice *choice,
			     struct maple_error *err)
{
	struct maple_ability *ebpf = &choice->ability[MAPLE_HALF_EBPF];
	struct maple_ability *module = &choice->ability[MAPLE_HALF_MODULE];
	struct maple_error not_joined = { "" };
	bool any = !wanted || !strcmp(wanted, "auto");
	char text[SAID], agent[SAID];

	memset(choice, 0, sizeof(*choice));
	if (!any && !strcmp(wanted, "agent"))
		return choose_joining(choice, options, "as asked for", err);
	if (!any && strcmp(wanted, "kernel") && strcmp(wanted, "ebpf+module"))
		return maple_error_set(err, EINVAL,
				       "--backend %s cannot join a program: "
				       "agent and kernel can",
				       wanted);
	halves[MAPLE_HALF_MODULE].probe(options, module);
	if (!any || !module->error)
		halves[MAPLE_HALF_EBPF].probe(options, ebpf);
	if (any && (module->error || ebpf->error)) {
		say(text, module->error ? module : ebpf);
		if (!choose_joining(choice, options, text, &not_joined))
			return 0;
	}
	if (any && module->error)
		halves[MAPLE_HALF_EBPF].probe(options, ebpf);
	if (!any || !*not_joined.text || !ebpf->error)
		return choose_outside(choice, err);
	say(text, ebpf);
	snprintf(agent, sizeof(agent), "%.200s", not_joined.text);
	return maple_error_set(err, -maple_backend_errno(ebpf->error),
			       "%.240s; and it cannot be observed by eBPF "
			       "either: %.200s",
			       agent, text);
}

static int open_halves(struct maple_pair *pair,
		       const struct maple_pair_choice *choice,
		       const struct maple_backend_options *options,
		       struct maple_error *err)
{
	struct maple_backend_options with = *options;
	int e;

	assert(halves[choice->observe].observes &&
	       (choice->alone || halves[choice->enforce].enforces));
	assert(!choice->apart || choice->observe == choice->enforce);
	with.cpu = &pair->cpu;
	e = halves[choice->observe].create(&with, &pair->observe, err);
	if (e || choice->alone)
		return e;
	if (choice->enforce == choice->observe && !choice->apart) {
		pair->enforce = pair->observe;
		return 0;
	}
	return halves[choice->enforce].create(&with, &pair->enforce, err);
}

static int take_cpu(struct maple_cpu *cpu,
		    const struct maple_backend_options *options,
		    double patience, struct maple_error *err)
{
	const struct maple_patience with = { -1, options->notice, NULL,
					     options->ctx };
	int e;

	assert(cpu->number < 0 && cpu->lock < 0);
	if (options->cpu) {
		*cpu = *options->cpu;
		return 0;
	}
	if (options->host) {
		e = maple_cpu_lease_some(cpu, &options->host, 1, &with, err);
		if (e < 0)
			return e;
		e = maple_cpu_leave(cpu, options->notice, options->ctx);
	} else {
		e = maple_cpu_take(cpu, patience, options->notice, options->ctx);
	}
	return e ? maple_error_set(err, -e, "no CPU for the target: %s",
				   strerror(-e))
		 : 0;
}

/*
 * maple_pair_create - the two backends that @choice names, for the program in
 * @options, and a CPU for it
 * @patience: seconds to wait for a CPU of its own
 *
 * If @options has no CPU, one is taken, and the calling thread leaves it until
 * maple_pair_destroy(); if it has, its claim is the pair's from here on.
 */
int maple_pair_create(const struct maple_pair_choice *choice,
		      const struct maple_backend_options *options,
		      double patience, struct maple_pair **made,
		      struct maple_error *err)
{
	struct maple_pair *pair = calloc(1, sizeof(*pair));
	int e;

	if (!pair)
		return maple_error_set(err, ENOMEM, "out of memory");
	pair->cpu.number = pair->cpu.lock = -1;
	e = choice->alone ? 0 : take_cpu(&pair->cpu, options, patience, err);
	if (e) {
		free(pair);
		return e;
	}
	e = open_halves(pair, choice, options, err);
	if (e) {
		maple_pair_destroy(pair);
		return maple_backend_errno(e);
	}
	assert(pair->observe && !pair->enforce == choice->alone);
	*made = pair;
	return 0;
}

/* maple_pair_destroy - frees both halves and gives back the CPU */
void maple_pair_destroy(struct maple_pair *pair)
{
	if (!pair)
		return;
	assert(pair->observe || !pair->enforce); /* it came first */
	maple_backend_destroy(pair->observe);
	if (pair->enforce != pair->observe)
		maple_backend_destroy(pair->enforce);
	if (pair->cpu.number >= 0)
		maple_cpu_give_back(&pair->cpu);
	free(pair);
}

static struct maple_backend *scheduler_of(const struct maple_pair *pair)
{
	return pair->observe->ops->schedules ? pair->observe : pair->enforce;
}

/* maple_pair_turns - whether profile runs may have threads take turns */
bool maple_pair_turns(const struct maple_pair *pair)
{
	const struct maple_backend *b = scheduler_of(pair);

	return b && b->ops->turns;
}

/* The half that carries out controlled runs, or will say that it cannot. */
static struct maple_backend *controller_of(const struct maple_pair *pair)
{
	return pair->enforce->ops->controls ? pair->enforce : pair->observe;
}

/* maple_pair_controls - whether controlled runs can be had */
bool maple_pair_controls(const struct maple_pair *pair)
{
	const struct maple_backend *b = controller_of(pair);

	return b->ops->controls && !b->options.cpu->shared;
}

/*
 * maple_pair_run - carries out @order by the half that can
 *
 * What observes from outside sets no priorities: for those, the enforcing
 * half works beside it.
 */
int maple_pair_run(struct maple_pair *pair, const struct maple_run_order *order,
		   const struct maple_run_sink *sink, struct maple_run *run,
		   struct maple_error *err)
{
	struct maple_backend *beside = NULL, *b = pair->observe;
	int e;

	if (order->kind == MAPLE_RUN_ENFORCE)
		b = pair->enforce;
	else if (order->kind == MAPLE_RUN_SCHEDULE)
		b = scheduler_of(pair);
	else if (order->kind == MAPLE_RUN_CONTROL)
		b = controller_of(pair);
	else if (order->kind == MAPLE_RUN_PROFILE && scheduler_of(pair) != b)
		beside = scheduler_of(pair);
	assert(b); /* who observes alone is asked for nothing else */
	e = maple_backend_run(b, beside, order, sink, run, err);
	if (!e && run->end == MAPLE_END_ITSELF && b->options.joined)
		run->unknown =
			!pair->observe->ops->ended ||
			!pair->observe->ops->ended(pair->observe, &run->status);
	return e;
}
