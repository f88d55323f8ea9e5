// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <maple/finding.h>

const char *maple_failure_name(enum maple_failure kind)
{
	static const char *const names[] = {
		[MAPLE_FAILURE_NONE] = "none",
		[MAPLE_FAILURE_SIGNAL] = "signal",
		[MAPLE_FAILURE_EXIT] = "exit",
		[MAPLE_FAILURE_DEADLOCK] = "deadlock",
		[MAPLE_FAILURE_HANG] = "hang",
		[MAPLE_FAILURE_ORACLE] = "oracle",
		[MAPLE_FAILURE_OUTPUT] = "output",
		[MAPLE_FAILURE_SANITIZER] = "sanitizer",
		[MAPLE_FAILURE_VIOLATION] = "violation",
	};

	if ((unsigned int)kind >= sizeof(names) / sizeof(*names))
		return "unknown";
	return names[kind];
}

const char *maple_reach_name(enum maple_reach reach)
{
	static const char *const names[] = {
		[MAPLE_REACH_DONE] = "done",
		[MAPLE_REACH_NOW] = "now",
		[MAPLE_REACH_NOT] = "not",
	};

	return (unsigned int)reach < sizeof(names) / sizeof(*names)
		       ? names[reach]
		       : "unknown";
}

void maple_place_deinit(struct maple_place *place)
{
	free(place->image);
	free(place->build_id);
	free(place->function);
	free(place->file);
	free(place->signature);
	free(place->inlined);
	free(place->inlined_file);
}

void maple_moment_deinit(struct maple_moment *moment)
{
	maple_place_deinit(&moment->place);
	free(moment->thread);
	free(moment->variable);
	free(moment->type);
	free(moment->origin);
	free(moment->value);
	free(moment->was);
	free(moment->callers);
}

static void stack_deinit(struct maple_stack *stack)
{
	for (unsigned int i = 0; i < stack->nframes; i++)
		maple_place_deinit(&stack->frames[i].place);
	free(stack->frames);
	free(stack->thread);
	free(stack->state);
	free(stack->before);
}

static void edge_deinit(struct maple_edge *edge)
{
	maple_place_deinit(&edge->place);
	maple_place_deinit(&edge->since);
	free(edge->thread);
	free(edge->variable);
	free(edge->holder);
}

/* maple_finding_is_cause - see maple/finding.h */
bool maple_finding_is_cause(const struct maple_finding *f)
{
	return f->flipped_fails * 5 <= f->flipped_runs;
}

/* maple_finding_meets - see maple/finding.h */
bool maple_finding_meets(const struct maple_finding *f)
{
	return f->switches && f->strategy && !strcmp(f->strategy, "meet");
}

bool maple_finding_is_id(const char *text)
{
	size_t n = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return n && !text[n];
}

int maple_finding_line(struct maple_finding *finding)
{
	free(finding->replay);
	finding->replay = NULL;
	if (finding->attached || !maple_finding_is_id(finding->id) ||
	    (finding->kind == MAPLE_FAILURE_VIOLATION && !finding->plan))
		return 0;
	return asprintf(&finding->replay, "mapletest replay %s", finding->id) < 0
		       ? -ENOMEM
		       : 0;
}

void maple_finding_destroy(struct maple_finding *finding)
{
	if (!finding)
		return;
	for (unsigned int i = 0; i < finding->nmoments; i++)
		maple_moment_deinit(&finding->moments[i]);
	for (unsigned int i = 0; i < finding->nstacks; i++)
		stack_deinit(&finding->stacks[i]);
	for (unsigned int i = 0; i < finding->nedges; i++)
		edge_deinit(&finding->edges[i]);
	for (char **arg = finding->argv; arg && *arg; arg++)
		free(*arg);
	free(finding->moments);
	free(finding->stacks);
	free(finding->edges);
	free(finding->argv);
	free(finding->suppressed);
	free(finding->id);
	free(finding->class);
	free(finding->title);
	free(finding->what);
	free(finding->plan);
	free(finding->cwd);
	free(finding->exe);
	free(finding->input);
	free(finding->backend);
	free(finding->machine);
	free(finding->cpu);
	free(finding->kernel);
	free(finding->first_backend);
	free(finding->strategy);
	free(finding->replay);
	free(finding->output);
	free(finding->oracle);
	free(finding->report);
	free(finding->switches);
	free(finding->violation.set);
	free(finding);
}
