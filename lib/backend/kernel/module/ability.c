// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Whether maple.ko can be used, and what mends it if not. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "backend/backend.h"
#include "control.h"

static void set(struct maple_ability *a, int error, const char *text,
		const char *mend)
{
	a->error = error;
	snprintf(a->text, sizeof(a->text), "%.255s", text);
	snprintf(a->mend, sizeof(a->mend), "%.255s", mend);
}

static bool is_there(const char *root, const char *format, const char *release)
{
	char path[512];
	int n = snprintf(path, sizeof(path), "%s", root);

	snprintf(path + n, sizeof(path) - n, format, release);
	return !access(path, F_OK);
}

/* Whether the modules of the kernel include maple.ko. */
static bool is_installed(const char *release, const char *root)
{
	char path[512], line[4096];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%slib/modules/%s/modules.dep", root,
		 release);
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

/*
 * maple_module_mend - how the kernel of @release comes by maple.ko
 * @root: the folder that all is looked for in, with a slash behind it
 *
 * A kernel that is no package's has no package of headers either.
 */
void maple_module_mend(const char *release, const char *root, char *mend,
		       size_t size)
{
	if (is_installed(release, root))
		snprintf(mend, size, "sudo modprobe maple");
	else if (is_there(root, "lib/modules/%s/build", release))
		snprintf(mend, size,
			 "sudo apt install maple-dkms && sudo modprobe maple");
	else if (is_there(root, "var/lib/dpkg/info/linux-image-%s.list",
			  release))
		snprintf(mend, size,
			 "sudo apt install maple-dkms linux-headers-%.100s && "
			 "sudo modprobe maple",
			 release);
	else
		snprintf(mend, size,
			 "kernel %.100s is of no package here: build maple.ko "
			 "with its headers, make module KDIR=THEIRS",
			 release);
}

static void not_loaded(struct maple_ability *ability, int error,
		       const char *text)
{
	char mend[256];
	struct utsname u;

	uname(&u);
	maple_module_mend(u.release, "/", mend, sizeof(mend));
	set(ability, error, text, mend);
}

/*
 * maple_module_probe - whether maple.ko is there, and for us, by way of mapled
 * where @options has it
 */
void maple_module_probe(const struct maple_backend_options *options,
			struct maple_ability *ability)
{
	struct maple_control_info info;
	struct maple_control *control;
	struct maple_error err;
	char text[128];
	int e;

	e = maple_control_open_by(options->host, &control, &err);
	if (e == -ENOENT)
		not_loaded(ability, e, err.text);
	else if (e)
		set(ability, e, err.text, "");
	if (e)
		return;
	e = maple_control_info(control, &info, &err);
	if (e) {
		set(ability, e, err.text,
		    e == -EPROTO ? "sudo rmmod maple && sudo modprobe maple"
				 : "");
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
