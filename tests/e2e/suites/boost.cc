// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A tree of suites, descriptions, cases from a template. */
#define BOOST_TEST_MODULE account
#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>
#include <boost/mpl/list.hpp>
#include "cases.h"

namespace ut = boost::unit_test;
typedef boost::mpl::list<int, long> sizes;

BOOST_AUTO_TEST_SUITE(account)

BOOST_AUTO_TEST_CASE(some, *ut::description("of it: at least"))
{
	BOOST_CHECK(cases_deposit(1) >= 1);
}

BOOST_AUTO_TEST_CASE(none, *ut::disabled())
{
	BOOST_CHECK(cases_deposit(1) == 0);
}

BOOST_AUTO_TEST_SUITE(inner)
BOOST_AUTO_TEST_CASE(all)
{
	BOOST_CHECK(cases_deposit(8) == 16);
}
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE_TEMPLATE(sized, T, sizes)
{
	BOOST_CHECK(cases_deposit(sizeof(T)) > 0);
}
