// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Names that would be something else for Catch2 if they were not quoted. */
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include <catch2/catch.hpp>
#include "cases.h"

TEST_CASE("deposits, two of them", "[account]")
{
	CHECK(cases_deposit(1) >= 1);
}

TEST_CASE(
	"-x [is] no \"option\" \\ tag, and longer than a line of the list of cases has room for")
{
	CHECK(cases_deposit(8) == 16);
}

TEST_CASE("not by default", "[.]")
{
	CHECK(cases_deposit(1) == 0);
}
