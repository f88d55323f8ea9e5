// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libmaple-agent.so, preloaded into the program under test. It observes or
 * enforces what the campaign has written into the shared memory file that
 * MAPLE_AGENT names, and stays out of every other process that inherits the
 * environment. It prints nothing: what went wrong is counted in the file.
 */
#include <fcntl.h>
#include <fnmatch.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "core.h"
#include "raw.h"

struct maple_shm *maple_shm;
bool maple_agent_enforces; /* mode is ENFORCE, in the program under test */

/* What crtbegin.o would have said: libc's pthread_atfork() asks for it. */
extern void *const __dso_handle __attribute__((visibility("hidden")));
void *const __dso_handle = (void *)&__dso_handle;

static char *find_variable(char **envp, const char *name)
{
	unsigned int i;

	for (; envp && *envp; envp++) {
		for (i = 0; name[i] && (*envp)[i] == name[i]; i++)
			;
		if (!name[i] && (*envp)[i] == '=')
			return *envp + i + 1;
	}
	return NULL;
}

/* maple_agent_map - @size bytes of the shared memory file @path, or NULL */
struct maple_shm *maple_agent_map(const char *path, size_t size)
{
	long fd = raw3(SYS_open, path, O_RDWR | O_CLOEXEC, 0);
	struct maple_shm *shm;
	long map;

	if (raw_failed(fd))
		return NULL;
	map = raw6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_NORESERVE, fd, 0);
	raw1(SYS_close, fd);
	if (raw_failed(map))
		return NULL;
	shm = (struct maple_shm *)map;
	if (shm->magic == MAPLE_SHM_MAGIC &&
	    shm->version == MAPLE_SHM_VERSION && shm->size == sizeof(*shm))
		return shm;
	raw2(SYS_munmap, shm, size);
	return NULL;
}

static bool matches(const struct maple_shm *shm, const char *path)
{
	const char *base = path;

	for (const char *p = path; *p; p++)
		if (*p == '/')
			base = p + 1;
	return !fnmatch(shm->exe, path, 0) || !fnmatch(shm->exe, base, 0);
}

/*
 * By the name of its file, or by the one that it was executed by, which may be
 * a link's. That of a script, which its interpreter runs, does not count: as
 * in maple_process_runs().
 */
static bool right_program(const struct maple_shm *shm)
{
	static const char self[] = "/proc/self/exe";
	const char *name = (const char *)getauxval(AT_EXECFN);
	struct stat file, named;
	char path[4096];
	long n = raw3(SYS_readlink, self, path, sizeof(path) - 1);

	if (!shm->exe[0])
		return true;
	if (raw_failed(n))
		return false;
	path[n] = 0;
	if (matches(shm, path))
		return true;
	return name && !raw_failed(raw2(SYS_stat, self, &file)) &&
	       !raw_failed(raw2(SYS_stat, name, &named)) &&
	       file.st_dev == named.st_dev && file.st_ino == named.st_ino &&
	       matches(shm, name);
}

/* Whether this process is to be the program under test, for good. */
static bool take_run(struct maple_shm *shm)
{
	int32_t none = 0;

	return shm->mode != MAPLE_SHM_IDLE && right_program(shm) &&
	       __atomic_compare_exchange_n(&shm->pid, &none,
					   (int32_t)raw0(SYS_getpid), false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* What the target has started must not go on with the target's priority. */
static void stay_out(struct maple_shm *shm)
{
	if (shm->pid && shm->stats.pinned)
		maple_sched_put_back(shm, 0);
}

static void come_to(struct maple_shm *shm, enum maple_shm_state state)
{
	__atomic_store_n(&shm->state, state, __ATOMIC_RELEASE);
	raw_futex_wake(&shm->state);
}

/* From here on this process is the run. */
static void own_run(struct maple_shm *shm)
{
	maple_agent_enforces = shm->mode == MAPLE_SHM_ENFORCE;
	maple_agent_pid = shm->pid;
	come_to(shm, MAPLE_AGENT_ASKING);
	if (shm->mode == MAPLE_SHM_CONTROL) {
		maple_control_start();
		maple_section_start();
	} else if (maple_agent_enforces) {
		maple_agent_heap();
		maple_enforce_start();
	} else if (shm->mode == MAPLE_SHM_OBSERVE) {
		maple_section_start();
	}
}

/* All that runs have in common, once; goes on in each of them. */
static void branch_off(struct maple_shm *shm)
{
	maple_fault_start();
	maple_image_start();
	maple_image_keep();
	maple_call_start();
	maple_watch_try();
	maple_stem_serve(shm);
	shm->pid = raw0(SYS_getpid);
	own_run(shm);
	maple_call_refresh();
	maple_image_again();
}

static void work(struct maple_shm *shm)
{
	maple_agent_enter();
	maple_shm = shm;
	if (shm->stem == MAPLE_STEM_WANTED) {
		branch_off(shm);
	} else {
		own_run(shm);
		maple_fault_start();
		maple_image_start();
		maple_call_start();
	}
	maple_leave_start();
	maple_debugged_await();
	if (maple_agent_controls)
		maple_net_start();
	maple_thread_main();
	shm->entered = raw_now();
	come_to(shm, MAPLE_AGENT_RUNNING);
	maple_agent_leave();
}

__attribute__((constructor)) static void start(int argc, char **argv,
					       char **envp)
{
	char *path = find_variable(envp, MAPLE_SHM_ENV);
	bool ahead = path && *path == MAPLE_SHM_AHEAD;
	struct maple_shm *shm;

	/* No program that this one executes is to wait as well. */
	if (ahead)
		*path = '/';
	shm = path ? maple_agent_map(path, MAPLE_SHM_LAUNCHED) : NULL;
	if (ahead)
		maple_stem_await();
	if (!shm)
		return;
	if (take_run(shm)) {
		maple_environment_hide(envp, shm->exe[0]);
		work(shm);
		return;
	}
	maple_stranger_note(path);
	stay_out(shm);
	/* Who comes before the program under test may be who starts it. */
	if (!shm->exe[0] || shm->pid)
		maple_environment_hide(envp, shm->exe[0]);
	raw2(SYS_munmap, shm, MAPLE_SHM_LAUNCHED);
}
