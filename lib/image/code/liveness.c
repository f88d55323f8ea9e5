// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Before which sites the status flags are dead: on the way on, all are written
 * before one is read. A slot saves them for nothing there, and a site that has
 * gone quiet is passed by with four instructions.
 *
 * Only the straight way on is looked at. At a branch, a call, a return or the
 * end of what was decoded they count as alive, though compilers keep nothing
 * in them there: assembly may.
 */
#include "image/internal.h"

static bool ends(const struct maple_decoded *d)
{
	return d->flags & (MAPLE_DEC_FIXED | MAPLE_DEC_STOP | MAPLE_DEC_JMP |
			   MAPLE_DEC_JCC | MAPLE_DEC_BRANCH | MAPLE_DEC_LAST);
}

/* maple_image_liveness - of the instructions from decoded one @from on */
void maple_image_liveness(struct maple_image *image, size_t from)
{
	const struct maple_decoded *decoded = image->decoded.at;
	struct maple_table_site *site;
	bool dead = false;

	for (size_t i = image->decoded.n; i-- > from;) {
		const struct maple_decoded *d = &decoded[i];

		if (d->flags & MAPLE_DEC_READS || ends(d))
			dead = false;
		else if (d->flags & MAPLE_DEC_WRITES)
			dead = true;
		if (!dead || d->site == MAPLE_SITE_NONE)
			continue;
		site = (struct maple_table_site *)image->sites.at + d->site;
		do
			site->flags |= MAPLE_SITEF_NOFLAGS;
		while (site++->flags & MAPLE_SITEF_MORE);
	}
}
