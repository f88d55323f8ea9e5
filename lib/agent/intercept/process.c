// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Processes that the program starts, and its own end.
 *
 * A child runs natively: it leaves the run before anything of the program
 * runs in it (follow.c says how it may come back). fork() inside libc
 * (daemon, forkpty) is caught by a handler of pthread_atfork, which is first
 * because it is registered first. vfork() is
 * left alone: no C function can stand before what returns twice into one
 * frame; its child leaves by its exec (the core sees that the memory is still
 * the target's), and its _exit() is not ours. posix_spawn(), and system() and
 * popen(), which use it inside libc, run nothing of ours in the child; the
 * calling thread alone becomes native around the call.
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "intercept.h"

MAPLE_REAL(fork);
MAPLE_REAL(_Fork);
MAPLE_REAL_VERSION(posix_spawn, "GLIBC_2.15");
MAPLE_REAL_VERSION(posix_spawnp, "GLIBC_2.15");
MAPLE_REAL(system);
MAPLE_REAL(popen);
MAPLE_REAL(exit);
MAPLE_REAL(_exit);
MAPLE_REAL(_Exit);
MAPLE_REAL_VERSION(quick_exit, "GLIBC_2.24");

/* Also keeps what the program itself has asked for. */
void maple_process_leave(void)
{
	struct maple_native_sched native = maple_native_get();

	maple_agent_detach();
	maple_native_set(&native);
}

static void leave_if_on(void)
{
	if (maple_agent_on())
		maple_process_leave();
}

static void say_if_on(void)
{
	if (!maple_agent_on())
		return;
	maple_time_machine();
	maple_agent_forking();
}

/* What pthread_atfork() calls with the handle of its caller's image. */
int __register_atfork(void (*prepare)(void), void (*parent)(void),
		      void (*child)(void), void *handle);

__attribute__((constructor(103))) static void watch_forks(void)
{
	__register_atfork(say_if_on, NULL, leave_if_on, NULL);
}

MAPLE_EXPORT pid_t fork(void)
{
	pid_t pid = REAL(fork)();

	if (pid == 0)
		leave_if_on();
	return pid;
}

MAPLE_EXPORT pid_t _Fork(void)
{
	pid_t pid = REAL(_Fork)();

	if (pid == 0)
		leave_if_on();
	return pid;
}

/*
 * BLOCK, since the caller waits until the child has called exec. Until then
 * it may be on another CPU, where it must not record.
 */
static struct maple_native_sched spawn_begin(uint32_t site)
{
	struct maple_native_sched native = maple_native_get();

	maple_time_machine();
	maple_agent_note(MAPLE_EV_BLOCK, site, NULL, 0, 0, 0);
	maple_agent_enter();
	maple_native_set(&native);
	return native;
}

static void spawn_end(const struct maple_native_sched *native)
{
	maple_agent_leave();
	if (native->known)
		maple_native_unset(native);
}

#define SPAWN(type, name, params, first, args)              \
	MAPLE_EXPORT type name params                       \
	{                                                   \
		struct maple_native_sched native;           \
		type ret;                                   \
                                                            \
		first;                                      \
		if (!maple_agent_on())                      \
			return REAL(name) args;             \
		native = spawn_begin(SITE(MAPLE_EV_BLOCK)); \
		ret = REAL(name) args;                      \
		spawn_end(&native);                         \
		return ret;                                 \
	}

#define PASS_ON                                   \
	char *room[maple_environment_room(envp)]; \
	envp = maple_environment_add(envp, room)

SPAWN(int, posix_spawn,
      (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
       const posix_spawnattr_t *attr, char *const argv[], char *const *envp),
      PASS_ON, (pid, path, actions, attr, argv, envp))
SPAWN(int, posix_spawnp,
      (pid_t * pid, const char *file, const posix_spawn_file_actions_t *actions,
       const posix_spawnattr_t *attr, char *const argv[], char *const *envp),
      PASS_ON, (pid, file, actions, attr, argv, envp))
SPAWN(int, system, (const char *command), (void)0, (command))
SPAWN(FILE *, popen, (const char *command, const char *mode), (void)0,
      (command, mode))

#define EXIT(name)                                                  \
	MAPLE_EXPORT void name(int status)                          \
	{                                                           \
		if (maple_agent_on() && getpid() == maple_shm->pid) \
			maple_agent_exiting();                      \
		REAL(name)(status);                                 \
		__builtin_unreachable();                            \
	}

EXIT(exit)
EXIT(_exit)
EXIT(_Exit)
EXIT(quick_exit)
