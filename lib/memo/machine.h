/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Where a campaign is: what its findings may depend on. */
#ifndef MAPLE_MEMO_MACHINE_H
#define MAPLE_MEMO_MACHINE_H

struct maple_machine {
	char name[256];	  /* of the host, or of the container */
	char cpu[128];	  /* the model, "" where nobody says */
	char kernel[128]; /* its release */
};

/* maple_machine_describe - this one */
void maple_machine_describe(struct maple_machine *machine);

#endif
