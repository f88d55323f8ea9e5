// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The eighth case has the bug, see cases.h; after it one without threads, one
 * that is disabled, and one with a parameter.
 */
#include <gtest/gtest.h>
#include "cases.h"

#define SOME(n)                                 \
	TEST(Some, IsThere##n)                  \
	{                                       \
		EXPECT_GE(cases_deposit(n), n); \
	}

SOME(1)
SOME(2)
SOME(3)
SOME(4)
SOME(5)
SOME(6)

TEST(Account, IsNotNegative)
{
	EXPECT_GE(cases_deposit(7), 0);
}

TEST(Account, HasAll)
{
	EXPECT_EQ(cases_deposit(8), 16);
}

TEST(Account, IsEmptyAtFirst)
{
	cases_balance = 0;
	cases_add(9);
	EXPECT_EQ(cases_balance, 9);
}

TEST(Account, DISABLED_IsNoBank)
{
	EXPECT_EQ(cases_deposit(10), 0);
}

class Any : public testing::TestWithParam<long>
{
};

TEST_P(Any, IsThere)
{
	EXPECT_GE(cases_deposit(GetParam()), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sums, Any, testing::Values(11));

int main(int argc, char **argv)
{
	testing::InitGoogleTest(&argc, argv);
	return RUN_ALL_TESTS();
}
