// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* proc(5): of stat the fields behind the name, which may hold anything. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "stat.h"

bool maple_stat_text(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return true;
}

bool maple_stat_read(pid_t pid, struct maple_stat *stat)
{
	unsigned long long since, used[4];
	char text[1024];
	const char *at;

	if (!maple_stat_text(pid, "stat", text, sizeof(text)))
		return false;
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1,
			  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu "
			  "%llu %llu %llu %*d %*d %ld %*d %llu",
			  &used[0], &used[1], &used[2], &used[3],
			  &stat->threads, &since) != 6)
		return false;
	stat->started = since;
	stat->used = (double)(used[0] + used[1] + used[2] + used[3]) /
		     (double)sysconf(_SC_CLK_TCK);
	return true;
}
