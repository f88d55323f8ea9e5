// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The agent is loaded by the process's own dlopen(), and unloaded by its
 * dlclose(). Each time it is a new copy, in a file without a name, so that it
 * knows nothing of the run before.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "abi/shm.h"
#include "inside.h"

#define FIND_FOR 15.0 /* seconds; a busy server waits now and then */
#define FIRST_FD 1000 /* paths of copies that stayed are not used again */

static void nap(long ms)
{
	const struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

/*
 * maple_inside_settle - waits until nobody is in the code that calls, nor will
 * come back to it: then it may be written anew
 */
int maple_inside_settle(struct maple_inside *in, struct maple_error *err)
{
	struct maple_join_state *s = in->state;
	bool is_in = true;
	int e = 0;

	for (int tries = 0; is_in && tries < 1000 && !e; tries++) {
		if (!s->call.tid)
			return 0;
		e = maple_halt_one(&in->stop, in->pid, s->call.tid, err);
		is_in = !e && in->stop.n &&
			(maple_call_is_in(&s->call,
					  in->stop.thread[0].regs.rip) ||
			 !maple_call_is_back(&s->call));
		maple_halt_go(&in->stop);
		if (is_in)
			nap(1);
	}
	if (!e && is_in)
		e = maple_error_set(err, EBUSY, "a call does not come back");
	return e;
}

/* The thread that may call libc, stopped; another one if it is elsewhere now. */
static int stop_safe(struct maple_inside *in, struct maple_error *err)
{
	double until = maple_clock_now() + FIND_FOR;
	struct maple_safe *safe = &in->safe;
	int e = 0;

	while (maple_clock_now() < until) {
		if (safe->tid) {
			e = maple_halt_one(&in->stop, in->pid, safe->tid, err);
			if (e) {
				maple_halt_go(&in->stop);
				return e;
			}
			if (in->stop.n &&
			    maple_safe_still(safe, in->pid,
					     &in->stop.thread[0]) &&
			    maple_halt_restarts(&in->stop.thread[0]))
				return 0;
			maple_halt_go(&in->stop);
		}
		e = maple_safe_find(safe, in->pid, err);
		if (e) {
			safe->tid = 0;
			if (e != -EAGAIN)
				return e;
			nap(20);
		}
	}
	return e ? e
		 : maple_error_set(err, EAGAIN,
				   "no thread of process %d waits long enough "
				   "to load the agent: try again when it has "
				   "less to do",
				   in->pid);
}

/*
 * maple_inside_call - a function of libc's, or the agent's, is called while all
 * other threads run
 */
int maple_inside_call(struct maple_inside *in, const struct maple_called *what,
		      uint64_t *result, struct maple_error *err)
{
	struct maple_join_state *s = in->state;
	int e;

	assert(what->function && in->pid > 0);
	e = maple_inside_settle(in, err);
	if (!e)
		e = stop_safe(in, err);
	if (e)
		return e;
	e = maple_call_begin(&s->call, &in->stop.thread[0], what, err);
	maple_halt_go(&in->stop);
	return e ? e : maple_call_end(&s->call, result, err);
}

/* All of @from, however often a signal comes in between. */
static bool copy(int from, int to)
{
	ssize_t n;

	do
		n = sendfile(to, from, NULL, 1 << 30);
	while (n > 0 || (n < 0 && errno == EINTR));
	return !n;
}

/* A file of its own with the agent in it; or -errno. */
static int copy_agent(const char *path, struct maple_error *err)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = memfd_create(MAPLE_JOIN_COPY, MFD_CLOEXEC), high = -1;

	if (from >= 0 && to >= 0 && copy(from, to))
		high = fcntl(to, F_DUPFD_CLOEXEC, FIRST_FD);
	if (high < 0)
		high = maple_error_set(err, errno, "%.200s: %m", path);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return high;
}

static int refused(struct maple_inside *in, struct maple_error *err)
{
	struct maple_called ask = {
		.function = maple_memory_libc(in->pid, "dlerror"),
	};
	char why[160] = "";
	uint64_t at = 0;
	int e = ask.function ? maple_inside_call(in, &ask, &at, err) : 0;

	if (e)
		return e;
	for (size_t n = sizeof(why) - 1; at && n && !*why; n /= 2)
		if (!maple_memory_read(in->pid, at, why, n))
			*why = '\0';
	return maple_error_set(err, ENOTSUP,
			       "process %d does not load the agent: %.160s",
			       in->pid, *why ? why : "no reason is given");
}

/* A handle is libc's struct link_map, whose first word is the bias. */
static int know(struct maple_inside *in, uint64_t handle,
		struct maple_error *err)
{
	struct maple_join_state *s = in->state;

	if (!maple_memory_read(in->pid, handle, &s->base, sizeof(s->base)))
		return maple_error_set(err, errno, "process %d has ended",
				       in->pid);
	s->size = maple_memory_extent(in->agent);
	s->leave = maple_inside_function(in, "maple_joined_leave");
	s->close = maple_inside_function(in, "maple_joined_close");
	s->forget = maple_inside_function(in, "maple_joined_forget");
	s->handle = handle;
	*s->loading = '\0';
	return 0;
}

static int open_copy(struct maple_inside *in, int fd, struct maple_error *err)
{
	struct maple_join_state *s = in->state;
	struct maple_called load = {
		.function = maple_memory_libc(in->pid, "dlopen"),
		.text = s->loading,
		.argument[1] = RTLD_NOW | RTLD_LOCAL,
	};
	uint64_t handle = 0;
	int e;

	if (!load.function)
		return maple_error_set(err, ENOTSUP,
				       "the libc of process %d has no dlopen(): "
				       "it is none, or glibc before 2.34",
				       in->pid);
	snprintf(s->loading, sizeof(s->loading), "/proc/%d/fd/%d", getpid(), fd);
	e = maple_inside_call(in, &load, &handle, err);
	if (e)
		return e;
	if (handle)
		return know(in, handle, err);
	*s->loading = '\0';
	return refused(in, err);
}

/*
 * maple_inside_find - the handle of a copy that was being loaded when the
 * joiner was killed, or gave up waiting; 0 if there is none
 */
int maple_inside_find(struct maple_inside *in, struct maple_error *err)
{
	struct maple_join_state *s = in->state;
	char path[sizeof(s->loading)];
	struct maple_called find = {
		.function = maple_memory_libc(in->pid, "dlopen"),
		.text = path,
		.argument[1] = RTLD_NOW | RTLD_NOLOAD,
	};
	struct maple_called close = {
		.function = maple_memory_libc(in->pid, "dlclose"),
	};
	uint64_t result;
	int e;

	assert(!s->handle && !s->entered);
	/* Memory that the joined process may reach as well. */
	memcpy(path, s->loading, sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	e = maple_inside_call(in, &find, &close.argument[0], err);
	if (e)
		return e;
	if (!close.argument[0]) {
		*s->loading = '\0';
		return 0;
	}
	/* By this question it is open once more. */
	e = maple_inside_call(in, &close, &result, err);
	return e ? e : know(in, close.argument[0], err);
}

struct at {
	uint64_t base;
	bool found;
};

static bool is_copy(void *ctx, const struct maple_memory_map *m)
{
	struct at *at = ctx;

	at->found = m->lo == at->base && maple_memory_is_copy(m);
	return !at->found;
}

/* maple_inside_is_there - whether the copy that has a handle is */
bool maple_inside_is_there(const struct maple_inside *in)
{
	struct at at = { in->state->base, false };

	return maple_memory_maps(in->pid, is_copy, &at) || at.found;
}

/* maple_inside_load - a copy of the agent is there, and has its shared memory */
int maple_inside_load(struct maple_inside *in, struct maple_error *err)
{
	struct maple_join_state *s = in->state;
	struct maple_error unloaded;
	char path[64];
	struct maple_called open = { .text = path };
	uint64_t result = 0;
	int fd, e = maple_call_prepare(&s->call, in->pid, err);

	assert(!s->handle && !s->entered);
	maple_call_sign(&s->call, &in->by);
	fd = e ? e : copy_agent(in->agent, err);
	if (fd < 0)
		return fd;
	e = open_copy(in, fd, err);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), in->shm_fd);
	snprintf(in->shm->tables, sizeof(in->shm->tables), "/proc/%d/fd/%d",
		 getpid(), in->tables_fd);
	open.function = maple_inside_function(in, "maple_joined_open");
	maple_will_write(in);
	if (!e)
		e = maple_inside_call(in, &open, &result, err);
	if (!e && (int)result)
		e = maple_error_set(err, -(int)result,
				    "the agent in process %d cannot open %s",
				    in->pid, path);
	if (e && (s->handle || *s->loading))
		maple_inside_leave(in, &unloaded);
	if (!s->kept)
		close(fd);
	return e;
}

/*
 * maple_inside_unload - the agent, in which there is nobody, is there no more
 */
int maple_inside_unload(struct maple_inside *in, struct maple_error *err)
{
	struct maple_join_state *s = in->state;
	struct maple_called forget = {
		.function = s->forget,
	};
	struct maple_called unload = {
		.function = maple_memory_libc(in->pid, "dlclose"),
		.argument = { s->handle },
	};
	uint64_t result;
	int e;

	assert(s->handle && !s->entered);
	e = maple_inside_call(in, &forget, &result, err);

	if (!e)
		e = maple_inside_call(in, &unload, &result, err);
	if (!e)
		s->handle = 0;
	return e;
}
