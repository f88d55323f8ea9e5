// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Places in the source, names of variables, and the registry's numbers.
 *
 * It runs no program under orders, so that neighbours do not disturb it.
 * beside: guests
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <maple/event.h>
#include "image/registry.h"
#include "image/source/scopes.h"

static char dir[64];

static const char program[] =
	"volatile struct { long pad; int count; } queue;\n"
	"volatile long total;\n"
	"static inline __attribute__((always_inline)) void add(int n)\n"
	"{\n"
	"	queue.count = n;\n" /* line 5 */
	"}\n"
	"__attribute__((noinline, noclone)) void leaf(int n)\n"
	"{\n"
	"	total = n;\n" /* line 9 */
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	add(argc);\n"
	"	leaf(argc);\n" /* line 14 */
	"	return 0;\n"
	"}\n";

static void run(const char *fmt, const char *flags)
{
	char command[1024];

	snprintf(command, sizeof(command), "cd %s && ", dir);
	snprintf(command + strlen(command), sizeof(command) - strlen(command),
		 fmt, flags);
	if (system(command))
		fail_msg("failed: %s", command);
}

static int make_dir(void **state)
{
	char path[128];
	FILE *file;

	strcpy(dir, "/tmp/maple-place-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/program.c", dir);
	file = fopen(path, "w");
	if (!file || fputs(program, file) < 0 || fclose(file))
		return -1;
	return 0;
}

static int remove_dir(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static struct maple_image *open_in_dir(const char *name)
{
	struct maple_image *image;
	struct maple_error err;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (maple_image_open(path, &image, &err))
		fail_msg("%s", err.text);
	return image;
}

/* The store of @size bytes to a variable of the program. */
static const struct maple_table_site *store(const struct maple_image *image,
					    unsigned int size)
{
	const struct maple_table_site *sites;
	uint32_t n;

	sites = maple_image_sites(image, &n);
	for (uint32_t i = 0; i < n; i++)
		if (sites[i].kind == MAPLE_EV_WRITE && sites[i].size == size &&
		    sites[i].flags == MAPLE_SITEF_RIPREL)
			return &sites[i];
	fail_msg("no store of %u bytes", size);
	return NULL;
}

static void check_place(struct maple_image *image, uint64_t offset,
			bool is_call, const char *function, unsigned int line)
{
	struct maple_place place;

	assert_int_equal(maple_image_place(image, offset, is_call, &place), 0);
	assert_string_equal(place.image, maple_image_path(image));
	assert_string_equal(place.build_id, maple_image_build_id(image));
	assert_int_equal(place.offset, offset);
	if (function) {
		assert_non_null(place.function);
		assert_string_equal(place.function, function);
	} else {
		assert_null(place.function);
	}
	assert_int_equal(place.line, line);
	if (line)
		assert_non_null(strstr(place.file, "/program.c"));
	else
		assert_null(place.file);
	maple_place_deinit(&place);
}

static void check_data(struct maple_image *image, uint64_t offset,
		       const char *name)
{
	char buf[64] = "untouched";

	assert_int_equal(maple_image_data(image, offset, buf, sizeof(buf)),
			 !!name);
	assert_string_equal(buf, name ? name : "untouched");
}

static void check_program(struct maple_image *image)
{
	const struct maple_table_site *count = store(image, 4);
	const struct maple_table_site *total = store(image, 8);

	check_place(image, count->offset, false, "add", 5);
	check_place(image, total->offset, false, "leaf", 9);
	check_data(image, count->disp, "queue+8");
	check_data(image, total->disp, "total");
	check_data(image, total->offset, NULL); /* a function is no data */
}

static void test_debug(void **state)
{
	static const char *const flags[] = {
		"cc -O1 -g",
		"cc -O1 -g -no-pie",
		"cc -O1 -gdwarf-4",
		"cc -O1 -g -Wl,--build-id=none",
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		struct maple_image *image;

		run("%s -o debug program.c", flags[i]);
		image = open_in_dir("debug");
		check_program(image);
		maple_image_destroy(image);
	}
}

/* Units without .debug_aranges, as clang makes them. */
static void test_no_aranges(void **state)
{
	struct maple_image *image;

	run("cc -O1 -g -o whole program.c && objcopy --remove-section"
	    " .debug_aranges %s",
	    "whole less");
	image = open_in_dir("less");
	check_program(image);
	maple_image_destroy(image);
}

/* The debug information in a file of its own. */
static void test_debug_link(void **state)
{
	struct maple_image *image;

	run("cc -O1 -g -o apart program.c && objcopy --only-keep-debug %s"
	    " && strip apart && objcopy --add-gnu-debuglink=apart.debug apart",
	    "apart apart.debug");
	image = open_in_dir("apart");
	check_program(image);
	maple_image_destroy(image);
}

static void test_symbols_only(void **state)
{
	struct maple_image *image;
	const struct maple_table_site *total;

	run("cc %s -o symbols program.c", "-O1");
	image = open_in_dir("symbols");
	total = store(image, 8);
	check_place(image, total->offset, false, "leaf", 0);
	check_data(image, total->disp, "total");
	maple_image_destroy(image);

	run("cc %s -o nothing program.c", "-O1 -s");
	image = open_in_dir("nothing");
	total = store(image, 8);
	check_place(image, total->offset, false, NULL, 0);
	check_data(image, total->disp, NULL);
	maple_image_destroy(image);
}

static unsigned int line_at(struct maple_image *image, uint64_t offset)
{
	struct maple_place place;

	assert_int_equal(maple_image_place(image, offset, false, &place), 0);
	maple_place_deinit(&place);
	return place.line;
}

/* A return address, on the line after, stands for the call before it. */
static void test_call(void **state)
{
	struct maple_image *image;
	uint64_t at, end;

	run("cc %s -o debug program.c", "-O1 -g");
	image = open_in_dir("debug");
	at = store(image, 4)->offset;
	end = at + 64;
	while (at < end && line_at(image, at) != 14)
		at++;
	while (at < end && line_at(image, at) == 14)
		at++;
	assert_true(at < end);
	check_place(image, at, true, "main", 14);
	assert_int_not_equal(line_at(image, at), 14);
	maple_image_destroy(image);
}

/*
 * Of a library's header, inlined into the user's function, the user's line is
 * the place; a header of the user's own is as good as a source.
 */
static void test_inlined(void **state)
{
	struct maple_image *image;
	struct maple_place place;

	run("mkdir -p include/c++ && cat >include/c++/lib.h <<'END' && "
	    "cat >user.c <<'END2' && cc -Iinclude %s -o inlined user.c\n"
	    "static inline __attribute__((always_inline)) void deep(int n)\n"
	    "{ total = n; }\n"
	    "static inline __attribute__((always_inline)) void outer(int n)\n"
	    "{ deep(n); }\n"
	    "END\n"
	    "volatile long total;\n"
	    "#include <c++/lib.h>\n"
	    "int main(int argc, char **argv)\n"
	    "{\n"
	    "	outer(argc);\n" /* line 5 */
	    "	return 0;\n"
	    "}\n"
	    "END2\n",
	    "-O1 -g");
	image = open_in_dir("inlined");
	assert_int_equal(maple_image_place(image, store(image, 8)->offset,
					   false, &place),
			 0);
	assert_string_equal(place.function, "main");
	assert_non_null(strstr(place.file, "user.c"));
	assert_int_equal(place.line, 5);
	assert_string_equal(place.inlined, "deep");
	assert_non_null(strstr(place.inlined_file, "include/c++/lib.h"));
	assert_int_equal(place.inlined_line, 2);
	maple_place_deinit(&place);
	maple_image_destroy(image);
}

static void test_whose_files(void **state)
{
	static const char *const theirs[] = {
		"/usr/include/c++/12/bits/atomic_base.h",
		"/usr/include/x86_64-linux-gnu/bits/stdio2.h",
		"/opt/gcc/include/c++/13/mutex",
		"/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h",
		"/usr/lib/llvm-14/lib/clang/14.0.6/include/stddef.h",
		"/rustc/59807616e/library/core/src/sync/atomic.rs",
		"/usr/src/rustc-1.63.0/library/core/src/sync/atomic.rs",
		"/home/me/.cargo/registry/src/index/rayon-1.5/src/lib.rs",
		"/home/me/.rustup/toolchains/x/lib/rustlib/src/rust/a.rs",
		"<built-in>",
	};
	static const char *const ours[] = {
		"/home/me/src/queue.c",	 "src/queue.cc",
		"../include/queue.h",	 "/home/me/include/queue.hpp",
		"/usr/src/mine/queue.c", "/srv/usr/include/queue.h",
	};

	for (size_t i = 0; i < sizeof(theirs) / sizeof(*theirs); i++)
		assert_true(maple_scopes_library(theirs[i]));
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		assert_false(maple_scopes_library(ours[i]));
}

static uint32_t add_image(struct maple_registry *reg, const char *name)
{
	struct maple_error err;
	char path[128];
	uint32_t index;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (maple_registry_add(reg, path, &index, &err))
		fail_msg("%s", err.text);
	return index;
}

static void test_registry(void **state)
{
	struct maple_registry *reg = maple_registry_create();
	uint32_t a, b, n, m, number;
	struct maple_site_info info;

	assert_non_null(reg);
	run("cc -O1 -o first program.c && cp first copy && cc -O0 %s"
	    " -o second program.c",
	    "-Wl,--build-id=none");
	a = add_image(reg, "first");
	b = add_image(reg, "second");
	assert_int_equal(a, 0);
	assert_int_equal(b, 1);
	assert_int_equal(add_image(reg, "first"), a);
	assert_int_equal(add_image(reg, "copy"), a); /* same build-id */
	assert_int_equal(add_image(reg, "second"), b);
	assert_int_equal(maple_registry_images(reg), 2);

	maple_image_sites(maple_registry_image(reg, a), &n);
	maple_image_sites(maple_registry_image(reg, b), &m);
	assert_int_equal(maple_registry_base(reg, a), 0);
	assert_int_equal(maple_registry_base(reg, b), n);
	for (number = 0; number < n + m; number++) {
		assert_int_equal(maple_registry_site(reg, number, &info), 0);
		assert_int_equal(info.image, number < n ? a : b);
		assert_false(info.is_call);
		assert_int_equal(maple_registry_find(reg, info.build_id,
						     info.offset, false,
						     info.second),
				 number);
	}
	assert_int_equal(maple_registry_site(reg, n + m, &info), -ENOENT);
	assert_int_equal(maple_registry_find(reg, "feed", 1, false, false),
			 MAPLE_SITE_NONE);
	maple_registry_destroy(reg);
}

/* Of what is only called from, sites are there once they are asked for. */
static void test_registry_names(void **state)
{
	struct maple_registry *reg = maple_registry_create();
	struct maple_image *early;
	struct maple_site_info info;
	uint32_t a, b, call, n, m;
	char path[128];
	const char *id;

	assert_non_null(reg);
	run("cc -O1 -g -o first program.c && cp first copy && cc -O0 %s"
	    " -o second program.c",
	    "-Wl,--build-id=none");
	snprintf(path, sizeof(path), "%s/first", dir);
	assert_int_equal(maple_registry_add_names(reg, path, &a), 0);
	call = maple_registry_call(reg, a, 0x1234);
	early = maple_registry_image(reg, a);
	id = maple_image_build_id(early);
	maple_image_sites(early, &n);
	assert_int_equal(n, 0);
	assert_int_equal(maple_registry_base(reg, a), MAPLE_SITE_NONE);
	assert_int_equal(maple_registry_site(reg, 0, &info), -ENOENT);

	b = add_image(reg, "second");
	assert_int_equal(b, a + 1);
	assert_int_equal(maple_registry_base(reg, b), 0);
	maple_image_sites(maple_registry_image(reg, b), &m);

	assert_int_equal(add_image(reg, "copy"), a); /* same build-id */
	assert_int_equal(maple_registry_images(reg), 2);
	assert_int_equal(maple_registry_base(reg, a), m);
	maple_image_sites(maple_registry_image(reg, a), &n);
	assert_true(n > 0);
	assert_int_equal(maple_registry_add_names(reg, path, &b), 0);
	assert_int_equal(b, a);
	for (uint32_t number = m; number < m + n; number++) {
		assert_int_equal(maple_registry_site(reg, number, &info), 0);
		assert_int_equal(info.image, a);
		assert_int_equal(maple_registry_find(reg, id, info.offset,
						     false, info.second),
				 number);
	}
	assert_int_equal(maple_registry_site(reg, m + n, &info), -ENOENT);
	/* Who asked early has what lasts. */
	assert_int_equal(maple_registry_find(reg, id, 0x1234, true, false),
			 call);
	assert_string_equal(id, maple_image_build_id(early));
	maple_registry_destroy(reg);
}

static void test_registry_calls(void **state)
{
	struct maple_registry *reg = maple_registry_create();
	struct maple_site_info info;
	struct maple_place place;
	const char *id;
	uint32_t a, n, outside;

	assert_non_null(reg);
	run("cc %s -o first program.c", "-O1 -g");
	a = add_image(reg, "first");
	id = maple_image_build_id(maple_registry_image(reg, a));
	assert_int_equal(strlen(id), 40);
	n = maple_registry_call(reg, a, 0x1234);
	assert_int_equal(n, MAPLE_SITE_CALL);
	outside = maple_registry_call(reg, MAPLE_REGISTRY_NONE, 0x1234);
	assert_int_equal(outside, MAPLE_SITE_CALL | 1);
	for (uint32_t i = 2; i < 5000; i++)
		assert_int_equal(maple_registry_call(reg, a, 0x4000 + i),
				 MAPLE_SITE_CALL | i);
	assert_int_equal(maple_registry_call(reg, a, 0x1234), n);
	assert_int_equal(maple_registry_call(reg, a, 0x4002),
			 MAPLE_SITE_CALL | 2);
	assert_int_equal(maple_registry_call(reg, a + 1, 1), MAPLE_SITE_NONE);

	assert_int_equal(maple_registry_find(reg, id, 0x1234, true, false), n);
	assert_int_equal(maple_registry_find(reg, id, 0x1235, true, false),
			 MAPLE_SITE_NONE);
	assert_int_equal(maple_registry_site(reg, n, &info), 0);
	assert_true(info.is_call);
	assert_int_equal(info.offset, 0x1234);
	assert_int_equal(info.image, a);
	assert_string_equal(info.build_id, id);
	n = outside;
	assert_int_equal(maple_registry_site(reg, n, &info), 0);
	assert_null(info.build_id);
	assert_int_equal(maple_registry_place(reg, n, &place), 0);
	assert_int_equal(place.offset, 0x1234);
	maple_place_deinit(&place);
	n = MAPLE_SITE_CALL | 5000;
	assert_int_equal(maple_registry_site(reg, n, &info), -ENOENT);
	assert_int_equal(maple_registry_place(reg, MAPLE_SITE_NONE, &place),
			 -ENOENT);
	maple_registry_destroy(reg);
}

/* Without a build-id a place still says what its image was. */
static void test_registry_stand_in(void **state)
{
	struct maple_registry *reg = maple_registry_create();
	struct maple_place place;

	assert_non_null(reg);
	run("cc %s -o bare program.c", "-O1 -g -Wl,--build-id=none");
	assert_int_equal(add_image(reg, "bare"), 0);
	assert_int_equal(maple_registry_place(reg, 0, &place), 0);
	assert_memory_equal(place.build_id, "file-", 5);
	assert_int_equal(maple_registry_find(reg, place.build_id, place.offset,
					     false, false),
			 0);
	maple_place_deinit(&place);
	maple_registry_destroy(reg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_debug),
		cmocka_unit_test(test_no_aranges),
		cmocka_unit_test(test_debug_link),
		cmocka_unit_test(test_symbols_only),
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_whose_files),
		cmocka_unit_test(test_registry),
		cmocka_unit_test(test_registry_names),
		cmocka_unit_test(test_registry_calls),
		cmocka_unit_test(test_registry_stand_in),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
