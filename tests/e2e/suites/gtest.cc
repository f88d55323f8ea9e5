// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Eight cases, see cases.h; one without threads, one that is disabled. */
#include <gtest/gtest.h>
#include "cases.h"

class Some : public testing::TestWithParam<long> {};

TEST_P(Some, IsThere)
{
	EXPECT_GE(cases_deposit(GetParam()), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sums, Some, testing::Values(1, 2, 3, 4, 5, 6));

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

int main(int argc, char **argv)
{
	testing::InitGoogleTest(&argc, argv);
	return RUN_ALL_TESTS();
}
