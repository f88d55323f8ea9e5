// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Whether maple.ko can be used, and what mends it if not. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include "../backend.h"
#include "control.h"

static void set(struct maple_ability *a, int error, const char *text,
		const char *mend)
{
	a->error = error;
	snprintf(a->text, sizeof(a->text), "%.255s", text);
	snprintf(a->mend, sizeof(a->mend), "%.255s", mend);
}

/* Whether the modules of the running kernel include maple.ko. */
static bool is_installed(const char *release)
{
	char path[256], line[4096];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, ":")] = '\0';
		found = strstr(line, "/maple.ko") ||
			!strncmp(line, "maple.ko", 8);
	}
	if (file)
		fclose(file);
	return found;
}

static void not_loaded(struct maple_ability *ability, int error,
		       const char *text)
{
	char mend[256];
	struct utsname u;

	uname(&u);
	if (is_installed(u.release))
		snprintf(mend, sizeof(mend), "sudo modprobe maple");
	else
		snprintf(mend, sizeof(mend),
			 "sudo apt install maple-dkms linux-headers-%.100s && "
			 "sudo modprobe maple",
			 u.release);
	set(ability, error, text, mend);
}

/*
 * maple_module_probe - whether maple.ko is there, and for us
 * @host: mapled, if it is to be used by way of it; or NULL
 */
void maple_module_probe(struct maple_host *host, struct maple_ability *ability)
{
	struct maple_control_info info;
	struct maple_control *control;
	struct maple_error err;
	char text[128];
	int e;

	e = maple_control_open_by(host, &control, &err);
	if (e == -ENOENT)
		not_loaded(ability, e, err.text);
	else if (e)
		set(ability, e, err.text, "");
	if (e)
		return;
	e = maple_control_info(control, &info, &err);
	if (e) {
		set(ability, e, err.text, "");
	} else if (maple_control_release(control, &err) == -EPERM) {
		/* Asked without a session, who may is told something else. */
		set(ability, -EPERM, "maple.ko is loaded, but not for everybody",
		    "run mapletest as root");
	} else {
		snprintf(text, sizeof(text),
			 "maple.ko is loaded, version %u, features %#x",
			 info.version, info.features);
		set(ability, 0, text, "");
	}
	maple_control_close(control);
}
