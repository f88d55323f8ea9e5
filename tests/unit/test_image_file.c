// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * lib/image and files of every kind: built in different ways, stripped, cut
 * off, damaged, and no programs at all.
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
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <elf.h>
#include <maple/event.h>
#include "backend/kernel/kernel.h"
#include "image/image.h"

static char dir[64];

static const char program[] =
	"#include <stdlib.h>\n"
	"volatile struct { long pad[2]; int count; } queue;\n"
	"int other[4];\n"
	"static inline __attribute__((always_inline)) void add(int n)\n"
	"{\n"
	"	queue.count = n;\n" /* line 6 */
	"}\n"
	"__attribute__((noinline)) int pick(int n)\n"
	"{\n"
	"	switch (n) {\n"
	"	case 0: return rand();\n"
	"	case 1: return abs(other[rand() & 3]);\n"
	"	case 2: other[0]++; return 7;\n"
	"	case 3: return other[2] - 1;\n"
	"	case 4: other[3] = rand(); return 9;\n"
	"	default: return 3;\n"
	"	}\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	add(argc);\n"
	"	return pick(argc);\n"
	"}\n";

/* A pointer into code, seen as a word or through its relocation. */
static const char pointed[] =
	"asm(\".globl main\\nmain: call rand\\nmov (%rdi), %eax\\n\"\n"
	"    \"1: mov (%rsi), %ecx\\nxor %eax, %eax\\nret\\n\"\n"
	"    \".data\\n.balign 8\\n.quad 1b\\n.text\\n\"\n"
	"    \".type main,@function\\n.size main, 11\");\n";

static char *in_dir(char *buf, size_t size, const char *name)
{
	snprintf(buf, size, "%s/%s", dir, name);
	return buf;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	void *bytes;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	*size = ftell(file);
	rewind(file);
	bytes = malloc(*size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

static void build(const char *name, const char *flags)
{
	char source[128], binary[128], command[512];

	in_dir(source, sizeof(source), "program.c");
	in_dir(binary, sizeof(binary), name);
	snprintf(command, sizeof(command), "cc -w %s -o %s %s", flags, binary,
		 source);
	if (system(command))
		fail_msg("failed: %s", command);
}

static int make_dir(void **state)
{
	char path[128];

	strcpy(dir, "/tmp/maple-image-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	write_file(in_dir(path, sizeof(path), "program.c"), program,
		   sizeof(program) - 1);
	build("plain", "-O2 -g");
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

	if (maple_image_open(in_dir(path, sizeof(path), name), &image, &err))
		fail_msg("%s", err.text);
	return image;
}

/* Whether a 4-byte store to a fixed place was seen: queue.count. */
static bool sees_store(struct maple_image *image, uint64_t *offset)
{
	const struct maple_table_site *sites;
	uint32_t n;

	sites = maple_image_sites(image, &n);
	for (uint32_t i = 0; i < n; i++) {
		char name[32] = "";

		if (sites[i].kind != MAPLE_EV_WRITE || sites[i].size != 4 ||
		    !(sites[i].flags & MAPLE_SITEF_RIPREL))
			continue;
		*offset = sites[i].offset;
		if (maple_image_data(image, sites[i].disp, name, sizeof(name)) &&
		    !strcmp(name, "queue+16"))
			return true;
	}
	return false;
}

static void test_builds(void **state)
{
	static const char *const flags[] = {
		"-O2",
		"-O0",
		"-O2 -no-pie -fno-pie",
		"-O2 -g -static",
		"-O2 -static-pie",
		"-Os -fcf-protection=full",
		"-O2 -fno-asynchronous-unwind-tables",
		"-O2 -Wl,-z,norelro",
		"-O2 -Wl,--no-eh-frame-hdr",
		"-O3 -march=x86-64-v3",
		"-O2 -Wl,-z,noseparate-code",
		"-O2 -Wl,--build-id=none",
	};
	uint64_t offset;

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		struct maple_image *image;

		build("built", flags[i]);
		image = open_in_dir("built");
		if (!sees_store(image, &offset))
			fail_msg("no store seen with %s", flags[i]);
		maple_image_destroy(image);
	}
}

/* Without symbols the very same sites, found by call frames alone. */
static void test_stripped(void **state)
{
	struct maple_image *plain, *stripped;
	const struct maple_table_site *a, *b;
	uint32_t n, m;

	build("plain2", "-O2");
	build("stripped", "-O2 -s");
	plain = open_in_dir("plain2");
	stripped = open_in_dir("stripped");
	a = maple_image_sites(plain, &n);
	b = maple_image_sites(stripped, &m);
	assert_true(n >= 6);
	assert_int_equal(n, m);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(a[i].offset, b[i].offset);
	assert_true(maple_image_stats(stripped)->uncovered <
		    maple_image_stats(stripped)->text);
	maple_image_destroy(plain);
	maple_image_destroy(stripped);
}

static void test_pointers(void **state)
{
	static const char *const flags[] = {
		"-no-pie", "-pie",	  "-pie -Wl,-z,pack-relative-relocs",
		"-static", "-static-pie",
	};
	char path[128], command[256];

	write_file(in_dir(path, sizeof(path), "pointed.c"), pointed,
		   sizeof(pointed) - 1);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		const struct maple_table_site *sites;
		struct maple_image *image;
		uint32_t n, seen = 0;

		snprintf(command, sizeof(command),
			 "cd %s && cc %s -o pointed"
			 " pointed.c",
			 dir, flags[i]);
		assert_int_equal(system(command), 0);
		image = open_in_dir("pointed");
		sites = maple_image_sites(image, &n);
		for (uint32_t s = 0; s + 1 < n; s++)
			if (sites[s].length == 2 && sites[s].base == 7 &&
			    sites[s + 1].offset == sites[s].offset + 2 &&
			    sites[s + 1].base == 6 && sites[s].size == 4 &&
			    sites[s].way == MAPLE_WAY_PUN)
				seen++;
		if (!seen)
			fail_msg("%s: the pointer is not seen", flags[i]);
		maple_image_destroy(image);
	}
}

static void refused(const char *path, const char *why)
{
	struct maple_image *image = NULL;
	struct maple_error err = { "" };
	int ret = maple_image_open(path, &image, &err);

	assert_true(ret < 0);
	assert_null(image);
	if (!strstr(err.text, why) || !strstr(err.text, path))
		fail_msg("'%s' does not say '%s'", err.text, why);
}

static void refused_bytes(const void *bytes, size_t size, const char *why)
{
	char path[128];

	write_file(in_dir(path, sizeof(path), "refused"), bytes, size);
	refused(path, why);
}

static void no_name(void *ctx, const char *name)
{
	fail_msg("'%s' is asked for", name);
}

/* A pipe without a writer: who opens it as a file waits until one comes. */
static void nothing_waits_for_a_writer(void)
{
	struct maple_function_at *found;
	char folder[] = "/tmp/maple-pipe.XXXXXX";
	char path[sizeof(folder) + sizeof("/pipe")];
	bool imported[512] = { false };
	unsigned int n;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(10);
	refused(path, "not a regular file");
	maple_image_needed(path, no_name, NULL);
	assert_false(maple_image_mentions(path, "x"));
	assert_int_equal(maple_functions_find(path, &found, &n, NULL), -ENOEXEC);
	maple_functions_imported(path, imported);
	alarm(0);
	unlink(path);
	rmdir(folder);
}

static void test_refused(void **state)
{
	Elf64_Ehdr eh, changed;
	Elf64_Phdr *ph;
	char path[128];
	size_t size;
	uint8_t *bytes;

	refused("/nonexistent/file", "cannot open");
	refused("/tmp", "not a regular file");
	refused("/dev/null", "not a regular file");
	nothing_waits_for_a_writer();
	refused_bytes("", 0, "not an ELF file");
	refused_bytes(program, sizeof(program), "not an ELF file");

	bytes = read_file(in_dir(path, sizeof(path), "plain"), &size);
	memcpy(&eh, bytes, sizeof(eh));
	refused_bytes(bytes, size / 2, "truncated");
	refused_bytes(bytes, sizeof(eh), "truncated");

	changed = eh;
	changed.e_ident[EI_CLASS] = ELFCLASS32;
	refused_bytes(&changed, sizeof(changed), "32-bit");
	changed = eh;
	changed.e_machine = EM_AARCH64;
	refused_bytes(&changed, sizeof(changed), "another machine");
	changed = eh;
	changed.e_type = ET_REL;
	refused_bytes(&changed, sizeof(changed), "neither a program");
	changed = eh;
	changed.e_phnum = 0;
	refused_bytes(&changed, sizeof(changed), "program headers");

	ph = (Elf64_Phdr *)(bytes + eh.e_phoff);
	for (unsigned int i = 0; i < eh.e_phnum; i++)
		ph[i].p_flags &= ~PF_X;
	refused_bytes(bytes, size, "no code");
	ph[0].p_type = PT_LOAD;
	ph[0].p_vaddr = 1ull << 40;
	refused_bytes(bytes, size, "beyond 4 GiB");
	free(bytes);
}

static void test_unreadable(void **state)
{
	uid_t uid = geteuid();
	char path[128];

	write_file(in_dir(path, sizeof(path), "secret"), program, 10);
	assert_int_equal(chmod(path, 0), 0);
	/* Root reads everything: not to be root for a moment. */
	if (!uid)
		assert_int_equal(seteuid(65534), 0);
	refused(path, "cannot open");
	assert_int_equal(seteuid(uid), 0);
}

/* Opens what may be damaged and asks everything; must survive. */
static bool survive(const char *path)
{
	struct maple_image *image;
	const struct maple_table_site *sites;
	struct maple_place place;
	size_t size;
	void *blob;
	uint32_t n;

	if (maple_image_open(path, &image, NULL))
		return false;
	assert_int_equal(maple_image_table(image, &blob, &size, NULL), 0);
	free(blob);
	sites = maple_image_sites(image, &n);
	for (uint32_t i = 0; i < n; i += n / 4 + 1) {
		char name[32];

		maple_image_data(image, sites[i].disp, name, sizeof(name));
		if (!maple_image_place(image, sites[i].offset, false, &place))
			maple_place_deinit(&place);
	}
	maple_image_destroy(image);
	return true;
}

static void test_truncated(void **state)
{
	char path[128];
	size_t size, opened = 0, tried = 0;
	uint8_t *bytes;

	bytes = read_file(in_dir(path, sizeof(path), "plain"), &size);
	in_dir(path, sizeof(path), "cut");
	for (size_t at = 0; at < size; at += 512) {
		write_file(path, bytes, at);
		opened += survive(path);
		tried++;
	}
	free(bytes);
	/* Only when no more than sections are lost does it still open. */
	assert_true(opened > 0 && opened < tried);
}

/* Random bytes, and random values where the structure is. */
static void test_damaged(void **state)
{
	char path[128];
	size_t size, opened = 0;
	uint8_t *bytes, *copy;

	srand(20);
	bytes = read_file(in_dir(path, sizeof(path), "plain"), &size);
	copy = malloc(size);
	assert_non_null(copy);
	in_dir(path, sizeof(path), "damaged");
	for (unsigned int round = 0; round < 600; round++) {
		size_t span = round % 3 == 0 ? 1024 : size;

		memcpy(copy, bytes, size);
		for (unsigned int i = 0; i < 1 + round % 20; i++)
			copy[64 + rand() % (span - 64)] = rand();
		write_file(path, copy, size);
		opened += survive(path);
	}
	free(copy);
	free(bytes);
	assert_true(opened > 0 && opened < 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builds),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
