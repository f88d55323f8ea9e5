// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A campaign on a process that runs goes into a sandbox, before it reads what
 * that process's user has written: see maple_attach_confine().
 *
 * What it then has of the process comes from two parts of mapletest that stay
 * outside, know this one process, and parse nothing that it could have written:
 * the warden (backend/guard/warden.h) and the porter (backend/join/porter.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "backend/guard/door.h"
#include "backend/join/porter.h"
#include "backend/kernel/ebpf/observing.h"
#include "base/array.h"
#include "campaign/internal.h"
#include "image/image.h"
#include "sandbox/sandbox.h"
#include <maple/wire.h>
#include "attached.h"

#define MEMORY_PART  2		  /* of the machine's memory, half */
#define MEMORY_LEAST (1ull << 30) /* bytes */

/* What everybody may read, and libc, libdw and libbpf do. */
static const char *const common[] = {
	"/usr/lib",
	"/usr/lib32",
	"/usr/lib64",
	"/usr/local/lib",
	"/lib",
	"/lib64",
	"/usr/share/zoneinfo",
	"/etc/ld.so.cache",
	"/etc/localtime",
	"/etc/nsswitch.conf",
	"/etc/passwd",
	"/etc/group",
	"/proc",
	"/sys/devices",
	"/sys/bus/event_source",
	"/sys/kernel/btf",
	"/dev/urandom",
};

/* ... to find a server and be let in. */
static const char *const networks[] = {
	"/etc/hosts",		"/etc/host.conf",	  "/etc/resolv.conf",
	"/etc/gai.conf",	"/etc/services",	  "/etc/ssl/certs",
	"/run/systemd/resolve", "/etc/postgresql-common",
};

struct paths {
	char **path; /* a NULL behind the last */
	size_t n;
};

struct lists {
	struct paths reads, writes;
	int *file;
	size_t nfiles;
};

/* @path is taken; NULL: there was no memory for it. */
static int add(struct paths *paths, char *path)
{
	if (!path || !maple_array_resize(paths->path, paths->n + 2)) {
		free(path);
		return -ENOMEM;
	}
	paths->path[paths->n++] = path;
	paths->path[paths->n] = NULL;
	return 0;
}

static int add_all(struct paths *paths, const char *const *list, size_t n)
{
	int e = 0;

	for (size_t i = 0; i < n && list[i] && !e; i++)
		e = add(paths, strdup(list[i]));
	return e;
}

static int add_below(struct paths *paths, const char *folder, const char *name)
{
	char *path = NULL;

	if (!folder)
		return 0;
	return asprintf(&path, "%s%s", folder, name) < 0 ? -ENOMEM
							 : add(paths, path);
}

/* ---- what the process has mapped ---- */

/* Where debug information of @file may be beside it. */
static int add_debug(struct lists *lists, const char *file)
{
	char *folder = strdup(file),
	     *slash = folder ? strrchr(folder, '/') : NULL;
	int e;

	if (!slash) {
		free(folder);
		return folder ? 0 : -ENOMEM;
	}
	slash[1] = '\0';
	e = add_below(&lists->reads, folder, ".debug");
	free(folder);
	if (!e)
		e = add_below(&lists->reads, file, ".debug");
	return e ? e : add_below(&lists->reads, file, ".dwp");
}

static bool is_inode(int fd, unsigned long inode)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ino == inode && S_ISREG(st.st_mode);
}

/*
 * The file of a mapping: by its name, or, where that means another one by now,
 * by the mapping, which takes root.
 */
static int add_file(struct lists *lists, pid_t pid, const char *range,
		    unsigned long inode, const char *path)
{
	char name[64];
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd >= 0 && !is_inode(fd, inode)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		snprintf(name, sizeof(name), "map_files/%.40s", range);
		fd = maple_door_open(pid, name);
	}
	if (fd < 0)
		return 0;
	if (!maple_array_resize(lists->file, lists->nfiles + 1)) {
		close(fd);
		return -ENOMEM;
	}
	lists->file[lists->nfiles++] = fd;
	return add_debug(lists, path);
}

static int add_mapped(struct lists *lists, pid_t pid)
{
	FILE *maps = maple_door_read(pid, "maps");
	unsigned long inode, last = 0;
	char *line = NULL, range[48], device[16], before[16] = "";
	size_t room = 0;
	int e = 0, at;

	if (!maps)
		return -errno;
	while (!e && getline(&line, &room, maps) > 0) {
		at = 0;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%47s %*s %*s %15s %lu %n", range, device,
			   &inode, &at) != 3 ||
		    !at || line[at] != '/' ||
		    (inode == last && !strcmp(device, before)))
			continue;
		last = inode;
		memcpy(before, device, sizeof(before));
		e = add_file(lists, pid, range, inode, line + at);
	}
	free(line);
	fclose(maps);
	return e;
}

/* ---- what is ours ---- */

/* Made now: from inside nobody could make it. */
static int add_cache(struct lists *lists)
{
	char *home = maple_image_cache_home(), *path = NULL;
	int e = 0;

	if (home)
		e = maple_image_cache_place(home, &path);
	free(home);
	return e || !path ? e : add(&lists->writes, path);
}

static int add_server(struct lists *lists)
{
	const char *home = getenv("HOME");
	int e = add_all(&lists->reads, networks,
			sizeof(networks) / sizeof(*networks));

	if (!e)
		e = add_below(&lists->reads, home, "/.pgpass");
	return e ? e : add_below(&lists->reads, home, "/.postgresql");
}

static int fill(struct lists *lists, const struct maple_attached *a,
		const struct maple_attach_rest *rest, const char *agent)
{
	int e = add_all(&lists->reads, common, sizeof(common) / sizeof(*common));

	if (!e)
		e = add(&lists->writes, strdup("/dev/null"));
	if (!e && rest->writes)
		e = add_all(&lists->writes, rest->writes, SIZE_MAX);
	/* Root's claims on CPUs, which mapled respects. */
	if (!e && !geteuid())
		e = add(&lists->writes, strdup(MAPLE_WIRE_LEASES));
	if (!e && agent)
		e = add(&lists->reads, strdup(agent));
	if (!e)
		e = add_cache(lists);
	if (!e && rest->server)
		e = add_server(lists);
	return e ? e : add_mapped(lists, a->joined.pid);
}

static void deinit(struct lists *lists)
{
	while (lists->reads.n)
		free(lists->reads.path[--lists->reads.n]);
	while (lists->writes.n)
		free(lists->writes.path[--lists->writes.n]);
	while (lists->nfiles)
		close(lists->file[--lists->nfiles]);
	free(lists->reads.path);
	free(lists->writes.path);
	free(lists->file);
}

static bool has_bpf(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 };

	return !syscall(SYS_capget, &head, data) &&
	       data[CAP_BPF / 32].effective >> CAP_BPF % 32 & 1;
}

static bool only_agent(const struct maple_attach_rest *rest)
{
	return rest->backend && !strcmp(rest->backend, "agent");
}

static uint64_t memory(void)
{
	struct sysinfo info;
	uint64_t bytes = 0;

	if (!sysinfo(&info))
		bytes = (uint64_t)info.totalram * info.mem_unit / MEMORY_PART;
	return bytes > MEMORY_LEAST ? bytes : MEMORY_LEAST;
}

static int enter(struct maple_attached *a, const struct maple_attach_rest *rest,
		 const struct lists *lists, struct maple_error *err)
{
	bool observes = has_bpf() && !only_agent(rest);
	const struct maple_sandbox box = {
		.reads = (const char *const *)lists->reads.path,
		.writes = (const char *const *)lists->writes.path,
		.files = lists->file,
		.nfiles = (unsigned int)lists->nfiles,
		.target = a->joined.pid,
		.observes = observes,
		.connects = rest->mapled,
		.network = rest->server,
		.capabilities =
			1ull << CAP_SYS_NICE |
			(observes ? 1ull << CAP_BPF | 1ull << CAP_PERFMON : 0),
		.memory = memory(),
	};

	return maple_sandbox_enter(&box, err);
}

/* maple_attach_confine - see maple/attach.h */
int maple_attach_confine(struct maple_attached *a,
			 const struct maple_attach_rest *rest,
			 struct maple_error *err)
{
	char *agent = maple_campaign_find_agent(rest->agent);
	struct lists lists = { 0 };
	pid_t pid = a->joined.pid;
	int e = 0;

	/* From inside nobody connects, and nobody loads eBPF without this. */
	if (rest->observer && !has_bpf() && !only_agent(rest))
		maple_probing_connect_early(rest->observer, NULL);
	if (!maple_door_has_warden())
		e = maple_door_warden(pid, a->joined.pidfd, &a->was, err);
	if (!e)
		e = maple_porter_open(pid, agent, err);
	if (!e) {
		e = fill(&lists, a, rest, agent);
		e = e ? maple_error_set(err, -e, "no sandbox: %s", strerror(-e))
		      : enter(a, rest, &lists, err);
	}
	deinit(&lists);
	free(agent);
	return e;
}

/* maple_attach_confines - see maple/attach.h */
bool maple_attach_confines(void)
{
	return maple_sandbox_landlock();
}
