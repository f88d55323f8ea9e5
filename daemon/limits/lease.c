// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Claims on CPUs. Each lease has a file in a folder that is ours alone, which
 * bears the CPU's name and says whose it is; whoever has locked that file has
 * the CPU. The lock is handed to the client, so it outlives us, and whoever
 * comes after us believes none but the one that the file speaks of:
 *
 *   lent     a new file, locked; the client has it open, too, to read
 *   given    the file goes: what copies of it there are mean nothing
 *   back
 *   we die   the lock stays, the client shows it to our successor; for so
 *            long, and no longer, nobody else gets the CPU
 *
 * A campaign of root's that goes without us locks the files as well. Others
 * have no say here: their sign, an abstract socket, anybody can put up, and a
 * CPU that bears one is lent last.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <maple/wire.h>
#include "../journal.h"
#include "lease.h"
#include "../server.h"
#include "../stat.h"

#define RETURN 30 /* seconds that clients have to come back to us */

/* What a file says: whose the CPU is, since when, and which mapled lent it. */
struct record {
	unsigned int uid;
	int pid, lender;
	uint64_t since, lender_born;
};

uint64_t maple_lease_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec;
}

/* When a process began, in ticks since boot; 0: it is gone. */
static uint64_t born(int pid)
{
	struct maple_stat stat;

	return maple_stat_read(pid, &stat) ? stat.started : 0;
}

/* ---- the folder ---- */

static void folder_name(char *path, size_t size)
{
	const char *given = getenv("RUNTIME_DIRECTORY");
	const char *own = getenv("XDG_RUNTIME_DIR");

	if (given && *given)
		snprintf(path, size, "%s", given);
	else if (!geteuid())
		snprintf(path, size, "%s", MAPLE_WIRE_LEASES);
	else
		snprintf(path, size, "%s/mapled-%u", own && *own ? own : "/tmp",
			 geteuid());
}

/* maple_lease_init - the folder, which none but us may write to */
int maple_lease_init(struct maple_server *server, struct maple_error *err)
{
	char path[4096];
	struct stat st;

	folder_name(path, sizeof(path));
	if (mkdir(path, 0700) && errno != EEXIST)
		return maple_error_set(err, errno, "no folder %s: %m", path);
	server->leases =
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (server->leases < 0 || fstat(server->leases, &st))
		return maple_error_set(err, errno, "%s: %m", path);
	if (st.st_uid != geteuid() || st.st_mode & 022)
		return maple_error_set(err, EACCES,
				       "others may write to %s, where claims "
				       "on CPUs are kept: remove it",
				       path);
	server->since = maple_lease_now();
	return 0;
}

static const char *name_of(int cpu)
{
	static char name[32];

	snprintf(name, sizeof(name), "cpu-%d", cpu);
	return name;
}

static bool read_record(int fd, struct record *r)
{
	char text[160];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return sscanf(text, "%u %d %" SCNu64 " %d %" SCNu64, &r->uid, &r->pid,
		      &r->since, &r->lender, &r->lender_born) == 5;
}

/*
 * Whether somebody has the CPU. What one of us has lent, whose client has not
 * come back to us in time, nobody has.
 */
static bool is_taken(const struct maple_server *s, int cpu)
{
	int fd = openat(s->leases, name_of(cpu),
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct record r;
	bool taken;

	if (fd < 0)
		return errno != ENOENT;
	taken = flock(fd, LOCK_EX | LOCK_NB) &&
		!(read_record(fd, &r) && born(r.lender) != r.lender_born &&
		  maple_lease_now() - s->since > RETURN);
	close(fd);
	return taken;
}

/* ---- signs ---- */

static int put_up_sign(int cpu)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int n = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
			 "maple-cpu-%d", cpu);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&addr,
			    offsetof(struct sockaddr_un, sun_path) + 1 + n)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* ---- leases ---- */

static int write_record(struct maple_server *s, int flags,
			const struct ucred *whose,
			const struct maple_lease *lease)
{
	int fd = openat(s->leases, name_of(lease->cpu),
			O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | flags,
			0600);
	int n;

	if (fd < 0)
		return -errno;
	n = dprintf(fd, "%u %d %" PRIu64 " %d %" PRIu64 "\n", whose->uid,
		    whose->pid, lease->since, getpid(), born(getpid()));
	close(fd);
	return n > 0 ? 0 : -EIO;
}

static int make_file(struct maple_server *s, const struct ucred *whose,
		     struct maple_lease *lease)
{
	const char *name = name_of(lease->cpu);
	int e;

	unlinkat(s->leases, name, 0);
	e = write_record(s, O_CREAT | O_EXCL, whose, lease);
	if (e)
		return e;
	/* Nobody else's to write, though a client has it. */
	lease->lock = openat(s->leases, name, O_RDONLY | O_CLOEXEC);
	return lease->lock < 0 || flock(lease->lock, LOCK_EX | LOCK_NB) ? -EBUSY
									: 0;
}

/*
 * maple_lease_take - @cpu for @whose; -EBUSY if somebody has it
 *
 * Gives @lease a sign where there is none yet.
 */
int maple_lease_take(struct maple_server *server, int cpu,
		     const struct ucred *whose, struct maple_lease *lease)
{
	int e;

	if (is_taken(server, cpu))
		return -EBUSY;
	*lease = MAPLE_LEASE_NONE;
	lease->cpu = cpu;
	lease->since = maple_lease_now();
	e = make_file(server, whose, lease);
	if (e) {
		if (lease->lock >= 0)
			close(lease->lock);
		*lease = MAPLE_LEASE_NONE;
		return e;
	}
	lease->sign = put_up_sign(cpu);
	server->leased++;
	return 0;
}

/* Of what may be any file, on a file system that does not answer. */
static bool same_file(int fd, const struct stat *want)
{
	struct statx st;

	return !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		      STATX_TYPE | STATX_INO, &st) &&
	       st.stx_ino == want->st_ino && S_ISREG(st.stx_mode) &&
	       st.stx_dev_major == major(want->st_dev) &&
	       st.stx_dev_minor == minor(want->st_dev);
}

static bool is_lent(const struct maple_server *s, int cpu, int lock,
		    const struct ucred *whose, struct record *r)
{
	struct stat st;

	/* The lock is theirs, or nobody's; before, only its file is looked at. */
	return !fstatat(s->leases, name_of(cpu), &st, AT_SYMLINK_NOFOLLOW) &&
	       same_file(lock, &st) && read_record(lock, r) &&
	       r->uid == whose->uid && r->pid == whose->pid &&
	       born(r->lender) != r->lender_born &&
	       !flock(lock, LOCK_EX | LOCK_NB);
}

/* maple_lease_may_return - clients of a mapled before us may still come back */
bool maple_lease_may_return(const struct maple_server *server)
{
	return maple_lease_now() - server->since <= RETURN;
}

/*
 * maple_lease_prove - that @whose has @cpu from a mapled before us, by @lock,
 * of which a copy is taken; -EINVAL
 */
int maple_lease_prove(struct maple_server *server, int cpu, int lock,
		      const struct ucred *whose, struct maple_lease *lease,
		      struct maple_error *err)
{
	struct record r;

	if (!is_lent(server, cpu, lock, whose, &r))
		return maple_error_set(err, EINVAL,
				       "this is no claim on CPU %d of yours",
				       cpu);
	*lease = (struct maple_lease){
		.cpu = cpu,
		.lock = fcntl(lock, F_DUPFD_CLOEXEC, 3),
		.sign = -1,
		.since = r.since,
	};
	if (lease->lock < 0) {
		*lease = MAPLE_LEASE_NONE;
		return maple_error_set(err, errno, "no copy of it: %m");
	}
	write_record(server, 0, whose, lease); /* ours from now on */
	lease->sign = put_up_sign(cpu);
	server->leased++;
	return 0;
}

/* maple_lease_end - the CPU is free, whatever copies of the claim there are */
void maple_lease_end(struct maple_server *server, struct maple_lease *lease)
{
	if (lease->cpu < 0)
		return;
	/* Our successor finds what we had lent. */
	if (!server->closing)
		unlinkat(server->leases, name_of(lease->cpu), 0);
	close(lease->lock);
	if (lease->sign >= 0)
		close(lease->sign);
	*lease = MAPLE_LEASE_NONE;
	server->leased--;
}
