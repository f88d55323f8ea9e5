// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whether what a binary tells before it runs holds when it does:
 *
 *   static_shared PROG [ARGUMENT...]
 *
 * Three profile runs, older threads first, younger first, at random. A site is
 * shared if it accessed bytes that two threads accessed, one of which wrote. A
 * line: sites, shared ones, how many of these may share, have a datum that is
 * known, and stand in a static pair; how many of all sites do the first and the
 * last. Then each shared site that may not share, with its place: a mistake.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>
#include <maple/event.h>
#include "image/static/pairs.h"
#include "alone.h"

#define SITES 16 /* of a byte that are kept */

/* Four bytes that were accessed. */
struct word {
	uint64_t addr; /* the key */
	uint64_t threads, writers;
	uint32_t site[SITES];
	unsigned int n;
	UT_hash_handle hh;
};

static struct maple_registry *registry;
static struct word *words;
static bool *shared;
static uint32_t nshared;

static void touch(uint64_t addr, const struct maple_event *event)
{
	uint64_t thread = 1ull << (event->thread & 63);
	struct word *word;
	unsigned int i = 0;

	HASH_FIND(hh, words, &addr, sizeof(addr), word);
	if (!word) {
		word = calloc(1, sizeof(*word));
		if (!word)
			exit(125);
		word->addr = addr;
		HASH_ADD(hh, words, addr, sizeof(addr), word);
	}
	word->threads |= thread;
	if (event->kind & MAPLE_EV_WRITE)
		word->writers |= thread;
	while (i < word->n && word->site[i] != event->site)
		i++;
	if (i == word->n && i < SITES)
		word->site[word->n++] = event->site;
}

static void on_event(void *ctx, const struct maple_event *event)
{
	if (!maple_event_is_memory(event->kind) || event->size > 64 ||
	    event->site & MAPLE_SITE_CALL || event->site == MAPLE_SITE_NONE)
		return;
	/* What is smaller is taken for all of its word. */
	for (uint64_t a = event->addr & ~3ull; a < event->addr + event->size;
	     a += 4)
		touch(a, event);
}

static void run_ended(uint32_t base)
{
	struct word *word, *next;

	HASH_ITER (hh, words, word, next) {
		for (unsigned int i = 0; i < word->n; i++)
			if (word->writers &&
			    word->threads & (word->threads - 1) &&
			    word->site[i] - base < nshared)
				shared[word->site[i] - base] = true;
		HASH_DEL(words, word);
		free(word);
	}
}

static int run_all(struct alone *alone, struct maple_error *err)
{
	static const enum maple_schedule schedules[] = { MAPLE_SCHEDULE_OLDER,
							 MAPLE_SCHEDULE_YOUNGER,
							 MAPLE_SCHEDULE_PCT };
	const struct maple_run_sink sink = { .event = on_event };
	uint32_t main_image;
	int e = 0;

	for (int i = 0; i < 3 && !e; i++) {
		struct maple_run_order order = {
			.kind = MAPLE_RUN_PROFILE,
			.schedule = schedules[i],
			.seed = i + 1,
			.budget = 300,
			.timeout = 60,
			.in = open("/dev/null", O_RDONLY | O_CLOEXEC),
			.out = STDERR_FILENO,
			.err = STDERR_FILENO,
		};
		struct maple_run run = { 0 };

		e = maple_backend_run(alone->backend, NULL, &order, &sink, &run,
				      err);
		main_image = maple_registry_namesake(registry,
						     alone->options.program);
		if (!e && !shared && main_image != MAPLE_REGISTRY_NONE) {
			maple_image_sites(
				maple_registry_image(registry, main_image),
				&nshared);
			shared = calloc(nshared + 1, sizeof(*shared));
		}
		if (!e && shared)
			run_ended(maple_registry_base(registry, main_image));
		maple_run_deinit(&run);
		close(order.in);
	}
	return e;
}

static void tell(struct maple_image *image, const char *name)
{
	uint32_t n, all = 0, may = 0, known = 0, paired = 0, may_all = 0,
		    paired_all = 0, npairs;
	const struct maple_table_site *site = maple_image_sites(image, &n);
	const struct maple_static_pair *pair;
	bool *in = calloc(n + 1, sizeof(*in));
	struct maple_place place;

	npairs = maple_image_pairs(image, &pair);
	for (uint32_t i = 0; in && i < npairs; i++)
		in[pair[i].a] = in[pair[i].b] = true;
	for (uint32_t i = 0; in && i < n; i++) {
		bool share = maple_image_may_share(image, i);

		may_all += share;
		paired_all += in[i];
		if (!shared[i])
			continue;
		all++;
		may += share;
		paired += in[i];
		known += maple_image_datum(image, i)->kind !=
			 MAPLE_DATUM_UNKNOWN;
	}
	printf("%u %u %u %u %u %u %u %s\n", n, all, may, known, paired, may_all,
	       paired_all, name);
	for (uint32_t i = 0; in && i < n; i++) {
		if (!shared[i] || maple_image_may_share(image, i) ||
		    maple_image_place(image, site[i].offset, false, &place))
			continue;
		printf("missed: %x %s:%u\n", site[i].offset,
		       place.function ? place.function : "?", place.line);
		maple_place_deinit(&place);
	}
	free(in);
}

int main(int argc, char **argv)
{
	struct maple_error err = { "" };
	struct alone alone;
	uint32_t image;
	int e;

	if (argc < 2) {
		fprintf(stderr, "usage: static_shared PROG [ARGUMENT...]\n");
		return 2;
	}
	alone_open(&alone, argv + 1);
	registry = alone.options.registry;
	e = run_all(&alone, &err);
	image = maple_registry_namesake(registry, argv[1]);
	if (!e && (!shared || image == MAPLE_REGISTRY_NONE))
		e = maple_error_set(&err, ENODATA, "the program was not seen");
	if (!e)
		e = maple_image_static(maple_registry_image(registry, image),
				       NULL, &err);
	if (e)
		fprintf(stderr, "static_shared: %s\n", err.text);
	else
		tell(maple_registry_image(registry, image), argv[1]);
	alone_close(&alone);
	free(shared);
	return e ? 125 : 0;
}
