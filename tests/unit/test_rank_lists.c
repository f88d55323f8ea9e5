// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The lists of rank's that wait for their run: which comes next, which has no
 * room, and which is counted as dropped.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "strategy/rank/lists.h"

/* However often the list comes up. */
static void what_has_too_many_turns_is_counted_once(void **state)
{
	struct maple_rank_turn turns[MAPLE_RANK_TURNS + 1] = { 0 };
	struct maple_rank_list list = { .turn = turns,
					.n = MAPLE_RANK_TURNS + 1 };
	struct maple_rank_lists lists = { .way = MAPLE_RANK_CHESS, .most = 1 };

	assert_int_equal(maple_rank_put(&lists, &list), 0);
	assert_int_equal(maple_rank_put(&lists, &list), 0);
	assert_int_equal(lists.dropped, 1);
	turns[0].entry.hit = 1;
	assert_int_equal(maple_rank_put(&lists, &list), 0);
	assert_int_equal(lists.dropped, 2);
	assert_null(maple_rank_pop(&lists));
	list.n--;
	assert_int_equal(maple_rank_put(&lists, &list), 0);
	assert_int_equal(lists.dropped, 2);
	maple_rank_list_free(maple_rank_pop(&lists));
	maple_rank_lists_clear(&lists);
}

static struct maple_rank_list *put_one(struct maple_rank_lists *lists,
				       uint32_t hit, int e)
{
	struct maple_rank_turn turn = { .entry.hit = hit };
	struct maple_rank_list list = { .turn = &turn, .n = 1 };

	assert_int_equal(maple_rank_put(lists, &list), e);
	return e ? NULL : maple_rank_pop(lists);
}

/* What was put or refused once; and who waits apart, until half is free. */
static void what_has_no_room_waits_and_comes_in_turn(void **state)
{
	struct maple_rank_lists lists = { .way = MAPLE_RANK_CHESS, .most = 2 };
	struct maple_rank_list base = { 0 }, *list[3], *was;

	for (uint32_t i = 0; i < 3; i++)
		list[i] = put_one(&lists, i, 0);
	base.youngest = true;
	assert_int_equal(maple_rank_put(&lists, &base), 0);
	base.youngest = false;
	assert_int_equal(maple_rank_put(&lists, &base), 0);
	put_one(&lists, 9, -ENOSPC);
	put_one(&lists, 9, -ENOSPC);
	/* That was there once. */
	assert_int_equal(maple_rank_put(&lists, list[0]), 0);
	for (uint32_t i = 0; i < 3; i++)
		maple_rank_later(&lists, list[i]);
	was = maple_rank_pop(&lists);
	assert_false(was->again);
	maple_rank_list_free(was);
	for (uint32_t i = 0; i < 2; i++) {
		was = maple_rank_pop(&lists);
		assert_ptr_equal(was, list[i]);
		assert_true(was->again);
		maple_rank_list_free(was);
	}
	assert_int_equal(lists.n, 1);
	was = put_one(&lists, 9, 0);
	assert_false(was->again);
	maple_rank_list_free(was);
	was = maple_rank_pop(&lists);
	assert_ptr_equal(was, list[2]);
	maple_rank_list_free(was);
	was = maple_rank_pop(&lists);
	assert_int_equal(was->turn->entry.hit, 9);
	maple_rank_list_free(was);
	assert_null(maple_rank_pop(&lists));
	assert_int_equal(lists.dropped, 0);
	maple_rank_lists_clear(&lists);
}

/* The hits of the lists of one turn, and equal cost, as they come. */
static void draw(uint64_t by, uint32_t *hits, uint32_t n)
{
	struct maple_rank_lists lists = { .way = MAPLE_RANK_NEWS,
					  .most = n,
					  .draws = by };

	for (uint32_t i = 0; i < n; i++) {
		struct maple_rank_turn turn = { .entry.hit = i, .pair = i + 1 };
		struct maple_rank_list list = { .turn = &turn, .n = 1 };

		assert_int_equal(maple_rank_put(&lists, &list), 0);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct maple_rank_list *list = maple_rank_pop(&lists);

		assert_non_null(list);
		hits[i] = list->turn->entry.hit;
		maple_rank_list_free(list);
	}
	maple_rank_lists_clear(&lists);
}

/* Who shares a memo goes first where others do not; in the end all is done. */
static void campaigns_begin_with_other_lists(void **state)
{
	uint32_t alone[32], one[32], other[32], had = 0;
	unsigned int same = 0;

	draw(0, alone, 32);
	draw(5, one, 32);
	draw(7, other, 32);
	for (uint32_t i = 0; i < 32; i++) {
		assert_int_equal(alone[i], i);
		had |= 1u << one[i];
		same += one[i] == other[i];
	}
	assert_int_equal(had, UINT32_MAX);
	assert_in_range(same, 0, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_room_waits_and_comes_in_turn),
		cmocka_unit_test(what_has_too_many_turns_is_counted_once),
		cmocka_unit_test(campaigns_begin_with_other_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
