// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the automaton asks of the kernel: whether another thread of the target
 * is in a wait that ends by itself, and how much CPU time went by.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include "core.h"
#include "enforce.h"
#include "raw.h"

static char *put_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

static void put_path(char *at, int tid)
{
	char digits[12];
	unsigned int n = 0;

	at = put_text(at, "/proc/self/task/");
	do {
		digits[n++] = '0' + tid % 10;
		tid /= 10;
	} while (tid);
	while (n)
		*at++ = digits[--n];
	at = put_text(at, "/syscall");
	*at = 0;
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

/*
 * Whether a thread that blocks in this system call is woken by something
 * other than the target: everything but futexes and signals without a time.
 */
static bool ends_itself(const char *line, const uint32_t *hold)
{
	uint64_t nr, arg[4];

	if (*line < '0' || *line > '9')
		return *line == '-'; /* "running", or a page that is read in */
	line = get_number(line, &nr);
	for (int i = 0; i < 4; i++)
		line = get_number(line, &arg[i]);
	switch (nr) {
	case SYS_futex:
		return arg[3] && arg[0] != (uint64_t)hold &&
		       (arg[1] & FUTEX_CMD_MASK) != FUTEX_WAKE;
	case SYS_rt_sigtimedwait:
		return arg[2];
	case SYS_rt_sigsuspend:
	case SYS_pause:
	case SYS_sched_yield:
	case SYS_sched_setscheduler:
		return false;
	default:
		return true;
	}
}

/*
 * maple_enforce_waits - whether another thread of ours is in such a wait
 * @hold: the futex that the automaton's own sleepers wait on
 */
bool maple_enforce_waits(const uint32_t *hold)
{
	const struct maple_shm *shm = maple_shm;
	char path[48], line[128];
	long fd, n;

	for (uint32_t i = 0; i < shm->nthreads; i++) {
		if (i == maple_self.number || !shm->thread[i].alive)
			continue;
		put_path(path, shm->thread[i].tid);
		fd = raw3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
		if (raw_failed(fd))
			continue;
		n = raw3(SYS_read, fd, line, sizeof(line) - 1);
		raw1(SYS_close, fd);
		line[raw_failed(n) ? 0 : n] = 0;
		if (ends_itself(line, hold))
			return true;
	}
	return false;
}

/* maple_enforce_cpu_ms - CPU time of the target so far */
uint64_t maple_enforce_cpu_ms(void)
{
	struct timespec t = { 0, 0 };

	raw2(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}
