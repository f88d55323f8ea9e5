// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Putting an eBPF program at many places of a file.
 *
 * From Linux 6.6 on one link takes them all (uprobe_multi), but all or none:
 * when the kernel refuses a place, halves are tried until the place stands
 * alone. Before, each place is a perf event of its own, with a file descriptor
 * of its own, and how many of these there may be is the limit.
 *
 * libbpf 1.1 does not know uprobe_multi: its system call is made here.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "base/array.h"
#include "backend/guard/door.h"
#include "attach.h"

#define ENOTSUPP 524 /* the kernel's own, for what uprobes cannot step */
#define CLOSERS	 16
#define RESERVE	 64 /* file descriptors that are left to others */

/* What the kernel's union bpf_attr has for this command. */
struct multi_attr {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t n, multi_flags, pid, pad;
};

#define MULTI_RETURN 1

static int link_multi(const struct maple_places *p, unsigned int first,
		      unsigned int n)
{
	struct multi_attr attr = {
		.program = p->program,
		.type = MAPLE_TRACE_UPROBE_MULTI,
		.path = (uint64_t)p->path,
		.offsets = (uint64_t)(p->offset + first),
		.cookies = (uint64_t)(p->cookie + first),
		.n = n,
		.multi_flags = p->at_return ? MULTI_RETURN : 0,
		.pid = p->pid,
	};
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

/*
 * maple_attach_multi_works - whether one link can have many places, and its
 * filter means a process
 *
 * Early ones took it for a thread; they do not look at it before the path.
 */
bool maple_attach_multi_works(void)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = MAPLE_TRACE_UPROBE_MULTI);
	const uint64_t zero = 0;
	struct maple_places places = {
		.path = "/", .n = 1, .offset = &zero, .cookie = &zero
	};
	bool works;

	places.program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "maple_nothing",
				       "GPL", nothing, 2, &options);
	if (places.program < 0)
		return false;
	works = link_multi(&places, 0, 1) == -EBADF;
	places.pid = -1;
	works = works && link_multi(&places, 0, 1) == -EINVAL;
	close(places.program);
	return works;
}

static int link_single(const struct maple_places *p, unsigned int i)
{
	LIBBPF_OPTS(bpf_link_create_opts, options,
		    .perf_event.bpf_cookie = p->cookie[i]);
	int event, fd;

	event = maple_door_uprobe(p->pid, p->path, p->offset[i], p->at_return);
	if (event < 0)
		return event;
	fd = bpf_link_create(p->program, event, BPF_PERF_EVENT, &options);
	/* The link keeps the event. */
	close(event);
	return fd;
}

/*
 * maple_attach_limit - raises the limit on our open files as far as it may be
 *
 * Returns how many places can be had where each takes one.
 */
unsigned int maple_attach_limit(void)
{
	struct rlimit limit;
	unsigned int most = 0;
	FILE *file;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	file = fopen("/proc/sys/fs/nr_open", "re");
	if (file) {
		if (fscanf(file, "%u", &most) == 1 && most > limit.rlim_max) {
			struct rlimit more = { most, most };

			if (!setrlimit(RLIMIT_NOFILE, &more))
				limit = more;
		}
		fclose(file);
	}
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur > RESERVE ? limit.rlim_cur - RESERVE : 0;
}

static int keep(struct maple_attachments *a, int fd)
{
	if (!maple_array_reserve(a->fd, a->n, a->room)) {
		close(fd);
		return -ENOMEM;
	}
	a->fd[a->n++] = fd;
	return 0;
}

/* Whether the kernel means the place, not us. */
static bool is_refusal(int e)
{
	return e == -ENOTSUPP || e == -EINVAL || e == -EIO || e == -EFAULT ||
	       e == -EILSEQ || e == -EOPNOTSUPP;
}

static bool is_limit(int e)
{
	return e == -EMFILE || e == -ENFILE;
}

static int attach_some(struct maple_attachments *a, const struct maple_places *p,
		       unsigned int first, unsigned int n)
{
	int fd, e;

	/* A link each, so that its place in the array is that of its probe. */
	assert(first + n <= p->n && n && (a->multi || n == 1));
	fd = a->multi ? link_multi(p, first, n) : link_single(p, first);
	if (fd >= 0) {
		a->places += n;
		return keep(a, fd);
	}
	if (is_limit(fd)) {
		a->unreached += n;
		return a->multi ? 0 : keep(a, -1);
	}
	if (!is_refusal(fd))
		return fd;
	if (n == 1) {
		a->refused++;
		if (p->refused)
			p->refused[first] = true;
		return a->multi ? 0 : keep(a, -1);
	}
	e = attach_some(a, p, first, n / 2);
	return e ? e : attach_some(a, p, first + n / 2, n - n / 2);
}

/*
 * maple_attach - puts a program at all of @p that can be reached
 *
 * Errors: what the kernel says that is about us (-EPERM, -ESRCH, -ENOENT,
 * -ENOMEM); what is in place already stays.
 */
int maple_attach(struct maple_attachments *a, const struct maple_places *p,
		 struct maple_error *err)
{
	unsigned int step = a->multi ? p->n : 1, i;
	int e = 0;

	for (i = 0; i < p->n && !e; i += step)
		e = attach_some(a, p, i, step);
	return e ? maple_error_set(err, -e, "no probe can be put into %s: %s",
				   p->path, strerror(-e))
		 : 0;
}

/* maple_attach_drop - takes the probe at place @i away; not for multi */
void maple_attach_drop(struct maple_attachments *a, unsigned int i)
{
	assert(!a->multi && i < a->n);
	if (a->fd[i] < 0)
		return;
	close(a->fd[i]);
	a->fd[i] = -1;
	a->places--;
}

/*
 * maple_attach_again - ... and puts it back
 * @place: it alone
 */
int maple_attach_again(struct maple_attachments *a,
		       const struct maple_places *place, unsigned int i)
{
	int fd;

	assert(!a->multi && i < a->n && a->fd[i] < 0 && place->n == 1);
	fd = link_single(place, 0);
	if (fd < 0)
		return fd;
	a->fd[i] = fd;
	a->places++;
	return 0;
}

/* Every CLOSERS-th of them, from one on. */
struct closer {
	const struct maple_attachments *a;
	unsigned int first;
};

static void *close_some(void *ctx)
{
	const struct closer *c = ctx;

	for (unsigned int i = c->first; i < c->a->n; i += CLOSERS)
		if (c->a->fd[i] >= 0)
			close(c->a->fd[i]);
	return NULL;
}

/*
 * maple_attachments_undo - takes all of them away
 *
 * At each one the kernel waits until nobody can be in it any more, some tens
 * of milliseconds before Linux 6.12: several wait at a time.
 */
void maple_attachments_undo(struct maple_attachments *a)
{
	struct closer closer[CLOSERS];
	pthread_t thread[CLOSERS];
	bool runs[CLOSERS] = { false };

	for (unsigned int i = 0; i < CLOSERS && i < a->n; i++) {
		closer[i] = (struct closer){ a, i };
		if (a->n > CLOSERS)
			runs[i] = !pthread_create(&thread[i], NULL, close_some,
						  &closer[i]);
		if (!runs[i])
			close_some(&closer[i]);
	}
	for (unsigned int i = 0; i < CLOSERS; i++)
		if (runs[i])
			pthread_join(thread[i], NULL);
	free(a->fd);
	a->fd = NULL;
	a->n = a->room = 0;
	a->places = a->refused = a->unreached = 0;
}
