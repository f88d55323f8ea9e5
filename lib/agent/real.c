// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The next definition of a function after ours. */
#include <dlfcn.h>
#include <stdlib.h>
#include "agent.h"
#include "raw.h"

static void no_function(const char *name)
{
	static const char text[] = "maple: no definition found of ";
	unsigned int n = 0;

	while (name[n])
		n++;
	raw3(SYS_write, 2, text, sizeof(text) - 1);
	raw3(SYS_write, 2, name, n);
	raw3(SYS_write, 2, "\n", 1);
	abort();
}

void *maple_agent_real(const char *name)
{
	/* The default is not what dlsym() finds first where there are two. */
	static const char cond[] = "pthread_cond_";
	unsigned int n = 0;
	void *f = NULL;

	maple_agent_enter();
	while (cond[n] && cond[n] == name[n])
		n++;
	if (!cond[n])
		f = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
	if (!f)
		f = dlsym(RTLD_NEXT, name);
	maple_agent_leave();
	if (!f)
		no_function(name);
	return f;
}
