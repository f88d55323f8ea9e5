// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Permission for real-time priorities: asking for it, and passing it on. */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../host/host.h"
#include "backend.h"

_Static_assert(MAPLE_PRIO_HOOK <= MAPLE_WIRE_RTPRIO,
	       "what mapled lends is enough for a target");

/* CAP_SYS_NICE of ours, by file capabilities, reaches the target this way. */
static void pass_on_nice(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return;
	if (!(data[0].permitted & (1u << CAP_SYS_NICE)))
		return;
	data[0].inheritable |= 1u << CAP_SYS_NICE;
	if (syscall(SYS_capset, &header, data))
		return;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_NICE, 0, 0);
}

/*
 * maple_realtime_allow - lets what the calling process executes use
 * real-time priorities, as far as we may
 *
 * The limit, unlike a capability, also holds after the target has given up
 * root. Context: a forked child, before exec.
 */
void maple_realtime_allow(void)
{
	struct rlimit prio = { 99, 99 };
	struct rlimit time = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_RTPRIO, &prio);
	setrlimit(RLIMIT_RTTIME, &time);
	if (geteuid() != 0)
		pass_on_nice();
}

/*
 * maple_realtime_rise - @tid gets @priority, above all targets; where that is
 * more than we may, the highest of theirs
 */
int maple_realtime_rise(pid_t tid, int policy, int priority)
{
	struct sched_param above = { priority }, beside = { MAPLE_PRIO_HOOK };

	if (!sched_setscheduler(tid, policy, &above) ||
	    !sched_setscheduler(tid, policy, &beside))
		return 0;
	return -errno;
}

/* Whether what we start may use them; 0 or -EPERM, or why we do not know. */
static int try_out(struct maple_error *err)
{
	struct sched_param param = { MAPLE_PRIO_HOOK };
	int status, e;
	pid_t pid = fork();

	if (pid < 0)
		return maple_error_set(err, errno, "cannot fork: %m");
	if (pid == 0) {
		maple_realtime_allow();
		_exit(sched_setscheduler(0, SCHED_FIFO, &param) ? errno : 0);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return maple_error_set(err, errno, "waitpid: %m");
	e = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	if (!e)
		return 0;
	return maple_error_set(err, EPERM, "%s", strerror(e));
}

/*
 * What gives us the right. Where our packages are installed there is a group
 * for it, whose members have it from their next login on.
 */
static void say_mend(char *text, size_t size)
{
	const struct passwd *pw = getpwuid(geteuid());
	char user[64];
	struct group *group;

	snprintf(user, sizeof(user), "%.63s", pw ? pw->pw_name : "YOUR-USER");
	group = getgrnam("maple");
	if (!group || !pw) {
		snprintf(text, size,
			 "run as root, or allow them with the line `%s - rtprio 85` in "
			 "/etc/security/limits.conf and a new login, or start "
			 "mapled",
			 user);
		return;
	}
	for (char **member = group->gr_mem; *member; member++)
		if (!strcmp(*member, user)) {
			snprintf(text, size,
				 "%s is in group maple from the next login "
				 "on: log in again",
				 user);
			return;
		}
	snprintf(text, size,
		 "sudo usermod -aG maple %s, then log in again; or run as root",
		 user);
}

/*
 * maple_realtime_probe - whether we may use them, asking @host if not
 * @host: mapled, or NULL
 *
 * Errors: -EPERM with the mend.
 */
int maple_realtime_probe(struct maple_host *host, struct maple_error *err)
{
	struct maple_error why = { "" };
	char mend[256];
	int e = try_out(&why);

	if (e == -EPERM && host) {
		e = maple_host_realtime(host, &why);
		if (!e)
			e = try_out(&why);
	}
	if (!e)
		return 0;
	if (e != -EPERM)
		return maple_error_set(err, -e, "%s", why.text);
	say_mend(mend, sizeof(mend));
	return maple_error_set(err, EPERM,
			       "real-time priorities are refused (%.200s): %s",
			       why.text, mend);
}
