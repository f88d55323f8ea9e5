// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The reports of sanitizers, as gcc's and clang's runtimes print them. The
 * first one of a run counts, as the one that others may follow from:
 *
 *	==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x...
 *	WARNING: ThreadSanitizer: data race (pid=1)
 *	queue.c:7:12: runtime error: signed integer overflow: ...
 *
 * Its title says what kind it is of and the innermost functions of the user's
 * own on its first two stacks ("in consume / close_queue"): of a race, both
 * threads; of a use after free, the use and the free. Nothing in it depends on
 * where things were in memory, or on who was first to print.
 *
 *	    #1 0x4011d6 in consume /src/queue.c:7:12	AddressSanitizer
 *	    #0 consume /src/queue.c:7 (queue+0x11d6)	ThreadSanitizer
 *	    #2 0x7f0a (/lib/libfoo.so.1+0x8a)		no symbols
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "image/image.h"
#include "sanitizer.h"

#define TEXT_MAX  16384 /* kept of a report */
#define UNDEFINED ": runtime error: "

/* A line, or a part of one. */
struct span {
	const char *at;
	size_t n;
};

static struct span line_at(const char *at)
{
	return (struct span){ at, strcspn(at, "\n") };
}

/* The line after it; NULL: it is the last. */
static const char *after(struct span line)
{
	return line.at[line.n] ? line.at + line.n + 1 : NULL;
}

static const char *find(struct span in, const char *what)
{
	return memmem(in.at, in.n, what, strlen(what));
}

static bool begins(struct span line, const char *with)
{
	return line.n >= strlen(with) && !memcmp(line.at, with, strlen(with));
}

static struct span behind(struct span in, const char *at)
{
	return (struct span){ at, in.at + in.n - at };
}

/* ---- stacks ---- */

static bool is_frame(struct span line)
{
	size_t i = 0;

	while (i < line.n && line.at[i] == ' ')
		i++;
	return i && i + 1 < line.n && line.at[i] == '#' &&
	       isdigit((unsigned char)line.at[i + 1]);
}

/* Takes "(module+0x12)", "(BuildId: ...)" off the end of @frame. */
static struct span take_module(struct span *frame)
{
	struct span module = { frame->at, 0 };
	const char *open;

	while (frame->n && frame->at[frame->n - 1] == ')') {
		open = memrchr(frame->at, '(', frame->n);
		if (!open || (open > frame->at && open[-1] != ' '))
			break;
		if (memmem(open, frame->at + frame->n - open, "+0x", 3))
			module = (struct span){ open + 1,
						strcspn(open + 1, "+)") };
		else if (memcmp(open, "(BuildId: ", 10))
			break;
		frame->n = open - frame->at;
		while (frame->n && frame->at[frame->n - 1] == ' ')
			frame->n--;
	}
	return module;
}

/* Takes "/src/queue.c:7:12" or "<null>" off the end of @frame. */
static struct span take_file(struct span *frame)
{
	const char *space = memrchr(frame->at, ' ', frame->n);
	struct span file = { frame->at, 0 }, last;

	if (!space)
		return file;
	last = behind(*frame, space + 1);
	if (*last.at != '/' && !begins(last, "<null>") &&
	    !memchr(last.at, ':', last.n))
		return file;
	frame->n = space - frame->at;
	return last;
}

/* Without its arguments. */
static struct span name_of(struct span function)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t from = begins(function, anonymous) ? strlen(anonymous) : 0;
	const char *open = memchr(function.at + from, '(', function.n - from);

	if (open && !find(function, "operator"))
		function.n = open - function.at;
	return function;
}

/* Of a library that is not the user's, or a header of one, inlined. */
static bool is_foreign_file(struct span file)
{
	return begins(file, "<null>") || begins(file, "../") ||
	       begins(file, "./") || begins(file, "/usr/include/") ||
	       find(file, "libsanitizer/") || find(file, "/compiler-rt/lib/");
}

static bool is_wanted(struct span text, bool module)
{
	char *copy = strndup(text.at, text.n);
	bool wanted = copy &&
		      (module ? maple_image_wanted(copy, false, NULL, NULL)
			      : maple_image_function_wanted(copy));

	free(copy);
	return wanted;
}

/*
 * The function of @frame if it is the user's own, else nothing
 * @sure: with a source file; a runtime that is linked into the program has
 *        functions of libc's names there, but no debug information
 */
static struct span own_function(struct span frame, bool *sure)
{
	const struct span none = { frame.at, 0 };
	struct span module, file, function;
	const char *in;

	frame = behind(frame, strchr(frame.at, '#') + 1);
	while (frame.n && *frame.at != ' ')
		frame = behind(frame, frame.at + 1);
	frame = behind(frame, frame.at + (frame.n > 0));
	in = begins(frame, "0x") ? find(frame, " in ") : NULL;
	if (in)
		frame = behind(frame, in + strlen(" in "));
	else if (begins(frame, "0x"))
		return none;
	module = take_module(&frame);
	file = take_file(&frame);
	function = name_of(frame);
	if (!function.n || is_foreign_file(file) ||
	    (module.n && !is_wanted(module, true)) ||
	    !is_wanted(function, false) || begins(function, "operator ") ||
	    (!file.n && !module.n))
		return none;
	*sure = file.n;
	return function;
}

/*
 * The innermost function of the user's own on the next stack from *@at on, to
 * where @end is; *@at is then behind that stack.
 */
static struct span next_function(const char **at, const char *end)
{
	struct span found = { NULL, 0 }, line, own;
	bool inside = false, sure = false, now;

	while (*at && *at < end) {
		line = line_at(*at);
		if (is_frame(line)) {
			inside = true;
			now = false;
			own = sure ? found : own_function(line, &now);
			if (own.n && (now || !found.n))
				found = own;
			sure |= now;
		} else if (inside) {
			break;
		}
		*at = after(line);
	}
	return found;
}

/* ---- the report ---- */

/* "AddressSanitizer: heap-use-after-free" of a line that begins a report. */
static struct span kind_of(struct span line, bool undefined)
{
	static const char *const heads[] = { "ERROR: ", "WARNING: " };
	static const char *const ends[] = {
		" on address ", " on unknown address", " (pid=", " (0x", ": 0x",
		" 0x"
	};
	struct span none = { line.at, 0 }, kind;
	const char *at, *end;
	size_t i;

	at = undefined ? find(line, UNDEFINED) : NULL;
	if (at && at > line.at && isdigit((unsigned char)at[-1]))
		return behind(line, at + strlen(UNDEFINED));
	at = NULL;
	for (i = 0; !at && i < 2; i++) {
		at = find(line, heads[i]);
		if (at)
			at += strlen(heads[i]);
	}
	if (!at || (!begins(line, "==") && !begins(line, heads[1])))
		return none;
	kind = behind(line, at);
	end = find(kind, "Sanitizer: ");
	if (!end || memchr(at, ' ', end - at))
		return none;
	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if ((end = find(kind, ends[i])))
			kind.n = end - kind.at;
	return kind;
}

/* Where the report that begins with @line ends. */
static const char *end_of(struct span line, bool undefined)
{
	const char *next = after(line), *end = line.at + line.n;
	bool short_form = find(line, UNDEFINED);

	while (next) {
		line = line_at(next);
		if (begins(line, "======") ||
		    (short_form && !begins(line, " ") &&
		     !begins(line, "SUMMARY: ") && !find(line, ": note: ")))
			break;
		end = line.at + line.n;
		if (begins(line, "SUMMARY: "))
			break;
		next = after(line);
	}
	return end;
}

/* Numbers in what UBSan says are values, which differ from run to run. */
static void put_kind(FILE *out, struct span kind, bool undefined)
{
	const char *colon = undefined ? find(kind, ": ") : NULL;
	size_t n = colon ? (size_t)(colon - kind.at) : kind.n;
	bool number = false;

	if (undefined)
		fputs("UndefinedBehaviorSanitizer: ", out);
	for (size_t i = 0; i < n; i++) {
		bool digit = undefined &&
			     (isdigit((unsigned char)kind.at[i]) ||
			      (number && isxdigit((unsigned char)kind.at[i])) ||
			      (number && kind.at[i] == 'x'));

		if (!digit)
			fputc(kind.at[i], out);
		else if (!number)
			fputc('N', out);
		number = digit;
	}
}

/* "queue.c:7", which UBSan says in front of it, without its folder. */
static void put_line(FILE *out, struct span line)
{
	const char *end = find(line, UNDEFINED), *slash;
	const char *colon = memrchr(line.at, ':', end - line.at);
	struct span place = { line.at, (colon ? colon : end) - line.at };

	slash = memrchr(place.at, '/', place.n);
	if (slash)
		place = behind(place, slash + 1);
	fprintf(out, " at %.*s", (int)place.n, place.at);
}

static void put_functions(FILE *out, struct span a, struct span b)
{
	if (!a.n) {
		a = b;
		b.n = 0;
	}
	if (a.n)
		fprintf(out, " in %.*s", (int)a.n, a.at);
	if (b.n && (a.n != b.n || memcmp(a.at, b.at, a.n)))
		fprintf(out, " / %.*s", (int)b.n, b.at);
}

/* A race is the same whichever of the two came second and was told of. */
static bool is_greater(struct span a, struct span b)
{
	int order = memcmp(a.at, b.at, a.n < b.n ? a.n : b.n);

	return order > 0 || (!order && a.n > b.n);
}

static bool fill(struct maple_sanitizer *report, struct span line,
		 struct span kind)
{
	bool undefined = find(line, UNDEFINED), race = find(kind, "data race");
	const char *end = end_of(line, undefined), *at = line.at;
	size_t n = end - line.at < TEXT_MAX ? end - line.at : TEXT_MAX;
	struct span a = next_function(&at, end), b = { NULL, 0 }, c;
	FILE *out = fmemopen(report->title, sizeof(report->title), "w");

	if (!out)
		return false;
	if (!undefined)
		b = next_function(&at, end);
	if (race && a.n && b.n && is_greater(a, b)) {
		c = a;
		a = b;
		b = c;
	}
	put_kind(out, kind, undefined);
	if (undefined && !a.n)
		put_line(out, line);
	else
		put_functions(out, a, b);
	fclose(out);
	report->title[sizeof(report->title) - 1] = '\0';
	report->text = strndup(line.at, n);
	return report->text;
}

/*
 * maple_sanitizer_read - the first report in what a run has @printed
 * @undefined: the program was built with UndefinedBehaviorSanitizer, whose
 *             lines others might print as well
 *
 * Returns whether there is one; then its text is to be freed.
 */
bool maple_sanitizer_read(const char *printed, bool undefined,
			  struct maple_sanitizer *report)
{
	struct span line, kind;

	for (; printed; printed = after(line)) {
		line = line_at(printed);
		kind = kind_of(line, undefined);
		if (kind.n)
			return fill(report, line, kind);
	}
	return false;
}
