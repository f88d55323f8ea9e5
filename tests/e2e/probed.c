// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whether there are probes in a process: prints how many links of the kernel's
 * put uprobes into it, and at how many bytes its code is a breakpoint where the
 * file has another byte.  probed PID
 *
 * For root. Links of uprobes tell their process from Linux 6.8 on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BREAKPOINT   0xcc
#define UPROBE_MULTI 12 /* BPF_LINK_TYPE_; the header here may be older */

/* What the kernel says of such a link. */
struct info {
	uint32_t type, id, program, pad;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t path_size, count, flags, pid;
	uint64_t room[32];
};

static long bpf(int command, void *attr, unsigned int size)
{
	return syscall(SYS_bpf, command, attr, size);
}

static unsigned int count_links(uint32_t pid)
{
	struct {
		uint32_t start, next, flags;
	} next = { 0 };
	unsigned int n = 0;

	while (!bpf(BPF_LINK_GET_NEXT_ID, &next, sizeof(next))) {
		struct info info = { 0 };
		struct {
			uint32_t id, next, flags;
		} get = { .id = next.next };
		struct {
			uint32_t fd, size;
			uint64_t info;
		} ask = { .size = sizeof(info), .info = (uint64_t)&info };
		int fd = bpf(BPF_LINK_GET_FD_BY_ID, &get, sizeof(get));

		next.start = next.next;
		if (fd < 0)
			continue;
		ask.fd = fd;
		if (!bpf(BPF_OBJ_GET_INFO_BY_FD, &ask, sizeof(ask)))
			n += info.type == UPROBE_MULTI && info.pid == pid;
		close(fd);
	}
	if (errno != ENOENT) {
		perror("probed: links");
		exit(2);
	}
	return n;
}

static unsigned int count_bytes(int memory, const char *path, uint64_t lo,
				uint64_t size, uint64_t offset)
{
	unsigned char *now = malloc(size), *file = malloc(size);
	int fd = open(path, O_RDONLY);
	unsigned int n = 0;

	if (fd >= 0 && pread(memory, now, size, lo) == (ssize_t)size) {
		ssize_t got = pread(fd, file, size, offset);

		for (ssize_t i = 0; i < got; i++)
			n += now[i] == BREAKPOINT && file[i] != BREAKPOINT;
	}
	if (fd >= 0)
		close(fd);
	free(now);
	free(file);
	return n;
}

static unsigned int count_breakpoints(const char *pid)
{
	char name[64], line[4096], rights[8], path[4096];
	unsigned long long lo, hi, offset;
	unsigned int n = 0;
	FILE *maps;
	int memory;

	snprintf(name, sizeof(name), "/proc/%s/mem", pid);
	memory = open(name, O_RDONLY);
	snprintf(name, sizeof(name), "/proc/%s/maps", pid);
	maps = fopen(name, "r");
	if (memory < 0 || !maps) {
		fprintf(stderr, "probed: process %s cannot be read\n", pid);
		exit(2);
	}
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %4095s", &lo, &hi,
			   rights, &offset, path) == 5 &&
		    rights[2] == 'x' && *path == '/')
			n += count_bytes(memory, path, lo, hi - lo, offset);
	fclose(maps);
	close(memory);
	return n;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	printf("%u %u\n", count_links((uint32_t)atoi(argv[1])),
	       count_breakpoints(argv[1]));
	return 0;
}
