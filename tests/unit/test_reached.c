// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which sites were executed: noted by event, joined over runs, and written as
 * text that anybody may have changed.
 *
 * It runs no program under orders, so that neighbours do not disturb it.
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "campaign/reach/reached.h"

static bool has(const struct maple_reached *r, uint32_t site)
{
	return site / 64 < r->n && r->bits[site / 64] >> site % 64 & 1;
}

static void hit(struct maple_reached *r, uint32_t site, uint8_t kind)
{
	struct maple_event event = { .site = site, .kind = kind };

	maple_reached_event(r, &event);
}

static void accesses_are_noted(void **state)
{
	struct maple_reached one = { 0 }, all = { 0 };

	hit(&one, 3, MAPLE_EV_READ);
	hit(&one, 70000, MAPLE_EV_UPDATE);
	hit(&one, 5 | MAPLE_SITE_CALL, MAPLE_EV_WRITE);
	hit(&one, MAPLE_SITE_NONE, MAPLE_EV_WRITE);
	hit(&one, 6, MAPLE_EV_LOCK);
	assert_true(has(&one, 3));
	assert_true(has(&one, 70000));
	assert_false(has(&one, 5));
	assert_false(has(&one, 6));
	assert_true(one.n < 10000);
	hit(&all, 4, MAPLE_EV_WRITE);
	maple_reached_join(&all, &one);
	assert_true(has(&all, 3) && has(&all, 4) && has(&all, 70000));
	maple_reached_join(&one, &all);
	assert_true(has(&one, 4));
	maple_reached_deinit(&one);
	maple_reached_deinit(&all);
	assert_false(has(&all, 3));
}

static void reads(const char *text, const uint32_t *want, uint32_t n)
{
	uint32_t *offsets, count;

	assert_int_equal(maple_reached_read(text, &offsets, &count), 0);
	assert_int_equal(count, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(offsets[i], want[i]);
	free(offsets);
}

static void text_is_read_as_it_was_written(void **state)
{
	const uint32_t offsets[] = { 0, 1, 0x11a0, 0x11a6, 0xfffffffe };
	char *text = maple_reached_write(offsets, 5, 4096);

	assert_string_equal(text, "0.1.119f.6.ffffee58");
	reads(text, offsets, 5);
	free(text);
	/* What there is no room for is left out, from the end. */
	text = maple_reached_write(offsets, 5, 16);
	reads(text, offsets, 3);
	free(text);
	text = maple_reached_write(NULL, 0, 16);
	assert_string_equal(text, "");
	free(text);
}

static void of_any_text_the_beginning_counts(void **state)
{
	const uint32_t some[] = { 16, 18 };

	reads("", NULL, 0);
	reads("no", NULL, 0);
	reads("10.2", some, 2);
	reads("10.2.", some, 2);
	reads("10.2x.7", some, 2);
	reads("10.2.ffffffff", some, 2);
	reads("10.2.123456789012345678901234567890", some, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accesses_are_noted),
		cmocka_unit_test(text_is_read_as_it_was_written),
		cmocka_unit_test(of_any_text_the_beginning_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
