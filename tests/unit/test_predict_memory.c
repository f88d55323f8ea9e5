// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The predictor when memory runs out: it says so, goes on, never crashes, and
 * frees what it made. The allocator's functions are this file's own; while
 * armed they count, and fail as they are told.
 *
 * beside: guests
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "predict/predict.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t size);
void __libc_free(void *at);

static bool armed;
static long live;	    /* blocks allocated while armed */
static unsigned long asked; /* allocations while armed */
static unsigned long every; /* this many in a row: the last one fails */
static unsigned long refused;

static bool refuse(void)
{
	if (!armed || !every || ++asked % every)
		return false;
	refused++;
	errno = ENOMEM;
	return true;
}

static void *counted(void *block)
{
	live += armed && block;
	return block;
}

void *malloc(size_t size)
{
	return refuse() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return refuse() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *at, size_t size)
{
	if (!at)
		return malloc(size);
	return refuse() ? NULL : __libc_realloc(at, size);
}

void *reallocarray(void *at, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		return NULL;
	return realloc(at, n * size);
}

void free(void *at)
{
	live -= armed && at;
	__libc_free(at);
}

static void next(struct maple_event *e, unsigned int i)
{
	static const uint8_t kinds[] = {
		MAPLE_EV_READ,	      MAPLE_EV_WRITE,  MAPLE_EV_UPDATE,
		MAPLE_EV_READ,	      MAPLE_EV_WRITE,  MAPLE_EV_LOCK,
		MAPLE_EV_LOCK,	      MAPLE_EV_UNLOCK, MAPLE_EV_UNLOCK,
		MAPLE_EV_POST,	      MAPLE_EV_TAKE,   MAPLE_EV_WAIT,
		MAPLE_EV_WAKE,	      MAPLE_EV_SIGNAL, MAPLE_EV_BROADCAST,
		MAPLE_EV_CREATE,      MAPLE_EV_JOIN,   MAPLE_EV_BARRIER_IN,
		MAPLE_EV_BARRIER_OUT, MAPLE_EV_ONCE,   MAPLE_EV_ONCED,
		MAPLE_EV_FREE,
	};

	memset(e, 0, sizeof(*e));
	e->kind = kinds[random() % (long)sizeof(kinds)];
	e->thread = (uint16_t)(random() % 5);
	e->site = (uint32_t)(random() % 20);
	e->clock = i;
	e->size = 1u << random() % 5;
	e->aux = (uint32_t)(random() % 5);
	e->flags = random() % 8 ? 0 : MAPLE_EVF_PENDING;
	if (maple_event_is_memory(e->kind) || e->kind == MAPLE_EV_FREE)
		e->addr = 0x10000 + (uint64_t)(random() % 2048);
	else
		e->addr = 0x20000 + (uint64_t)(random() % 8) * 64;
	e->value = e->kind == MAPLE_EV_FREE ? 100 : 0;
}

/* Runs a trace; how many of its events failed. */
static unsigned int run(unsigned int seed)
{
	struct maple_predict_options options = { .max_spans = 8, .collect = 3 };
	struct maple_predict_stats stats = { 0 };
	unsigned int failed = 0;
	struct maple_predict *p;
	int ret;

	srandom(seed);
	live = 0;
	armed = true;
	ret = maple_predict_create(&options, NULL, &p);
	assert_true(ret == 0 || (ret == -ENOMEM && !p));
	for (unsigned int i = 0; i < 400 && !ret; i++) {
		struct maple_event e;
		int err;

		next(&e, i);
		err = maple_predict_event(p, &e);
		assert_true(err == 0 || err == -ENOMEM);
		failed += err != 0;
	}
	if (!ret) {
		ret = maple_predict_finish(p);
		assert_true(ret == 0 || ret == -ENOMEM);
		failed += ret != 0;
		maple_predict_stats(p, &stats);
		assert_true(stats.no_memory >= failed);
		maple_predict_destroy(p);
	}
	armed = false;
	assert_int_equal(live, 0);
	return failed;
}

static void test_no_leak(void **state)
{
	every = 0;
	for (unsigned int seed = 0; seed < 20; seed++)
		assert_int_equal(run(seed), 0);
}

static void test_refused(void **state)
{
	unsigned long failed = 0;

	refused = 0;
	for (every = 1; every < 400; every++) {
		asked = 0;
		failed += run((unsigned int)every);
	}
	every = 0;
	assert_true(refused > 1000);
	assert_true(failed > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_leak),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
