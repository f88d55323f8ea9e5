// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The agent backend for a process that ran before: a run is a stretch of it. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "backend/join/porter.h"
#include "agent.h"

/* maple_agent_joined_probe - whether the agent can join the process */
void maple_agent_joined_probe(const struct maple_backend_options *options,
			      struct maple_ability *ability)
{
	struct maple_error err = { "" };
	int e;

	memset(ability, 0, sizeof(*ability));
	maple_agent_probe(options, ability);
	if (ability->error)
		return;
	e = maple_porter_is_there()
		    ? maple_porter_fits(&err)
		    : maple_join_fits(options->joined->pid, &err);
	if (!e)
		return;
	ability->error = e;
	snprintf(ability->text, sizeof(ability->text), "%.250s", err.text);
}

/*
 * maple_agent_joined_mend - what is left in process @pid of others that had
 * joined it, all of whom were killed, is there no more
 */
int maple_agent_joined_mend(pid_t pid, bool *mended, struct maple_error *err)
{
	return maple_porter_is_there() ? maple_porter_mend(mended, err)
				       : maple_join_mend(pid, mended, err);
}

/*
 * maple_agent_joined_forces - whether threads of the process may have real-time
 * priorities, without which no order is forced
 */
bool maple_agent_joined_forces(const struct maple_backend_options *options)
{
	return maple_levels_allowed(options->joined->pid);
}

/* maple_agent_joined_attach - the stretch begins */
int maple_agent_joined_attach(struct maple_backend *b, pid_t pid,
			      struct maple_error *err)
{
	struct maple_agent_backend *a = (struct maple_agent_backend *)b;
	bool forces = a->shm->mode == MAPLE_SHM_ENFORCE;
	int e = 0;

	assert(b->options.joined && pid == b->options.joined->pid);
	a->joiner.shm_fd = a->shm_fd;
	a->joiner.tables_fd = a->tables_fd;
	if (!a->joiner.state)
		e = maple_joiner_open(&a->joiner, pid, b->options.agent, err);
	if (!e)
		e = maple_joiner_load(&a->joiner, err);
	if (e)
		return e;
	maple_agent_tables_answer(a);
	return maple_joiner_enter(&a->joiner, a->shm->cpu, forces, err);
}

/* maple_agent_joined_leave - ... and ends; what it has recorded is all there */
void maple_agent_joined_leave(struct maple_agent_backend *a)
{
	struct maple_error err = { "" };
	unsigned int kept;

	if (!a->joiner.state)
		return;
	kept = a->joiner.state->kept;
	if (maple_joiner_leave(&a->joiner, &err) && a->base.options.notice)
		a->base.options.notice(a->base.options.ctx, err.text);
	if (a->joiner.state->kept == kept || !a->base.options.notice)
		return;
	a->base.options.notice(a->base.options.ctx,
			       "a thread did not come out of the agent: a copy "
			       "of it, asleep, stays in the process's memory");
}

/* maple_agent_joined_done - whether the order has been carried out */
bool maple_agent_joined_done(struct maple_backend *b)
{
	const struct maple_agent_backend *a = (struct maple_agent_backend *)b;
	struct maple_auto_result result;

	if (a->shm->mode != MAPLE_SHM_ENFORCE)
		return false;
	memcpy(&result, a->shm->auto_result, sizeof(result));
	return result.finished;
}
