// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the automaton asks of the kernel: in which waits the target's other
 * threads are, and how much CPU time went by.
 */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <unistd.h>
#include "agent/core.h"
#include "enforce.h"
#include "agent/raw.h"

static char *put_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

static char *put_number(char *at, unsigned int number)
{
	char digits[12];
	unsigned int n = 0;

	do {
		digits[n++] = '0' + number % 10;
		number /= 10;
	} while (number);
	while (n)
		*at++ = digits[--n];
	return at;
}

static const char *get_number(const char *at, uint64_t *number)
{
	unsigned int base = 10, digit;

	while (*at == ' ')
		at++;
	if (at[0] == '0' && at[1] == 'x') {
		base = 16;
		at += 2;
	}
	for (*number = 0;; at++) {
		digit = *at >= 'a' ? *at - 'a' + 10u : *at - (unsigned int)'0';
		if (digit >= base)
			return at;
		*number = *number * base + digit;
	}
}

static int time_peek(uint64_t at, struct maple_wait_time *time)
{
	time->sec = maple_ring_peek(at, 8);
	time->nsec = maple_ring_peek(at + 8, 8);
	return 1;
}

static void time_now(int clock, struct maple_wait_time *time)
{
	raw2(SYS_clock_gettime, clock, time);
}

/* What /proc says of a thread: "running", or its system call; -1 is none. */
static enum maple_wait_end line_ends(const char *line,
				     const struct maple_wait_view *view)
{
	struct maple_wait_call call = { .nr = -1 };
	uint64_t nr;

	if (*line == '-')
		return maple_wait_ends(&call, view);
	if (*line < '0' || *line > '9')
		return MAPLE_ENDS_NEVER;
	line = get_number(line, &nr);
	call.nr = nr;
	for (int i = 0; i < 4; i++)
		line = get_number(line, &call.arg[i]);
	return maple_wait_ends(&call, view);
}

/* What /proc/.../@file says of thread @tid; empty: nothing any more. */
static const char *read_file(int tid, const char *file, char *line, size_t size)
{
	char path[48], *at = put_text(path, "/proc/self/task/");
	long fd, n;

	at = put_text(put_number(at, tid), file);
	*at = 0;
	line[0] = 0;
	fd = raw3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	if (raw_failed(fd))
		return line;
	n = raw3(SYS_read, fd, line, size - 1);
	raw1(SYS_close, fd);
	line[raw_failed(n) ? 0 : n] = 0;
	return line;
}

static const char *read_line(int tid, char *line, size_t size)
{
	return read_file(tid, "/syscall", line, size);
}

/*
 * maple_waits_live - whether there is another thread that has not ended
 * @all_wait: whether all of these wait, and for more than @ms
 */
bool maple_waits_live(const struct maple_shm *shm, uint32_t ms, bool *all_wait)
{
	const struct maple_wait_view view = { 0, ms, time_peek, time_now };
	const struct maple_shm_thread *t;
	bool found = false;
	char line[128];

	*all_wait = true;
	for (uint32_t i = 0; i < shm->nthreads; i++) {
		t = &shm->thread[i];
		/* One that has not begun yet is not alive, and has no id. */
		if (i == maple_self.number || (t->tid && !t->alive))
			continue;
		found = true;
		if (!t->tid || read_line(t->tid, line, sizeof(line))[0] == 'r' ||
		    line_ends(line, &view) == MAPLE_ENDS_SOON)
			*all_wait = false;
	}
	return found;
}

/* ---- What may end a wait. ---- */

/* Whether the @n of @fds, in the target's memory, have a timer that is set. */
static bool polls_timer(uint64_t fds, uint64_t n)
{
	bool has = false;
	int fd;

	for (uint64_t i = 0; i < n; i++) {
		fd = (int)maple_ring_peek(fds + i * sizeof(struct pollfd) +
						  offsetof(struct pollfd, fd),
					  sizeof(fd));
		if (fd >= 0 && fd <= STDERR_FILENO)
			return false;
		has |= maple_timers_has(fd);
	}
	return has;
}

/*
 * Whether epoll's @fd has a timer that is set. The kernel says what is in it,
 * one line each: "tfd: 5 events: ...".
 */
static bool epolls_timer(uint64_t fd)
{
	static const char tfd[] = "tfd:";
	char text[256], *at = put_text(text, "/proc/self/fdinfo/");
	long info, n = 0, i = 0;
	uint64_t number = 0;
	unsigned int seen = 0; /* of "tfd:" */
	bool has = false;

	*put_number(at, fd) = 0;
	info = raw3(SYS_open, text, O_RDONLY | O_CLOEXEC, 0);
	if (raw_failed(info))
		return false;
	while (!has) {
		if (i == n) {
			n = raw3(SYS_read, info, text, sizeof(text));
			if (raw_failed(n) || !n)
				break;
			i = 0;
		}
		at = &text[i++];
		if (tfd[seen]) {
			seen = *at == tfd[seen] ? seen + 1 : 0;
			number = 0;
		} else if (*at >= '0' && *at <= '9') {
			number = number * 10 + (*at - '0');
		} else if (number || *at != ' ') {
			has = maple_timers_has(number);
			seen = 0;
		}
	}
	raw1(SYS_close, info);
	return has;
}

/*
 * Whether what /proc says is a wait that another thread ends (a futex, without
 * a timeout), or a timer of the run's.
 */
static bool is_inside(const char *line)
{
	uint64_t nr, arg[4];

	if (*line < '0' || *line > '9')
		return false;
	line = get_number(line, &nr);
	for (int i = 0; i < 4; i++)
		line = get_number(line, &arg[i]);
	switch (nr) {
	case SYS_futex:
		return !arg[3];
	case SYS_read:
		return maple_timers_has(arg[0]);
	case SYS_poll:
		return (int)arg[2] < 0 && polls_timer(arg[0], arg[1]);
	case SYS_ppoll:
		return !arg[2] && polls_timer(arg[0], arg[1]);
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)arg[3] < 0 && epolls_timer(arg[0]);
	case SYS_rt_sigtimedwait:
		return !arg[2] && maple_timers_ring();
	case SYS_pause:
	case SYS_rt_sigsuspend:
		return maple_timers_ring();
	default:
		return false;
	}
}

/*
 * maple_waits_outside - whether a thread that is not @parked is in a system
 * call that may end by what happens outside, or on its way
 */
bool maple_waits_outside(const struct maple_shm *shm,
			 bool (*parked)(uint32_t thread))
{
	const struct maple_shm_thread *t;
	char line[128];

	for (uint32_t i = 0; i < shm->nthreads; i++) {
		t = &shm->thread[i];
		if (i == maple_self.number || !t->alive || t->joins || parked(i))
			continue;
		if (!is_inside(read_line(t->tid, line, sizeof(line))) && line[0])
			return true;
	}
	return false;
}

/* maple_waits_state - what thread @tid does, as ps(1) has it; 0: not known */
char maple_waits_state(int tid)
{
	const char *at, *name = NULL;
	char line[128];

	/* Behind the last ')', which ends its name. */
	for (at = read_file(tid, "/stat", line, sizeof(line)); *at; at++)
		if (*at == ')')
			name = at;
	return name && name[1] ? name[2] : 0;
}

/*
 * maple_enforce_waits - the waits that the others are in
 * @hold: the futex that the automaton's own sleepers wait on
 */
void maple_enforce_waits(const uint32_t *hold, struct maple_waits *waits)
{
	const struct maple_shm *shm = maple_shm;
	const struct maple_wait_view view = { (uintptr_t)hold,
					      shm->plan.slice_ms, time_peek,
					      time_now };
	char line[128];

	*waits = (struct maple_waits){ 0 };
	for (uint32_t i = 0; i < shm->nthreads; i++) {
		/* Who joins waits for one of the others, and need not be asked. */
		if (i == maple_self.number || !shm->thread[i].alive ||
		    shm->thread[i].joins)
			continue;
		if (!read_line(shm->thread[i].tid, line, sizeof(line))[0])
			continue;
		maple_waits_add(waits, i, line_ends(line, &view));
	}
}

/* maple_enforce_cpu_ms - CPU time of the target so far */
uint64_t maple_enforce_cpu_ms(void)
{
	struct timespec t = { 0, 0 };

	raw2(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}
