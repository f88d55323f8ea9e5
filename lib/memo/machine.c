// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The machine: its name, its kernel, and what /proc calls its CPUs. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include "memo/machine.h"

static void read_cpu(char *text, size_t size)
{
	FILE *in = fopen("/proc/cpuinfo", "re");
	char line[256];

	*text = '\0';
	while (in && !*text && fgets(line, sizeof(line), in)) {
		const char *colon = strchr(line, ':');

		if (colon && !strncmp(line, "model name", 10))
			snprintf(text, size, "%.*s",
				 (int)strcspn(colon + 1, "\n"), colon + 1);
	}
	if (in)
		fclose(in);
	memmove(text, text + strspn(text, " "),
		strlen(text + strspn(text, " ")) + 1);
}

void maple_machine_describe(struct maple_machine *machine)
{
	struct utsname u = { "" };

	uname(&u);
	snprintf(machine->name, sizeof(machine->name), "%s", u.nodename);
	snprintf(machine->kernel, sizeof(machine->kernel), "%.127s", u.release);
	read_cpu(machine->cpu, sizeof(machine->cpu));
}
