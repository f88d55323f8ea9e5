// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The text form of traces: blocks from `trace N [deadlock]` to `end`, one
 * event a line in the order in which they happened, then `expect` lines. T1
 * is main. Beyond what the reference traces use, an object may be a part of
 * a location (`x1+2:4`: 4 bytes from byte 2 on), the read side of a rwlock is
 * `shared`, and every kind of synchronisation can be written. '#' begins a
 * comment.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "trace.h"

#define LINE_MAX_CHARS 256
#define WORDS	       8
#define RANGE_MAX      (1u << 24)
#define SPACING	       64 /* bytes from x1 to x2 */
#define OBJECTS	       (1u << 20)

/* How an event of a kind is written. */
struct form {
	const char *word;
	uint8_t kind;
	bool site;   /* a site follows */
	char object; /* letter of its object, 'T' for a thread, 0 for none */
};

static const struct form forms[] = {
	{ "R", MAPLE_EV_READ, true, 'x' },
	{ "W", MAPLE_EV_WRITE, true, 'x' },
	{ "RW", MAPLE_EV_UPDATE, true, 'x' },
	{ "L", MAPLE_EV_LOCK, true, 'm' },
	{ "U", MAPLE_EV_UNLOCK, true, 'm' },
	{ "start", MAPLE_EV_CREATE, false, 'T' },
	{ "join", MAPLE_EV_JOIN, false, 'T' },
	{ "exit", MAPLE_EV_EXIT, false, 0 },
	{ "signal", MAPLE_EV_SIGNAL, false, 'c' },
	{ "broadcast", MAPLE_EV_BROADCAST, false, 'c' },
	{ "wait", MAPLE_EV_WAIT, false, 'c' },
	{ "wake", MAPLE_EV_WAKE, false, 'c' },
	{ "barrier-in", MAPLE_EV_BARRIER_IN, false, 'b' },
	{ "barrier-out", MAPLE_EV_BARRIER_OUT, false, 'b' },
	{ "post", MAPLE_EV_POST, false, 'q' },
	{ "take", MAPLE_EV_TAKE, false, 'q' },
	{ "once", MAPLE_EV_ONCE, false, 'o' },
	{ "onced", MAPLE_EV_ONCED, false, 'o' },
	{ "serve", MAPLE_EV_SERVE, false, 0 },
	{ "stop", MAPLE_EV_STOP, false, 0 },
	{ "alloc", MAPLE_EV_ALLOC, false, 'x' },
	{ "free", MAPLE_EV_FREE, false, 'x' },
	{ "block", MAPLE_EV_BLOCK, false, 0 },
	{ "quiet", MAPLE_EV_QUIET, true, 0 },
	{ NULL, 0, false, 0 },
};

static const struct {
	const char *word;
	uint8_t flag;
} flags[] = {
	{ "shared", MAPLE_EVF_SHARED },	  { "timeout", MAPLE_EVF_TIMEOUT },
	{ "atomic", MAPLE_EVF_ATOMIC },	  { "exact", MAPLE_EVF_EXACT },
	{ "pending", MAPLE_EVF_PENDING }, { NULL, 0 },
};

struct reader {
	FILE *in;
	unsigned int *line;
	struct maple_error *err;
	struct trace *block;
	size_t events_room, expects_room;
	uint32_t clock[MAPLE_THREADS];
	char text[LINE_MAX_CHARS];
	char *word[WORDS];
	unsigned int nwords;
};

static int complain(struct reader *r, const char *what, const char *word)
{
	return maple_error_set(r->err, EINVAL, "line %u: %s: '%.40s'", *r->line,
			       what, word ? word : "");
}

/* Splits the next line that says anything; 1, 0 at the end, or an error. */
static int next_line(struct reader *r)
{
	char *save, *word;

	while (fgets(r->text, sizeof(r->text), r->in)) {
		++*r->line;
		if (!strchr(r->text, '\n') &&
		    strlen(r->text) == sizeof(r->text) - 1)
			return complain(r, "line too long", r->text);
		r->text[strcspn(r->text, "#")] = '\0';
		r->nwords = 0;
		for (word = strtok_r(r->text, " \t\r\n", &save); word;
		     word = strtok_r(NULL, " \t\r\n", &save)) {
			if (r->nwords == WORDS)
				return complain(r, "too many words", word);
			r->word[r->nwords++] = word;
		}
		if (r->nwords)
			return 1;
	}
	return ferror(r->in) ? maple_error_set(r->err, EIO,
					       "line %u: cannot read", *r->line)
			     : 0;
}

/* Digits at *@at up to @max; moves *@at behind them. */
static bool number(const char **at, uint32_t max, uint32_t *value)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	while (isdigit((unsigned char)**at)) {
		n = n * 10 + (uint64_t)(*(*at)++ - '0');
		if (n > max)
			return false;
	}
	*value = (uint32_t)n;
	return true;
}

static bool lettered(const char *word, char letter, uint32_t max,
		     uint32_t *value)
{
	const char *at = word + 1;

	return word[0] == letter && number(&at, max, value) && !*at;
}

static bool thread_word(const char *word, uint32_t *thread)
{
	if (!lettered(word, 'T', MAPLE_THREADS, thread) || !*thread)
		return false;
	--*thread;
	return true;
}

/* Objects of each letter have 4 GiB to themselves. */
static uint64_t base_of(char letter)
{
	static const char letters[] = "xmcbqo";

	return (uint64_t)(strchr(letters, letter) - letters + 1) << 32;
}

/* `x3`, `x3+4`, `x3:8`, `x3+4:8` */
static bool object_word(const char *word, char letter, struct maple_event *event)
{
	const char *at = word + 1;
	uint32_t n, offset = 0, size = 4;

	if (word[0] != letter || !number(&at, OBJECTS - 1, &n))
		return false;
	if (letter == 'x' && *at == '+') {
		at++;
		if (!number(&at, SPACING - 1, &offset))
			return false;
	}
	if (letter == 'x' && *at == ':') {
		at++;
		if (!number(&at, RANGE_MAX, &size) || !size)
			return false;
	}
	event->addr = base_of(letter) + (uint64_t)n * SPACING + offset;
	event->size = size;
	if (event->kind == MAPLE_EV_FREE || event->kind == MAPLE_EV_ALLOC)
		event->value = size;
	return !*at;
}

static void *grow(void *array, size_t *room, size_t n, size_t element)
{
	void *more;

	if (n < *room)
		return array;
	more = reallocarray(array, *room ? *room * 2 : 32, element);
	if (more)
		*room = *room ? *room * 2 : 32;
	return more;
}

static int append(struct reader *r, const struct maple_event *event)
{
	struct maple_event *more;

	more = grow(r->block->events, &r->events_room, r->block->nevents,
		    sizeof(*more));
	if (!more)
		return maple_error_set(r->err, ENOMEM, "out of memory");
	r->block->events = more;
	more[r->block->nevents++] = *event;
	return 0;
}

static const struct form *form_of(const char *word)
{
	const struct form *form = forms;

	while (form->word && strcmp(form->word, word))
		form++;
	return form->word ? form : NULL;
}

static bool flag_word(const char *word, struct maple_event *event)
{
	unsigned int i = 0;

	while (flags[i].word && strcmp(flags[i].word, word))
		i++;
	event->flags |= flags[i].flag;
	return flags[i].word;
}

static int event_line(struct reader *r)
{
	struct maple_event event = { .site = MAPLE_SITE_NONE }, start;
	const struct form *form;
	unsigned int at = 2;
	uint32_t thread;
	int ret;

	if (!thread_word(r->word[0], &thread))
		return complain(r, "no thread", r->word[0]);
	form = r->nwords > 1 ? form_of(r->word[1]) : NULL;
	if (!form)
		return complain(r, "no event", r->word[r->nwords > 1]);
	event.thread = (uint16_t)thread;
	event.kind = form->kind;
	if (form->site && (at >= r->nwords || !lettered(r->word[at++], 's',
							INT32_MAX, &event.site)))
		return complain(r, "no site", r->word[at - 1]);
	if (form->object &&
	    (at >= r->nwords ||
	     !(form->object == 'T'
		       ? thread_word(r->word[at], &event.aux)
		       : object_word(r->word[at], form->object, &event))))
		return complain(r, "no such object",
				at < r->nwords ? r->word[at] : NULL);
	at += form->object != 0;
	for (; at < r->nwords; at++)
		if (!flag_word(r->word[at], &event))
			return complain(r, "no flag", r->word[at]);
	event.clock = ++r->clock[thread];
	ret = append(r, &event);
	if (ret || form->kind != MAPLE_EV_CREATE)
		return ret;
	start = (struct maple_event){ .thread = (uint16_t)event.aux,
				      .site = MAPLE_SITE_NONE,
				      .kind = MAPLE_EV_START };
	return append(r, &start);
}

static int iroot_event(struct reader *r, const char *word,
		       struct maple_iroot_event *event)
{
	switch (word[0]) {
	case 'R':
		event->kind = MAPLE_EV_READ;
		break;
	case 'W':
		event->kind = MAPLE_EV_WRITE;
		break;
	case 'L':
		event->kind = MAPLE_EV_LOCK;
		break;
	case 'U':
		event->kind = MAPLE_EV_UNLOCK;
		break;
	default:
		return complain(r, "no event of an iRoot", word);
	}
	if (!lettered(word, word[0], INT32_MAX, &event->site))
		return complain(r, "no site", word);
	return 0;
}

static int expect_line(struct reader *r)
{
	struct trace_expect expect = { 0 }, *more;
	const char *at = r->nwords > 2 ? r->word[2] : "";
	unsigned int n, locks = 0;

	if (r->nwords < 3 || !number(&at, MAPLE_IDIOM_6, &expect.iroot.idiom) ||
	    *at)
		return complain(r, "no idiom", r->word[r->nwords - 1]);
	if (strcmp(r->word[1], "observed") && strcmp(r->word[1], "predicted"))
		return complain(r, "neither observed nor predicted", r->word[1]);
	expect.predicted = r->word[1][0] == 'p';
	n = maple_iroot_events(expect.iroot.idiom);
	if (!n || r->nwords != 3 + n)
		return complain(r, "wrong number of events", r->word[2]);
	for (unsigned int i = 0; i < n; i++) {
		int ret = iroot_event(r, r->word[3 + i], &expect.iroot.e[i]);

		if (ret)
			return ret;
		locks += expect.iroot.e[i].kind == MAPLE_EV_LOCK;
	}
	if (expect.iroot.idiom == MAPLE_IDIOM_5 && locks == n)
		expect.iroot.idiom = MAPLE_IDIOM_DEADLOCK;
	more = grow(r->block->expects, &r->expects_room, r->block->nexpects,
		    sizeof(*more));
	if (!more)
		return maple_error_set(r->err, ENOMEM, "out of memory");
	r->block->expects = more;
	more[r->block->nexpects++] = expect;
	return 0;
}

static int head_line(struct reader *r)
{
	const char *at = r->nwords > 1 ? r->word[1] : "";

	if (strcmp(r->word[0], "trace"))
		return complain(r, "no trace begins here", r->word[0]);
	if (!number(&at, INT32_MAX, &r->block->number) || *at)
		return complain(r, "a trace needs a number", at);
	r->block->deadlock = r->nwords > 2;
	if (r->nwords > 3 || (r->nwords == 3 && strcmp(r->word[2], "deadlock")))
		return complain(r, "not understood", r->word[2]);
	return 0;
}

static int read_block(struct reader *r)
{
	int ret = head_line(r);

	while (!ret) {
		ret = next_line(r);
		if (ret < 0)
			return ret;
		if (!ret)
			return complain(r, "the trace has no end", "");
		if (!strcmp(r->word[0], "end") && r->nwords == 1)
			return 1;
		ret = strcmp(r->word[0], "expect") ? event_line(r)
						   : expect_line(r);
	}
	return ret;
}

/*
 * trace_read - reads the next block
 * @line: number of the line last read; begin with 0
 * @block: to be freed with trace_destroy()
 *
 * Returns 1 with a block, 0 at the end of @in. Errors: -EINVAL with the line
 * in @err, -EIO, -ENOMEM.
 */
int trace_read(FILE *in, unsigned int *line, struct trace **block,
	       struct maple_error *err)
{
	struct reader *r;
	int ret;

	*block = NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return maple_error_set(err, ENOMEM, "out of memory");
	r->in = in;
	r->line = line;
	r->err = err;
	ret = next_line(r);
	if (ret > 0) {
		r->block = calloc(1, sizeof(*r->block));
		ret = r->block ? read_block(r)
			       : maple_error_set(err, ENOMEM, "out of memory");
	}
	if (ret > 0)
		*block = r->block;
	else
		trace_destroy(r->block);
	free(r);
	return ret;
}

void trace_destroy(struct trace *block)
{
	if (!block)
		return;
	free(block->events);
	free(block->expects);
	free(block);
}

/* trace_print_iroot - `1 W7 R5`, without a newline */
void trace_print_iroot(FILE *out, const struct maple_iroot *iroot)
{
	static const char letters[] = "?RW?LU";
	unsigned int idiom = iroot->idiom;

	fprintf(out, "%u",
		idiom == MAPLE_IDIOM_DEADLOCK ? MAPLE_IDIOM_5 : idiom);
	for (unsigned int i = 0; i < maple_iroot_events(idiom); i++) {
		uint32_t kind = iroot->e[i].kind;

		fprintf(out, " %c%u", kind < 6 ? letters[kind] : '?',
			iroot->e[i].site);
	}
}
