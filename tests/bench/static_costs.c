// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What binaries tell before they run, and how long that takes:
 *
 *   static_costs FOLDER ROUNDS FILE...
 *   static_costs -s FILE...    each site with what it accesses, and the pairs
 *
 * A line for each FILE, of numbers with blanks between them: milliseconds the
 * first time and from what was kept in FOLDER (the least of ROUNDS), sites,
 * functions, roots; pairs of one datum, those of one thread, before the first
 * or after the last one, under one lock; bare ones, and between sections; of
 * the sites those with unknown data, and those that may share; whether there
 * was debug information, and whether something was too large.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <maple/event.h>
#include "image/image.h"
#include "image/static/pairs.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static struct maple_image *opened(const char *path, const char *kept)
{
	const struct maple_image_way way = { .kept = kept };
	struct maple_image *image;
	struct maple_error err;

	if (maple_image_open_by(path, &way, &image, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return image;
}

/* Milliseconds, without those to open it. */
static double once(struct maple_image *image, const char *kept)
{
	struct maple_error err;
	double start = now();

	if (maple_image_static(image, kept, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return now() - start;
}

static void measure(const char *path, const char *folder, int rounds)
{
	double cold = 1e9, warm = 1e9, ms;
	const struct maple_static_stats *s;
	struct maple_image *image = NULL;
	uint32_t sites;

	for (int i = 0; i < rounds; i++) {
		image = opened(path, NULL);
		ms = once(image, NULL);
		cold = ms < cold ? ms : cold;
		maple_image_destroy(image);
	}
	image = opened(path, folder);
	once(image, folder);
	maple_image_destroy(image);
	for (int i = 0; i < rounds; i++) {
		image = opened(path, folder);
		ms = once(image, folder);
		warm = ms < warm ? ms : warm;
		if (i + 1 < rounds)
			maple_image_destroy(image);
	}
	s = maple_image_static_stats(image);
	maple_image_sites(image, &sites);
	printf("%.1f %.1f %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " %d %d %s\n",
	       cold, warm, sites, s->functions, s->roots, s->raw, s->one_thread,
	       s->early, s->locked, s->bare, s->sections,
	       s->data[MAPLE_DATUM_UNKNOWN], s->share, s->debug, s->cut,
	       strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	maple_image_destroy(image);
}

static void show_place(struct maple_image *image, uint32_t offset)
{
	struct maple_place place;

	if (maple_image_place(image, offset, false, &place))
		exit(1);
	printf(" %x %s:%u", offset, place.function ? place.function : "?",
	       place.line);
	maple_place_deinit(&place);
}

static void show(const char *path)
{
	struct maple_image *image = opened(path, NULL);
	const struct maple_table_site *site;
	const struct maple_static_pair *pair;
	uint32_t sites, pairs;
	char text[256];

	once(image, NULL);
	site = maple_image_sites(image, &sites);
	for (uint32_t i = 0; i < sites; i++) {
		maple_image_datum_text(image, i, text, sizeof(text));
		printf("site %s%s", site[i].kind & MAPLE_EV_READ ? "R" : "",
		       site[i].kind & MAPLE_EV_WRITE ? "W" : "");
		show_place(image, site[i].offset);
		printf(" %s%s\n", *text ? text : "unknown",
		       maple_image_may_share(image, i) ? " shared" : "");
	}
	pairs = maple_image_pairs(image, &pair);
	for (uint32_t i = 0; i < pairs; i++) {
		maple_image_datum_text(image, pair[i].a, text, sizeof(text));
		printf("%s %s",
		       pair[i].kind == MAPLE_STATIC_BARE ? "bare" : "sections",
		       text);
		show_place(image, site[pair[i].a].offset);
		show_place(image, site[pair[i].b].offset);
		printf("\n");
	}
	maple_image_destroy(image);
}

int main(int argc, char **argv)
{
	bool all = argc > 2 && !strcmp(argv[1], "-s");

	if (argc < (all ? 3 : 4) || (!all && atoi(argv[2]) < 1)) {
		fprintf(stderr, "usage: static_costs FOLDER ROUNDS FILE...\n");
		return 2;
	}
	for (int i = all ? 2 : 3; i < argc; i++) {
		if (all)
			show(argv[i]);
		else
			measure(argv[i], argv[1], atoi(argv[2]));
	}
	return 0;
}
