// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What a run comes to, and what it reads and writes. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "campaign/internal.h"
#include "campaign/subject/io.h"

/* ---- judgement ---- */

static void judge(struct maple_trial *trial, enum maple_end end, int status)
{
	struct maple_campaign_options options = { 0 };
	struct maple_campaign c = { .options = &options, .timeout = 10 };
	struct maple_io_run io = { -1, -1, -1 };

	memset(trial, 0, sizeof(*trial));
	trial->run.end = end;
	trial->run.status = status;
	maple_judge(&c, trial, &io);
}

static void verdicts(void **state)
{
	struct maple_trial t;

	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(0, 0));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_NONE);
	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(3, 0));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_EXIT);
	assert_int_equal(t.judgement.status, 3);
	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(0, SIGSEGV));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_SIGNAL);
	assert_int_equal(t.judgement.signo, SIGSEGV);
	judge(&t, MAPLE_END_DEADLOCK, W_EXITCODE(0, SIGKILL));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_DEADLOCK);
	judge(&t, MAPLE_END_HANG, W_EXITCODE(0, SIGKILL));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_HANG);
	judge(&t, MAPLE_END_STOPPED, W_EXITCODE(0, SIGKILL));
	assert_int_equal(t.judgement.failure, MAPLE_FAILURE_NONE);
}

static bool no_verdict(const struct maple_trial *t, enum maple_unjudged why)
{
	return t->judgement.unjudged && t->judgement.why == why &&
	       !t->judgement.failure;
}

/* What is no verdict is no failure; enough of it ends a campaign. */
static void no_verdicts(void **state)
{
	struct maple_campaign_options options = { 0 };
	struct maple_campaign_result result = { 0 };
	struct maple_campaign c = { .options = &options, .result = &result };
	struct maple_io_run io = { -1, -1, -1 };
	struct maple_trial t;
	unsigned int i;

	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(77, 0));
	assert_true(no_verdict(&t, MAPLE_UNJUDGED_SAID));
	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(125, 0));
	assert_true(no_verdict(&t, MAPLE_UNJUDGED_SAID));
	judge(&t, MAPLE_END_STARVED, W_EXITCODE(0, SIGKILL));
	assert_true(no_verdict(&t, MAPLE_UNJUDGED_STARVED));
	memset(&t, 0, sizeof(t));
	c.expected = 77; /* as its user has said */
	t.run.status = W_EXITCODE(77, 0);
	maple_judge(&c, &t, &io);
	assert_false(t.judgement.unjudged || t.judgement.failure);
	t.run.status = W_EXITCODE(0, SIGTERM);
	t.run.outside = true;
	for (i = 0; i < 5; i++) {
		assert_false(maple_campaign_gave_up(&c));
		t.stopped = false;
		t.judgement = (struct maple_judgement){ 0 };
		maple_judge(&c, &t, &io);
		assert_true(no_verdict(&t, MAPLE_UNJUDGED_KILLED));
		maple_unjudged_take(&c, &t);
		assert_true(t.stopped);
	}
	assert_true(maple_campaign_gave_up(&c));
	assert_non_null(strstr(c.given_up, "SIGTERM from outside"));
	assert_int_equal(result.delivery.unjudged[MAPLE_UNJUDGED_KILLED], 5);
}

/* A hang has its verdict later: those that are none are a row like any other. */
static void hangs_without_a_verdict(void **state)
{
	struct maple_campaign_options options = { 0 };
	struct maple_campaign_result result = { 0 };
	struct maple_campaign c = { .options = &options, .result = &result };
	struct maple_finding f = { .kind = MAPLE_FAILURE_HANG, .what = "hung" };
	struct maple_trial t = { .job.kind = MAPLE_RUN_CONTROL,
				 .judgement.failure = MAPLE_FAILURE_HANG,
				 .run.counts.over = 1 };
	struct maple_trial passes = { 0 };
	bool is;

	for (int i = 0; i < 9; i++) {
		assert_false(maple_campaign_gave_up(&c));
		if (i == 4) /* the row begins anew */
			maple_unjudged_take(&c, &passes);
		maple_unjudged_take(&c, &t);
		assert_false(t.stopped);
		assert_int_equal(maple_disturbed(&c, &f, &t, &is), 0);
		assert_true(is);
	}
	assert_true(maple_campaign_gave_up(&c));
	assert_non_null(strstr(c.given_up, "slow under control"));
	assert_int_equal(result.delivery.unjudged[MAPLE_UNJUDGED_HUNG], 9);
}

static void same_failure_or_not(void **state)
{
	struct maple_finding f = { .kind = MAPLE_FAILURE_SIGNAL,
				   .signo = SIGSEGV };
	struct maple_trial t;

	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(0, SIGSEGV));
	assert_true(maple_confirm_same(&f, &t));
	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(0, SIGABRT));
	assert_false(maple_confirm_same(&f, &t));
	judge(&t, MAPLE_END_ITSELF, W_EXITCODE(0, 0));
	assert_false(maple_confirm_same(&f, &t));
}

/* ---- rounds ---- */

/* A shell that was started ahead runs the command as one that was not. */
static void a_shell_that_waits(void **state)
{
	struct maple_shell_command command = {
		.text = "echo $MAPLE_PID $# $0\n"
			"sh -c 'echo $MAPLE_PID'; true <&9 || exit 3",
		.words = memfd_create("words", MFD_CLOEXEC),
	};
	char *words;
	int go, status;
	pid_t pid;

	assert_int_equal(maple_shell_ahead(&command, &go, &pid), 0);
	usleep(50000);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_null(maple_io_tail(command.words));
	maple_shell_go(go, 42);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	words = maple_io_tail(command.words);
	assert_non_null(words);
	assert_ptr_equal(strstr(words, "42 0 sh\n42\n"), words);
	assert_int_equal(WEXITSTATUS(status), 3); /* nobody's descriptor */
	free(words);

	/* Nobody will tell it any more. */
	assert_int_equal(ftruncate(command.words, 0), 0);
	assert_int_equal(maple_shell_ahead(&command, &go, &pid), 0);
	close(go);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_null(maple_io_tail(command.words));

	/* It is dead when it is told. */
	assert_int_equal(maple_shell_ahead(&command, &go, &pid), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	usleep(50000);
	maple_shell_go(go, 42);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	close(command.words);
}

/* Ten make a round, where plans, which have ms, cannot say it. */
static void slices_of_a_round(void **state)
{
	struct maple_campaign c = { .round_seconds = 0.004 };

	assert_int_equal(maple_round_slice_us(&c), 0); /* no rounds */
	c.between = "drive";
	assert_int_equal(maple_round_slice_us(&c), 400);
	c.round_seconds = 0.001;
	assert_int_equal(maple_round_slice_us(&c), 250);
	c.round_seconds = 0.02;
	assert_int_equal(maple_round_slice_us(&c), 0);
}

/* ---- standard files ---- */

static char said[256];

static void notice(void *ctx, const char *text)
{
	snprintf(said, sizeof(said), "%s", text);
}

static void put(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Every run reads the same, from where we would have. */
static void input_again_and_again(void **state)
{
	int saved = dup(STDIN_FILENO), fds[2], i;
	struct maple_io_run run;
	struct maple_io io;
	char buf[16] = "";

	assert_int_equal(pipe(fds), 0);
	put(fds[1], "hello");
	close(fds[1]);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	said[0] = '\0';
	assert_int_equal(maple_io_init(&io, notice, NULL, NULL), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(maple_io_begin(&io, &run, NULL), 0);
		memset(buf, 0, sizeof(buf));
		assert_int_equal(read(run.in, buf, sizeof(buf)), 5);
		assert_string_equal(buf, "hello");
		maple_io_end(&io, &run);
	}
	assert_string_equal(said, "");
	maple_io_deinit(&io);
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void silent_pipe_is_said(void **state)
{
	int saved = dup(STDIN_FILENO), fds[2];
	struct maple_io io;

	assert_int_equal(pipe(fds), 0);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	said[0] = '\0';
	assert_int_equal(maple_io_init(&io, notice, NULL, NULL), 0);
	assert_non_null(strstr(said, "stays open"));
	maple_io_deinit(&io);
	close(fds[1]);
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void words_are_kept_and_compared(void **state)
{
	char path[] = "/tmp/maple-test-XXXXXX";
	int saved = dup(STDIN_FILENO);
	int fd = mkstemp(path), null = open("/dev/null", O_RDONLY);
	struct maple_error err = { "" };
	struct maple_io_run run;
	struct maple_io io;
	char *words;

	dup2(null, STDIN_FILENO);
	assert_int_equal(maple_io_init(&io, notice, NULL, NULL), 0);
	assert_int_equal(maple_io_begin(&io, &run, NULL), 0);
	assert_null(maple_io_words(&run));
	put(run.out, "to you");
	put(run.err, ", and to me");
	words = maple_io_words(&run);
	assert_string_equal(words, "to you, and to me");
	free(words);
	put(fd, "to you");
	assert_int_equal(maple_io_same(&run, path, &err), 1);
	put(fd, "!");
	assert_int_equal(maple_io_same(&run, path, &err), 0);
	unlink(path);
	assert_int_equal(maple_io_same(&run, path, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	/* The next run gets an empty file, read and written from its start. */
	maple_io_end(&io, &run);
	assert_int_equal(maple_io_begin(&io, &run, NULL), 0);
	assert_null(maple_io_words(&run));
	assert_int_equal(lseek(run.out, 0, SEEK_CUR), 0);
	assert_int_equal(lseek(run.err, 0, SEEK_CUR), 0);
	maple_io_end(&io, &run);
	maple_io_deinit(&io);
	dup2(saved, STDIN_FILENO);
	close(saved);
	close(null);
	close(fd);
}

/* ---- before the first run ---- */

static void programs_are_found_or_the_reason(void **state)
{
	struct maple_error err = { "" };
	char *path;

	assert_int_equal(maple_campaign_find_program("sh", &path, &err), 0);
	assert_non_null(strstr(path, "/sh"));
	assert_int_equal(maple_campaign_check_program(path, NULL, &err), 0);
	free(path);
	assert_int_equal(
		maple_campaign_find_program("no-such-program", &path, &err),
		-ENOENT);
	assert_int_equal(maple_campaign_find_program("/etc/passwd", &path, &err),
			 -EACCES);
	assert_int_equal(maple_campaign_find_program("/tmp", &path, &err),
			 -EACCES);
	assert_int_equal(maple_campaign_check_program("/etc/passwd", NULL, &err),
			 -ENOEXEC);
	assert_int_equal(
		maple_campaign_check_program("/etc/passwd", "server", &err), 0);
	assert_int_equal(
		maple_campaign_check_program("/usr/bin/ldd", NULL, &err),
		-EINVAL);
	assert_non_null(strstr(err.text, "--exe"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts),
		cmocka_unit_test(no_verdicts),
		cmocka_unit_test(hangs_without_a_verdict),
		cmocka_unit_test(a_shell_that_waits),
		cmocka_unit_test(slices_of_a_round),
		cmocka_unit_test(same_failure_or_not),
		cmocka_unit_test(input_again_and_again),
		cmocka_unit_test(silent_pipe_is_said),
		cmocka_unit_test(words_are_kept_and_compared),
		cmocka_unit_test(programs_are_found_or_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
