// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Programs that the one under test has started. They stay out of the run; the
 * first of them to create a thread leaves its path in the shared file, so that
 * the campaign can say who it should have been about. The file is not kept
 * mapped until then: it would count against the stranger's address space.
 */
#include <sys/mman.h>
#include "agent/core.h"
#include "agent/raw.h"

static char file[64]; /* as MAPLE_AGENT had it; "": no stranger */

/* maple_stranger_note - this process stays out of the run in the file @path */
void maple_stranger_note(const char *path)
{
	unsigned int i;

	for (i = 0; i < sizeof(file) - 1 && path[i]; i++)
		file[i] = path[i];
	if (path[i])
		i = 0;
	file[i] = 0;
}

/* maple_stranger_tell - a process that is not the run's creates a thread */
void maple_stranger_tell(void)
{
	struct maple_shm *shm;
	int32_t none = 0;
	long n;

	if (!__atomic_exchange_n(&file[0], 0, __ATOMIC_RELAXED))
		return;
	file[0] = '/';
	shm = maple_agent_map(file, MAPLE_SHM_LAUNCHED);
	file[0] = 0;
	if (!shm)
		return;
	if (__atomic_compare_exchange_n(&shm->stranger_pid, &none,
					(int32_t)raw0(SYS_getpid), false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		n = raw3(SYS_readlink, "/proc/self/exe", shm->stranger,
			 sizeof(shm->stranger) - 1);
		shm->stranger[raw_failed(n) ? 0 : n] = 0;
	}
	raw2(SYS_munmap, shm, MAPLE_SHM_LAUNCHED);
}
