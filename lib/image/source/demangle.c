// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Names as the source has them. A symbol of C++ or Rust becomes what was
 * declared, with template arguments and parameters; that is what suppressions
 * are compared with. What people read in a title or beside a line is shorter:
 *
 *	void store::Cache<int, long>::put<int>(int const&)  store::Cache::put
 *	main::{lambda()#1}::operator()() const		    main::{lambda#1}
 *	<tickets::Pool<u64> as Draw>::draw		    tickets::Pool::draw
 *	tickets::main::{{closure}}::h0123456789abcdef tickets::main::{closure}
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/demangle.h>
#include "demangle.h"

#define UNNAMED "(anonymous namespace)"
#define DEPTH	8 /* of types in types that nonsense may have */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* "f.cold", "f.part.0", "f.llvm.123": what a compiler made of one function. */
static char *without_clones(const char *symbol)
{
	size_t n = strcspn(symbol, ".");

	return symbol[n] && n ? strndup(symbol, n) : NULL;
}

static char *demangle(const char *symbol)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP;
	/* Rust's legacy names are valid ones of C++, so it comes first. */
	char *name = rust_demangle(symbol, options);

	return name ? name : cplus_demangle_v3(symbol, options);
}

/* maple_demangle_is - whether @symbol looks like one of C++ or Rust */
bool maple_demangle_is(const char *symbol)
{
	return begins(symbol, "_Z") || begins(symbol, "_R");
}

/* maple_demangle - @symbol as declared, to be freed; NULL: it is no such */
char *maple_demangle(const char *symbol)
{
	char *plain, *name;

	if (!maple_demangle_is(symbol))
		return NULL;
	plain = without_clones(symbol);
	name = plain ? demangle(plain) : NULL;
	free(plain);
	/* Legacy names of Rust may have dots within. */
	return name ? name : demangle(symbol);
}

/* ---- short forms ---- */

/* A finger on a name, and what has been made of it so far. */
struct shortening {
	const char *from;
	char *to, *start; /* @start: of the result */
	unsigned int depth;
};

/* Behind the bracket that closes the one at @s; "->" closes nothing. */
static const char *skip_group(const char *s)
{
	unsigned int depth = 0;

	for (; *s; s++) {
		if (strchr("<({[", *s))
			depth++;
		else if (strchr(")}]", *s) || (*s == '>' && s[-1] != '-'))
			depth--;
		if (!depth)
			return s + 1;
	}
	return s;
}

/* The name of an operator is made of the signs that else are brackets. */
static void copy_operator(struct shortening *s)
{
	static const char *const names[] = { "()", "<=>", "<<=", ">>=", "->*",
					     "->", "<<",  ">>",	 "<=",	">=",
					     "<",  ">",	  "[]" };
	size_t n = strlen("operator"), sign = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !sign; i++)
		if (begins(s->from + n, names[i]))
			sign = strlen(names[i]);
	n += sign;
	/* A conversion's type, and "new" with its blank. */
	if (s->from[n] == ' ' && !sign)
		n += strcspn(s->from + n, "(<");
	s->to = mempcpy(s->to, s->from, n);
	s->from += n;
	/* "operator<< <char>" */
	if (sign && *s->from == ' ')
		s->from++;
}

static bool at_operator(const struct shortening *s)
{
	return begins(s->from, "operator") &&
	       (s->to == s->start || s->to[-1] == ':') &&
	       !isalnum((unsigned char)s->from[8]) && s->from[8] != '_';
}

/* "{lambda(int)#1}" as "{lambda#1}", "{{closure}}" as "{closure}". */
static void copy_braces(struct shortening *s)
{
	const char *end = skip_group(s->from);
	bool twice = begins(s->from, "{{");

	s->from += twice;
	while (s->from < end - twice) {
		if (*s->from == '(')
			s->from = skip_group(s->from);
		else
			*s->to++ = *s->from++;
	}
	s->from = end;
	/* What a closure does is all that it does. */
	if (begins(s->from, "::operator()"))
		s->from += strlen("::operator()");
}

static void shorten(struct shortening *s);

/* "<Type as Trait>::f" and "<Type>::f": the type goes on as a name does. */
static void copy_self(struct shortening *s)
{
	const char *end = skip_group(s->from), *as;
	char *inner = strndup(s->from + 1, (size_t)(end - s->from) - 2);
	struct shortening of = { inner, s->to, s->to, s->depth + 1 };

	as = inner ? strstr(inner, " as ") : NULL;
	if (as)
		inner[as - inner] = 0;
	if (inner)
		shorten(&of);
	free(inner);
	s->to = of.to;
	s->from = end;
}

/* Whether a name goes on behind these parameters: "f(int)::local". */
static bool skip_parameters(struct shortening *s)
{
	s->from = skip_group(s->from);
	s->from += strcspn(s->from, ":[");
	return begins(s->from, "::");
}

/* Namespaces of a library's versions, that nobody writes. */
static bool skip_version(struct shortening *s)
{
	static const char *const names[] = { "__cxx11::", "__1::", "_V2::" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!begins(s->from, names[i]))
			continue;
		s->from += strlen(names[i]);
		return true;
	}
	return false;
}

/* Behind "guard variable for ", and the like. */
static const char *skip_kind(const char *name)
{
	static const char *const kinds[] = { "guard variable for ",
					     "vtable for ",
					     "VTT for ",
					     "typeinfo for ",
					     "non-virtual thunk to ",
					     "virtual thunk to " };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (begins(name, kinds[i]))
			return name + strlen(kinds[i]);
	return name;
}

static void shorten(struct shortening *s)
{
	while (*s->from) {
		bool first = s->to == s->start;
		char c = *s->from;

		if (at_operator(s)) {
			copy_operator(s);
		} else if (begins(s->from, UNNAMED)) {
			s->to = stpcpy(s->to, UNNAMED);
			s->from += strlen(UNNAMED);
		} else if (c == '{') {
			copy_braces(s);
		} else if (c == '<' && first && s->depth < DEPTH) {
			copy_self(s);
		} else if (c == '<') {
			/* Rust's are "f::<T>". */
			if (s->to > s->start + 1 && begins(s->to - 2, "::"))
				s->to -= 2;
			s->from = skip_group(s->from);
		} else if (c == '(' && !first) {
			if (!skip_parameters(s))
				break;
		} else if (c == ' ') {
			/* What stood before was the type of a result. */
			s->from++;
			s->to = s->start;
		} else if (first || s->to[-1] != ':' || !skip_version(s)) {
			*s->to++ = *s->from++;
		}
		*s->to = 0;
	}
}

/* maple_demangle_short - @name as people say it, to be freed; NULL: no memory */
char *maple_demangle_short(const char *name)
{
	char *text = malloc(strlen(name) + 1);
	const char *of = skip_kind(name);
	struct shortening s = { .from = of };

	if (!text)
		return NULL;
	memcpy(text, name, (size_t)(of - name));
	s.to = s.start = text + (of - name);
	*s.to = 0;
	shorten(&s);
	if (!*s.start)
		strcpy(text, name);
	return text;
}

/*
 * maple_demangle_tail - the end of @name, from the first of its parts on with
 * which it takes @columns at most, if not only the last one; points into @name
 */
const char *maple_demangle_tail(const char *name, unsigned int columns)
{
	const char *more;

	while (strlen(name) > columns && (more = strstr(name, "::")) && more[2])
		name = more + 2;
	return name;
}
