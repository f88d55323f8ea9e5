// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Schedules that outlive the run that had them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "switches.h"

/* maple_switches_copy - @to, which is empty, becomes the same; -ENOMEM or 0 */
int maple_switches_copy(struct maple_switches *to,
			const struct maple_switches *from)
{
	*to = (struct maple_switches){
		.entry = malloc((from->n + 1) * sizeof(*to->entry)),
		.name = malloc((from->nnames + 1) * sizeof(*to->name)),
	};
	if (!to->entry || !to->name) {
		maple_switches_deinit(to);
		return -ENOMEM;
	}
	to->n = from->n;
	to->nnames = from->nnames;
	if (from->n)
		memcpy(to->entry, from->entry, from->n * sizeof(*to->entry));
	if (from->nnames)
		memcpy(to->name, from->name, from->nnames * sizeof(*to->name));
	return 0;
}

/* maple_switches_deinit - frees what it is made of */
void maple_switches_deinit(struct maple_switches *s)
{
	free(s->entry);
	free(s->name);
	*s = (struct maple_switches){ 0 };
}
