// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The curve of a job: after how many runs what was known. A long job has as
 * many points as a short one, further apart. The file has a line of one length
 * for each, blank where there is none yet, so that all of it has its place on
 * the disk from the beginning, as the state has.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "detached/curve.h"

#define LINE 40
#define SIZE (MAPLE_CURVE_POINTS * LINE)
#define MOST UINT64_C(9999999999999) /* what a line has room for */

/* Half of the points go, and the last one stays. */
static void thin(struct maple_job_curve *curve)
{
	assert(curve->n == MAPLE_CURVE_POINTS);
	curve->n /= 2;
	for (unsigned int i = 0; i < curve->n; i++)
		curve->point[i] = curve->point[2 * i + 1];
	curve->apart = curve->apart ? curve->apart * 2 : 2;
}

/*
 * maple_curve_add - how much is known by now
 *
 * The last point is always the newest: it moves on until it is far enough from
 * the one before it.
 */
void maple_curve_add(struct maple_job_curve *curve,
		     const struct maple_detached_point *point)
{
	const struct maple_detached_point *last;
	unsigned int before = 0;

	last = curve->n ? &curve->point[curve->n - 1] : NULL;
	if (last && point->runs < last->runs)
		return;
	if (curve->n > 1)
		before = curve->point[curve->n - 2].runs;
	if (last &&
	    (last->runs == point->runs || last->runs - before < curve->apart)) {
		curve->point[curve->n - 1] = *point;
		return;
	}
	if (curve->n == MAPLE_CURVE_POINTS)
		thin(curve);
	curve->point[curve->n++] = *point;
}

/* maple_curve_write - returns 0 or -errno */
int maple_curve_write(int fd, const struct maple_job_curve *curve)
{
	char text[SIZE + 1];

	memset(text, ' ', SIZE);
	for (unsigned int i = 0; i < MAPLE_CURVE_POINTS; i++)
		text[i * LINE + LINE - 1] = '\n';
	for (unsigned int i = 0; i < curve->n; i++) {
		const struct maple_detached_point *p = &curve->point[i];
		int n = snprintf(text + i * LINE, LINE,
				 "%10u %13" PRIu64 " %13" PRIu64, p->runs,
				 p->exposed < MOST ? p->exposed : MOST,
				 p->predicted < MOST ? p->predicted : MOST);

		assert(n > 0 && n < LINE);
		text[i * LINE + n] = ' ';
	}
	errno = ENOSPC;
	return pwrite(fd, text, SIZE, 0) == SIZE ? 0 : -errno;
}

/* What is no point ends it: the file may be damaged. */
static size_t parse(char *text, struct maple_detached_point *points)
{
	unsigned int runs;
	size_t n = 0;

	for (; n < MAPLE_CURVE_POINTS; n++) {
		char *line = text + n * LINE;

		line[LINE - 1] = '\0';
		if (sscanf(line, "%10u %13" SCNu64 " %13" SCNu64, &runs,
			   &points[n].exposed, &points[n].predicted) != 3 ||
		    (n && runs <= points[n - 1].runs))
			break;
		points[n].runs = runs;
	}
	return n;
}

/*
 * maple_curve_read - @points: to be freed; NULL where there are none
 *
 * What is read twice alike was not being written meanwhile. Returns 0 or -errno.
 */
int maple_curve_read(int fd, struct maple_detached_point **points, size_t *n)
{
	char text[SIZE + 1], again[SIZE + 1] = "";

	*points = NULL;
	*n = 0;
	for (int tries = 0; tries < 5; tries++) {
		memcpy(text, again, sizeof(text));
		memset(again, 0, sizeof(again));
		if (pread(fd, again, SIZE, 0) < 0)
			return -errno;
		if (tries && !memcmp(text, again, sizeof(text)))
			break;
	}
	*points = calloc(MAPLE_CURVE_POINTS, sizeof(**points));
	if (!*points)
		return -ENOMEM;
	*n = parse(text, *points);
	return 0;
}
