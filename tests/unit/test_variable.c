// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Variables by their debug information: which member or element is at an
 * address, what an instruction refers to, and how values are written. Of
 * programs by both compilers, with optimisation and without.
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
#include <cmocka.h>
#include <maple/event.h>
#include "image/image.h"
#include "image/source/variable.h"

static char dir[64];

static const char program_c[] =
	"#include <pthread.h>\n"
	"#include <stdbool.h>\n"
	"enum colour { RED, GREEN = 5 };\n"
	"struct item { int count; const char *name; };\n"
	"struct node { struct node *next; int value; };\n"
	"struct cache { char pad[12]; unsigned int size; struct item in[2];\n"
	"	union { int number; double real; }; enum colour colour; };\n"
	"struct item table[4];\n"
	"int matrix[2][3];\n"
	"struct { pthread_mutex_t lock; bool stop; signed char c; } pool;\n"
	"struct cache whole, *current = &whole;\n"
	"double ratio;\n"
	"#define F __attribute__((noinline)) void\n"
	"F set_size(struct cache *cache) { cache->size = 5; }\n"
	"F set_deep(struct cache *cache) { cache->in[1].count = 5; }\n"
	"F set_union(struct cache *cache) { cache->real = 5; }\n"
	"F set_next(struct node *n) { n->next->value = 3; }\n"
	"F set_one(unsigned char *p) { *p = 1; }\n"
	"F set_third(int *p) { p[2] = 1; }\n"
	"F set_some(struct item *items, long i) { items[i].count = 1; }\n"
	"F set_global(void) { current->size = 1; }\n"
	"int main(void)\n"
	"{\n"
	"	static int calls;\n"
	"	struct node n = { 0, 1 };\n"
	"	unsigned char one = 0; int three[3];\n"
	"	n.next = &n; calls++;\n"
	"	set_size(&whole); set_deep(&whole); set_union(&whole);\n"
	"	set_next(&n); set_one(&one); set_third(three);\n"
	"	set_some(table, calls); set_global(); matrix[1][2] = 1;\n"
	"	pool.stop = one; ratio = one; pool.c = 'x';\n"
	"	return n.value + three[2] != 4;\n"
	"}\n";

static const char program_cc[] =
	"#include <atomic>\n"
	"namespace bank {\n"
	"std::atomic<int> flag;\n"
	"struct Base { int id; };\n"
	"class Account : public Base {\n"
	"public:\n"
	"	static int total;\n"
	"	__attribute__((noinline)) void put(int n) { balance = n; }\n"
	"	int balance;\n"
	"};\n"
	"int Account::total;\n"
	"__attribute__((noinline)) void touch(Account &a) { a.id = 1; }\n"
	"}\n"
	"int main(int argc, char **)\n"
	"{\n"
	"	bank::Account a;\n"
	"	a.put(argc);\n"
	"	bank::touch(a);\n"
	"	bank::Account::total = argc;\n"
	"	bank::flag.store(argc, std::memory_order_relaxed);\n"
	"	return a.balance != 1;\n"
	"}\n";

/* How a fixture is built. */
struct build {
	const char *compiler, *flags, *source;
};

static const struct build builds_c[] = {
	{ "gcc", "-O0 -g", "program.c" },
	{ "gcc", "-O2 -g", "program.c" },
	{ "clang", "-O0 -g", "program.c" },
	{ "clang", "-O2 -g", "program.c" },
	{ "gcc", "-O2 -gdwarf-4", "program.c" },
};

static const struct build builds_cc[] = {
	{ "g++", "-O0 -g", "program.cc" },
	{ "g++", "-O2 -g", "program.cc" },
	{ "clang++", "-O0 -g", "program.cc" },
	{ "clang++", "-O2 -g", "program.cc" },
};

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static struct maple_image *build(const struct build *b)
{
	struct maple_image *image = NULL;
	char command[512], path[128];
	struct maple_error err;

	snprintf(command, sizeof(command), "cd %s && %s %s -o program %s", dir,
		 b->compiler, b->flags, b->source);
	if (system(command))
		fail_msg("failed: %s", command);
	snprintf(path, sizeof(path), "%s/program", dir);
	assert_int_equal(maple_image_open(path, &image, &err), 0);
	return image;
}

/* The ELF address of a symbol, by what image/source/place.c calls it. */
static uint64_t address_of(const char *symbol)
{
	char command[256], line[256];
	unsigned long long addr = 0;
	FILE *in;

	snprintf(command, sizeof(command), "nm -C %s/program | grep -w '%s$'",
		 dir, symbol);
	in = popen(command, "r");
	assert_non_null(in);
	if (!fgets(line, sizeof(line), in) || sscanf(line, "%llx", &addr) != 1)
		fail_msg("no symbol %s", symbol);
	pclose(in);
	return addr;
}

static void is_named(struct maple_image *image, const char *symbol,
		     uint64_t offset, uint32_t size, const char *name,
		     const char *type)
{
	struct maple_variable v;

	if (!maple_image_global(image, address_of(symbol) + offset, size, &v))
		fail_msg("nothing is known of %s+%d", symbol, (int)offset);
	assert_string_equal(v.name, name);
	assert_string_equal(v.type, type);
}

static void globals_of_c(void **state)
{
	for (unsigned int i = 0; i < sizeof(builds_c) / sizeof(*builds_c); i++) {
		struct maple_image *image = build(&builds_c[i]);
		struct maple_variable v;

		is_named(image, "table", 56, 8, "table[3].name", "const char *");
		is_named(image, "table", 48, 4, "table[3].count", "int");
		is_named(image, "matrix", 20, 4, "matrix[1][2]", "int");
		is_named(image, "pool", 0, 1, "pool.lock", "pthread_mutex_t");
		is_named(image, "pool", 16, 4, "pool.lock", "pthread_mutex_t");
		is_named(image, "whole", 12, 4, "whole.size", "unsigned int");
		is_named(image, "whole", 13, 1, "whole.size+1", "unsigned int");
		is_named(image, "whole", 48, 4, "whole.number", "int");
		is_named(image, "whole", 48, 8, "whole.real", "double");
		is_named(image, "whole", 56, 4, "whole.colour", "enum colour");
		is_named(image, "current", 0, 8, "current", "struct cache *");
		is_named(image, "calls.*", 0, 4, "calls", "int");
		assert_false(maple_image_global(image, address_of("table") + 64,
						1, &v) &&
			     !strncmp(v.name, "table", 5));
		maple_image_destroy(image);
	}
}

static void globals_of_cpp(void **state)
{
	for (unsigned int i = 0; i < sizeof(builds_cc) / sizeof(*builds_cc);
	     i++) {
		struct maple_image *image = build(&builds_cc[i]);
		struct maple_variable v;
		char text[32];

		is_named(image, "bank::Account::total", 0, 4,
			 "bank::Account::total", "int");
		assert_true(maple_image_global(image, address_of("bank::flag"),
					       4, &v));
		assert_string_equal(v.name, "bank::flag");
		assert_non_null(strstr(v.type, "atomic"));
		/* Its value is that of what it hides. */
		maple_variable_value(&v, 0xfffffffe, 4, text, sizeof(text));
		assert_string_equal(text, "-2");
		maple_image_destroy(image);
	}
}

/* The last site of @function that writes. */
static void refers_to(struct maple_image *image, const struct build *b,
		      const char *function, const char *name, const char *type)
{
	const struct maple_table_site *sites;
	struct maple_variable v = { "nothing", "", { 0 }, false };
	uint64_t offset = 0;
	uint32_t n;

	sites = maple_image_sites(image, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct maple_place place;

		assert_int_equal(maple_image_place(image, sites[i].offset,
						   false, &place),
				 0);
		if (place.function && strstr(place.function, function) &&
		    sites[i].kind == MAPLE_EV_WRITE)
			offset = sites[i].offset;
		maple_place_deinit(&place);
	}
	if (!offset)
		fail_msg("%s %s: no site in %s", b->compiler, b->flags,
			 function);
	if (!maple_image_reference(image, offset, false, &v) ||
	    strcmp(v.name, name) || strcmp(v.type, type))
		fail_msg("%s %s: %s: %s (%s), not %s (%s)", b->compiler,
			 b->flags, function, v.name, v.type, name, type);
}

static void references_of_c(void **state)
{
	for (unsigned int i = 0; i < sizeof(builds_c) / sizeof(*builds_c); i++) {
		const struct build *b = &builds_c[i];
		struct maple_image *image = build(b);

		refers_to(image, b, "set_size", "cache->size", "unsigned int");
		refers_to(image, b, "set_deep", "cache->in[1].count", "int");
		refers_to(image, b, "set_union", "cache->real", "double");
		refers_to(image, b, "set_next", "n->next->value", "int");
		refers_to(image, b, "set_one", "*p", "unsigned char");
		refers_to(image, b, "set_third", "p[2]", "int");
		refers_to(image, b, "set_some", "items[].count", "int");
		refers_to(image, b, "set_global", "current->size",
			  "unsigned int");
		maple_image_destroy(image);
	}
}

static void references_of_cpp(void **state)
{
	for (unsigned int i = 0; i < sizeof(builds_cc) / sizeof(*builds_cc);
	     i++) {
		const struct build *b = &builds_cc[i];
		struct maple_image *image = build(b);

		refers_to(image, b, "put", "Account::balance", "int");
		refers_to(image, b, "touch", "a.id", "int");
		maple_image_destroy(image);
	}
}

static const char *value(struct maple_image *image, const char *symbol,
			 uint64_t offset, uint32_t size, uint64_t number)
{
	static char text[64];
	struct maple_variable v;

	assert_true(maple_image_global(image, address_of(symbol) + offset, size,
				       &v));
	maple_variable_value(&v, number, size, text, sizeof(text));
	return text;
}

static void values_are_written_by_type(void **state)
{
	double half = 0.5;
	uint64_t bits;
	char text[32];

	memcpy(&bits, &half, sizeof(bits));
	for (unsigned int i = 0; i < 4; i++) {
		struct maple_image *image = build(&builds_c[i]);

		assert_string_equal(value(image, "matrix", 0, 4, 0xffffffff),
				    "-1");
		assert_string_equal(value(image, "whole", 12, 4, 0xffffffff),
				    "4294967295");
		assert_string_equal(value(image, "current", 0, 8, 0), "NULL");
		assert_string_equal(value(image, "current", 0, 8, 0x55d0),
				    "0x55d0");
		assert_string_equal(value(image, "pool", 40, 1, 1), "true");
		assert_string_equal(value(image, "pool", 41, 1, 'x'), "'x'");
		assert_string_equal(value(image, "pool", 41, 1, 0xff), "-1");
		assert_string_equal(value(image, "whole", 56, 4, 5), "GREEN");
		assert_string_equal(value(image, "whole", 56, 4, 6), "6");
		assert_string_equal(value(image, "ratio", 0, 8, bits), "0.5");
		/* Half of it is no double. */
		assert_string_equal(value(image, "ratio", 0, 4, 7), "7");
		maple_image_destroy(image);
	}
	maple_variable_value(NULL, 0x7fff00001000, 8, text, sizeof(text));
	assert_string_equal(text, "0x7fff00001000");
}

static void without_debug_information_nothing_is_said(void **state)
{
	struct maple_image *image =
		build(&(struct build){ "gcc", "-O2", "program.c" });
	const struct maple_table_site *sites;
	struct maple_variable v;
	uint32_t n;

	sites = maple_image_sites(image, &n);
	assert_true(n > 0);
	for (uint32_t i = 0; i < n; i++)
		assert_false(maple_image_reference(image, sites[i].offset,
						   false, &v));
	assert_false(maple_image_global(image, address_of("table"), 4, &v));
	maple_image_destroy(image);
}

static int setup(void **state)
{
	strcpy(dir, "/tmp/maple-variable-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	write_file("program.c", program_c);
	write_file("program.cc", program_cc);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globals_of_c),
		cmocka_unit_test(globals_of_cpp),
		cmocka_unit_test(references_of_c),
		cmocka_unit_test(references_of_cpp),
		cmocka_unit_test(values_are_written_by_type),
		cmocka_unit_test(without_debug_information_nothing_is_said),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
