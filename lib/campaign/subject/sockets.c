// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How many sockets a server listens at. A socket itself says whether it does;
 * where we may not have a copy of it (containers forbid that), tables of the
 * kernel say so. To write these, the kernel goes through all connections of the
 * machine, which may take longer than a round of requests.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "campaign/internal.h"

#define SOCKETS	     64	     /* that are looked at */
#define LISTENS_TCP  "0A"    /* states, in /proc/net */
#define LISTENS_UNIX 0x10000 /* a flag there */

struct sockets {
	unsigned int n;
	int fd[SOCKETS]; /* its number in the process */
	unsigned long inode[SOCKETS];
};

static void find(pid_t pid, struct sockets *of)
{
	char path[64], name[320], to[64];
	struct dirent *entry;
	ssize_t length;
	DIR *dir;

	of->n = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && of->n < SOCKETS && (entry = readdir(dir))) {
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		length = readlink(name, to, sizeof(to) - 1);
		if (length <= 0)
			continue;
		to[length] = '\0';
		of->fd[of->n] = atoi(entry->d_name);
		of->n += sscanf(to, "socket:[%lu]", &of->inode[of->n]) == 1;
	}
	if (dir)
		closedir(dir);
}

/* ---- what the sockets say ---- */

/* Whether number @fd there listens; -errno where that may not be asked. */
static int listens(int pidfd, int fd)
{
	int ours = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0), says = 0;
	socklen_t size = sizeof(says);

	if (ours < 0)
		return errno == EBADF ? 0 : -errno; /* closed meanwhile */
	if (getsockopt(ours, SOL_SOCKET, SO_ACCEPTCONN, &says, &size))
		says = 0;
	close(ours);
	return says;
}

static int ask(pid_t pid, const struct sockets *of)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), count = 0, one = 0;

	if (pidfd < 0)
		return -errno;
	for (unsigned int i = 0; i < of->n && one >= 0; i++) {
		one = listens(pidfd, of->fd[i]);
		count += one;
	}
	close(pidfd);
	return one < 0 ? one : count;
}

/* ---- what the tables say ---- */

static bool is_one(unsigned long what, const struct sockets *of)
{
	for (unsigned int i = 0; i < of->n; i++)
		if (of->inode[i] == what)
			return true;
	return false;
}

/* maple_sockets_line - the inode of the listening socket of @line; or 0 */
unsigned long maple_sockets_line(const char *line, bool local)
{
	unsigned long inode = 0;
	unsigned int flags;
	char state[3];

	if (local)
		return sscanf(line, "%*s %*x %*x %x %*x %*x %lu", &flags,
			      &inode) == 2 &&
				       flags & LISTENS_UNIX
			       ? inode
			       : 0;
	return sscanf(line, " %*d: %*s %*s %2s %*s %*s %*s %*u %*u %lu", state,
		      &inode) == 2 &&
			       !strcmp(state, LISTENS_TCP)
		       ? inode
		       : 0;
}

static unsigned int look_up(pid_t pid, const struct sockets *of)
{
	static const char *const tables[] = { "tcp", "tcp6", "unix" };
	char path[64], *line = NULL;
	unsigned int count = 0;
	unsigned long found;
	size_t size = 0;
	FILE *file;

	for (unsigned int i = 0; of->n && i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, tables[i]);
		file = fopen(path, "re");
		while (file && getline(&line, &size, file) > 0) {
			found = maple_sockets_line(line, i == 2);
			count += found && is_one(found, of);
		}
		if (file)
			fclose(file);
	}
	free(line);
	return count;
}

/* maple_sockets_in_tables - as maple_sockets_listening(), by the tables alone */
unsigned int maple_sockets_in_tables(pid_t pid)
{
	struct sockets of;

	find(pid, &of);
	return look_up(pid, &of);
}

/* maple_sockets_listening - how many sockets process @pid listens at */
unsigned int maple_sockets_listening(pid_t pid)
{
	struct sockets of;
	int count;

	find(pid, &of);
	count = ask(pid, &of);
	return count < 0 ? look_up(pid, &of) : (unsigned int)count;
}
