// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Names with what doctest's filters are made of. */
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include <doctest/doctest.h>
#include "cases.h"

TEST_CASE("deposits, two of them")
{
	CHECK(cases_deposit(1) >= 1);
}

TEST_CASE("all, of \\ it")
{
	CHECK(cases_deposit(8) == 16);
}

TEST_CASE("not now" * doctest::skip())
{
	CHECK(cases_deposit(1) == 0);
}
