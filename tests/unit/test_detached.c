// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The store of jobs (lib/detached): numbers that are given once, whatever dies,
 * and what a job is told as when who carried it out is no more.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <maple/detached.h>

#define AT_ONCE 20

static const char *const forms[] = { "text", "json", NULL };
static char *const argv[] = { "mapletest", "run", "--detach", "./a \xff b",
			      NULL };
static const struct maple_detached_task task = { .argv = argv,
						 .program = argv + 3 };
static char folder[64], place[80];

static int setup(void **state)
{
	strcpy(folder, "/tmp/maple-detached.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(place, sizeof(place), "%s/x/jobs", folder);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	return remove(path);
}

static int teardown(void **state)
{
	return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct maple_detached *create(void)
{
	struct maple_detached *job;
	struct maple_error err;

	assert_int_equal(maple_detached_create(place, &task, forms, &job, &err),
			 0);
	return job;
}

static uint64_t publish(struct maple_detached *job)
{
	uint64_t number = 0;

	assert_int_equal(maple_detached_publish(job, 0, &number, NULL), 0);
	return number;
}

static struct maple_detached_info look(uint64_t number)
{
	struct maple_detached_info info;

	assert_int_equal(maple_detached_look(place, number, &info, NULL), 0);
	return info;
}

static enum maple_detached_state state_of(uint64_t number)
{
	struct maple_detached_info info = look(number);

	maple_detached_info_deinit(&info);
	return info.state;
}

static size_t count(void)
{
	struct maple_detached_info *jobs;
	uint64_t bytes;
	size_t n;

	assert_int_equal(maple_detached_list(place, &jobs, &n, &bytes, NULL), 0);
	assert_int_equal(bytes > 0, n > 0);
	maple_detached_list_destroy(jobs, n);
	return n;
}

/*
 * Carries out @job in a process of its own, until told: it is killed, or ends
 * the job with @status. Returns its number; its end of the pipe is in @go.
 */
static pid_t carry(struct maple_detached *job, int status, int *go)
{
	int ready[2], told[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC) | pipe2(told, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		close(told[1]);
		if (maple_detached_own(job, NULL))
			_exit(1);
		maple_detached_progress(job, 12, 3);
		if (write(ready[1], "", 1) != 1 || read(told[0], &c, 1) != 1)
			_exit(2);
		_exit(maple_detached_end(job, status) ? 3 : 0);
	}
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(told[0]);
	*go = told[1];
	return pid;
}

static void finish(pid_t pid, int go)
{
	int status;

	assert_int_equal(write(go, "", 1), 1);
	close(go);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void it_runs_and_ends(void **state)
{
	static const struct {
		int status;
		enum maple_detached_state state;
	} ends[] = {
		{ 0, MAPLE_DETACHED_CLEAN },	{ 66, MAPLE_DETACHED_FINDING },
		{ 77, MAPLE_DETACHED_SKIPPED }, { 125, MAPLE_DETACHED_FAILED },
		{ 1, MAPLE_DETACHED_FAILED },
	};

	for (unsigned int i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct maple_detached *job = create();
		struct maple_detached_info info;
		int go;
		pid_t pid = carry(job, ends[i].status, &go);
		uint64_t number = publish(job);

		assert_int_equal(number, i + 1);
		info = look(number);
		assert_int_equal(info.state, MAPLE_DETACHED_RUNNING);
		assert_int_equal(info.pid, pid);
		assert_int_equal(info.status, -1);
		assert_int_equal(info.runs, 12);
		assert_int_equal(info.findings, 3);
		assert_string_equal(info.program[0], "./a \xff b");
		assert_string_equal(info.argv[1], "run");
		assert_null(info.argv[4]);
		assert_true(info.began > 0 && !info.ended);
		maple_detached_info_deinit(&info);
		assert_int_equal(maple_detached_remove(place, number, NULL),
				 -EBUSY);
		finish(pid, go);
		info = look(number);
		assert_int_equal(info.state, ends[i].state);
		assert_int_equal(info.status, ends[i].status);
		assert_true(info.ended >= info.began);
		maple_detached_info_deinit(&info);
		maple_detached_close(job);
	}
}

static void who_is_killed_is_cut_off(void **state)
{
	struct maple_detached *job = create();
	int go;
	pid_t child, pid = carry(job, 0, &go);
	uint64_t number = publish(job);
	struct maple_detached_info info;
	int lives[2];

	assert_int_equal(state_of(number), MAPLE_DETACHED_RUNNING);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* Who began it has the same files open; that is no sign of life. */
	info = look(number);
	assert_int_equal(info.state, MAPLE_DETACHED_CUT_OFF);
	assert_int_equal(info.status, -1);
	assert_int_equal(info.runs, 12);
	maple_detached_info_deinit(&info);
	assert_int_equal(maple_detached_stop(place, number, 1, NULL), -ESRCH);
	assert_int_equal(maple_detached_wait(place, number, NULL), 0);
	close(go);
	maple_detached_close(job);

	/* Nor is a child that lives on. */
	job = create();
	assert_int_equal(pipe2(lives, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		char c;

		close(lives[1]);
		if (maple_detached_own(job, NULL) || fork())
			_exit(0);
		_exit((int)read(lives[0], &c, 1));
	}
	waitpid(child, NULL, 0);
	number = publish(job);
	assert_int_equal(state_of(number), MAPLE_DETACHED_CUT_OFF);
	maple_detached_close(job);
	close(lives[0]);
	close(lives[1]);
}

/* A lock of a stranger's, of those that who waits for the end has. */
static void who_waits_is_no_sign_of_life(void **state)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	struct maple_detached *job = create();
	uint64_t number = publish(job);
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%" PRIu64 "/about.json", place, number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	assert_int_equal(state_of(number), MAPLE_DETACHED_CUT_OFF);
	assert_int_equal(maple_detached_stop(place, number, 1, NULL), -ESRCH);
	close(fd);
	maple_detached_close(job);
}

static void it_is_stopped_and_waited_for(void **state)
{
	struct maple_detached *job = create();
	int go, status;
	pid_t pid = carry(job, 0, &go);
	uint64_t number = publish(job);

	/* SIGINT, which ends this one. */
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(maple_detached_stop(place, number, .2, NULL),
			 -ETIMEDOUT);
	kill(pid, SIGCONT);
	assert_int_equal(maple_detached_wait(place, number, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	assert_int_equal(state_of(number), MAPLE_DETACHED_CUT_OFF);
	close(go);
	maple_detached_close(job);
}

static void numbers_are_given_once(void **state)
{
	bool seen[AT_ONCE + 1] = { false };
	pid_t pids[AT_ONCE];
	struct maple_detached *job;
	int status;

	for (int i = 0; i < AT_ONCE; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit((int)publish(create()));
	}
	for (int i = 0; i < AT_ONCE; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		status = WEXITSTATUS(status);
		assert_in_range(status, 1, AT_ONCE);
		assert_false(seen[status]);
		seen[status] = true;
	}
	assert_int_equal(count(), AT_ONCE);
	/* Nor again, when they are free. */
	for (int i = 1; i <= AT_ONCE; i++)
		assert_int_equal(maple_detached_remove(place, i, NULL), 0);
	assert_int_equal(count(), 0);
	job = create();
	assert_int_equal(publish(job), AT_ONCE + 1);
	maple_detached_close(job);
}

static void a_lost_count_begins_behind_the_last(void **state)
{
	struct maple_detached *job = create();
	char path[160];

	assert_int_equal(publish(job), 1);
	maple_detached_close(job);
	snprintf(path, sizeof(path), "%s/last", place);
	assert_int_equal(unlink(path), 0);
	job = create();
	assert_int_equal(publish(job), 2);
	maple_detached_close(job);
}

static int entries(void)
{
	char command[160], text[16] = "";
	FILE *in;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", place);
	in = popen(command, "r");
	assert_non_null(in);
	assert_non_null(fgets(text, sizeof(text), in));
	pclose(in);
	return atoi(text);
}

static void what_is_refused_leaves_nothing(void **state)
{
	struct maple_detached *job = create();

	assert_int_equal(count(), 0);
	assert_int_equal(entries(), 1);
	maple_detached_discard(job);
	maple_detached_close(job);
	assert_int_equal(entries(), 0);
	assert_int_equal(maple_detached_look(place, 1, NULL, NULL), -ENOENT);
}

/* Who was killed before it had a number is swept away, but not at once. */
static void leftovers_are_swept(void **state)
{
	const struct timespec past[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct maple_detached *left = create(), *held = create(), *job;
	char command[200];
	int go;
	pid_t pid = carry(held, 0, &go);

	job = create();
	assert_int_equal(entries(), 3);
	maple_detached_discard(job);
	maple_detached_close(job);
	snprintf(command, sizeof(command), "touch -d @%ld %s/.new-*",
		 (long)past[0].tv_sec, place);
	assert_int_equal(system(command), 0);
	job = create();
	/* This one, and the one that is carried out. */
	assert_int_equal(entries(), 2);
	maple_detached_close(job);
	maple_detached_close(left);
	finish(pid, go);
	maple_detached_close(held);
}

static void reports_are_kept(void **state)
{
	struct maple_detached *job = create();
	uint64_t number = publish(job);
	struct maple_detached_info info;
	char text[16] = "";
	FILE *out;
	int fd;

	/* Written twice, the last one counts. */
	for (int i = 0; i < 2; i++) {
		out = maple_detached_report(job, 1);
		assert_non_null(out);
		fputs(i ? "{}\n" : "much longer\n", out);
		assert_int_equal(fclose(out), 0);
	}
	maple_detached_reported(job, true);
	info = look(number);
	assert_false(info.reported); /* it was cut off: that is no report */
	maple_detached_info_deinit(&info);
	assert_int_equal(maple_detached_end(job, 0), 0);
	info = look(number);
	assert_true(info.reported);
	assert_true(info.bytes > 0);
	maple_detached_info_deinit(&info);
	fd = maple_detached_open(place, number, "json", NULL);
	assert_int_equal(read(fd, text, sizeof(text)), 3);
	assert_string_equal(text, "{}\n");
	close(fd);
	assert_int_equal(maple_detached_open(place, number, "tap", NULL),
			 -ENOENT);
	maple_detached_close(job);
}

static void damage_is_no_verdict(void **state)
{
	static const char *const files[] = { "state.json", "about.json" };
	char path[160];

	for (int i = 0; i < 4; i++) {
		struct maple_detached *job = create();
		uint64_t number = publish(job);
		struct maple_detached_info info;

		assert_int_equal(maple_detached_end(job, 0), 0);
		maple_detached_close(job);
		snprintf(path, sizeof(path), "%s/%" PRIu64 "/%s", place, number,
			 files[i / 2]);
		if (i % 2)
			assert_int_equal(unlink(path), 0);
		else
			assert_int_equal(truncate(path, 20), 0);
		info = look(number);
		assert_int_equal(info.state, i / 2 ? MAPLE_DETACHED_CLEAN
						   : MAPLE_DETACHED_CUT_OFF);
		maple_detached_info_deinit(&info);
		assert_int_equal(maple_detached_remove(place, number, NULL), 0);
	}
	assert_int_equal(count(), 0);
}

static void links_are_not_followed(void **state)
{
	struct maple_detached *job = create();
	uint64_t number = publish(job);
	char path[160], elsewhere[80];
	struct maple_error err;

	maple_detached_close(job);
	snprintf(path, sizeof(path), "%s/%" PRIu64 "/log", place, number);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(maple_detached_open(place, number, "log", NULL),
			 -ELOOP);
	/* A place that leads elsewhere is none. */
	snprintf(elsewhere, sizeof(elsewhere), "%s/link", folder);
	assert_int_equal(symlink("/tmp", elsewhere), 0);
	assert_true(maple_detached_create(elsewhere, &task, forms, &job, &err) <
		    0);
	assert_non_null(strstr(err.text, elsewhere));
}

static void a_place_is_ones_own(void **state)
{
	struct maple_detached *job;
	struct maple_error err;
	struct stat st;

	job = create();
	maple_detached_close(job);
	assert_int_equal(stat(place, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	if (geteuid())
		skip();
	assert_int_equal(chown(place, 54321, 54321), 0);
	assert_int_equal(maple_detached_create(place, &task, forms, &job, &err),
			 -EPERM);
	assert_non_null(strstr(err.text, "another user's"));
	assert_int_equal(chown(place, 0, 0), 0);
}

static void grow(struct maple_detached *job, unsigned int runs)
{
	const struct maple_detached_point point = {
		.runs = runs,
		.exposed = runs / 2,
		.predicted = runs,
	};

	maple_detached_grow(job, &point);
}

/* However long a job runs: some points, by runs, the first ones and the last. */
static void its_curve_is_there_while_it_runs(void **state)
{
	struct maple_detached *job = create();
	uint64_t number = publish(job);
	struct maple_detached_info info = look(number);

	assert_int_equal(info.npoints, 0);
	maple_detached_info_deinit(&info);
	for (unsigned int runs = 1; runs <= 12345; runs++) {
		grow(job, runs);
		if (runs % 1000 != 3 && runs != 12345 && runs > 200)
			continue;
		info = look(number);
		assert_in_range(info.npoints, runs < 50 ? runs : 50, 100);
		assert_true(info.curve[0].runs <= runs / 50 + 1);
		assert_int_equal(info.curve[info.npoints - 1].runs, runs);
		for (size_t i = 0; i < info.npoints; i++) {
			const struct maple_detached_point *p = &info.curve[i];

			assert_true(!i || p->runs > p[-1].runs);
			assert_int_equal(p->exposed, p->runs / 2);
			assert_int_equal(p->predicted, p->runs);
		}
		maple_detached_info_deinit(&info);
	}
	/* The same again says nothing new, and time does not go back. */
	grow(job, 12345);
	grow(job, 7);
	info = look(number);
	assert_int_equal(info.curve[info.npoints - 1].runs, 12345);
	maple_detached_info_deinit(&info);
	maple_detached_close(job);
}

/* What is no curve is told as far as it is one. */
static void a_damaged_curve_is_no_harm(void **state)
{
	static const char *const texts[] = {
		"",
		"x",
		"         5             1             2 \n         4 ",
		"-1 -1 -1",
	};
	char path[128], text[4001];
	struct maple_detached *job = create();
	uint64_t number = publish(job);
	struct maple_detached_info info;
	int fd;

	snprintf(path, sizeof(path), "%s/%" PRIu64 "/curve", place, number);
	for (size_t i = 0; i < 5; i++) {
		fd = open(path, O_WRONLY | O_TRUNC);
		assert_true(fd >= 0);
		memset(text, i < 4 ? ' ' : '7', sizeof(text));
		if (i < 4)
			memcpy(text, texts[i], strlen(texts[i]));
		assert_int_equal(write(fd, text, 4000), 4000);
		close(fd);
		info = look(number);
		assert_int_equal(info.state, MAPLE_DETACHED_CUT_OFF);
		assert_true(info.npoints <= 1);
		maple_detached_info_deinit(&info);
	}
	assert_int_equal(unlink(path), 0);
	info = look(number);
	assert_int_equal(info.npoints, 0);
	maple_detached_info_deinit(&info);
	maple_detached_close(job);
}

/* The most may run at once; what has ended, or is not published, does not count. */
static void one_too_many_is_refused(void **state)
{
	struct maple_detached *job[3] = { create(), create(), create() };
	struct maple_error err = { "" };
	uint64_t number;
	pid_t pid[2];
	int go[2];

	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			maple_detached_publish(job[i], 2, &number, &err), 0);
		pid[i] = carry(job[i], 0, &go[i]);
	}
	assert_int_equal(maple_detached_publish(job[2], 2, &number, &err),
			 -EDQUOT);
	assert_non_null(strstr(err.text, "2 of your jobs run"));
	assert_non_null(strstr(err.text, "jobs --stop N"));
	assert_non_null(strstr(err.text, "--max-jobs"));
	assert_int_equal(count(), 2);
	finish(pid[0], go[0]);
	assert_int_equal(maple_detached_publish(job[2], 2, &number, &err), 0);
	assert_int_equal(number, 3);
	finish(pid[1], go[1]);
	for (int i = 0; i < 3; i++)
		maple_detached_close(job[i]);
}

/* Another boot in the file of @number than this one, or another machine. */
static void rewrite(uint64_t number, const char *name, const char *value)
{
	char path[128], about[4096] = "", *at, *end;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%" PRIu64 "/about.json", place, number);
	file = fopen(path, "r+");
	assert_non_null(file);
	assert_true(fread(about, 1, sizeof(about) - 1, file) > 0);
	at = strstr(about, name);
	assert_non_null(at);
	at += strlen(name);
	end = strchr(at, '"');
	rewind(file);
	fprintf(file, "%.*s%s%s", (int)(at - about), about, value, end);
	assert_int_equal(ftruncate(fileno(file), ftell(file)), 0);
	fclose(file);
}

static bool rebooted(uint64_t number)
{
	struct maple_detached_info info = look(number);
	bool is = info.rebooted;

	assert_int_equal(info.state, MAPLE_DETACHED_CUT_OFF);
	assert_int_equal(info.runs, 12);
	maple_detached_info_deinit(&info);
	return is;
}

static void what_a_boot_has_cut_off_is_told_as_that(void **state)
{
	struct maple_detached *job = create();
	uint64_t number = publish(job);
	struct maple_detached_info info;
	int go, status;
	pid_t pid = carry(job, 0, &go);

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(go);
	assert_false(rebooted(number));
	rewrite(number, "\"boot\":\"", "11111111-2222-4333-8444-555555555555");
	assert_true(rebooted(number));
	/* Another machine has other boots, and says nothing of this one. */
	rewrite(number, "\"host\":\"", "elsewhere");
	assert_false(rebooted(number));
	maple_detached_close(job);
	/* One that said how it ended was not cut off, however long ago. */
	job = create();
	number = publish(job);
	pid = carry(job, 66, &go);
	finish(pid, go);
	rewrite(number, "\"boot\":\"", "11111111-2222-4333-8444-555555555555");
	info = look(number);
	assert_int_equal(info.state, MAPLE_DETACHED_FINDING);
	assert_false(info.rebooted);
	maple_detached_info_deinit(&info);
	maple_detached_close(job);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(it_runs_and_ends),
		TEST(who_is_killed_is_cut_off),
		TEST(who_waits_is_no_sign_of_life),
		TEST(it_is_stopped_and_waited_for),
		TEST(numbers_are_given_once),
		TEST(a_lost_count_begins_behind_the_last),
		TEST(what_is_refused_leaves_nothing),
		TEST(leftovers_are_swept),
		TEST(reports_are_kept),
		TEST(damage_is_no_verdict),
		TEST(links_are_not_followed),
		TEST(a_place_is_ones_own),
		TEST(one_too_many_is_refused),
		TEST(what_a_boot_has_cut_off_is_told_as_that),
		TEST(its_curve_is_there_while_it_runs),
		TEST(a_damaged_curve_is_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
