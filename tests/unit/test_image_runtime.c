// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which code of a static program is libc's, with debug information and with
 * no more than symbols; and of one whose functions have names like libc's.
 *
 * It runs no program under orders, so that neighbours do not disturb it.
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "image/image.h"

static char dir[64];

static const char program[] =
	"#include <pthread.h>\n"
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"int total, left;\n"
	"__attribute__((cold, noinline)) void rarely(int n) { total -= n; }\n"
	"__attribute__((noinline)) void index(int n) { total += n; }\n"
	"static void *work(void *ctx) { index(1); return ctx; }\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	pthread_t t;\n"
	"	pthread_create(&t, NULL, work, NULL);\n"
	"	pthread_join(t, NULL);\n"
	"	if (argc > 3)\n"
	"		rarely(argc);\n"
	"	printf(\"%d %p\\n\", total, malloc(argc));\n"
	"	return left;\n"
	"}\n";

static void run(const char *command)
{
	assert_int_equal(system(command), 0);
}

static int start(void **state)
{
	char path[96];
	FILE *file;

	strcpy(dir, "/tmp/test_image_runtime.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/a.c", dir);
	file = fopen(path, "w");
	if (!file || fputs(program, file) < 0)
		return -1;
	return fclose(file);
}

static int stop(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static struct maple_image *build(const char *flags)
{
	struct maple_image *image;
	struct maple_error err;
	char command[256];

	snprintf(command, sizeof(command),
		 "cc -w -fno-builtin -pthread %s -o %s/a %s/a.c", flags, dir,
		 dir);
	run(command);
	snprintf(command, sizeof(command), "%s/a", dir);
	assert_int_equal(maple_image_open(command, &image, &err), 0);
	return image;
}

/* What nm says of @name. */
static uint64_t address(const char *name)
{
	char command[256];
	unsigned long long at = 0;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "nm %s/a | sed -n 's/^\\([0-9a-f]*\\) [TtWi] %s$/\\1/p'", dir,
		 name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	if (fscanf(pipe, "%llx", &at) != 1)
		fail_msg("no %s", name);
	pclose(pipe);
	return at;
}

static bool is_runtime(struct maple_image *image, const char *name)
{
	return maple_image_is_runtime(image, address(name));
}

static void check(const char *flags)
{
	static const char *const own[] = { "main", "work", "index", "rarely",
					   "_start" };
	static const char *const libc[] = {
		"__libc_start_main",   "call_fini",    "malloc",
		"_int_malloc",	       "start_thread", "__strlen_avx2",
		"__vfprintf_internal", "abort"
	};
	struct maple_image *image = build(flags);

	for (unsigned int i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (is_runtime(image, own[i]))
			fail_msg("%s: %s is not libc's", flags, own[i]);
	for (unsigned int i = 0; i < sizeof(libc) / sizeof(*libc); i++)
		if (!is_runtime(image, libc[i]))
			fail_msg("%s: %s is libc's", flags, libc[i]);
	maple_image_destroy(image);
}

static void test_by_symbols(void **state)
{
	check("-static -O0");
	check("-static -O2");
	check("-static-pie -fPIE -O2");
}

static void test_by_units(void **state)
{
	check("-static -O0 -g");
	check("-static -O2 -g -ffunction-sections");
}

/* Names that look like libc's: those that others have as well, and any. */
static void test_own_names(void **state)
{
	struct maple_image *image;

	image = build("-static -O1 -Dindex=__libc_csu_own");
	assert_false(is_runtime(image, "main"));
	assert_false(is_runtime(image, "work"));
	maple_image_destroy(image);
	image = build("-static -O1 -g -Dindex=_IO_own");
	assert_false(is_runtime(image, "_IO_own"));
	assert_false(is_runtime(image, "main"));
	maple_image_destroy(image);
}

static void check_none(const char *flags)
{
	struct maple_image *image = build(flags);
	unsigned int n = 1;

	maple_image_runtime(image, &n);
	assert_int_equal(n, 0);
	maple_image_destroy(image);
}

static void test_no_symbols(void **state)
{
	check_none("-static -s");
}

static void test_not_static(void **state)
{
	check_none("-Dindex=_IO_own");
	check_none("-Dindex=_IO_own -no-pie");
	check_none("-Dindex=_IO_own -shared -fPIC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_symbols),
		cmocka_unit_test(test_by_units),
		cmocka_unit_test(test_own_names),
		cmocka_unit_test(test_no_symbols),
		cmocka_unit_test(test_not_static),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
