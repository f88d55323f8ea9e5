// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What is left in a process when all who had joined it were killed: mapletest,
 * its joiner and its heir. Nobody of ours is there to take it out. So what they
 * knew stands in the process itself, and who comes next does so.
 *
 *	the code that makes calls (call.c) is there from the first step to the
 *	last, and names those who put it there;
 *	the will is the joiner's state, in the agent's shared memory: it is there
 *	while the agent may have changed anything;
 *	a copy of the agent without it was not opened, or is finalized.
 *
 * What the process has may be anything that it likes: it is read once, into
 * memory of our own.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi/shm.h"
#include "base/clock.h"
#include "backend/process.h"
#include "inside.h"

#define SHARED	   "/memfd:maple (deleted)" /* as /proc/PID/maps has it */
#define OTHERS_FOR 60.0	 /* seconds that who is at it may still take */
#define IMAGES	   65536 /* in a process, at most */
#define MEND_TRIES 2	 /* of some seconds each, where no thread waits */

static_assert(sizeof(struct maple_join_state) <= MAPLE_SHM_WILL, "it fits");

static struct maple_join_state *will_of(const struct maple_inside *in)
{
	return (struct maple_join_state *)in->shm->joined.will;
}

/* maple_will_write - a copy is there, or is nobody's concern any more */
void maple_will_write(struct maple_inside *in)
{
	struct maple_join_state *w = will_of(in), now = *in->state;

	assert(!now.entered);
	__atomic_store_n(&w->handle, 0, __ATOMIC_SEQ_CST);
	now.handle = 0;
	*w = now;
	__atomic_store_n(&w->handle, in->state->handle, __ATOMIC_SEQ_CST);
}

/*
 * maple_will_enter - the run in the process begins, or has ended
 *
 * Whoever is killed here has written nothing by halves: levels count when it
 * is entered, and the limit when it is raised.
 */
void maple_will_enter(struct maple_inside *in, bool entered)
{
	const struct maple_join_state *s = in->state;
	struct maple_join_state *w = will_of(in);

	if (entered && !w->entered) {
		w->cpu = s->cpu;
		w->levels = s->levels;
	}
	w->levels.limit = s->levels.limit;
	__atomic_store_n(&w->levels.raised, s->levels.raised, __ATOMIC_SEQ_CST);
	__atomic_store_n(&w->entered, entered, __ATOMIC_SEQ_CST);
}

/* maple_will_look - what the agent says of itself, where it is not shared */
void maple_will_look(struct maple_inside *in)
{
	if (in->shm_at)
		maple_memory_read(in->pid,
				  in->shm_at +
					  offsetof(struct maple_shm, joined),
				  &in->shm->joined,
				  offsetof(struct maple_shm_joined, at));
}

static bool is_shared(pid_t pid, const struct maple_memory_map *m)
{
	struct {
		uint64_t magic;
		uint32_t version, size;
	} head; /* as struct maple_shm begins */
	int32_t whose;

	return !strcmp(m->path, SHARED) && !m->offset &&
	       m->hi - m->lo >= sizeof(struct maple_shm) &&
	       maple_memory_read(pid, m->lo, &head, sizeof(head)) &&
	       head.magic == MAPLE_SHM_MAGIC &&
	       head.version == MAPLE_SHM_VERSION &&
	       head.size == sizeof(struct maple_shm) &&
	       maple_memory_read(pid, m->lo + offsetof(struct maple_shm, pid),
				 &whose, sizeof(whose)) &&
	       whose == pid;
}

/* Of several mappings of one file the agent's last is the one that counts. */
static bool find_will(void *ctx, const struct maple_memory_map *m)
{
	struct maple_inside *in = ctx;
	const struct maple_join_state *w = will_of(in);

	if (!is_shared(in->pid, m) ||
	    !maple_memory_read(in->pid,
			       m->lo + offsetof(struct maple_shm, joined),
			       &in->shm->joined, sizeof(in->shm->joined)) ||
	    in->shm->joined.at != m->lo || w->pid != in->pid || !w->handle ||
	    !w->size || !maple_levels_valid(&w->levels))
		return true;
	in->shm_at = m->lo;
	return false;
}

/* Whether there is a will; then the state is what it says. */
static bool read_will(struct maple_inside *in)
{
	struct maple_join_state *s = in->state;
	const struct maple_call call = s->call;

	assert(!in->shm && call.pid == in->pid);
	in->shm = mmap(NULL, sizeof(*in->shm), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (in->shm == MAP_FAILED ||
	    maple_memory_maps(in->pid, find_will, in) || !in->shm_at)
		return false;
	*s = *will_of(in);
	s->call = call;
	s->kept = 0;
	*s->loading = '\0';
	return true;
}

static bool find_copy(void *ctx, const struct maple_memory_map *m)
{
	uint64_t *base = ctx;

	if (m->offset || !maple_memory_is_copy(m))
		return true;
	*base = m->lo;
	return false;
}

static bool find_shared(void *ctx, const struct maple_memory_map *m)
{
	bool *found = ctx;

	*found |= !strcmp(m->path, SHARED);
	return !*found;
}

/* What dlopen() gave for the image at @base; 0: it is not loaded. */
static uint64_t handle_of(pid_t pid, uint64_t base)
{
	uint64_t at = maple_memory_loader(pid, "_r_debug"), next = 0;
	/* As libc's <link.h> has them. */
	struct {
		uint64_t addr, name, ld, next;
	} image;

	if (!at || !maple_memory_read(pid, at + 8, &next, sizeof(next)))
		return 0;
	for (unsigned int i = 0; next && i < IMAGES; i++) {
		at = next;
		if (!maple_memory_read(pid, at, &image, sizeof(image)))
			return 0;
		if (image.addr == base)
			return at;
		next = image.next;
	}
	return 0;
}

/* A copy without a will goes as it came. */
static int unload(struct maple_inside *in, struct maple_error *err)
{
	struct maple_called close = {
		.function = maple_memory_libc(in->pid, "dlclose"),
	};
	int e = maple_inside_settle(in, err);
	uint64_t base = 0, result;
	bool shared = false;

	if (e)
		return e;
	/* One that stayed on purpose has its memory. */
	maple_memory_maps(in->pid, find_shared, &shared);
	if (!shared)
		maple_memory_maps(in->pid, find_copy, &base);
	close.argument[0] = base ? handle_of(in->pid, base) : 0;
	if (!close.function || !close.argument[0])
		return 0;
	return maple_inside_call(in, &close, &result, err);
}

/* In a child. */
static _Noreturn void mend(struct maple_join_state *s, pid_t pid)
{
	struct maple_inside in = { .state = s, .pid = pid, .agent = "" };
	struct maple_call_by by;

	maple_memory_bind(pid);
	maple_joiner_let_look(pid);
	s->pid = pid;
	s->cpu = -1;
	if (!maple_call_find(&s->call, pid, &by))
		_exit(0);
	if (!read_will(&in))
		s->result = unload(&in, &s->error);
	maple_joiner_leave_for_good(&in, MEND_TRIES);
	_exit(0);
}

/*
 * Whether @p is there after @seconds. It is until its last thread has ended,
 * since any of them may be a tracer.
 */
static bool lives(const struct maple_call_process *p, double seconds)
{
	struct pollfd pfd = { .events = POLLIN };
	double until = maple_clock_now() + seconds;
	bool lives;

	if (!p->pid || (pid_t)p->pid == getpid())
		return false;
	pfd.fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (pfd.fd < 0)
		return false;
	lives = (uint32_t)maple_process_since((pid_t)p->pid) == p->since;
	while (lives && !poll(&pfd, 1, 50) && maple_clock_now() < until)
		;
	lives &= !poll(&pfd, 1, 0);
	close(pfd.fd);
	return lives;
}

/* Those who have joined process @pid have all ended, sooner or later. */
static int await(const struct maple_call_by *by, pid_t pid,
		 struct maple_error *err)
{
	double until = maple_clock_now() + OTHERS_FOR;
	const struct maple_call_process *p = by->process;

	for (unsigned int i = 0; i < sizeof(by->process) / sizeof(*p); i++)
		if (lives(&p[i], until - maple_clock_now()))
			return maple_error_set(err, EBUSY,
					       "process %u has joined process "
					       "%d, and does not leave it",
					       p[i].pid, pid);
	return 0;
}

static int finish(const struct maple_join_state *s, pid_t pid, int status,
		  struct maple_error *err)
{
	if (status)
		return maple_error_set(err, EPIPE,
				       "the process that was to take out of %d "
				       "what was left in it was killed",
				       pid);
	*err = s->error;
	return s->result;
}

/*
 * maple_join_mend - takes out of process @pid what is left there of those who
 * had joined it and were killed
 * @mended: whether there was something
 *
 * Waits for those who are just doing so. Context: as of maple_joiner_open().
 */
int maple_join_mend(pid_t pid, bool *mended, struct maple_error *err)
{
	struct maple_join_state *s;
	struct maple_call call;
	struct maple_call_by by;
	int e, status = 0;
	pid_t child;

	assert(pid > 0);
	*mended = false;
	if (!maple_call_find(&call, pid, &by))
		return 0;
	e = await(&by, pid, err);
	if (e || !maple_call_find(&call, pid, &by))
		return e;
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return maple_error_set(err, ENOMEM, "out of memory");
	child = fork();
	if (!child)
		mend(s, pid);
	e = child < 0 || waitpid(child, &status, 0) != child
		    ? maple_error_set(err, errno, "no joiner: %m")
		    : finish(s, pid, status, err);
	munmap(s, sizeof(*s));
	*mended = !e;
	return e;
}
