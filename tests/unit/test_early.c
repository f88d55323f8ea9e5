// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Locks that were held before the first event was seen.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "campaign/story/early.h"
#include "predict/predict.h"

#define LOCK 0x1000
#define X    0x2000

static unsigned int predicted;

static void on_predicted(void *ctx, const struct maple_iroot *iroot,
			 const struct maple_predict_facts *facts)
{
	predicted += iroot->idiom == MAPLE_IDIOM_1 &&
		     maple_event_is_memory(iroot->e[0].kind);
}

static void on_observed(void *ctx, const struct maple_iroot *iroot)
{
}

static const struct maple_predict_sink sink = {
	.observed = on_observed,
	.predicted = on_predicted,
};

static struct maple_event event(uint16_t thread, uint8_t kind, uint64_t addr,
				uint32_t site)
{
	return (struct maple_event){ .thread = thread,
				     .kind = kind,
				     .addr = addr,
				     .size = 8,
				     .site = site };
}

static void tell(void *ctx, const struct maple_event *event)
{
	assert_int_equal(maple_predict_event(ctx, event), 0);
}

/*
 * Thread 0 writes X twice in the critical section that it was in, thread 1
 * reads it in one of its own: the read can stand before both writes or behind
 * them, and never between.
 */
static unsigned int orders_of(const struct maple_event *events, unsigned int n,
			      bool early)
{
	struct maple_predict_options options = { 0 };
	struct maple_early kept = { .tell = tell };
	struct maple_predict *p;

	predicted = 0;
	assert_int_equal(maple_predict_create(&options, &sink, &p), 0);
	kept.ctx = p;
	for (unsigned int i = 0; i < n; i++)
		if (early)
			maple_early_event(&kept, &events[i]);
		else
			maple_predict_event(p, &events[i]);
	maple_early_tell(&kept);
	assert_int_equal(kept.n, 0);
	maple_early_deinit(&kept);
	assert_int_equal(maple_predict_finish(p), 0);
	maple_predict_destroy(p);
	return predicted;
}

static void held_before(void **state)
{
	const struct maple_event seen[] = {
		event(0, MAPLE_EV_WRITE, X, 1),
		event(0, MAPLE_EV_WRITE, X, 2),
		event(0, MAPLE_EV_UNLOCK, LOCK, MAPLE_SITE_CALL | 1),
		event(1, MAPLE_EV_LOCK, LOCK, MAPLE_SITE_CALL | 2),
		event(1, MAPLE_EV_READ, X, 3),
		event(1, MAPLE_EV_UNLOCK, LOCK, MAPLE_SITE_CALL | 3),
	};
	struct maple_event whole[7];

	whole[0] = event(0, MAPLE_EV_LOCK, LOCK, MAPLE_SITE_CALL | 4);
	memcpy(whole + 1, seen, sizeof(seen));
	assert_int_equal(orders_of(seen, 6, true), orders_of(whole, 7, false));
	/* Without it, the read might seem to fit between the writes. */
	assert_true(orders_of(seen, 6, false) > orders_of(seen, 6, true));
}

/* A thread that is born in the stretch held nothing when it was born. */
static void born_later(void **state)
{
	struct maple_event create =
		event(0, MAPLE_EV_CREATE, 0, MAPLE_SITE_CALL | 5);
	struct maple_event seen[4];

	create.aux = 1;
	seen[0] = create;
	seen[1] = event(1, MAPLE_EV_WRITE, X, 1);
	seen[2] = event(1, MAPLE_EV_UNLOCK, LOCK, MAPLE_SITE_CALL | 1);
	seen[3] = event(0, MAPLE_EV_READ, X, 2);
	assert_int_equal(orders_of(seen, 4, true), orders_of(seen, 4, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(held_before),
		cmocka_unit_test(born_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
