// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Whether maple.ko can be used, and what mends it if not. */
#include <errno.h>
#include <stdio.h>
#include "../backend.h"
#include "control.h"

static void set(struct maple_ability *a, int error, const char *text,
		const char *mend)
{
	a->error = error;
	snprintf(a->text, sizeof(a->text), "%.255s", text);
	snprintf(a->mend, sizeof(a->mend), "%.255s", mend);
}

/* maple_module_probe - whether maple.ko is there, and for us */
void maple_module_probe(struct maple_ability *ability)
{
	struct maple_control_info info;
	struct maple_control *control;
	struct maple_error err;
	char text[128];
	int e;

	e = maple_control_open(&control, &err);
	if (e) {
		set(ability, e, err.text,
		    e == -ENOENT ? "sudo modprobe maple" : "");
		return;
	}
	e = maple_control_info(control, &info, &err);
	if (e) {
		set(ability, e, err.text, "");
	} else if (maple_control_release(control, &err) == -EPERM) {
		/* Asked without a session, who may is told something else. */
		set(ability, -EPERM,
		    "maple.ko is loaded, but not for everybody", "sudo");
	} else {
		snprintf(text, sizeof(text),
			 "maple.ko is loaded, version %u, features %#x",
			 info.version, info.features);
		set(ability, 0, text, "");
	}
	maple_control_close(control);
}
