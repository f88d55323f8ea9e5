// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Into the sandbox: what the kernel would refuse later comes first. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "sandbox/sandbox.h"

static unsigned int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned int n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

/*
 * A limit that is lower already stays, and so does a nice value that is higher.
 * Its memory has what it read of others, so none of it goes into a core file.
 */
static int lower(uint64_t memory)
{
	const struct rlimit none = { 0, 0 };
	struct rlimit data;
	int nice, fd;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, 0);
	if (!errno && nice < MAPLE_SANDBOX_NICE)
		setpriority(PRIO_PROCESS, 0, MAPLE_SANDBOX_NICE);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		dprintf(fd, "%d\n", MAPLE_SANDBOX_OOM);
		close(fd);
	}
	if (setrlimit(RLIMIT_CORE, &none) || getrlimit(RLIMIT_DATA, &data))
		return -errno;
	if (!memory)
		return 0;
	if (data.rlim_cur > memory)
		data.rlim_cur = memory;
	if (data.rlim_max > memory)
		data.rlim_max = memory;
	return setrlimit(RLIMIT_DATA, &data) ? -errno : 0;
}

/*
 * maple_sandbox_drop - of our capabilities those of @kept stay, if we have
 * them; what we execute has none, and gets none
 *
 * Returns 0 or -errno.
 */
int maple_sandbox_drop(uint64_t kept)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &head, data))
		return -errno;
	for (unsigned int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(kept >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) ||
			       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		       ? -errno
		       : 0;
}

/*
 * maple_sandbox_enter - the calling process is in the sandbox from now on
 *
 * Where the kernel has no Landlock it is entered without it: whoever wants to
 * tell asks maple_sandbox_landlock(). Errors: -EBUSY the process has several
 * threads, of which some would be left outside; -ENOSYS and others, where the
 * kernel filters no calls. After an error the process had best end.
 */
int maple_sandbox_enter(const struct maple_sandbox *box, struct maple_error *err)
{
	unsigned int threads = count_threads();
	int e;

	assert(box->files || !box->nfiles);
	if (threads > 1)
		return maple_error_set(err, EBUSY,
				       "no sandbox: the process has %u threads",
				       threads);
	e = box->traces ? 0 : lower(box->memory);
	if (!e)
		e = maple_sandbox_drop(box->capabilities);
	if (e)
		return maple_error_set(err, -e, "no sandbox: %s", strerror(-e));
	e = box->traces ? 0 : maple_sandbox_lock_files(box, err);
	return e ? e : maple_sandbox_lock_calls(box, err);
}
