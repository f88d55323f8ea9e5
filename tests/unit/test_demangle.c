// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Symbols as the source has them, and as people say them.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "image/source/demangle.h"

static void symbols_become_declarations(void **state)
{
	static const struct {
		const char *symbol, *name;
	} cases[] = {
		{ "_ZN5store5CacheIilE3putERKi",
		  "store::Cache<int, long>::put(int const&)" },
		{ "_ZN4Pool4takeEv.cold", "Pool::take()" },
		{ "_ZN4Pool4takeEv.constprop.0.isra.0", "Pool::take()" },
		{ "_ZZ4mainENKUlvE_clEv",
		  "main::{lambda()#1}::operator()() const" },
		{ "_ZZ4mainE5count", "main::count" },
		/* Legacy Rust, v0 Rust. */
		{ "_ZN7tickets6office18Tickets$LT$u64$GT$4draw"
		  "17h0f996bc29b9d816dE",
		  "tickets::office::Tickets<u64>::draw" },
		{ "_ZN3std10sys_common9backtrace28__rust_begin_short_backtrace"
		  "17h7469ea09426d1150E.llvm.15211682846186554132",
		  "std::sys_common::backtrace::__rust_begin_short_backtrace" },
		{ "_RNvMNtCs1234_7mycrate3fooNtB2_3Bar3baz",
		  "<mycrate::foo::Bar>::baz" },
		{ "_RNCNvCsbmNqQUJIY6D_4main4main0B3_",
		  "main::main::{closure#0}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *name = maple_demangle(cases[i].symbol);

		assert_non_null(name);
		assert_string_equal(name, cases[i].name);
		free(name);
	}
}

static void what_is_no_symbol_of_theirs_stays(void **state)
{
	static const char *const names[] = { "main",   "_Z",	  "_R",
					     "_Zero",  "_Remove", "",
					     "f.cold", "_ZN",	  "_ZN.cold" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_null(maple_demangle(names[i]));
}

static void check_short(const char *name, const char *wanted)
{
	char *text = maple_demangle_short(name);

	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

static void arguments_and_parameters_are_left_out(void **state)
{
	static const char *const cases[][2] = {
		{ "consume", "consume" },
		{ "Pool::take()", "Pool::take" },
		{ "store::Cache<int, std::map<int, long> >::put(int const&)",
		  "store::Cache::put" },
		{ "Pool::size() const", "Pool::size" },
		{ "void run<f(int)>(int (*)(int))", "run" },
		{ "std::vector<int>::operator[](unsigned long)",
		  "std::vector::operator[]" },
		{ "std::ostream& std::operator<< <char>(std::ostream&, char)",
		  "std::operator<<" },
		{ "a::operator<(b)", "a::operator<" },
		{ "a::operator->() const", "a::operator->" },
		{ "a::operator()(int)", "a::operator()" },
		{ "a::operator bool() const", "a::operator bool" },
		{ "operator new(unsigned long)", "operator new" },
		{ "std::atomic<bool>::operator bool() const",
		  "std::atomic::operator bool" },
		{ "operators::run(int)", "operators::run" },
		{ "(anonymous namespace)::worker(int)",
		  "(anonymous namespace)::worker" },
		{ "f((anonymous namespace)::T)", "f" },
		{ "main::{lambda()#1}::operator()() const", "main::{lambda#1}" },
		{ "run(int)::{lambda(auto:1)#2}::operator()<int>(int) const",
		  "run::{lambda#2}" },
		{ "Pool::take() const::{lambda()#1}::operator()() const",
		  "Pool::take::{lambda#1}" },
		{ "f(int)::count", "f::count" },
		{ "guard variable for f()::once", "guard variable for f::once" },
		{ "std::__cxx11::basic_string<char>::size() const",
		  "std::basic_string::size" },
		{ "std::_V2::system_category()", "std::system_category" },
		{ "take() [clone .cold]", "take" },
		/* Rust */
		{ "tickets::office::Tickets<u64>::draw",
		  "tickets::office::Tickets::draw" },
		{ "<tickets::office::Tickets<u64>>::draw",
		  "tickets::office::Tickets::draw" },
		{ "<alloc::vec::Vec<T,A> as core::ops::Drop>::drop",
		  "alloc::vec::Vec::drop" },
		{ "tickets::run::<fn(u8) -> u8>", "tickets::run" },
		{ "tickets::main::{{closure}}::{{closure}}",
		  "tickets::main::{closure}::{closure}" },
		{ "<[T]>::len", "[T]::len" },
		/* Nonsense goes nowhere beyond its end. */
		{ "<", "<" },
		{ "f(", "f" },
		{ "{", "{" },
		{ "operator", "operator" },
		{ "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_short(cases[i][0], cases[i][1]);
}

/* Programs may call their functions anything. */
static void nonsense_stays_within_its_length(void **state)
{
	static const char *const parts[] = { "<",
					     ">",
					     "(",
					     ")",
					     "{",
					     "}",
					     "[",
					     " ",
					     "::",
					     "operator",
					     "a",
					     " as ",
					     "->",
					     "{{",
					     "__1::",
					     "const",
					     "(anonymous namespace)" };
	const unsigned int n = sizeof(parts) / sizeof(*parts);
	char name[512], deep[4096];

	srandom(1);
	for (int i = 0; i < 20000; i++) {
		char *text;

		*name = 0;
		for (long k = random() % 16; k >= 0; k--)
			strcat(name, parts[random() % n]);
		text = maple_demangle_short(name);
		assert_non_null(text);
		assert_true(strlen(text) <= strlen(name));
		maple_demangle_tail(text, random() % 8);
		free(text);
	}
	memset(deep, '<', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	free(maple_demangle_short(deep));
}

static void the_end_of_a_name_tells_most(void **state)
{
	const char *name = "store::front::Cache::put";

	assert_string_equal(maple_demangle_tail(name, 80), name);
	assert_string_equal(maple_demangle_tail(name, 23), "front::Cache::put");
	assert_string_equal(maple_demangle_tail(name, 10), "Cache::put");
	assert_string_equal(maple_demangle_tail(name, 2), "put");
	assert_string_equal(maple_demangle_tail("::", 1), "::");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_become_declarations),
		cmocka_unit_test(what_is_no_symbol_of_theirs_stays),
		cmocka_unit_test(arguments_and_parameters_are_left_out),
		cmocka_unit_test(nonsense_stays_within_its_length),
		cmocka_unit_test(the_end_of_a_name_tells_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
