// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Arrays that grow.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/array.h"

static void test_reserve(void **state)
{
	uint32_t *array = NULL, n = 0, room = 0;

	while (n < 1000) {
		assert_true(maple_array_reserve(array, n, room));
		assert_true(room > n && room <= 2 * n + 4);
		array[n] = n;
		n++;
	}
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(array[i], i);
	free(array);
}

static void test_extend(void **state)
{
	uint64_t *array = NULL;

	assert_true(maple_array_extend(array, 0, 3));
	for (int i = 0; i < 3; i++)
		assert_int_equal(array[i], 0);
	array[2] = 7;
	assert_true(maple_array_extend(array, 3, 300));
	assert_int_equal(array[2], 7);
	for (int i = 3; i < 300; i++)
		assert_int_equal(array[i], 0);
	free(array);
}

/* What there is stays as it is when there is no memory for more. */
static void test_no_memory(void **state)
{
	volatile size_t huge = SIZE_MAX / 2;
	uint32_t *array = NULL, *before, n = 0, room = 0;

	assert_true(maple_array_reserve(array, n, room));
	array[0] = 5;
	before = array;
	assert_false(maple_array_resize(array, huge));
	assert_ptr_equal(array, before);
	assert_int_equal(array[0], 5);
	free(array);
}

static void test_lead(void **state)
{
	static const uint32_t array[] = { 1, 3, 3, 7 };

	for (uint32_t n = 0; n <= 4; n++)
		for (uint32_t value = 0; value < 9; value++) {
			size_t want = 0;

			while (want < n && array[want] < value)
				want++;
			assert_int_equal(
				maple_array_lead(n, i, array[i] < value), want);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_extend),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_lead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
