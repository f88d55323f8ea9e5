// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a process listens at, and which lines of /proc/net say so.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "campaign/internal.h"

static void test_tcp(void **state)
{
	assert_int_equal(
		maple_sockets_line("   0: 0100007F:0CEA 00000000:0000 0A "
				   "00000000:00000000 00:00000000 00000000"
				   "     0        0 18441 1 0000000000000000",
				   false),
		18441);
	/* Established. */
	assert_int_equal(
		maple_sockets_line("   1: 0100007F:0CEA 0100007F:9C40 01 "
				   "00000000:00000000 00:00000000 00000000"
				   "     0        0 18442 1 0000000000000000",
				   false),
		0);
	assert_int_equal(
		maple_sockets_line("  sl  local_address rem_address", false), 0);
}

static void test_tcp6(void **state)
{
	assert_int_equal(maple_sockets_line(
				 "  12: 00000000000000000000000001000000:1F90 "
				 "00000000000000000000000000000000:0000 0A "
				 "00000000:00000000 00:00000000 00000000     0"
				 "        0 777 1 0000000000000000",
				 false),
			 777);
}

static void test_unix(void **state)
{
	assert_int_equal(maple_sockets_line("0000000000000000: 00000002 "
					    "00000000 00010000 0001 01 "
					    "20210 /run/x.sock",
					    true),
			 20210);
	/* Connected. */
	assert_int_equal(maple_sockets_line("0000000000000000: 00000003 "
					    "00000000 00000000 0001 03 20211",
					    true),
			 0);
	assert_int_equal(maple_sockets_line("Num       RefCount Protocol "
					    "Flags    Type St Inode Path",
					    true),
			 0);
}

static int made(int family, bool listens)
{
	int fd = socket(family, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	if (listens) /* at a port, or a name, that the kernel chooses */
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* The socket itself says it, and so do the tables. */
static void test_process(void **state)
{
	const sa_family_t local = AF_UNIX;
	int fd[4] = { -1, -1, -1, -1 };

	assert_int_equal(maple_sockets_listening(getpid()), 0);
	fd[0] = made(AF_INET, false);
	fd[1] = made(AF_INET, true);
	assert_int_equal(maple_sockets_listening(getpid()), 1);
	assert_int_equal(maple_sockets_in_tables(getpid()), 1);
	fd[2] = made(AF_INET, true);
	fd[3] = made(AF_UNIX, false);
	assert_int_equal(
		bind(fd[3], (const struct sockaddr *)&local, sizeof(local)), 0);
	assert_int_equal(maple_sockets_listening(getpid()), 2);
	assert_int_equal(listen(fd[3], 1), 0);
	assert_int_equal(maple_sockets_listening(getpid()), 3);
	assert_int_equal(maple_sockets_in_tables(getpid()), 3);
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	assert_int_equal(maple_sockets_listening(getpid()), 0);
	assert_int_equal(maple_sockets_listening(-1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_tcp6),
		cmocka_unit_test(test_unix),
		cmocka_unit_test(test_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
