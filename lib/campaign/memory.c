// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Between the campaign's numbers and what the memo database keeps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

static const char letters[] = {
	[MAPLE_EV_READ] = 'R',
	[MAPLE_EV_WRITE] = 'W',
	[MAPLE_EV_LOCK] = 'L',
	[MAPLE_EV_UNLOCK] = 'U',
};

/*
 * maple_campaign_row - finds @candidate in the memo and takes over what is
 * known of it; needs the program to be known
 */
int maple_campaign_row(struct maple_campaign *c,
		       struct maple_candidate *candidate)
{
	struct maple_memo_iroot_key key = { .idiom = candidate->iroot.idiom };
	unsigned int i, n = maple_iroot_events(key.idiom);
	struct maple_place place[MAPLE_IROOT_EVENTS] = { 0 };
	struct maple_memo_state state;
	struct maple_site_info info;
	int e = 0;

	for (i = 0; i < n; i++) {
		const struct maple_iroot_event *event = &candidate->iroot.e[i];

		if (maple_registry_site(c->registry, event->site, &info)) {
			e = maple_error_set(c->err, EBADMSG,
					    "site %u is unknown", event->site);
			goto out;
		}
		maple_registry_place(c->registry, event->site, &place[i]);
		key.e[i].build_id = info.build_id ? info.build_id : "none";
		key.e[i].image = info.path;
		key.e[i].offset = info.offset;
		key.e[i].call = info.is_call;
		key.e[i].kind = letters[event->kind];
		key.e[i].function = place[i].function;
		key.e[i].file = place[i].file;
		key.e[i].line = place[i].line;
	}
	e = maple_memo_iroot(c->memo, &key, &candidate->row, c->err);
	if (!e)
		e = maple_memo_state(c->memo, c->memo_program, candidate->row,
				     &state, c->err);
	if (e)
		goto out;
	candidate->attempts = state.attempts;
	candidate->failed = state.failed;
	if (state.exposed)
		maple_candidate_exposed(&c->candidates, candidate);
out:
	for (i = 0; i < n; i++)
		maple_place_deinit(&place[i]);
	return e;
}
