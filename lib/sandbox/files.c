// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Files: Landlock, which any process may set up for itself.
 *
 * Each version of it knows more rights. Those that a kernel knows are all
 * taken, and given back for the files that are named: what it does not know it
 * cannot refuse. libc has no wrappers, and Debian 12's header knows two
 * versions only, so the kernel's interface stands here.
 *
 * With any file refused comes that no process outside may be traced, whatever
 * the user may do: the kernel asks at ptrace(), and where /proc shows memory,
 * registers or environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "sandbox/sandbox.h"

#define ASK_VERSION 1 /* a flag */
#define BENEATH	    1 /* the kind of a rule */

/* Rights on files */
#define EXECUTE	     (1ull << 0)
#define WRITE_FILE   (1ull << 1)
#define READ_FILE    (1ull << 2)
#define READ_DIR     (1ull << 3)
#define REMOVE_DIR   (1ull << 4)
#define REMOVE_FILE  (1ull << 5)
#define MAKE_DIR     (1ull << 7)
#define MAKE_REGULAR (1ull << 8)
#define ALL_1	     0x1fffull	  /* version 1 */
#define REFER	     (1ull << 13) /* 2: to another folder */
#define TRUNCATE     (1ull << 14) /* 3 */
#define IOCTL_DEVICE (1ull << 15) /* 5 */

#define READS	     (READ_FILE | READ_DIR)
#define WRITES                                                      \
	(READS | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | \
	 MAKE_REGULAR | REFER | TRUNCATE)
#define OF_A_FILE (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE)

/* 4: TCP, to bind and to connect; 6: abstract sockets and signals to outside */
#define NET    3ull
#define SCOPES 3ull

struct ruleset {
	uint64_t files, net, scopes;
};

struct beneath {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

/* maple_sandbox_landlock - which version this kernel has; 0: none, or we are
   in the sandbox */
int maple_sandbox_landlock(void)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);

	return version > 0 ? (int)version : 0;
}

static struct ruleset handled_by(int version, const struct maple_sandbox *box)
{
	struct ruleset all = { .files = ALL_1 };

	if (version >= 2)
		all.files |= REFER;
	if (version >= 3)
		all.files |= TRUNCATE;
	if (version >= 4 && !box->network)
		all.net = NET;
	if (version >= 5)
		all.files |= IOCTL_DEVICE;
	if (version >= 6)
		all.scopes = SCOPES;
	return all;
}

static int allow_fd(int rules, int fd, uint64_t rights)
{
	struct beneath rule = { .allowed = rights, .fd = fd };
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	/* What has no place in the tree, such as a memfd, is not asked about. */
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= OF_A_FILE;
	if (syscall(SYS_landlock_add_rule, rules, BENEATH, &rule, 0))
		return errno == EBADFD ? 0 : -errno;
	return 0;
}

static int allow_path(int rules, const char *path, uint64_t rights)
{
	int fd = open(path, O_PATH | O_CLOEXEC), e;

	if (fd < 0)
		return 0;
	e = allow_fd(rules, fd, rights);
	close(fd);
	return e;
}

static int allow_paths(int rules, const char *const *paths, uint64_t rights)
{
	int e = 0;

	for (; paths && *paths && !e; paths++)
		e = allow_path(rules, *paths, rights);
	return e;
}

static int allow_all(int rules, const struct maple_sandbox *box, uint64_t known)
{
	int e = allow_paths(rules, box->reads, READS & known);

	if (!e)
		e = allow_paths(rules, box->writes, WRITES & known);
	for (unsigned int i = 0; i < box->nfiles && !e; i++)
		e = allow_fd(rules, box->files[i], READ_FILE);
	return e;
}

/*
 * maple_sandbox_lock_files - from now on there are the files that are named
 *
 * Returns 0 also where the kernel has no Landlock. Context: no new privileges
 * are to be had already.
 */
int maple_sandbox_lock_files(const struct maple_sandbox *box,
			     struct maple_error *err)
{
	int rules, e, version = maple_sandbox_landlock();
	struct ruleset all = handled_by(version, box);

	if (!version)
		return 0;
	rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (rules < 0)
		return maple_error_set(err, errno, "no sandbox for files: %m");
	e = allow_all(rules, box, all.files);
	if (!e && syscall(SYS_landlock_restrict_self, rules, 0))
		e = -errno;
	close(rules);
	return e ? maple_error_set(err, -e, "no sandbox for files: %s",
				   strerror(-e))
		 : 0;
}
