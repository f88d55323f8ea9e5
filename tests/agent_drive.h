/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Plays the campaign's part for the agent: fills a shared memory file,
 * answers its questions about images, runs a program, takes its events.
 */
#ifndef AGENT_DRIVE_H
#define AGENT_DRIVE_H

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "abi/shm.h"
#include "image/image.h"

/*
 * NOTE: a function that is called, by its name. ROLLED, before a loop: what it
 * does comes from one place each time. clang makes no clones, but unrolls.
 */
#ifdef __clang__
#define NOTE   __attribute__((noinline, used)) static
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define NOTE __attribute__((noinline, noclone, used)) static
#define ROLLED
#endif

struct drive {
	int fd, tables;
	uint64_t tables_size;
	uint32_t sites; /* numbered so far */
	struct maple_shm *shm;
	const char *const *include; /* images to patch beside the program */
	bool traps; /* int3 instead of jumps, where a group allows */
	char agent[1024];
	char *const *env; /* more of it; NULL-terminated, or NULL */
	void (*event)(struct drive *d, const struct maple_event *e);
	void *ctx;
	uint64_t kinds[64]; /* events by kind, in the last run */
	uint64_t exact;
	int out;     /* file that gets the output, or -1 */
	uint64_t ns; /* of the last run, wall */
};

static inline uint64_t drive_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The agent lies in the build directory, two up from the tests' own. */
static inline void drive_open(struct drive *d)
{
	ssize_t n;
	int i;

	memset(d, 0, sizeof(*d));
	n = readlink("/proc/self/exe", d->agent, sizeof(d->agent) - 64);
	assert(n > 0);
	d->agent[n] = 0;
	for (i = 0; i < 3; i++)
		*strrchr(d->agent, '/') = 0;
	strcat(d->agent, "/libmaple-agent.so");
	if (getenv("MAPLE_TEST_AGENT"))
		strcpy(d->agent, getenv("MAPLE_TEST_AGENT"));
	d->out = -1;
	d->fd = memfd_create("maple", MFD_CLOEXEC);
	d->tables = memfd_create("maple-tables", MFD_CLOEXEC);
	assert(d->fd >= 0 && d->tables >= 0);
	assert(!ftruncate(d->fd, sizeof(struct maple_shm)));
	d->shm = mmap(NULL, sizeof(struct maple_shm), PROT_READ | PROT_WRITE,
		      MAP_SHARED, d->fd, 0);
	assert(d->shm != MAP_FAILED);
	d->shm->magic = MAPLE_SHM_MAGIC;
	d->shm->version = MAPLE_SHM_VERSION;
	d->shm->size = sizeof(struct maple_shm);
	d->shm->cpu = -1;
	snprintf(d->shm->tables, sizeof(d->shm->tables), "/proc/%d/fd/%d",
		 getpid(), d->tables);
}

static inline void drive_close(struct drive *d)
{
	munmap(d->shm, sizeof(*d->shm));
	close(d->fd);
	close(d->tables);
}

static inline void drive_trap(struct maple_table *t)
{
	struct maple_table_group *group = (void *)((char *)t + t->groups_at);

	for (uint32_t i = 0; i < t->ngroups; i++)
		if (group[i].ninsns == 1)
			group[i].way = MAPLE_WAY_TRAP;
}

static inline void drive_look(struct drive *d, struct maple_shm_image *im)
{
	struct maple_image *image;
	void *blob;
	size_t size;
	uint32_t n;

	im->state = MAPLE_IMAGE_LEFT;
	if (!maple_image_wanted(im->path, im->is_main, d->include, NULL))
		return;
	im->state = MAPLE_IMAGE_FAILED;
	if (maple_image_open(im->path, &image, NULL))
		return;
	if (!maple_image_table(image, &blob, &size, NULL)) {
		if (d->traps)
			drive_trap(blob);
		assert(pwrite(d->tables, blob, size, d->tables_size) ==
		       (ssize_t)size);
		maple_image_sites(image, &n);
		im->table_at = d->tables_size;
		im->site_base = d->sites;
		im->nsites = n;
		im->state = MAPLE_IMAGE_READY;
		d->sites += n;
		d->tables_size = (d->tables_size + size + 4095) & ~4095ull;
		free(blob);
	}
	maple_image_destroy(image);
}

static inline void drive_answer(struct drive *d)
{
	struct maple_shm *shm = d->shm;
	uint32_t asks = __atomic_load_n(&shm->asks, __ATOMIC_ACQUIRE);

	if (asks == shm->answers)
		return;
	for (uint32_t i = 0; i < shm->nimages; i++)
		if (shm->image[i].state == MAPLE_IMAGE_NEW)
			drive_look(d, &shm->image[i]);
	__atomic_store_n(&shm->answers, asks, __ATOMIC_RELEASE);
	syscall(SYS_futex, &shm->answers, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

static inline void drive_drain(struct drive *d)
{
	struct maple_shm *shm = d->shm;
	uint64_t head = __atomic_load_n(&shm->head, __ATOMIC_ACQUIRE);
	uint64_t tail = shm->tail;
	struct maple_event *e;
	uint8_t kind;

	for (; tail != head; tail++) {
		e = &shm->ring[tail & (MAPLE_SHM_RING - 1)];
		kind = __atomic_load_n(&e->kind, __ATOMIC_ACQUIRE);
		if (kind == MAPLE_EV_NONE)
			break;
		d->kinds[kind & 63]++;
		d->exact += !!(e->flags & MAPLE_EVF_EXACT);
		if (d->event)
			d->event(d, e);
		e->kind = MAPLE_EV_NONE;
	}
	__atomic_store_n(&shm->tail, tail, __ATOMIC_RELEASE);
}

static inline void drive_reset(struct drive *d)
{
	struct maple_shm *shm = d->shm;

	memset(&shm->stats, 0, sizeof(shm->stats));
	memset(&shm->crash, 0, sizeof(shm->crash));
	memset(shm->auto_result, 0, sizeof(shm->auto_result));
	memset(shm->thread, 0, sizeof(shm->thread));
	memset(shm->held, 0, sizeof(shm->held));
	memset(d->kinds, 0, sizeof(d->kinds));
	memset(&shm->ring, 0,
	       (shm->head < MAPLE_SHM_RING ? shm->head : MAPLE_SHM_RING) *
		       sizeof(shm->ring[0]));
	shm->state = MAPLE_AGENT_ABSENT;
	shm->pid = 0;
	shm->settled = 0;
	shm->standbys = 0;
	shm->nthreads = 0;
	shm->head = 0;
	shm->tail = 0;
	d->exact = 0;
}

static inline void drive_exec(struct drive *d, char *const *argv)
{
	char preload[1100], agent[64];
	int null = open("/dev/null", O_RDWR);

	snprintf(preload, sizeof(preload), "%s", d->agent);
	snprintf(agent, sizeof(agent), "/proc/%d/fd/%d", getppid(), d->fd);
	for (char *const *e = d->env; e && *e; e++)
		putenv(*e);
	setenv("LD_PRELOAD", preload, 1);
	setenv(MAPLE_SHM_ENV, agent, 1);
	dup2(null, 0);
	dup2(d->out >= 0 ? d->out : null, 1);
	execvp(argv[0], argv);
	_exit(127);
}

/* A reader on the CPU of real-time threads reads when they are done. */
static inline void drive_leave(const struct drive *d, const cpu_set_t *before)
{
	cpu_set_t rest = *before;

	if (d->shm->cpu < 0)
		return;
	CPU_CLR(d->shm->cpu, &rest);
	if (CPU_COUNT(&rest))
		assert(!sched_setaffinity(0, sizeof(rest), &rest));
}

/* Runs @argv, for @seconds at most; returns its wait status. */
static inline int drive_run(struct drive *d, char *const *argv,
			    unsigned int seconds)
{
	uint64_t start, end;
	cpu_set_t before;
	int status;
	pid_t pid;

	drive_reset(d);
	assert(!sched_getaffinity(0, sizeof(before), &before));
	start = drive_now();
	end = start + seconds * 1000000000ull;
	pid = fork();
	assert(pid >= 0);
	if (!pid)
		drive_exec(d, argv);
	drive_leave(d, &before);
	for (;;) {
		const struct timespec pause = { 0, 200000 };

		drive_answer(d);
		drive_drain(d);
		if (__atomic_load_n(&d->shm->state, __ATOMIC_ACQUIRE) ==
		    MAPLE_AGENT_CRASHED)
			__atomic_add_fetch(&d->shm->go, 1, __ATOMIC_RELEASE);
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		if (drive_now() > end)
			kill(pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
	d->ns = drive_now() - start;
	drive_drain(d);
	sched_setaffinity(0, sizeof(before), &before);
	return status;
}

#endif
