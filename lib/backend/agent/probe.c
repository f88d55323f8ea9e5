// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Whether the agent can be loaded into a program. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "agent.h"

/* Whether the ELF file names an interpreter: if not, nothing is preloaded. */
static bool is_dynamic(int fd)
{
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	unsigned int i;

	if (pread(fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr))
		return false;
	for (i = 0; i < ehdr.e_phnum; i++) {
		if (pread(fd, &phdr, sizeof(phdr),
			  ehdr.e_phoff + i * sizeof(phdr)) != sizeof(phdr))
			return false;
		if (phdr.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* Whether it runs with more rights than ours: then nothing is preloaded. */
static bool is_privileged(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if ((st.st_mode & S_ISUID) && st.st_uid != geteuid())
		return true;
	if ((st.st_mode & S_ISGID) && st.st_gid != getegid())
		return true;
	return geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static void look_at(const char *program, int fd, struct maple_ability *a)
{
	if (!is_dynamic(fd)) {
		a->error = -ENOTSUP;
		snprintf(a->text, sizeof(a->text),
			 "%.120s is statically linked or truncated: the agent "
			 "cannot be loaded into it",
			 program);
		snprintf(a->mend, sizeof(a->mend), "link it dynamically");
	} else if (is_privileged(fd)) {
		a->error = -EPERM;
		snprintf(a->text, sizeof(a->text),
			 "%.120s is set-user-id or has capabilities: the agent "
			 "cannot be loaded into it",
			 program);
		snprintf(a->mend, sizeof(a->mend), "test a copy without them");
	}
}

/*
 * maple_agent_probe - whether there is an agent, and whether the program in
 * @options lets it in; with --exe that shows when it runs
 */
void maple_agent_probe(const struct maple_backend_options *options,
		       struct maple_ability *ability)
{
	int fd;

	if (!options->agent) {
		ability->error = -ENOPKG;
		snprintf(ability->text, sizeof(ability->text),
			 "libmaple-agent.so was not found");
		snprintf(ability->mend, sizeof(ability->mend),
			 "install it beside mapletest or under ../lib/maple, "
			 "or name it in MAPLE_AGENT_PATH");
		return;
	}
	snprintf(ability->text, sizeof(ability->text), "%.200s", options->agent);
	if (options->exe && strlen(options->exe) >= MAPLE_SHM_EXE) {
		ability->error = -EINVAL;
		snprintf(ability->text, sizeof(ability->text),
			 "--exe is too long");
	}
	if (!options->program || options->exe)
		return;
	fd = open(options->program, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return; /* executable, not readable: it is seen when it runs */
	look_at(options->program, fd, ability);
	close(fd);
}
