// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The ring's reader against a writer of its own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "abi/shm.h"
#include "trace/trace.h"

#define MANY (MAPLE_SHM_RING + 100000u)

static struct maple_shm *shm;
static struct maple_trace_ring ring;

static int setup(void **state)
{
	shm = mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shm == MAP_FAILED)
		return -1;
	shm->stats.pinned = 1;
	maple_trace_ring_init(&ring, shm);
	return 0;
}

static int teardown(void **state)
{
	return munmap(shm, sizeof(*shm));
}

static void put(uint16_t thread, uint8_t kind, uint32_t site, uint8_t flags)
{
	struct maple_event *slot = &shm->ring[shm->head % MAPLE_SHM_RING];

	slot->thread = thread;
	slot->site = site;
	slot->flags = flags;
	slot->kind = kind;
	shm->head++;
}

static void expect(bool ended, uint32_t site, bool pending)
{
	struct maple_event event;

	assert_true(maple_trace_ring_next(&ring, ended, &event));
	assert_int_equal(event.site, site);
	assert_int_equal(!!(event.flags & MAPLE_EVF_PENDING), pending);
}

static void expect_none(bool ended)
{
	struct maple_event event;

	assert_false(maple_trace_ring_next(&ring, ended, &event));
}

static void test_pending(void **state)
{
	expect_none(false);
	put(1, MAPLE_EV_WRITE, 1, 0);
	expect_none(false); /* what comes next is not known */
	put(1, MAPLE_EV_READ, 2, 0);
	expect(false, 1, false); /* the same thread went on */
	put(2, MAPLE_EV_UPDATE, 3, 0);
	expect(false, 2, true); /* another thread came in between */
	put(2, MAPLE_EV_BLOCK, 4, 0);
	expect(false, 3, false);
	expect(false, 4, false); /* no access: needs no lookahead */
	put(1, MAPLE_EV_WRITE, 5, MAPLE_EVF_EXACT);
	expect(false, 5, false);
	put(1, MAPLE_EV_READ, 6, MAPLE_EVF_PENDING);
	put(1, MAPLE_EV_HOLD, 7, 0); /* held before its access */
	put(1, MAPLE_EV_LOCK, 8, MAPLE_EVF_PENDING);
	put(1, MAPLE_EV_WRITE, 9, 0);
	expect(false, 6, true);
	expect(false, 7, false);
	expect(false, 8, false); /* the flag is the reader's own */
	expect_none(false);
	expect(true, 9, true); /* it died there */
	expect_none(true);
}

/* Side by side, another thread's event says nothing about the last one. */
static void test_unpinned(void **state)
{
	shm->stats.pinned = 0;
	put(1, MAPLE_EV_WRITE, 1, 0);
	expect_none(false);
	put(2, MAPLE_EV_READ, 2, 0);
	expect(false, 1, false);
	put(1, MAPLE_EV_READ, 3, 0);
	expect(false, 2, false);
	expect(true, 3, true); /* it died there */
	expect_none(true);
}

static void test_unfilled(void **state)
{
	struct maple_trace_stats stats;

	put(1, MAPLE_EV_LOCK, 1, 0);
	shm->head += 2; /* taken, and not filled yet */
	put(1, MAPLE_EV_LOCK, 2, 0);
	put(MAPLE_THREADS, MAPLE_EV_LOCK, 3, 0);
	put(1, 200, 4, 0);
	put(1, MAPLE_EV_LOCK, 5, 0);
	shm->head += 3;
	shm->stats.lost = 7;
	expect(false, 1, false);
	expect_none(false);
	expect(true, 2, false);
	expect(true, 5, false);
	expect_none(true);
	maple_trace_ring_stats(&ring, &stats);
	assert_int_equal(stats.events, 3);
	assert_int_equal(stats.unfilled, 5);
	assert_int_equal(stats.bad, 2);
	assert_int_equal(stats.lost, 7);
	assert_int_equal(shm->tail, shm->head);
}

/* What was put off comes behind all else, of threads that there are. */
static void test_late(void **state)
{
	shm->nthreads = 4;
	for (uint32_t i = 0; i < 5; i++) {
		shm->held[i].n = 2;
		shm->held[i].late = i;
		shm->held[i].lock[0].site = 10 * i;
		shm->held[i].lock[1].site = 10 * i + 1;
	}
	put(1, MAPLE_EV_WRITE, 1, 0);
	expect_none(false);
	expect(true, 1, false); /* its thread has come to a lock since */
	expect(true, 11, false);
	expect(true, 20, false);
	expect(true, 21, false);
	expect_none(true); /* 3 late of 2 is no number, and there is no 4 */
	expect_none(true);
}

static void test_scribbled_head(void **state)
{
	struct maple_trace_stats stats;

	put(1, MAPLE_EV_LOCK, 1, 0);
	shm->head = 1ull << 62;
	expect(true, 1, false);
	expect_none(true);
	maple_trace_ring_stats(&ring, &stats);
	assert_int_equal(stats.unfilled, MAPLE_SHM_RING);
	maple_trace_ring_reset(&ring);
	assert_int_equal(shm->head, 0);
}

static void test_reset(void **state)
{
	struct maple_trace_stats stats;

	for (uint32_t i = 0; i < 10; i++)
		put(1, MAPLE_EV_READ, i, 0);
	expect(false, 0, false);
	maple_trace_ring_reset(&ring);
	maple_trace_ring_stats(&ring, &stats);
	assert_int_equal(stats.events, 0);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(shm->ring[i].kind, MAPLE_EV_NONE);
	expect_none(true);
	put(1, MAPLE_EV_LOCK, 77, 0);
	expect(false, 77, false);
}

/* Takes slots and fills them as the agent does; waits where it would drop. */
static void writer(void)
{
	for (uint32_t i = 0; i < MANY; i++) {
		uint64_t at = shm->head;
		struct maple_event *slot = &shm->ring[at % MAPLE_SHM_RING];

		while (at - __atomic_load_n(&shm->tail, __ATOMIC_ACQUIRE) >=
		       MAPLE_SHM_RING)
			usleep(100);
		__atomic_store_n(&shm->head, at + 1, __ATOMIC_RELEASE);
		slot->site = i;
		slot->addr = (uint64_t)i * 3;
		slot->thread = 1;
		slot->flags = 0;
		__atomic_store_n(&slot->kind, MAPLE_EV_READ, __ATOMIC_RELEASE);
	}
	_exit(0);
}

static void test_processes(void **state)
{
	struct maple_event event;
	uint32_t seen = 0;
	bool ended = false;
	int status = -1;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child)
		writer();
	while (seen < MANY) {
		if (!maple_trace_ring_next(&ring, ended, &event)) {
			assert_false(ended);
			ended = waitpid(child, &status, WNOHANG) == child;
			continue;
		}
		if (event.site != seen || event.addr != (uint64_t)seen * 3)
			assert_int_equal(event.site, seen);
		seen++;
	}
	if (!ended)
		assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	expect_none(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pending, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unpinned, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unfilled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scribbled_head, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_processes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
