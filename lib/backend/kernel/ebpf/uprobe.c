// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A place in a file as an event of perf's, for eBPF to be put there. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "uprobe.h"

/* The kernel's number for what may be written in words; -1 if it has none. */
static int event_source(const char *what, const char *format)
{
	char path[128];
	int value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/uprobe/%s",
		 what);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, format, &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

static int open_event(pid_t pid, const char *path, uint64_t offset,
		      bool at_return, bool disabled)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.disabled = disabled };
	int type = event_source("type", "%d");
	int bit = event_source("format/retprobe", "config:%d");
	int fd;

	if (type < 0 || bit < 0)
		return -ENODEV;
	attr.type = type;
	if (at_return)
		attr.config = 1ull << bit;
	attr.uprobe_path = (uint64_t)path;
	attr.probe_offset = offset;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1,
			  PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * maple_uprobe_event - the event that process @pid comes to @offset in the file
 * @path, or returns from the function there; or -errno
 */
int maple_uprobe_event(pid_t pid, const char *path, uint64_t offset,
		       bool at_return)
{
	return open_event(pid, path, offset, at_return, false);
}

/*
 * maple_uprobe_try - whether the kernel lets us have such events, 0 or -errno
 *
 * Since 2025 Linux wants CAP_SYS_ADMIN for one, in stable releases as well;
 * before that CAP_PERFMON was enough. kernel.perf_event_paranoid has no say.
 */
int maple_uprobe_try(void)
{
	int fd = open_event(0, "/proc/self/exe", 0, false, true);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}
