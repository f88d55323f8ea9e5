// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who has a CPU. The claim on it is the name of an abstract socket, or a file
 * that mapled has locked for a client; which process has one of them open
 * shows in /proc, of our own processes, or to root of all.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/claim.h"

#define NAME "@maple-cpu-"

/* The sockets' links under /proc/PID/fd, of claims on @cpus. */
static unsigned int list_claims(const cpu_set_t *cpus, char link[][32],
				unsigned int max)
{
	FILE *in = fopen("/proc/net/unix", "re");
	unsigned long inode;
	char line[512], *name;
	unsigned int n = 0;
	int cpu;

	while (in && n < max && fgets(line, sizeof(line), in)) {
		name = strstr(line, NAME);
		if (!name)
			continue;
		cpu = atoi(name + strlen(NAME));
		if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, cpus) &&
		    sscanf(line, "%*s %*s %*s %*s %*s %*s %lu", &inode) == 1)
			snprintf(link[n++], sizeof(*link), "socket:[%lu]",
				 inode);
	}
	if (in)
		fclose(in);
	return n;
}

/* mapled's, in whichever folder it keeps them */
static bool is_lease(const char *path, const cpu_set_t *cpus)
{
	const char *name = strrchr(path, '/');
	unsigned int cpu;

	return name && strstr(path, "/mapled") &&
	       sscanf(name, "/cpu-%u", &cpu) == 1 && cpu < CPU_SETSIZE &&
	       CPU_ISSET(cpu, cpus);
}

static bool has_open(const char *pid, const cpu_set_t *cpus, char link[][32],
		     unsigned int n)
{
	char path[64], text[128];
	struct dirent *entry;
	bool found = false;
	ssize_t size;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		size = readlinkat(dirfd(dir), entry->d_name, text,
				  sizeof(text) - 1);
		text[size > 0 ? size : 0] = '\0';
		found |= is_lease(text, cpus);
		for (unsigned int i = 0; i < n; i++)
			found |= !strcmp(text, link[i]);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* "process 17 of user ada: mapletest run ./x" */
static void describe(const char *pid, char *text, size_t size)
{
	const struct passwd *user = NULL;
	char path[64], command[64] = "";
	struct stat st;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (!fstat(fd, &st))
			user = getpwuid(st.st_uid);
		n = read(fd, command, sizeof(command) - 1);
		close(fd);
	}
	for (ssize_t i = 0; i + 1 < n; i++)
		if (!command[i])
			command[i] = ' ';
	snprintf(text, size, "process %.20s of user %.32s: %s", pid,
		 user ? user->pw_name : "?", command);
}

static bool is_mapled(const char *pid)
{
	char path[64], name[32] = "";
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	in = fopen(path, "re");
	if (in && !fgets(name, sizeof(name), in))
		*name = '\0';
	if (in)
		fclose(in);
	return !strcmp(name, "mapled\n");
}

/*
 * maple_claim_holder - who has one of @cpus, as a part of a sentence
 *
 * A CPU that mapled has lent is whose it was lent to.
 */
void maple_claim_holder(const cpu_set_t *cpus, char *text, size_t size)
{
	char link[16][32];
	unsigned int n = list_claims(cpus, link, 16);
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	snprintf(text, size, "another user's campaign");
	while (dir && (entry = readdir(dir))) {
		if (atoi(entry->d_name) <= 0 ||
		    atoi(entry->d_name) == getpid() ||
		    is_mapled(entry->d_name) ||
		    !has_open(entry->d_name, cpus, link, n))
			continue;
		describe(entry->d_name, text, size);
		break;
	}
	if (dir)
		closedir(dir);
}
