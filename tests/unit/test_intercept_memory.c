// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The heap, mappings, and mem* and str*: the results are those of the real
 * functions, in all three states (unknown yet, off, at work), and the ranges
 * are those that they touch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <malloc.h>
#include <strings.h>
#include "agent/intercept/intercept.h"
#include "mock_agent.h"

#define BUF 64

static uint32_t random_state;

static unsigned int random_below(unsigned int n)
{
	random_state = random_state * 1103515245 + 12345;
	return (random_state >> 16) % n;
}

/* Short strings of few letters, so that all cases come up. */
static void random_string(char *s, unsigned int room)
{
	unsigned int i, n = random_below(room);

	for (i = 0; i < n; i++)
		s[i] = "abAB\xe4"[random_below(5)];
	s[n] = 0;
}

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

/* One case: a fresh pair of buffers for the real function and for ours. */
struct set {
	char to[2 * BUF], from[BUF];
};

static struct set real_set, our_set;
static unsigned int n, cases;
static char byte;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static long offset(const struct set *set, const void *p)
{
	return p ? (const char *)p - (const char *)set : -1;
}

static void begin(void)
{
	n = random_below(BUF - 1);
	byte = "abAB\xe4\0z"[random_below(7)];
	memset(&real_set, 'x', sizeof(real_set));
	random_string(real_set.to, BUF);
	random_string(real_set.from, BUF);
	our_set = real_set;
	cases++;
}

static void ours_is_same(const char *name)
{
	uint32_t inside = maple_self.inside;

	maple_self.inside = 1;
	if (NEXT(memcmp)(&real_set, &our_set, sizeof(our_set)))
		fail_msg("%s leaves another result", name);
	mock_n = 0;
	maple_self.inside = inside;
}

/* A function that returns a pointer into its arguments. */
#define POINTER(name, ...)                                                \
	do {                                                              \
		struct set *s = &real_set;                                \
		long a, b;                                                \
                                                                          \
		begin();                                                  \
		a = offset(s, NEXT(name)(__VA_ARGS__));                   \
		s = &our_set;                                             \
		b = offset(s, name(__VA_ARGS__));                         \
		ours_is_same(#name);                                      \
		if (a != b)                                               \
			fail_msg("%s returns %ld, not %ld", #name, b, a); \
	} while (0)

#define NUMBER(name, ...)                                                 \
	do {                                                              \
		struct set *s = &real_set;                                \
		long a, b;                                                \
                                                                          \
		begin();                                                  \
		a = (long)NEXT(name)(__VA_ARGS__);                        \
		s = &our_set;                                             \
		b = (long)name(__VA_ARGS__);                              \
		ours_is_same(#name);                                      \
		if (a != b && sign((int)a) != sign((int)b))               \
			fail_msg("%s returns %ld, not %ld", #name, b, a); \
	} while (0)

#define NOTHING(name, ...)                 \
	do {                               \
		struct set *s = &real_set; \
                                           \
		begin();                   \
		NEXT(name)(__VA_ARGS__);   \
		s = &our_set;              \
		name(__VA_ARGS__);         \
		ours_is_same(#name);       \
	} while (0)

void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__mempcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memset_chk(void *to, int byte, size_t n, size_t room);
char *__strcpy_chk(char *to, const char *from, size_t room);
char *__stpcpy_chk(char *to, const char *from, size_t room);
char *__strncpy_chk(char *to, const char *from, size_t n, size_t room);
char *__stpncpy_chk(char *to, const char *from, size_t n, size_t room);
char *__strcat_chk(char *to, const char *from, size_t room);
char *__strncat_chk(char *to, const char *from, size_t n, size_t room);

static void all_memory(void)
{
	POINTER(memcpy, s->to, s->from, n);
	POINTER(memmove, s->to + n / 2, s->to, n);
	POINTER(memmove, s->to, s->to + n / 2, n);
	POINTER(mempcpy, s->to, s->from, n);
	NOTHING(bcopy, s->from, s->to, n);
	POINTER(memset, s->to, byte, n);
	NOTHING(bzero, s->to, n);
	NOTHING(explicit_bzero, s->to, n);
	NUMBER(memcmp, s->to, s->from, n);
	NUMBER(bcmp, s->to, s->from, n);
	POINTER(memchr, s->to, byte, n);
	POINTER(memrchr, s->to, byte, n);
	POINTER(__memcpy_chk, s->to, s->from, n, BUF);
	POINTER(__memmove_chk, s->to, s->to + 3, n, BUF);
	POINTER(__mempcpy_chk, s->to, s->from, n, BUF);
	POINTER(__memset_chk, s->to, byte, n, BUF);
}

static void all_strings(void)
{
	NUMBER(strlen, s->to);
	NUMBER(strnlen, s->to, n);
	POINTER(strcpy, s->to, s->from);
	POINTER(stpcpy, s->to, s->from);
	POINTER(strncpy, s->to, s->from, n);
	POINTER(stpncpy, s->to, s->from, n);
	POINTER(strcat, s->to, s->from);
	POINTER(strncat, s->to, s->from, n);
	NUMBER(strcmp, s->to, s->from);
	NUMBER(strncmp, s->to, s->from, n);
	NUMBER(strcasecmp, s->to, s->from);
	NUMBER(strncasecmp, s->to, s->from, n);
	POINTER(strchr, s->to, byte);
	POINTER(strrchr, s->to, byte);
	POINTER(index, s->to, byte);
	POINTER(rindex, s->to, byte);
	POINTER(__strcpy_chk, s->to, s->from, BUF);
	POINTER(__stpcpy_chk, s->to, s->from, BUF);
	POINTER(__strncpy_chk, s->to, s->from, n, BUF);
	POINTER(__stpncpy_chk, s->to, s->from, n, BUF);
	POINTER(__strcat_chk, s->to, s->from, 2 * BUF);
	POINTER(__strncat_chk, s->to, s->from, n, 2 * BUF);
}

static void all_cases(void)
{
	unsigned int i;

	random_state = 1;
	cases = 0;
	for (i = 0; i < 300; i++) {
		all_memory();
		all_strings();
	}
	maple_self.inside = 1;
	assert_int_equal(cases, 300 * 38);
}

static void test_at_work(void **state)
{
	all_cases();
}

static void test_off(void **state)
{
	maple_self.inside = 1;
	all_cases();
}

extern struct maple_real __start_maple_real[], __stop_maple_real[];

/* As in another library's IFUNC resolver, before our first constructor. */
static void test_unknown(void **state)
{
	unsigned int i, nfn = __stop_maple_real - __start_maple_real;
	void *fn[nfn];

	maple_self.inside = 1;
	assert_true(nfn > 100);
	for (i = 0; i < nfn; i++) {
		struct maple_real *r = &__start_maple_real[i];

		fn[i] = r->fn;
		assert_non_null(fn[i]);
		if (!strncmp(r->name, "mem", 3) || !strncmp(r->name, "str", 3))
			r->fn = NULL;
		if (!strncmp(r->name, "__st", 4) || !strncmp(r->name, "stp", 3))
			r->fn = NULL;
	}
	all_cases();
	for (i = 0; i < nfn; i++)
		__start_maple_real[i].fn = fn[i];
}

/* Ranges: kind, offset from one of two buffers, size. */
static char a[32], b[32];

#define range(i, w, k, at, len)                                         \
	do {                                                            \
		maple_self.inside = 1;                                  \
		assert_int_equal(mock_log[i].what, w);                  \
		assert_int_equal(mock_log[i].kind, MAPLE_EV_##k);       \
		assert_ptr_equal(mock_log[i].addr, at);                 \
		assert_int_equal(mock_log[i].size, len);                \
		assert_int_equal(mock_log[i].flags,                     \
				 MAPLE_EVF_MEMFN | MAPLE_AGENT_CALLED); \
		maple_self.inside = 0;                                  \
	} while (0)

static void fresh(void)
{
	maple_self.inside = 1;
	memset(a, 0, sizeof(a));
	memset(b, 0, sizeof(b));
	memcpy(b, "hello", 5);
	memcpy(a, "hi", 2);
	mock_n = 0;
	maple_self.inside = 0;
}

#define COPY_WORDS "<read/F <write/F read>/F write>/F"

static void test_ranges_of_copies(void **state)
{
	fresh();
	memcpy(a, b, 7);
	range(0, BEFORE, READ, b, 7);
	range(1, BEFORE, WRITE, a, 7);
	range(2, AFTER, READ, b, 7);
	range(3, AFTER, WRITE, a, 7);
	expect(COPY_WORDS);
	fresh();
	strcpy(a, b);
	range(0, BEFORE, READ, b, 6);
	range(1, BEFORE, WRITE, a, 6);
	expect(COPY_WORDS);
	fresh();
	strncpy(a, b, 10);
	range(0, BEFORE, READ, b, 6);
	range(1, BEFORE, WRITE, a, 10);
	expect(COPY_WORDS);
	fresh();
	strncpy(a, b, 3);
	range(0, BEFORE, READ, b, 3);
	range(1, BEFORE, WRITE, a, 3);
	expect(COPY_WORDS);
	fresh();
	strcat(a, b);
	range(0, BEFORE, READ, a, 3);
	range(2, BEFORE, READ, b, 6);
	range(3, BEFORE, WRITE, a + 2, 6);
	expect("<read/F read>/F " COPY_WORDS);
	fresh();
	strncat(a, b, 2);
	range(2, BEFORE, READ, b, 2);
	range(3, BEFORE, WRITE, a + 2, 3);
	expect("<read/F read>/F " COPY_WORDS);
	fresh();
	memcpy(a, b, 0);
	expect("");
	memset(a, 1, 9);
	range(0, BEFORE, WRITE, a, 9);
	expect("<write/F write>/F");
}

static void test_ranges_of_reads(void **state)
{
	volatile bool used;
	size_t len;

	fresh();
	len = strlen(b);
	range(0, BEFORE, READ, b, 6);
	expect("<read/F read>/F");
	assert_int_equal(len, 5);
	len = strnlen(b, 3);
	range(0, BEFORE, READ, b, 3);
	expect("<read/F read>/F");
	assert_int_equal(len, 3);
	used = strcmp(a, b) == 0;
	range(0, BEFORE, READ, a, 2);
	range(1, BEFORE, READ, b, 2);
	fresh();
	used = memcmp(a, b, 12) == 0;
	range(0, BEFORE, READ, a, 12);
	range(1, BEFORE, READ, b, 12);
	fresh();
	used = strchr(b, 'l') == NULL;
	range(0, BEFORE, READ, b, 3);
	fresh();
	used = strrchr(b, 'l') == NULL;
	range(0, BEFORE, READ, b, 6);
	fresh();
	used = memchr(b, 'e', 5) == NULL;
	range(0, BEFORE, READ, b, 2);
	fresh();
	free(strdup(b));
	range(0, BEFORE, READ, b, 6);
	(void)used;
}

static void heap_call(unsigned int i, unsigned int kind, const void *p,
		      size_t least)
{
	maple_self.inside = 1;
	assert_int_equal(mock_log[i].kind, kind);
	assert_ptr_equal(mock_log[i].addr, p);
	assert_true(mock_log[i].size >= least);
	maple_self.inside = 0;
}

static void test_heap(void **state)
{
	volatile size_t huge = SIZE_MAX / 3;
	void *volatile p = malloc(100);
	void *q = realloc(p, 5000), *r;

	errno = 77;
	free(q);
	heap_call(0, MAPLE_EV_ALLOC, p, 100);
	heap_call(1, MAPLE_EV_FREE, p, 100);
	heap_call(2, MAPLE_EV_ALLOC, q, 5000);
	heap_call(3, MAPLE_EV_FREE, q, 5000);
	expect("alloc free alloc free");
	assert_int_equal(errno, 77);
	p = calloc(3, 7);
	q = reallocarray(p, 6, 7);
	free(q);
	free(NULL);
	expect("alloc free alloc free");
	p = aligned_alloc(64, 128);
	q = memalign(128, 10);
	r = valloc(10);
	if (posix_memalign(&state[0], 256, 30))
		abort();
	heap_call(0, MAPLE_EV_ALLOC, p, 128);
	heap_call(3, MAPLE_EV_ALLOC, state[0], 30);
	expect("alloc alloc alloc alloc");
	assert_int_equal(((uintptr_t)p & 63) | ((uintptr_t)q & 127) |
				 ((uintptr_t)state[0] & 255) |
				 ((uintptr_t)r & 4095),
			 0);
	free(p);
	free(q);
	free(r);
	free(state[0]);
	mock_n = 0;
	p = malloc(10);
	q = realloc(p, huge);
	expect("alloc free alloc");
	assert_null(q);
	assert_int_equal(errno, ENOMEM);
	q = reallocarray(p, huge, huge);
	assert_null(q);
	assert_int_equal(errno, ENOMEM);
	assert_null(calloc(huge, huge));
	free(p);
}

/* What is no buffer, and so many blocks: then their ends alone. */
static void test_observed_heap(void **state)
{
	void *volatile p;

	maple_shm->mode = MAPLE_SHM_OBSERVE;
	p = malloc(100);
	free(p);
	heap_call(0, MAPLE_EV_ALLOC, p, 100);
	heap_call(1, MAPLE_EV_FREE, p, 100);
	expect("alloc free");
	p = malloc(5000);
	free(p);
	expect("free");
	for (unsigned int i = 0; i < 20000; i++) {
		p = malloc(10);
		free(p);
		mock_n = 0;
	}
	p = malloc(10);
	free(p);
	expect("free");
	maple_shm->mode = MAPLE_SHM_IDLE;
}

static void test_mappings(void **state)
{
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *q, *bad;

	p[8191] = 9;
	q = mremap(p, 8192, 1 << 20, MREMAP_MAYMOVE);
	bad = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, -1, 0);
	if (q[8191] != 9 || bad != MAP_FAILED || errno != EBADF)
		abort();
	munmap(q, 1 << 20);
	heap_call(0, MAPLE_EV_ALLOC, p, 8192);
	heap_call(1, MAPLE_EV_FREE, p, 8192);
	heap_call(2, MAPLE_EV_ALLOC, q, 1 << 20);
	heap_call(3, MAPLE_EV_FREE, q, 1 << 20);
	expect("alloc free alloc free");
}

static void *churn(void *arg)
{
	char *p[64] = { 0 };
	unsigned int i, j, seed = (uintptr_t)arg;

	for (i = 0; i < 20000; i++) {
		seed = seed * 1103515245 + 12345;
		j = (seed >> 16) % 64;
		if (p[j] && *p[j] != (char)j)
			abort();
		p[j] = realloc(p[j], 1 + (seed >> 20) % 600);
		*p[j] = (char)j;
	}
	for (j = 0; j < 64; j++)
		free(p[j]);
	return NULL;
}

static void test_heap_threads(void **state)
{
	pthread_t t[4];
	uintptr_t i;

	maple_self.inside = 1; /* the threads are none of the run */
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, churn, (void *)(i + 1));
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, mock_setup, mock_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_at_work),	 T(test_off),
		T(test_unknown),	 T(test_ranges_of_copies),
		T(test_ranges_of_reads), T(test_heap),
		T(test_mappings),	 T(test_heap_threads),
		T(test_observed_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
