// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Another program in this process: the process leaves the run, since the new
 * program inherits policy and affinity, and comes back if it is still here.
 */
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>
#include "intercept.h"

/* For a process of the run, *@back says that it left. */
static void exec_begin(bool *back)
{
	*back = maple_agent_on();
	if (*back)
		maple_process_leave();
}

/* Only reached when exec failed; keeps its errno. */
static int exec_end(bool back)
{
	int error = errno;

	if (back)
		maple_agent_attach();
	errno = error;
	return -1;
}

#define EXEC(name, params, args)                          \
	MAPLE_REAL(name);                                 \
	MAPLE_EXPORT int name params                      \
	{                                                 \
		char *room[maple_environment_room(envp)]; \
		bool back;                                \
                                                          \
		envp = maple_environment_add(envp, room); \
		exec_begin(&back);                        \
		REAL(name) args;                          \
		return exec_end(back);                    \
	}

typedef char *const *strings_t;

EXEC(execve, (const char *path, strings_t argv, strings_t envp),
     (path, argv, envp))
EXEC(execvpe, (const char *file, strings_t argv, strings_t envp),
     (file, argv, envp))
EXEC(fexecve, (int fd, strings_t argv, strings_t envp), (fd, argv, envp))
EXEC(execveat,
     (int dir, const char *path, strings_t argv, strings_t envp, int flags),
     (dir, path, argv, envp, flags))

MAPLE_EXPORT int execv(const char *path, strings_t argv)
{
	return execve(path, argv, environ);
}

MAPLE_EXPORT int execvp(const char *file, strings_t argv)
{
	return execvpe(file, argv, environ);
}

#ifdef __clang__
#define NOT_INTO __attribute__((optnone, noinline))
#else
#define NOT_INTO __attribute__((noipa))
#endif

/*
 * The forms with a list call those with an array; @tail takes what follows
 * the list's NULL. A list may be empty, whatever the prototypes say, so the
 * compiler must not conclude anything here.
 */
NOT_INTO static size_t count_args(const char *arg0, va_list args)
{
	size_t n;

	if (!arg0)
		return 0;
	for (n = 1; va_arg(args, char *); n++)
		;
	return n;
}

#define EXEC_LIST(name, first, tail, call)                              \
	MAPLE_EXPORT int name(const char *first, const char *arg0, ...) \
	{                                                               \
		va_list args;                                           \
		size_t i, n;                                            \
                                                                        \
		va_start(args, arg0);                                   \
		n = count_args(arg0, args);                             \
		va_end(args);                                           \
                                                                        \
		char *argv[n + 1];                                      \
                                                                        \
		argv[0] = (char *)arg0;                                 \
		va_start(args, arg0);                                   \
		for (i = 1; i <= n; i++)                                \
			argv[i] = va_arg(args, char *);                 \
		tail;                                                   \
		va_end(args);                                           \
		return call;                                            \
	}

EXEC_LIST(execl, path, (void)0, execv(path, argv))
EXEC_LIST(execlp, file, (void)0, execvp(file, argv))
EXEC_LIST(execle, path, char *const *envp = va_arg(args, char *const *),
	  execve(path, argv, envp))
