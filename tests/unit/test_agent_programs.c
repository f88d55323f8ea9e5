// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Real programs, observed: their output must be the native one, their status
 * 0, and nearly all of what they execute must be reached by jumps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "agent_drive.h"

#define RUNS 10
#define SLOW 60 /* seconds that none of them may take */

static struct drive drive;
static char folder[] = "/tmp/test_agent_XXXXXX";
static const char *const libraries[] = { "*/libsqlite3*", "*/libz.*",
					 "*/libbz2*", "*/liblzma*", NULL };

static uint64_t run_native(char *const *argv, char *buf, size_t size)
{
	int fds[2], status, null = open("/dev/null", O_RDONLY);
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		dup2(null, 0);
		dup2(fds[1], 1);
		close(fds[0]);
		close(fds[1]);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(fds[1]);
	close(null);
	while (n < size && (got = read(fds[0], buf + n, size - n)) > 0)
		n += got;
	close(fds[0]);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	return n;
}

/* One run whose output has to be the @n bytes at @want. */
static void run_same(char *const *argv, const char *want, size_t n)
{
	static char buf[1 << 20];

	drive.out = memfd_create("out", MFD_CLOEXEC);
	assert_int_equal(drive_run(&drive, argv, SLOW), 0);
	assert_int_equal(pread(drive.out, buf, sizeof(buf), 0), n);
	assert_memory_equal(buf, want, n);
	close(drive.out);
	assert_int_equal(drive.shm->stats.refused, 0);
	assert_true(drive.shm->stats.pinned);
}

/* Events that were read, of any kind. */
static uint64_t taken(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < 64; i++)
		n += drive.kinds[i];
	return n;
}

static void check(char *const *argv)
{
	static char want[1 << 20];
	const struct maple_shm_stats *stats;
	uint64_t n, jumps, all;

	drive_open(&drive);
	stats = &drive.shm->stats;
	drive.include = libraries;
	drive.shm->mode = MAPLE_SHM_OBSERVE;
	drive.shm->cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	n = run_native(argv, want, sizeof(want));
	assert_in_range(n, 1, sizeof(want) - 1);

	drive.shm->sched = MAPLE_SCHEDULE_OLDER;
	drive.shm->trap_rest = 1;
	run_same(argv, want, n);
	jumps = stats->hits[MAPLE_WAY_JUMP] +
		stats->hits[MAPLE_WAY_NEIGHBOURS] + stats->hits[MAPLE_WAY_PUN];
	all = jumps + stats->hits[MAPLE_WAY_TRAP];
	print_message("%s: %lu events, %.3f %% by jumps, %u threads\n", argv[0],
		      all, 100.0 * jumps / all, drive.shm->nthreads);
	assert_true(jumps * 100 >= all * 99);

	/* However busy the machine: a run waits for whoever takes its events. */
	drive.shm->trap_rest = 0;
	drive.shm->budget = 1000;
	drive.shm->lossless = 1;
	for (unsigned int i = 1; i < RUNS; i++) {
		drive.shm->seed = i;
		drive.shm->sched = i % 2 ? MAPLE_SCHEDULE_PCT
					 : MAPLE_SCHEDULE_PCTLARGE;
		run_same(argv, want, n);
		assert_true(drive.shm->head > 0);
		assert_int_equal(taken(), drive.shm->head);
	}
	drive_close(&drive);
}

#define PROGRAM(name, ...)                            \
	static void test_##name(void **state)         \
	{                                             \
		char *argv[] = { __VA_ARGS__, NULL }; \
                                                      \
		check(argv);                          \
	}

PROGRAM(pigz, "pigz", "-p2", "-b32", "-kcn", "bytes")
PROGRAM(pbzip2, "pbzip2", "-p2", "-b1", "-kc", "bytes")
PROGRAM(xz, "xz", "-T2", "--block-size=16384", "-kc", "bytes")
PROGRAM(zstd, "zstd", "-qc", "-T2", "bytes")
PROGRAM(sort, "sort", "--parallel=2", "-S20k", "lines")
PROGRAM(sqlite, "sqlite3", ":memory:", ".read script")

static void put_file(const char *name, const char *text, size_t n)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static int make_inputs(void **state)
{
	static const char script[] =
		"create table t(a integer primary key, b text);\n"
		"with recursive c(x) as (select 1 union all select x + 1 "
		"from c where x < 1000) insert into t select x, hex(x * 7919) "
		"from c;\n"
		"create index i on t(b);\n"
		"select count(*), min(b), max(b) from t;\n"
		"select a from t where b like '%39%' order by b limit 20;\n";
	static char text[60000];
	uint32_t x = 1;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	put_file("script", script, sizeof(script) - 1);
	for (size_t i = 0; i < sizeof(text); i++) {
		x = x * 1664525 + 1013904223;
		text[i] = i % 6 == 5 ? '\n' : 'a' + (x >> 24) % 20;
	}
	put_file("lines", text, sizeof(text));
	put_file("bytes", text, sizeof(text));
	return 0;
}

static int remove_inputs(void **state)
{
	unlink("script");
	unlink("lines");
	unlink("bytes");
	assert_int_equal(chdir("/"), 0);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pigz), cmocka_unit_test(test_pbzip2),
		cmocka_unit_test(test_xz),   cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_sort), cmocka_unit_test(test_sqlite),
	};

	return cmocka_run_group_tests(tests, make_inputs, remove_inputs);
}
