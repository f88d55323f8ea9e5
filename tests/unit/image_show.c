// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * For developers: what lib/image makes of files. Built on demand:
 * make build/tests/unit/image_show
 * With -g FILE, each group's instructions; else one line of counts a file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <maple/event.h>
#include "image/image.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static void show_counts(const struct maple_image *image, double ms)
{
	const struct maple_image_stats *stats = maple_image_stats(image);
	uint32_t n;

	maple_image_sites(image, &n);
	printf("%s: %u sites in %.1f ms (%.1f per 10,000), ways",
	       maple_image_path(image), n, ms, n ? ms * 1e4 / n : 0);
	for (unsigned int i = 0; i < MAPLE_WAYS; i++)
		printf("%c%" PRIu64, i ? '/' : ' ', stats->ways[i]);
	printf(", %" PRIu64 " functions, %" PRIu64 " instructions, text %" PRIu64
	       ", uncovered %" PRIu64 "\n  left out:",
	       stats->functions, stats->instructions, stats->text,
	       stats->uncovered);
	for (unsigned int i = 0; i < MAPLE_LEFT_REASONS; i++)
		printf("%s %s %" PRIu64, i ? "," : "", maple_left_out_name(i),
		       stats->left[i]);
	printf("\n");
}

static void show_groups(const struct maple_image *image)
{
	static const char *const ways[] = { "jump", "neighbours", "pun",
					    "trap" };
	const struct maple_table_group *group;
	const struct maple_table_insn *insn;
	const struct maple_table *table;
	size_t size;
	void *blob;

	if (maple_image_table(image, &blob, &size, NULL))
		exit(1);
	table = blob;
	group = (void *)((char *)blob + table->groups_at);
	for (uint32_t g = 0; g < table->ngroups; g++, group++) {
		printf("%s %u:", ways[group->way], group->length);
		insn = (void *)((char *)blob + table->insns_at);
		insn += group->first;
		for (unsigned int i = 0; i < group->ninsns; i++, insn++)
			printf(" %x+%u%s", insn->offset, insn->length,
			       insn->site == MAPLE_SITE_NONE ? "" : "*");
		printf("\n");
	}
	free(blob);
}

int main(int argc, char **argv)
{
	int first = argc > 1 && !strcmp(argv[1], "-g") ? 2 : 1;

	for (int i = first; i < argc; i++) {
		struct maple_error err = { "" };
		struct maple_image *image;
		double start = now();

		if (maple_image_open(argv[i], &image, &err)) {
			printf("%s\n", err.text);
			continue;
		}
		if (first == 2)
			show_groups(image);
		else
			show_counts(image, now() - start);
		maple_image_destroy(image);
	}
	return 0;
}
