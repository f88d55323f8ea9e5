/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A stage for tests of the agent in small programs. Such a test is its own
 * program under test: run with the name of a scene, it plays it.
 */
#ifndef AGENT_STAGE_H
#define AGENT_STAGE_H

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent_drive.h"
#include "plan/automaton.h"
#include "unit/agent_scenes.h"

#define SLOW 30 /* seconds that nothing here may take */

static struct drive drive;

static inline int find_base(struct dl_phdr_info *info, size_t size, void *base)
{
	*(uint64_t *)base = info->dlpi_addr;
	return 1;
}

static inline uint64_t offset_of(const void *fn)
{
	uint64_t base = 0;

	dl_iterate_phdr(find_base, &base);
	return (uint64_t)fn - base;
}

/* Number of the first site of @kind in @fn; the program has run once. */
static inline uint32_t site_in(const void *fn, unsigned int kind)
{
	uint64_t at = offset_of(fn);
	struct maple_image *image;
	const struct maple_table_site *site;
	uint32_t n, number = MAPLE_SITE_NONE;

	assert_int_equal(maple_image_open("/proc/self/exe", &image, NULL), 0);
	site = maple_image_sites(image, &n);
	for (uint32_t i = 0; i < n; i++)
		if (site[i].kind == kind && site[i].offset >= at &&
		    site[i].offset < at + 80 && number == MAPLE_SITE_NONE)
			number = drive.shm->image[0].site_base + i;
	maple_image_destroy(image);
	assert_int_not_equal(number, MAPLE_SITE_NONE);
	return number;
}

static inline int last_cpu(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) - 1;
}

static inline int set_up(void **state)
{
	drive_open(&drive);
	drive.shm->mode = MAPLE_SHM_OBSERVE;
	drive.shm->sched = MAPLE_SCHEDULE_OLDER;
	drive.shm->cpu = last_cpu();
	return 0;
}

static inline int tear_down(void **state)
{
	drive_close(&drive);
	return 0;
}

static inline int run_scene(const char *scene)
{
	char *argv[] = { "/proc/self/exe", (char *)scene, NULL };
	char path[1024];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n > 0);
	path[n] = 0;
	argv[0] = path;
	return drive_run(&drive, argv, SLOW);
}

/* Reader's result, for a scene that ends in a pair. */
static inline int run_pair(const char *scene)
{
	int status = run_scene(scene);

	assert_true(WIFEXITED(status));
	assert_int_equal(drive.shm->stats.refused, 0);
	assert_int_equal(drive.shm->stats.pinned, 1);
	return WEXITSTATUS(status) - 10;
}

static uint32_t wanted_site;
static uint64_t wanted_seen, wanted_thread;

static inline void look_for(struct drive *d, const struct maple_event *e)
{
	if (e->site == wanted_site && maple_event_is_memory(e->kind)) {
		wanted_seen++;
		wanted_thread = e->thread;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* What main() returns: a scene's result, or whether @tests have passed. */
#define PLAY_OR_TEST(argc, argv, tests) \
	((argc) == 2 ? play((argv)[1])  \
		     : cmocka_run_group_tests(tests, NULL, NULL))

#endif
