// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Which lines of /proc/net say that somebody listens: campaign/round.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "campaign/internal.h"

static void test_tcp(void **state)
{
	assert_int_equal(
		maple_round_listens("   0: 0100007F:0CEA 00000000:0000 0A "
				    "00000000:00000000 00:00000000 00000000"
				    "     0        0 18441 1 0000000000000000",
				    false),
		18441);
	/* Established. */
	assert_int_equal(
		maple_round_listens("   1: 0100007F:0CEA 0100007F:9C40 01 "
				    "00000000:00000000 00:00000000 00000000"
				    "     0        0 18442 1 0000000000000000",
				    false),
		0);
	assert_int_equal(
		maple_round_listens("  sl  local_address rem_address", false),
		0);
}

static void test_tcp6(void **state)
{
	assert_int_equal(maple_round_listens(
				 "  12: 00000000000000000000000001000000:1F90 "
				 "00000000000000000000000000000000:0000 0A "
				 "00000000:00000000 00:00000000 00000000     0"
				 "        0 777 1 0000000000000000",
				 false),
			 777);
}

static void test_unix(void **state)
{
	assert_int_equal(maple_round_listens("0000000000000000: 00000002 "
					     "00000000 00010000 0001 01 "
					     "20210 /run/x.sock",
					     true),
			 20210);
	/* Connected. */
	assert_int_equal(maple_round_listens("0000000000000000: 00000003 "
					     "00000000 00000000 0001 03 20211",
					     true),
			 0);
	assert_int_equal(maple_round_listens("Num       RefCount Protocol "
					     "Flags    Type St Inode Path",
					     true),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_tcp6),
		cmocka_unit_test(test_unix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
