// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * oracle FILE: runs observer and predictor over each trace in FILE and
 * compares what they say with its `expect` lines, exactly. Idiom 6, which the
 * original tool does not have, is off; the deadlock is on where the trace says
 * so. Each trace is run twice, the second time with the history pruned at
 * every step, which must change nothing.
 *
 * Ends with `N traces, M agree`; status 0 only if all do and there were some.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "predict/predict.h"
#include "trace.h"

struct answers {
	struct trace_expect *list;
	size_t n, room;
};

static void add(struct answers *answers, bool predicted,
		const struct maple_iroot *iroot)
{
	if (answers->n == answers->room) {
		answers->room = answers->room ? answers->room * 2 : 64;
		answers->list = reallocarray(answers->list, answers->room,
					     sizeof(*answers->list));
		if (!answers->list) {
			perror("oracle");
			exit(1);
		}
	}
	memset(&answers->list[answers->n], 0, sizeof(*answers->list));
	answers->list[answers->n].predicted = predicted;
	answers->list[answers->n++].iroot = *iroot;
}

static void observed(void *ctx, const struct maple_iroot *iroot)
{
	add(ctx, false, iroot);
}

static void predicted(void *ctx, const struct maple_iroot *iroot,
		      const struct maple_predict_facts *facts)
{
	add(ctx, true, iroot);
}

static int order(const void *a, const void *b)
{
	const struct trace_expect *x = a, *y = b;

	if (x->predicted != y->predicted)
		return x->predicted - y->predicted;
	return memcmp(&x->iroot, &y->iroot, sizeof(x->iroot));
}

static void say(unsigned int number, const char *what,
		const struct trace_expect *line)
{
	printf("trace %u: %s: %s ", number, what,
	       line->predicted ? "predicted" : "observed");
	trace_print_iroot(stdout, &line->iroot);
	putchar('\n');
}

/* Two of the same answer are a disagreement as well. */
static bool compare(unsigned int number, struct answers *want,
		    struct answers *got)
{
	size_t i = 0, j = 0;
	bool agree = true;

	if (want->n)
		qsort(want->list, want->n, sizeof(*want->list), order);
	if (got->n)
		qsort(got->list, got->n, sizeof(*got->list), order);
	while (i < want->n || j < got->n) {
		int cmp = i == want->n	? 1
			  : j == got->n ? -1
					: order(&want->list[i], &got->list[j]);

		if (cmp < 0)
			say(number, "missing", &want->list[i++]);
		else if (cmp > 0)
			say(number, "extra", &got->list[j++]);
		else
			i++, j++;
		agree &= cmp == 0;
	}
	return agree;
}

static bool run(const struct trace *block, struct answers *want,
		uint32_t collect)
{
	struct answers got = { 0 };
	struct maple_predict_options options = {
		.collect = collect,
		.idioms = MAPLE_IDIOMS_PREDICTED & ~(1u << MAPLE_IDIOM_6),
	};
	struct maple_predict_sink sink = { observed, predicted, &got };
	struct maple_predict *predict;
	bool agree;
	int ret;

	if (!block->deadlock)
		options.idioms &= ~(1u << MAPLE_IDIOM_DEADLOCK);
	ret = maple_predict_create(&options, &sink, &predict);
	for (size_t i = 0; i < block->nevents && !ret; i++)
		ret = maple_predict_event(predict, &block->events[i]);
	if (!ret)
		ret = maple_predict_finish(predict);
	if (ret)
		printf("trace %u: %s\n", block->number, strerror(-ret));
	agree = compare(block->number, want, &got) && !ret;
	maple_predict_destroy(predict);
	free(got.list);
	return agree;
}

static bool check(const struct trace *block)
{
	struct answers want = { 0 };
	bool agree;

	for (size_t i = 0; i < block->nexpects; i++) {
		const struct trace_expect *line = &block->expects[i];

		add(&want, line->predicted, &line->iroot);
	}
	agree = run(block, &want, 0) && run(block, &want, 1);
	free(want.list);
	return agree;
}

int main(int argc, char **argv)
{
	struct trace *block;
	unsigned int line = 0, traces = 0, agree = 0;
	struct maple_error err = { "" };
	FILE *in;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: oracle FILE\n");
		return 2;
	}
	in = fopen(argv[1], "r");
	if (!in) {
		fprintf(stderr, "oracle: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	while ((ret = trace_read(in, &line, &block, &err)) > 0) {
		traces++;
		agree += check(block);
		trace_destroy(block);
	}
	if (ret)
		fprintf(stderr, "oracle: %s: %s\n", argv[1], err.text);
	fclose(in);
	printf("%u traces, %u agree\n", traces, agree);
	return ret || !traces || agree != traces;
}
