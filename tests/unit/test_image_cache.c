// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Images that were decoded before: what was kept is what decoding gives, is
 * used, and is never trusted.
 *
 * beside: guests
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <xxhash.h>
#include "image/image.h"

#define PROGRAM	  "/proc/self/exe"
#define FUNCTIONS 80 /* where the number of functions stands in a file */

static char parent[] = "/tmp/maple-cache-XXXXXX";
static char folder[64], file[256];

static struct maple_image *opened(const char *kept)
{
	struct maple_image *image;
	struct maple_error err;

	if (maple_image_open_by(PROGRAM,
				&(struct maple_image_way){ .kept = kept },
				&image, &err))
		fail_msg("%s", err.text);
	return image;
}

static uint64_t functions(const char *kept)
{
	struct maple_image *image = opened(kept);
	uint64_t n = maple_image_stats(image)->functions;

	maple_image_destroy(image);
	return n;
}

static int set_up(void **state)
{
	struct maple_image *image;

	strcpy(parent + sizeof(parent) - 7, "XXXXXX");
	assert_non_null(mkdtemp(parent));
	snprintf(folder, sizeof(folder), "%s/maple", parent);
	image = opened(NULL);
	snprintf(file, sizeof(file), "%s/%s", folder,
		 maple_image_build_id(image));
	maple_image_destroy(image);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", parent);
	return system(command);
}

static char *content(size_t *size)
{
	int fd = open(file, O_RDONLY);
	struct stat st;
	char *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc(st.st_size);
	assert_int_equal(read(fd, bytes, st.st_size), st.st_size);
	close(fd);
	*size = st.st_size;
	return bytes;
}

static void put_content(const char *bytes, size_t size)
{
	int fd = open(file, O_WRONLY | O_TRUNC);

	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* Changes a byte of the file; @hashed: and makes its hash right again. */
static void change(size_t at, bool hashed)
{
	size_t size;
	char *bytes = content(&size);
	uint64_t hash;

	bytes[at] ^= 1;
	hash = XXH3_64bits(bytes, size - sizeof(hash));
	if (hashed)
		memcpy(bytes + size - sizeof(hash), &hash, sizeof(hash));
	put_content(bytes, size);
	free(bytes);
}

static void assert_same(struct maple_image *a, struct maple_image *b)
{
	struct maple_locked x, y;
	size_t na, nb;
	void *ta, *tb;
	uint32_t n;

	assert_int_equal(maple_image_table(a, &ta, &na, NULL), 0);
	assert_int_equal(maple_image_table(b, &tb, &nb, NULL), 0);
	assert_int_equal(na, nb);
	assert_memory_equal(ta, tb, na);
	assert_memory_equal(maple_image_stats(a), maple_image_stats(b),
			    sizeof(struct maple_image_stats));
	maple_image_sites(a, &n);
	assert_true(n > 100);
	for (uint32_t i = 0; i < n; i++) {
		memset(&x, 0, sizeof(x));
		y = x;
		assert_int_equal(maple_image_locked(a, i, &x),
				 maple_image_locked(b, i, &y));
		assert_int_equal(x.ahead, y.ahead);
		assert_int_equal(x.behind, y.behind);
	}
	free(ta);
	free(tb);
}

static void test_same(void **state)
{
	struct maple_image *decoded = opened(NULL), *kept = opened(parent);
	struct stat st;

	assert_same(decoded, kept);
	maple_image_destroy(kept);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	kept = opened(parent);
	assert_same(decoded, kept);
	maple_image_destroy(kept);
	maple_image_destroy(decoded);
}

static void test_used(void **state)
{
	uint64_t n = functions(parent);

	assert_int_equal(functions(parent), n);
	change(FUNCTIONS, true);
	assert_int_equal(functions(parent), n ^ 1);
}

/* A byte anywhere, and one in each field that says what it is. */
static void test_damaged(void **state)
{
	static const size_t fields[] = { 0, 8, 16, 24, 32 };
	uint64_t n = functions(parent);
	size_t size, again;
	char *good = content(&size), *bytes;

	for (size_t at = 0; at < size; at += size / 31) {
		change(at, false);
		assert_int_equal(functions(parent), n);
		bytes = content(&again);
		assert_int_equal(again, size);
		assert_memory_equal(bytes, good, size);
		free(bytes);
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		change(fields[i], true);
		assert_int_equal(functions(parent), n);
		bytes = content(&again);
		assert_memory_equal(bytes, good, size);
		free(bytes);
	}
	for (size_t cut = 1; cut < size; cut = cut * 3 + 1) {
		put_content(good, size - cut);
		assert_int_equal(functions(parent), n);
		assert_int_equal(access(file, R_OK), 0);
	}
	free(good);
}

static void test_no_folder(void **state)
{
	uint64_t n = functions(NULL);

	assert_int_equal(functions("/nowhere/at/all"), n);
	assert_int_equal(functions(PROGRAM), n);
	/* Others may write to it. */
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(functions(parent), n);
	assert_int_equal(access(file, F_OK), -1);
	/* It is no folder at all. */
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(symlink("/tmp", folder), 0);
	assert_int_equal(functions(parent), n);
	assert_int_equal(access(file, F_OK), -1);
}

/* What was not used for long goes when there is too much. */
static void test_bounded(void **state)
{
	static const struct timespec old[2] = { { 1000 }, { 1000 } };
	char path[320];
	int fd;

	assert_int_equal(mkdir(folder, 0700), 0);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%d", folder, i);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		assert_int_equal(ftruncate(fd, 200 << 20), 0);
		if (!i)
			assert_int_equal(futimens(fd, old), 0);
		close(fd);
	}
	functions(parent);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(access(file, F_OK), 0);
	path[strlen(path) - 1] = '0';
	assert_int_equal(access(path, F_OK), -1);
}

static bool enough(void *ctx)
{
	return --*(int *)ctx <= 0;
}

/* What is decoded only in part is no image, and is not kept. */
static void test_given_up(void **state)
{
	int asks = 2;
	struct maple_image_way way = { parent, enough, &asks };
	struct maple_image *image = NULL;
	struct maple_error err;

	assert_int_equal(maple_image_open_by(PROGRAM, &way, &image, &err),
			 -ECANCELED);
	assert_null(image);
	assert_int_equal(asks, 0);
	assert_int_equal(access(file, F_OK), -1);
	asks = 1 << 20;
	assert_int_equal(maple_image_open_by(PROGRAM, &way, &image, &err), 0);
	maple_image_destroy(image);
	assert_int_equal(access(file, F_OK), 0);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_same),      TEST(test_used),	  TEST(test_damaged),
		TEST(test_no_folder), TEST(test_bounded), TEST(test_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
