// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a binary tells before it runs: the data of small functions' sites, who
 * runs them, and which two may meet. Of programs by both compilers, with
 * optimisation and without.
 *
 * It runs no program under orders, so that neighbours do not disturb it.
 * beside: guests
 */
#include <fcntl.h>
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
#include <maple/event.h>
#include "image/image.h"
#include "image/static/pairs.h"

static char dir[64];

/* In each function the last write is what is asked for. */
static const char data_c[] =
	"#include <stdarg.h>\n"
	"#include <stdlib.h>\n"
	"struct item { int count; long more; };\n"
	"struct node { struct node *next; int value; };\n"
	"struct cache { char pad[12]; unsigned int size; struct item in[2];\n"
	"	union { int number; double real; }; int slots[8];\n"
	"	struct item *first; };\n"
	"int counter, row[8];\n"
	"struct item table[4];\n"
	"struct cache whole, *current = &whole;\n"
	"struct cache *all[4];\n"
	"#define F __attribute__((noinline, noclone)) void\n"
	"#define S __attribute__((noinline, noclone)) struct\n"
	"F set_global(void) { counter = 1; }\n"
	"F set_third(void) { table[3].count = 1; }\n"
	"F set_element(long i) { table[i].count = 1; }\n"
	"F set_some(long i) { row[i] = 1; }\n"
	"F set_field(struct cache *c) { c->size = 5; }\n"
	"F set_nested(struct cache *c) { c->in[1].count = 5; }\n"
	"F set_union(struct cache *c) { c->real = 5; }\n"
	"F set_slot(struct cache *c, long i) { c->slots[i] = 1; }\n"
	"F set_next(struct node *n) { n->next->value = 3; }\n"
	"F set_first(struct cache *c) { c->first->more = 3; }\n"
	"F set_current(void) { current->size = 1; }\n"
	"F set_one_of(long i) { all[i]->size = 1; }\n"
	"F set_unknown(int *p) { *p = 1; }\n"
	"F set_behind(struct item *i, long k) { i[k].more = 1; }\n"
	"F set_cast(void *arg) { struct cache *c = arg; c->size = 1; }\n"
	"F set_list(struct node *n, int v)\n"
	"{ for (; n; n = n->next) n->value = v; }\n"
	"F set_chosen(struct cache *a, struct cache *b, int k)\n"
	"{ struct cache *c = k ? a : b; c->size = 1; }\n"
	"S cache *found(int i)\n"
	"{ asm volatile(\"\" : : : \"memory\"); return i ? current : all[1]; }\n"
	"F set_found(int i) { found(i)->size = 1; }\n"
	"F set_switch(struct cache *c, int k) {\n"
	"	switch (k) {\n"
	"	case 0: found(1); break; case 1: found(2); found(3); break;\n"
	"	case 2: found(7); found(1); break; case 3: counter++; break;\n"
	"	case 4: found(9); found(2); break; case 5: row[k]++; break;\n"
	"	case 6: found(5); found(8); break; case 7: row[1]--; break;\n"
	"	}\n"
	"	c->size = k;\n"
	"}\n"
	"__attribute__((noinline, noclone)) int sum(int n, va_list ap)\n"
	"{ int all = 0; while (n--) all += va_arg(ap, int); return all; }\n"
	"__attribute__((noinline, noclone)) int add(int n, ...)\n"
	"{ va_list ap; va_start(ap, n); n = sum(n, ap); va_end(ap); return n; }\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	struct node n = { 0, 1 };\n"
	"	int one;\n"
	"	n.next = &n;\n"
	"	whole.first = calloc(4, sizeof(struct item));\n"
	"	all[1] = all[argc & 3] = &whole;\n"
	"	set_global(); set_third(); set_element(argc); set_some(argc);\n"
	"	set_field(&whole); set_nested(&whole); set_union(&whole);\n"
	"	set_slot(&whole, argc); set_next(&n); set_first(&whole);\n"
	"	set_current(); set_one_of(1); set_unknown(&one);\n"
	"	set_behind(whole.first, argc); set_cast(&whole);\n"
	"	n.next = 0; set_list(&n, argc);\n"
	"	set_chosen(&whole, all[1], argc); set_found(argc);\n"
	"	set_switch(&whole, argc);\n"
	"	return add(2, argc, one) + n.value;\n"
	"}\n";

static const struct {
	const char *function, *text;
	enum maple_datum_kind kind;
} data[] = {
	{ "set_global", "counter", MAPLE_DATUM_GLOBAL },
	{ "set_third", "table+48", MAPLE_DATUM_GLOBAL },
	{ "set_element", "table[]", MAPLE_DATUM_GLOBAL },
	{ "set_some", "row[]", MAPLE_DATUM_GLOBAL },
	{ "set_field", "cache.size", MAPLE_DATUM_FIELD },
	{ "set_nested", "item.count", MAPLE_DATUM_FIELD },
	{ "set_union", "cache.real", MAPLE_DATUM_FIELD },
	{ "set_slot", "cache.slots[]", MAPLE_DATUM_FIELD },
	{ "set_next", "node.value", MAPLE_DATUM_FIELD },
	{ "set_first", "item.more", MAPLE_DATUM_FIELD },
	{ "set_current", "cache.size", MAPLE_DATUM_FIELD },
	{ "set_one_of", "cache.size", MAPLE_DATUM_FIELD },
	{ "set_unknown", "", MAPLE_DATUM_UNKNOWN },
	{ "set_behind", "item.more", MAPLE_DATUM_FIELD },
	{ "set_cast", "cache.size", MAPLE_DATUM_FIELD },
	{ "set_list", "node.value", MAPLE_DATUM_FIELD },
	{ "set_chosen", "cache.size", MAPLE_DATUM_FIELD },
	{ "set_found", "cache.size", MAPLE_DATUM_FIELD },
	{ "set_switch", "cache.size", MAPLE_DATUM_FIELD },
};

/* Who runs what, and under which locks; see pairs[]. */
static const char threads_c[] =
	"#include <pthread.h>\n"
	"#include <stdlib.h>\n"
	"#define F __attribute__((noinline, noclone))\n"
	"pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = m0;\n"
	"struct list { pthread_mutex_t lock; int head, tail, twice; } list;\n"
	"int plain, alone, mine, before, between, after, kept, half, cross;\n"
	"int tabled, ahead, wrapped, late;\n"
	"F void put_plain(void) { plain++; }\n"
	"F int get_plain(void) { return plain; }\n"
	"F void put_alone(void) { alone++; }\n"
	"F void put_mine(void) { mine++; }\n"
	"F int get_before(void) { return before; }\n"
	"F int get_ahead(void) { return ahead; }\n"
	"F int get_between(void) { return between; }\n"
	"F int get_late(void) { return late; }\n"
	"F void put_after(void) { after++; }\n"
	"F void put_kept(void) { kept++; }\n"
	"F void put_half(void) { half++; }\n"
	"F void put_tabled(void) { tabled++; }\n"
	"F void setup(void) { ahead = 7; }\n"
	"F void lock(void) { pthread_mutex_lock(&m); }\n"
	"F void unlock(void) { pthread_mutex_unlock(&m); }\n"
	"F void put_wrapped(void) { lock(); wrapped++; unlock(); }\n"
	"F void cross_a(void) { pthread_mutex_lock(&m); cross++;\n"
	"	pthread_mutex_unlock(&m); }\n"
	"F void cross_b(void) { pthread_mutex_lock(&other); cross++;\n"
	"	pthread_mutex_unlock(&other); }\n"
	"F int take(void) { int n; pthread_mutex_lock(&list.lock);\n"
	"	n = list.head++; pthread_mutex_unlock(&list.lock); return n; }\n"
	"F void put(int n) { pthread_mutex_lock(&list.lock);\n"
	"	list.head -= n; list.tail = n;\n"
	"	pthread_mutex_unlock(&list.lock); }\n"
	"F void *worker(void *arg)\n"
	"{\n"
	"	put_plain(); put_mine(); put_alone(); put_after();\n"
	"	pthread_mutex_lock(&m);\n"
	"	put_kept(); put_half();\n"
	"	pthread_mutex_unlock(&m);\n"
	"	put_half(); cross_a(); put(take()); put_wrapped();\n"
	"	return (void *)(long)(get_before() + get_ahead() +\n"
	"			      get_between() + get_late());\n"
	"}\n"
	"F void *reader(void *arg)\n"
	"{\n"
	"	pthread_mutex_lock(&m);\n"
	"	put_kept();\n"
	"	pthread_mutex_unlock(&m);\n"
	"	cross_b(); put_wrapped();\n"
	"	return (void *)(long)get_plain();\n"
	"}\n"
	"F void *from_table(void *arg) { put_tabled(); return arg; }\n"
	"F void *also(void *arg) { put_tabled(); return 0; }\n"
	"F void not_this(int n) { alone += n; }\n"
	"void *(*const table[])(void *) = { from_table, also };\n"
	"void (*const others[])(int) = { not_this };\n"
	"F void start(pthread_t *t, int i)\n"
	"{ pthread_create(t, NULL, table[i], NULL); }\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	pthread_t t[8];\n"
	"	before = argc; setup(); mine = 1;\n"
	"	for (int i = 0; i < 2; i++)\n"
	"		pthread_create(&t[i], NULL, worker, argv);\n"
	"	pthread_create(&t[2], NULL, reader, argv);\n"
	"	between = argc;\n"
	"	start(&t[3], 0); start(&t[4], 1);\n"
	"	others[argc > 5](1);\n"
	"	for (int i = 0; i < 5; i++)\n"
	"		pthread_join(t[i], NULL);\n"
	"	late = argc;\n"
	"	return after + tabled;\n"
	"}\n";

#define BARE	 MAPLE_STATIC_BARE
#define SECTIONS MAPLE_STATIC_SECTIONS
#define NONE	 -1

/* What is between the sites of two functions on one variable. */
static const struct {
	const char *a, *b, *variable;
	int kind;
} pairs[] = {
	{ "put_plain", "get_plain", "plain", BARE },
	{ "put_plain", "put_plain", "plain", BARE }, /* two of them */
	{ "put_mine", "put_mine", "mine", BARE },
	{ "main", "put_mine", "mine", NONE }, /* before the first one */
	{ "main", "get_before", "before", NONE },
	{ "setup", "get_ahead", "ahead", NONE },
	{ "main", "get_between", "between", BARE },
	{ "main", "get_late", "late", NONE }, /* after the last join */
	{ "main", "put_after", "after", NONE },
	{ "put_kept", "put_kept", "kept", NONE }, /* under all callers' lock */
	{ "put_half", "put_half", "half", BARE },
	{ "cross_a", "cross_b", "cross", BARE }, /* two locks */
	{ "cross_a", "cross_a", "cross", NONE }, /* one lock */
	{ "take", "put", "list", SECTIONS },
	{ "put_tabled", "put_tabled", "tabled", BARE },
	{ "put_wrapped", "put_wrapped", "wrapped",
	  NONE }, /* a lock by a call */
};

static const char program_cc[] =
	"#include <mutex>\n"
	"#include <thread>\n"
	"#define F __attribute__((noinline))\n"
	"struct Account {\n"
	"	std::mutex m; int balance = 0, seen = 0;\n"
	"	F void put(int n) { std::lock_guard<std::mutex> g(m);\n"
	"		balance += n; }\n"
	"	F void look(int n) { seen += n; }\n"
	"};\n"
	"int bare, guarded;\n"
	"std::mutex lock;\n"
	"F void change(int n) { bare += n; }\n"
	"F void guard(int n) { std::unique_lock<std::mutex> g(lock);\n"
	"	guarded += n; }\n"
	"F void work(Account *a) { change(1); guard(1); a->put(2);\n"
	"	a->look(1); }\n"
	"int main()\n"
	"{\n"
	"	Account a;\n"
	"	std::thread one(work, &a);\n"
	"	std::thread two([&a] { change(2); guard(2); a.put(3);\n"
	"		a.look(2); });\n"
	"	one.join(); two.join();\n"
	"	return bare + guarded + a.balance == 8;\n"
	"}\n";

static const struct {
	const char *function, *text;
	int kind;
} pairs_cc[] = {
	{ "change", "bare", BARE },
	{ "guard", "guarded", NONE },
	{ "put", "Account.balance", NONE },
	{ "look", "Account.seen", BARE },
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

static struct maple_image *opened(const char *kept)
{
	const struct maple_image_way way = { .kept = kept };
	struct maple_image *image = NULL;
	struct maple_error err;
	char path[128];

	snprintf(path, sizeof(path), "%s/program", dir);
	if (maple_image_open_by(path, &way, &image, &err) ||
	    maple_image_static(image, kept, &err))
		fail_msg("%s", err.text);
	return image;
}

static void compile(const char *compiler, const char *flags, const char *source)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "cd %s && %s -w %s -Dm0=PTHREAD_MUTEX_INITIALIZER -pthread"
		 " -o program %s",
		 dir, compiler, flags, source);
	if (system(command))
		fail_msg("failed: %s", command);
}

static const char *const builds[][2] = {
	{ "gcc", "-O0 -g" },
	{ "gcc", "-O2 -g" },
	{ "clang", "-O0 -g" },
	{ "clang", "-O2 -g" },
	{ "gcc", "-O2 -g -no-pie -fno-pie" },
	{ "gcc", "-O2 -gdwarf-4" },
	{ "gcc", "-O2 -g -static" },
};

#define BUILDS (sizeof(builds) / sizeof(*builds))

/* The function that has the site, as its symbol says. */
static bool is_in(struct maple_image *image, uint32_t site, const char *function)
{
	const struct maple_table_site *sites;
	struct maple_place place;
	uint32_t n;
	bool in;

	sites = maple_image_sites(image, &n);
	assert_int_equal(
		maple_image_place(image, sites[site].offset, false, &place), 0);
	in = place.function &&
	     (!strcmp(place.function, function) ||
	      (strlen(place.function) > strlen(function) &&
	       !strcmp(place.function + strlen(place.function) -
			       strlen(function),
		       function) &&
	       place.function[strlen(place.function) - strlen(function) - 1] ==
		       ':'));
	maple_place_deinit(&place);
	return in;
}

static void test_data(void **state)
{
	write_file("data.c", data_c);
	for (size_t b = 0; b < BUILDS; b++) {
		const struct maple_table_site *sites;
		struct maple_image *image;
		uint32_t n;

		compile(builds[b][0], builds[b][1], "data.c");
		image = opened(NULL);
		sites = maple_image_sites(image, &n);
		for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++) {
			int64_t last = -1;
			char text[64];

			for (uint32_t s = 0; s < n; s++)
				if (sites[s].kind & MAPLE_EV_WRITE &&
				    is_in(image, s, data[i].function))
					last = s;
			if (last < 0)
				fail_msg("%s %s: no site in %s", builds[b][0],
					 builds[b][1], data[i].function);
			maple_image_datum_text(image, last, text, sizeof(text));
			if (strcmp(text, data[i].text) != 0 ||
			    maple_image_datum(image, last)->kind != data[i].kind)
				fail_msg("%s %s: %s: '%s', not '%s'",
					 builds[b][0], builds[b][1],
					 data[i].function, text, data[i].text);
		}
		maple_image_destroy(image);
	}
}

/* What only lies on stacks is nobody's but its thread's. */
static void test_stacks(void **state)
{
	write_file("data.c", data_c);
	for (size_t b = 0; b < 4; b++) {
		const struct maple_datum *d;
		struct maple_image *image;
		uint32_t n, seen = 0;

		compile(builds[b][0], builds[b][1], "data.c");
		image = opened(NULL);
		maple_image_sites(image, &n);
		for (uint32_t s = 0; s < n; s++) {
			d = maple_image_datum(image, s);
			if (!is_in(image, s, "sum") ||
			    d->kind != MAPLE_DATUM_FIELD)
				continue;
			seen++;
			assert_true(d->flags & MAPLE_DATUM_ALONE);
			assert_false(maple_image_may_share(image, s));
		}
		assert_true(seen >= 2);
		maple_image_destroy(image);
	}
}

/* The kind of the pair, or NONE. */
static int pair_between(struct maple_image *image, const char *a, const char *b,
			const char *variable)
{
	const struct maple_static_pair *pair;
	uint32_t n = maple_image_pairs(image, &pair);
	char text[64];

	for (uint32_t i = 0; i < n; i++) {
		maple_image_datum_text(image, pair[i].a, text, sizeof(text));
		if (strncmp(text, variable, strlen(variable)) != 0)
			continue;
		if ((is_in(image, pair[i].a, a) && is_in(image, pair[i].b, b)) ||
		    (is_in(image, pair[i].a, b) && is_in(image, pair[i].b, a)))
			return pair[i].kind;
	}
	return NONE;
}

static void adds_up(const struct maple_image *image)
{
	const struct maple_static_stats *s = maple_image_static_stats(image);
	const struct maple_static_pair *pair;
	uint64_t sites = 0;
	uint32_t n;

	assert_int_equal(s->raw, s->one_thread + s->early + s->locked +
					 s->bare + s->sections);
	assert_int_equal(maple_image_pairs(image, &pair) + s->over,
			 s->bare + s->sections);
	for (unsigned int i = 0; i < MAPLE_DATUM_KINDS; i++)
		sites += s->data[i];
	maple_image_sites(image, &n);
	assert_int_equal(sites, n);
	assert_false(s->cut);
	assert_true(s->program);
	for (uint32_t i = 0; i + 1 < maple_image_pairs(image, &pair); i++)
		assert_true(pair[i].kind <= pair[i + 1].kind);
}

static void test_threads(void **state)
{
	write_file("threads.c", threads_c);
	for (size_t b = 0; b < BUILDS; b++) {
		struct maple_image *image;

		compile(builds[b][0], builds[b][1], "threads.c");
		image = opened(NULL);
		adds_up(image);
		for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
			int kind = pair_between(image, pairs[i].a, pairs[i].b,
						pairs[i].variable);

			if (kind != pairs[i].kind)
				fail_msg("%s %s: %s, %s: %d, not %d",
					 builds[b][0], builds[b][1], pairs[i].a,
					 pairs[i].b, kind, pairs[i].kind);
		}
		/* main, worker, reader, and what the table has. */
		assert_int_equal(
			maple_image_static_stats(image)->roots,
			b == BUILDS - 1 ? maple_image_static_stats(image)->roots
					: 5);
		maple_image_destroy(image);
	}
}

/* Each root runs once: what is one's alone is no pair. */
static void test_once(void **state)
{
	write_file("once.c",
		   "#include <pthread.h>\n"
		   "int both, mine;\n"
		   "void *first(void *arg) { mine++; both++; return arg; }\n"
		   "void *second(void *arg) { both++; return 0; }\n"
		   "int main(void)\n"
		   "{\n"
		   "	pthread_t a, b;\n"
		   "	pthread_create(&a, 0, first, 0);\n"
		   "	pthread_create(&b, 0, second, 0);\n"
		   "	pthread_join(a, 0); pthread_join(b, 0);\n"
		   "	return both + mine;\n"
		   "}\n");
	for (size_t b = 0; b < BUILDS - 1; b++) {
		struct maple_image *image;

		compile(builds[b][0], builds[b][1], "once.c");
		image = opened(NULL);
		adds_up(image);
		assert_int_equal(maple_image_static_stats(image)->roots, 3);
		assert_int_equal(pair_between(image, "first", "second", "both"),
				 BARE);
		assert_int_equal(pair_between(image, "first", "first", ""),
				 NONE);
		assert_int_equal(maple_image_static_stats(image)->bare,
				 b == 0 || b == 2 ? 3 : 1);
		maple_image_destroy(image);
	}
}

static void test_cpp(void **state)
{
	static const char *const all[][2] = {
		{ "g++", "-O0 -g" },
		{ "g++", "-O2 -g" },
		{ "clang++", "-O0 -g" },
		{ "clang++", "-O2 -g" },
		{ "clang++", "-O0 -g -stdlib=libc++" },
		{ "clang++", "-O2 -g -stdlib=libc++" },
	};

	write_file("program.cc", program_cc);
	for (size_t b = 0; b < sizeof(all) / sizeof(*all); b++) {
		struct maple_image *image;

		compile(all[b][0], all[b][1], "program.cc");
		image = opened(NULL);
		adds_up(image);
		for (size_t i = 0; i < sizeof(pairs_cc) / sizeof(*pairs_cc);
		     i++) {
			const char *f = pairs_cc[i].function;
			int kind = pair_between(image, f, f, pairs_cc[i].text);

			if (kind != pairs_cc[i].kind)
				fail_msg("%s %s: %s: %d, not %d", all[b][0],
					 all[b][1], f, kind, pairs_cc[i].kind);
		}
		maple_image_destroy(image);
	}
}

/* Variables have names in symbols; all else is unknown, and may share. */
static void test_no_debug(void **state)
{
	struct maple_image *image;
	uint32_t n, unknown = 0;

	write_file("data.c", data_c);
	write_file("threads.c", threads_c);
	compile("gcc", "-O2", "threads.c");
	image = opened(NULL);
	assert_false(maple_image_static_stats(image)->debug);
	assert_int_equal(pair_between(image, "put_plain", "get_plain", "plain"),
			 BARE);
	assert_int_equal(pair_between(image, "put_kept", "put_kept", "kept"),
			 NONE);
	maple_image_destroy(image);
	compile("gcc", "-O2", "data.c");
	image = opened(NULL);
	maple_image_sites(image, &n);
	for (uint32_t s = 0; s < n; s++) {
		assert_int_not_equal(maple_image_datum(image, s)->kind,
				     MAPLE_DATUM_FIELD);
		if (maple_image_datum(image, s)->kind == MAPLE_DATUM_UNKNOWN) {
			unknown++;
			assert_true(maple_image_may_share(image, s));
		}
	}
	assert_true(unknown > 5);
	maple_image_destroy(image);
}

/* Who calls a library's functions stands elsewhere: there all may share. */
static void test_library(void **state)
{
	const struct maple_static_pair *pair;
	struct maple_image *image;
	uint32_t n;

	write_file("lib.c", "int n;\nvoid put(void) { n++; }\n");
	compile("gcc", "-O1 -g -shared -fPIC", "lib.c");
	image = opened(NULL);
	assert_false(maple_image_static_stats(image)->program);
	assert_int_equal(maple_image_pairs(image, &pair), 0);
	maple_image_sites(image, &n);
	assert_true(n > 0);
	for (uint32_t s = 0; s < n; s++)
		assert_true(maple_image_may_share(image, s));
	maple_image_destroy(image);
}

/* ---- what is kept ---- */

static void find_kept(char *path, size_t size)
{
	struct maple_image *image = opened(NULL);

	snprintf(path, size, "%s/maple/%s.pairs", dir,
		 maple_image_build_id(image));
	maple_image_destroy(image);
}

static void is_like(struct maple_image *image, const struct maple_image *other)
{
	const struct maple_static_pair *a, *b;
	uint32_t n = maple_image_pairs(image, &a), sites;
	char x[64], y[64];

	assert_int_equal(n, maple_image_pairs(other, &b));
	assert_true(n > 0);
	assert_memory_equal(a, b, n * sizeof(*a));
	assert_memory_equal(maple_image_static_stats(image),
			    maple_image_static_stats(other),
			    sizeof(struct maple_static_stats));
	maple_image_sites(image, &sites);
	for (uint32_t s = 0; s < sites; s++) {
		maple_image_datum_text(image, s, x, sizeof(x));
		maple_image_datum_text(other, s, y, sizeof(y));
		assert_string_equal(x, y);
	}
}

static void test_kept(void **state)
{
	struct maple_image *fresh, *kept;
	char path[256];
	struct stat st;
	uint8_t byte;
	int fd;

	write_file("threads.c", threads_c);
	compile("gcc", "-O2 -g -Wl,--build-id", "threads.c");
	find_kept(path, sizeof(path));
	fresh = opened(NULL);
	/* Nobody keeps anything who was not told where. */
	assert_int_not_equal(stat(path, &st), 0);
	kept = opened(dir);
	assert_int_equal(stat(path, &st), 0);
	is_like(kept, fresh);
	maple_image_destroy(kept);
	kept = opened(dir);
	is_like(kept, fresh);
	maple_image_destroy(kept);
	/* Of another form, or damaged, it is as good as nothing. */
	for (off_t at = 0; at < st.st_size; at += st.st_size / 97) {
		fd = open(path, O_RDWR);
		assert_true(fd >= 0);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x55;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		kept = opened(dir);
		is_like(kept, fresh);
		maple_image_destroy(kept);
	}
	maple_image_destroy(fresh);
}

/* Debug information that came later is not missed for what was kept. */
static void test_debug_later(void **state)
{
	struct maple_image *image;
	char command[512];

	write_file("data.c", data_c);
	compile("gcc", "-O2 -g -Wl,--build-id", "data.c");
	snprintf(command, sizeof(command),
		 "cd %s && objcopy --only-keep-debug program program.debug &&"
		 " objcopy --strip-debug --add-gnu-debuglink=program.debug"
		 " program && mv program.debug away",
		 dir);
	assert_int_equal(system(command), 0);
	image = opened(dir);
	assert_false(maple_image_static_stats(image)->debug);
	maple_image_destroy(image);
	snprintf(command, sizeof(command), "cd %s && mv away program.debug",
		 dir);
	assert_int_equal(system(command), 0);
	image = opened(dir);
	assert_true(maple_image_static_stats(image)->debug);
	maple_image_destroy(image);
}

static bool names_field(void)
{
	struct maple_image *image = opened(NULL);
	char text[64];
	bool found = false, global = false;
	uint32_t n;

	maple_image_sites(image, &n);
	for (uint32_t s = 0; s < n; s++) {
		maple_image_datum_text(image, s, text, sizeof(text));
		found |= !strcmp(text, "cache.size");
		global |= !strcmp(text, "counter");
	}
	assert_true(global);
	maple_image_destroy(image);
	return found;
}

/* Beside the program, in files of its own: without these globals only. */
static void test_split(void **state)
{
	char command[128];

	write_file("data.c", data_c);
	compile("gcc", "-O2 -g -gsplit-dwarf", "data.c");
	assert_true(names_field());
	snprintf(command, sizeof(command), "rm %s/*.dwo", dir);
	assert_int_equal(system(command), 0);
	assert_false(names_field());
}

/* ---- a stranger's file ---- */

static void test_damaged(void **state)
{
	const struct maple_image_way way = { 0 };
	struct maple_image *image;
	struct maple_error err;
	uint64_t random = 12345;
	uint8_t *bytes, *copy;
	char path[128];
	struct stat st;
	int fd, opened_any = 0;

	write_file("threads.c", threads_c);
	compile("gcc", "-O2 -g", "threads.c");
	snprintf(path, sizeof(path), "%s/program", dir);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc(st.st_size);
	copy = malloc(st.st_size);
	assert_int_equal(read(fd, bytes, st.st_size), st.st_size);
	close(fd);
	for (int round = 0; round < 200; round++) {
		memcpy(copy, bytes, st.st_size);
		for (int i = 0; i < 40; i++) {
			random = random * 6364136223846793005ull + 1;
			copy[4096 + (random >> 20) % (st.st_size - 4096)] =
				random >> 55;
		}
		fd = open(path, O_WRONLY | O_TRUNC);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, copy, st.st_size), st.st_size);
		close(fd);
		if (maple_image_open_by(path, &way, &image, &err))
			continue;
		opened_any += !maple_image_static(image, NULL, &err);
		maple_image_destroy(image);
	}
	assert_true(opened_any > 20);
	free(bytes);
	free(copy);
}

static int set_up(void **state)
{
	strcpy(dir, "/tmp/maple-static-XXXXXX");
	return !mkdtemp(dir);
}

static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_data, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stacks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cpp, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_debug, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_library, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_debug_later, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_split, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
