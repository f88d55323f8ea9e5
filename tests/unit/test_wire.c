// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The protocol of mapled: every message there and back, and none by half.
 *
 * beside: guests
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <maple/wire.h>

/* Something different for each field, within what it may be. */
static unsigned int count;

#define FILL_U32(most)	 (uint32_t)(0xfedcba98 - ++count)
#define FILL_U64(most)	 (UINT64_MAX - ++count)
#define FILL_I64(most)	 (INT64_MIN + ++count)
#define FILL_F64(most)	 (1.0 / ++count)
#define FILL_FLAG(most)	 (++count % 2)
#define FILL_TEXT(most)	 texts[++count % 4]
#define FILL_LIST(most)	 ((struct maple_wire_bytes){ "a\0\0bc", 6 })
#define FILL_BYTES(most) ((struct maple_wire_bytes){ "\0\1\2", 3 })
#define FILL_PARTS(most) ((struct maple_wire_bytes){ "\3\0\1", 3 })

static const char *const texts[] = { "", "x", NULL, "b\xff\n" };

#define SAME_U32(a, b)	assert_int_equal(a, b)
#define SAME_U64(a, b)	assert_true((a) == (b))
#define SAME_I64(a, b)	assert_true((a) == (b))
#define SAME_F64(a, b)	assert_true((a) == (b))
#define SAME_FLAG(a, b) assert_int_equal(a, b)
#define SAME_TEXT(a, b) same_text(a, b)
#define SAME_LIST(a, b)                       \
	assert_int_equal((a).size, (b).size); \
	assert_memory_equal((a).data, (b).data, (b).size)
#define SAME_BYTES SAME_LIST
#define SAME_PARTS SAME_LIST

static void same_text(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

/* A copy that ends where the memory does, so that valgrind and ASan see. */
static int get(unsigned int type, const void *data, size_t size, void *message)
{
	struct maple_error err = { "" };
	char *exact = malloc(size + !size);
	int e;

	memcpy(exact, data, size);
	e = maple_wire_get(type, exact, size, message, &err);
	assert_true(!e == !*err.text);
	free(exact);
	return e;
}

static void refuse_halves(unsigned int type, const struct maple_wire_buffer *b)
{
	union maple_wire_message message;
	char longer[4096];

	for (size_t n = 0; n < b->size; n++)
		assert_int_equal(get(type, b->data, n, &message), -EPROTO);
	memcpy(longer, b->data, b->size);
	longer[b->size] = 0;
	assert_int_equal(get(type, longer, b->size + 1, &message), -EPROTO);
}

/*
 * What tests/fuzz begins with: the type, and as a request who asks, with which
 * descriptors, and its size.
 */
static void seed(unsigned int type, int round, const struct maple_wire_buffer *b)
{
	const char *dir = getenv("MAPLE_FUZZ_SEEDS");
	uint16_t size = (uint16_t)b->size;
	char path[256];
	FILE *file;

	for (int request = 0; dir && request < 2; request++) {
		snprintf(path, sizeof(path), "%s/%s/%s-%d", dir,
			 request ? "request" : "wire", maple_wire_name(type),
			 round);
		file = fopen(path, "we");
		assert_non_null(file);
		putc((int)type, file);
		if (request) {
			putc(round * 0x10, file);
			fwrite(&size, sizeof(size), 1, file);
		}
		fwrite(b->data, 1, b->size, file);
		assert_int_equal(fclose(file), 0);
	}
}

/* ... and as an answer to each question of fuzz_wire's. */
static void seed_answer(unsigned int type, const struct maple_wire_buffer *b)
{
	const char *dir = getenv("MAPLE_FUZZ_SEEDS");
	const struct maple_wire_head head = { .size = (uint32_t)b->size,
					      .type = (uint16_t)type };
	char path[256];
	FILE *file;

	for (int question = 0; dir && question < 8; question++) {
		snprintf(path, sizeof(path), "%s/wire/%s-to-%d", dir,
			 maple_wire_name(type), question);
		file = fopen(path, "we");
		assert_non_null(file);
		putc(0, file);
		putc(question, file);
		fwrite(&head, sizeof(head), 1, file);
		fwrite(b->data, 1, b->size, file);
		assert_int_equal(fclose(file), 0);
	}
}

static void round_trips(void **state)
{
	struct maple_wire_buffer b = { 0 };

	for (int round = 0; round < 4; round++) {
#define FILL(kind, member, most) in.member = FILL_##kind(most);
#define SAME(kind, member, most) SAME_##kind(out.member, in.member);
#define M(NAME, name, kind, fds, text)                                        \
	{                                                                     \
		struct maple_wire_##name in, out;                             \
		memset(&in, 0, sizeof(in));                                   \
		MAPLE_WIRE_##name(FILL) b.size = 0;                           \
		assert_int_equal(                                             \
			maple_wire_put(&b, MAPLE_WIRE_##NAME, &in, NULL), 0); \
		assert_int_equal(maple_wire_get(MAPLE_WIRE_##NAME, b.data,    \
						b.size, &out, NULL),          \
				 0);                                          \
		MAPLE_WIRE_##name(SAME) refuse_halves(MAPLE_WIRE_##NAME, &b); \
		seed(MAPLE_WIRE_##NAME, round, &b);                           \
		if (!round && MAPLE_WIRE_##kind == MAPLE_WIRE_SAY)            \
			seed_answer(MAPLE_WIRE_##NAME, &b);                   \
	}
		MAPLE_WIRE_MESSAGES(M)
#undef M
		count += round;
	}
	free(b.data);
}

static void nothing_is_longer_than_it_may_be(void **state)
{
	char most[MAPLE_WIRE_WORD + 1];
	struct maple_wire_load load = { .id = most };
	struct maple_wire_buffer b = { 0 };
	struct maple_error err = { "" };
	uint32_t n = MAPLE_WIRE_WORD + 1;

	memset(most, 'x', sizeof(most));
	most[MAPLE_WIRE_WORD - 1] = 0;
	assert_int_equal(maple_wire_put(&b, MAPLE_WIRE_LOAD, &load, &err), 0);
	b.size = 0;
	most[MAPLE_WIRE_WORD - 1] = 'x';
	most[MAPLE_WIRE_WORD] = 0;
	assert_int_equal(maple_wire_put(&b, MAPLE_WIRE_LOAD, &load, &err),
			 -EMSGSIZE);
	assert_non_null(strstr(err.text, "LOAD"));
	assert_non_null(strstr(err.text, "id"));
	assert_int_equal(b.size, 0);
	/* Nor believed to be, coming in. */
	maple_wire_append(&b, &n, sizeof(n));
	maple_wire_append(&b, most, n);
	assert_int_equal(get(MAPLE_WIRE_LOAD, b.data, b.size, &load), -EPROTO);
	free(b.data);
}

static void strings_end_where_they_end(void **state)
{
	static const char inner[] = "\4\0\0\0a\0b", open[] = "\2\0\0\0ab";
	struct maple_wire_load load;

	assert_int_equal(get(MAPLE_WIRE_LOAD, inner, 8, &load), -EPROTO);
	assert_int_equal(get(MAPLE_WIRE_LOAD, open, 6, &load), -EPROTO);
}

static void flags_are_flags(void **state)
{
	struct maple_wire_buffer b = { 0 };
	struct maple_wire_print print = { 1, true, "x" };

	assert_int_equal(maple_wire_put(&b, MAPLE_WIRE_PRINT, &print, NULL), 0);
	b.data[8] = 2;
	assert_int_equal(get(MAPLE_WIRE_PRINT, b.data, b.size, &print), -EPROTO);
	free(b.data);
}

static void heads_are_checked(void **state)
{
	static const struct {
		struct maple_wire_head head;
		bool from_client, good;
	} cases[] = {
		{ { 8, MAPLE_WIRE_HELLO, 1 }, true, true },
		{ { 8, MAPLE_WIRE_HELLO, 2 }, true, false },
		{ { 8, MAPLE_WIRE_HELLO, 1 }, false, false },
		{ { 8, MAPLE_WIRE_NUMBER, 0 }, false, true },
		{ { 8, MAPLE_WIRE_NUMBER, 0 }, true, false },
		{ { 8, MAPLE_WIRE_EVENT, 0 }, true, false },
		{ { 8, MAPLE_WIRE_EVENT, 0 }, false, false },
		{ { 8, MAPLE_WIRE_NONE, 0 }, true, false },
		{ { 8, MAPLE_WIRE_TYPES, 0 }, true, false },
		{ { 8, 65535, 0 }, false, false },
		{ { MAPLE_WIRE_MAX, MAPLE_WIRE_LEARN, 0 }, true, true },
		{ { MAPLE_WIRE_MAX + 1, MAPLE_WIRE_LEARN, 0 }, true, false },
		{ { 8, MAPLE_WIRE_LOAD, 0, 1, 1 }, true, false },
	};
	struct maple_error err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		*err.text = 0;
		assert_int_equal(!maple_wire_head_check(&cases[i].head,
							cases[i].from_client,
							&err),
				 cases[i].good);
		assert_int_equal(!*err.text, cases[i].good);
	}
}

static void parts_come_one_by_one(void **state)
{
	struct maple_wire_buffer b = { 0 };
	struct maple_wire_bytes parts;
	struct maple_wire_print print;

	for (int i = 0; i < 3; i++) {
		print = (struct maple_wire_print){ i, i % 2, i ? "f" : NULL };
		assert_int_equal(
			maple_wire_put(&b, MAPLE_WIRE_PRINT, &print, NULL), 0);
	}
	parts = (struct maple_wire_bytes){ b.data, (uint32_t)b.size };
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			maple_wire_part(&parts, MAPLE_WIRE_PRINT, &print, NULL),
			1);
		assert_int_equal(print.site, i);
	}
	assert_int_equal(
		maple_wire_part(&parts, MAPLE_WIRE_PRINT, &print, NULL), 0);
	parts = (struct maple_wire_bytes){ b.data, (uint32_t)b.size - 1 };
	assert_int_equal(
		maple_wire_part(&parts, MAPLE_WIRE_PRINT, &print, NULL), 1);
	assert_int_equal(
		maple_wire_part(&parts, MAPLE_WIRE_PRINT, &print, NULL), 1);
	assert_int_equal(maple_wire_part(&parts, MAPLE_WIRE_PRINT, &print, NULL),
			 -EPROTO);
	free(b.data);
}

static void lists_are_words(void **state)
{
	char *in[] = { "a", "", "b c", NULL }, **out;
	struct maple_wire_bytes list = maple_wire_list(in);

	assert_int_equal(list.size, 7);
	out = maple_wire_words(&list);
	for (int i = 0; in[i]; i++)
		assert_string_equal(out[i], in[i]);
	assert_null(out[3]);
	free(out);
	free((void *)list.data);
	list = maple_wire_list(in + 3);
	assert_non_null(list.data);
	out = maple_wire_words(&list);
	assert_null(out[0]);
	free(out);
	free((void *)list.data);
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_ino == y.st_ino &&
	       x.st_dev == y.st_dev;
}

static void descriptors_go_along(void **state)
{
	int pair[2], got[4], one[3];
	unsigned int n = 0;
	char data[8];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	for (int i = 0; i < 3; i++)
		one[i] = memfd_create("x", 0);
	assert_int_equal(maple_wire_send(pair[0], "ab", 2, one, 2), 2);
	assert_int_equal(maple_wire_send(pair[0], "cd", 2, one + 2, 1), 2);
	/* One at a time: those of the second stay with the second. */
	assert_int_equal(maple_wire_receive(pair[1], data, 8, got, &n, 4), 2);
	assert_int_equal(n, 2);
	assert_true(same_file(got[0], one[0]) && same_file(got[1], one[1]));
	assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(maple_wire_receive(pair[1], data, 8, got, &n, 4), 2);
	assert_int_equal(n, 3);
	assert_true(same_file(got[2], one[2]));
	/* More than there is room for. */
	assert_int_equal(maple_wire_send(pair[0], "ef", 2, one, 3), 2);
	assert_int_equal(maple_wire_receive(pair[1], data, 8, got, &n, 4),
			 -EPROTO);
	assert_int_equal(n, 4);
	for (int i = 0; i < 4; i++)
		close(got[i]);
	for (int i = 0; i < 3; i++)
		close(one[i]);
	close(pair[0]);
	assert_int_equal(maple_wire_receive(pair[1], data, 8, got, &n, 4), 0);
	assert_int_equal(maple_wire_send(pair[1], "x", 1, NULL, 0), -EPIPE);
	close(pair[1]);
}

static void all_is_described(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	maple_wire_describe(out);
	fclose(out);
	for (unsigned int i = 1; i < MAPLE_WIRE_TYPES; i++)
		assert_non_null(strstr(text, maple_wire_name(i)));
	assert_non_null(strstr(text, "text build_id[256]"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(nothing_is_longer_than_it_may_be),
		cmocka_unit_test(strings_end_where_they_end),
		cmocka_unit_test(flags_are_flags),
		cmocka_unit_test(heads_are_checked),
		cmocka_unit_test(parts_come_one_by_one),
		cmocka_unit_test(lists_are_words),
		cmocka_unit_test(descriptors_go_along),
		cmocka_unit_test(all_is_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
