// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A mapled of the test's own, spoken to by the library: its memo says what a
 * database of ours says, nothing is done twice, and nobody gets at what is
 * another's.
 *
 * It runs no program under orders, so that neighbours do not disturb it.
 * beside: guests
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "host/host.h"
#include "ok.h"

#define REFUSED(error, call)                                            \
	do {                                                            \
		struct maple_error err = { "" };                        \
		int ret_ = (call);                                      \
		if (ret_ != -(error) || !*err.text)                     \
			fail_msg("%s: %d '%s'", #call, ret_, err.text); \
	} while (0)

static char dir[64], path[96], daemon_path[4096];
static pid_t pid;

static void start(void)
{
	struct maple_host *host;
	char db[96];

	snprintf(path, sizeof(path), "%s/socket", dir);
	snprintf(db, sizeof(db), "%s/memo.db", dir);
	pid = fork();
	if (!pid) {
		freopen("/dev/null", "w", stderr);
		execl(daemon_path, "mapled", "--socket", path, "--db", db,
		      "--config", "/dev/null", NULL);
		_exit(127);
	}
	for (int i = 0; i < 200; i++) {
		if (!maple_host_open(path, &host, NULL)) {
			maple_host_close(host);
			return;
		}
		usleep(50000);
	}
	fail_msg("%s does not answer", daemon_path);
}

static void stop(int signo)
{
	kill(pid, signo);
	waitpid(pid, NULL, 0);
}

static int setup(void **state)
{
	strcpy(dir, "/tmp/maple-host-XXXXXX");
	assert_non_null(mkdtemp(dir));
	start();
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	stop(SIGTERM);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static struct maple_host *connect_to(struct maple_memo **memo)
{
	struct maple_host *host;

	OK(maple_host_open(path, &host, &err));
	OK(maple_host_memo(host, memo, &err));
	return host;
}

static int64_t begin(struct maple_memo *memo, const char *input)
{
	static char *const argv[] = { "prog", "", "\xff", NULL };
	const struct maple_memo_campaign c = {
		.argv = argv,
		.cwd = "/tmp",
		.input = input,
		.strategy = "ranked",
		.seed = UINT64_MAX,
		.version = "0.1",
		.backend = "agent",
	};
	int64_t id;

	OK(maple_memo_campaign_begin(memo, &c, &id, &err));
	assert_true(id > 0);
	return id;
}

/* ---- the same from both ---- */

static struct maple_memo_lesson lesson(const char *build_id, uint64_t offset,
				       unsigned int marks)
{
	return (struct maple_memo_lesson){
		.key = { .class = "idiom 1",
			 .n = 2,
			 .use = { { build_id, "/lib/p", offset, false, 'R', "f",
				    "f.c", 7, offset == 16 ? "print" : NULL },
				  { build_id, "/lib/p", offset + 8, true,
				    'W' } } },
		.marks = marks,
	};
}

static int find(void *ctx, const char *fingerprint, bool call,
		struct maple_memo_event *now)
{
	assert_string_equal(fingerprint, "print");
	now->offset = 160;
	++*(int *)ctx;
	return 0;
}

/* What a memo was told, and what it says. */
struct story {
	int64_t runs, carried, samples, programs, findings;
	struct maple_memo_state before, after;
	struct maple_class_count coverage[2], sample;
	struct maple_class_tries success[1];
	int found;
	uint64_t at[4]; /* of the machine: campaigns, runs, news, findings */
	uint64_t in[3]; /* of all hours: runs, news, findings */
};

static void tell_runs(struct maple_memo *memo, int64_t campaign, int64_t goal,
		      struct story *story)
{
	const struct maple_memo_run run = { .kind = "enforced",
					    .goal = goal,
					    .plan = "{}",
					    .seed = 3,
					    .attempt = 1 };
	const struct maple_memo_run_end end = {
		.verdict = "pass",
		.seconds = .5,
		.delivered = true,
		.reason = MAPLE_MEMO_REASON_UNMET,
		.news = 4,
	};
	struct maple_class_count counts[] = { { "idiom 1", 9, 8, 7, 6, 5 },
					      { "pattern 4", .left = 3 } };
	struct maple_coverage c = { 2, counts };
	int64_t row;

	for (int i = 0; i < 3; i++) {
		OK(maple_memo_run_begin(memo, campaign, &run, &row, &err));
		OK(maple_memo_run_end(memo, row, &end, &err));
		OK(maple_memo_sample(memo, row, &c, &err));
		story->runs++;
	}
}

static void tell_finding(struct maple_memo *memo, int64_t campaign)
{
	char *argv[] = { "prog", NULL };
	const struct maple_finding f = { .id = "abcdef012345",
					 .kind = MAPLE_FAILURE_SIGNAL,
					 .title = "SIGSEGV in f",
					 .signo = 11,
					 .argv = argv,
					 .found_at = 1000,
					 .times_seen = 1 };

	OK(maple_memo_finding_store(memo, campaign, &f, &err));
}

/* Both its classes, in their order, with all that is said of each. */
static void read_counts(struct maple_memo *memo, int64_t program,
			struct story *story)
{
	struct maple_memo_success success;
	struct maple_memo_sample *samples;
	struct maple_coverage coverage;
	size_t n;

	OK(maple_memo_coverage(memo, program, &coverage, &err));
	assert_int_equal(coverage.nclasses, 2);
	memcpy(story->coverage, coverage.class, sizeof(story->coverage));
	maple_coverage_deinit(&coverage);
	OK(maple_memo_success(memo, program, &success, &err));
	assert_int_equal(success.nclasses, 1);
	assert_int_equal(success.claims, 0);
	memcpy(story->success, success.class, sizeof(*story->success));
	maple_memo_success_deinit(&success);
	OK(maple_memo_samples(memo, program, 0, &samples, &n, &err));
	assert_int_equal(samples[n - 1].coverage.nclasses, 2);
	story->sample = samples[n - 1].coverage.class[0];
	assert_string_equal(samples[n - 1].coverage.class[1].name, "pattern 4");
	maple_memo_samples_destroy(samples, n);
	story->samples = (int64_t)n;
}

/* Its only machine, and its hours: one, or two if one has just begun. */
static void read_machines(struct maple_memo *memo, struct story *story)
{
	struct maple_memo_machine *m, *here = maple_memo_here();
	struct maple_memo_hour *hours;
	size_t n;

	OK(maple_memo_machines(memo, false, &m, &n, &err));
	assert_int_equal(n, 0);
	OK(maple_memo_machines(memo, true, &m, &n, &err));
	assert_int_equal(n, 1);
	assert_string_equal(m->name, here->name);
	assert_string_equal(m->kernel, here->kernel);
	assert_string_equal(m->backend, "agent");
	assert_true(m->last_heard > 1000);
	memcpy(story->at,
	       (uint64_t[]){ m->campaigns, m->runs, m->news, m->findings },
	       sizeof(story->at));
	maple_memo_machines_destroy(m, n);
	maple_memo_machines_destroy(here, 1);
	OK(maple_memo_hours(memo, &hours, &n, &err));
	assert_true(n >= 2); /* the finding's is long ago */
	assert_int_equal(hours[0].since, 0);
	for (size_t i = 0; i < n; i++) {
		story->in[0] += hours[i].runs;
		story->in[1] += hours[i].news;
		story->in[2] += hours[i].findings;
	}
	free(hours);
}

static void read_back(struct maple_memo *memo, int64_t program,
		      struct story *story)
{
	struct maple_memo_program_info *programs;
	struct maple_finding **findings, *finding;
	size_t n;

	OK(maple_memo_check(memo, &err));
	read_counts(memo, program, story);
	read_machines(memo, story);
	OK(maple_memo_programs(memo, &programs, &n, &err));
	assert_string_equal(programs[0].path, "/lib/p");
	maple_memo_programs_destroy(programs, n);
	story->programs = (int64_t)n;
	OK(maple_memo_findings(memo, program, &findings, &n, &err));
	assert_string_equal(findings[0]->title, "SIGSEGV in f");
	maple_memo_findings_destroy(findings, n);
	story->findings = (int64_t)n;
	OK(maple_memo_finding_load(memo, "abc", geteuid(), &finding, &err));
	assert_int_equal(finding->found_at, 1000);
	assert_non_null(finding->machine);
	assert_string_equal(finding->first_backend, "agent");
	assert_int_equal(finding->owner, geteuid());
	maple_finding_destroy(finding);
	REFUSED(ENOENT, maple_memo_finding_load(memo, "xyz", MAPLE_MEMO_ANYBODY,
						&finding, &err));
}

static void tell(struct maple_memo *memo, struct story *story)
{
	static struct maple_memo_lesson lessons[2000];
	const struct maple_memo_build build = { "new", "/lib/p", find,
						&story->found };
	static const char parts[] = "[{\"name\":\"pcr\",\"runs\":7,\"news\":2,"
				    "\"findings\":1,\"seconds\":0.5}]";
	int64_t campaign = begin(memo, "key"), program;
	struct maple_memo_program_info *programs;
	unsigned int carried;
	size_t n;

	OK(maple_memo_program(memo, campaign, "old", "/lib/p", &program, &err));
	/* More than goes into one message. */
	for (size_t i = 0; i < 2000; i++)
		lessons[i] =
			lesson("old", 16 * (i + 1), 1u << MAPLE_MEMO_PREDICTED);
	lessons[0].marks |= 1u << MAPLE_MEMO_OBSERVED;
	OK(maple_memo_learn(memo, program, lessons, 2000, &err));
	story->before = lessons[0].state;
	OK(maple_memo_mark(memo, program, lessons[5].goal, MAPLE_MEMO_ATTEMPT,
			   &err));
	OK(maple_memo_mark(memo, program, lessons[5].goal, MAPLE_MEMO_FAILED,
			   &err));
	lessons[5].marks = 0;
	OK(maple_memo_learn(memo, program, lessons + 5, 1, &err));
	story->after = lessons[5].state;
	tell_runs(memo, campaign, lessons[5].goal, story);
	tell_finding(memo, campaign);
	OK(maple_memo_carry(memo, &build, &carried, &err));
	story->carried = carried;
	read_back(memo, program, story);
	OK(maple_memo_campaign_end(memo, campaign, "clean", "libx.so", parts,
				   &err));
	OK(maple_memo_programs(memo, &programs, &n, &err));
	assert_string_equal(programs->unobserved, "libx.so");
	assert_string_equal(programs->parts, parts);
	maple_memo_programs_destroy(programs, n);
}

static void it_says_what_a_database_says(void **state)
{
	struct story here = { 0 }, there = { 0 };
	struct maple_memo *memo;
	struct maple_host *host;

	OK(maple_memo_open(":memory:", 0, &memo, &err));
	tell(memo, &here);
	maple_memo_close(memo);
	host = connect_to(&memo);
	tell(memo, &there);
	assert_int_equal(here.found, 1);
	assert_false(here.before.predicted);
	assert_int_equal(here.after.attempts, 1);
	assert_int_equal(here.after.failed, 1);
	assert_int_equal(here.coverage[0].predicted, 2000);
	assert_int_equal(here.coverage[1].left, 3);
	assert_int_equal(here.sample.predicted, 9);
	assert_int_equal(here.sample.barred, 5);
	assert_int_equal(here.success[0].attempted, 1);
	assert_int_equal(here.samples, 3);
	assert_int_equal(here.at[1], 3);
	assert_int_equal(here.at[2], 12);
	assert_int_equal(here.at[3], 1);
	assert_int_equal(here.in[0], 3);
	assert_int_equal(here.in[1], 12);
	assert_int_equal(here.in[2], 1);
	assert_memory_equal(&here, &there, sizeof(here));
	OK(maple_memo_forget_program(memo, 1, 0, &err));
	maple_memo_close(memo);
	maple_host_close(host);
}

/* ---- once ---- */

static void a_request_is_done_once(void **state)
{
	const struct maple_memo_run run = { .kind = "profile" };
	struct maple_memo_lesson l = lesson("once", 16, 0);
	int64_t campaign, program, first, again;
	struct maple_memo *memo;
	struct maple_host *host = connect_to(&memo);

	campaign = begin(memo, NULL);
	OK(maple_memo_program(memo, campaign, "once", "/p", &program, &err));
	OK(maple_memo_run_begin(memo, campaign, &run, &first, &err));
	host->serial--; /* as if there had been no answer */
	OK(maple_memo_run_begin(memo, campaign, &run, &again, &err));
	assert_true(first == again);
	OK(maple_memo_run_begin(memo, campaign, &run, &again, &err));
	assert_true(first != again);
	OK(maple_memo_learn(memo, program, &l, 1, &err));
	for (int i = 0; i < 3; i++) {
		OK(maple_memo_mark(memo, program, l.goal, MAPLE_MEMO_ATTEMPT,
				   &err));
		host->serial--;
	}
	host->serial++;
	OK(maple_memo_learn(memo, program, &l, 1, &err));
	assert_int_equal(l.state.attempts, 1);
	maple_memo_close(memo);
	maple_host_close(host);
}

static void it_goes_on_with_the_next_mapled(void **state)
{
	const struct maple_memo_run run = { .kind = "profile" };
	int64_t campaign, program, first, second, mine;
	struct maple_memo *memo, *other;
	struct maple_host *host = connect_to(&memo), *otherhost;

	campaign = begin(memo, NULL);
	OK(maple_memo_program(memo, campaign, "next", "/p", &program, &err));
	OK(maple_memo_run_begin(memo, campaign, &run, &first, &err));
	stop(SIGKILL);
	start();
	host->serial--; /* it was done, and we were not told */
	OK(maple_memo_run_begin(memo, campaign, &run, &second, &err));
	assert_true(first == second);
	/* The run before is still ours, and nobody else's. */
	otherhost = connect_to(&other);
	mine = begin(other, NULL);
	assert_true(mine != campaign);
	REFUSED(EPERM, maple_memo_sample(other, first,
					 &(struct maple_coverage){ 0 }, &err));
	OK(maple_memo_sample(memo, first, &(struct maple_coverage){ 0 }, &err));
	maple_memo_close(other);
	maple_host_close(otherhost);
	maple_memo_close(memo);
	maple_host_close(host);
}

/* ---- whose ---- */

static void what_is_anothers_is_refused(void **state)
{
	const struct maple_memo_run run = { .kind = "profile" };
	struct maple_memo_lesson l = lesson("whose", 16, 0);
	int64_t theirs, program, row, mine;
	struct maple_memo *a, *b;
	struct maple_host *one = connect_to(&a), *two = connect_to(&b);

	theirs = begin(a, NULL);
	OK(maple_memo_program(a, theirs, "whose", "/p", &program, &err));
	OK(maple_memo_learn(a, program, &l, 1, &err));
	REFUSED(EINVAL, maple_memo_run_begin(b, theirs, &run, &row, &err));
	mine = begin(b, NULL);
	REFUSED(EPERM, maple_memo_run_begin(b, theirs, &run, &row, &err));
	REFUSED(EPERM, maple_memo_program(b, theirs, "x", "/p", &row, &err));
	REFUSED(EPERM,
		maple_memo_campaign_end(b, theirs, "clean", NULL, NULL, &err));
	REFUSED(EPERM, maple_memo_learn(b, program, &l, 1, &err));
	two->campaign = mine;
	REFUSED(EPERM,
		maple_memo_mark(b, program, l.goal, MAPLE_MEMO_EXPOSED, &err));
	/* Not even by its number, without its name. */
	two->campaign = theirs;
	maple_host_disconnect(two);
	REFUSED(ESTALE, maple_memo_check(b, &err));
	OK(maple_memo_check(a, &err));
	maple_memo_close(a);
	maple_memo_close(b);
	maple_host_close(one);
	maple_host_close(two);
}

static void recalls(struct maple_memo *memo, int64_t campaign, const char *want)
{
	char *text;

	OK(maple_memo_corpus_recall(memo, campaign, "grey", &text, &err));
	assert_int_equal(!text, !want);
	if (want)
		assert_string_equal(text, want);
	free(text);
}

static uint64_t usage(void)
{
	struct maple_memo *memo;
	uint64_t bytes = 0;
	char db[96];

	snprintf(db, sizeof(db), "%s/memo.db", dir);
	OK(maple_memo_open(db, MAPLE_MEMO_READONLY, &memo, &err));
	OK(maple_memo_usage(memo, geteuid(), &bytes, &err));
	maple_memo_close(memo);
	return bytes;
}

/* It takes as much as there is, however often it was kept. */
static void what_a_strategy_keeps_is_replaced(void **state)
{
	char *most = malloc(MAPLE_MEMO_CORPUS_TEXT + 1);
	struct maple_memo *a, *b;
	struct maple_host *one = connect_to(&a), *two = connect_to(&b);
	int64_t mine = begin(a, NULL), later, program;
	uint64_t before, after;
	char **texts;
	size_t n;

	REFUSED(EINVAL, maple_memo_corpus_keep(a, mine, "grey", "[]", &err));
	OK(maple_memo_program(a, mine, "keeps", "/k", &program, &err));
	recalls(a, mine, NULL);
	memset(most, 'x', MAPLE_MEMO_CORPUS_TEXT);
	most[MAPLE_MEMO_CORPUS_TEXT] = '\0';
	REFUSED(EMSGSIZE, maple_memo_corpus_keep(a, mine, "grey", most, &err));
	most[MAPLE_MEMO_CORPUS_TEXT - 1] = '\0';
	before = usage();
	for (int i = 0; i < 8; i++)
		OK(maple_memo_corpus_keep(a, mine, "grey", most, &err));
	recalls(a, mine, most);
	after = usage();
	assert_int_equal(after - before,
			 256 + strlen("grey") + MAPLE_MEMO_CORPUS_TEXT - 1);
	OK(maple_memo_corpus_keep(a, mine, "grey", "[2]", &err));
	assert_int_equal(usage() - before, 256 + strlen("grey") + 3);
	REFUSED(EINVAL, maple_memo_corpus_keep(a, mine, "", "[]", &err));
	REFUSED(EINVAL, maple_memo_corpus_keep(a, mine, NULL, "[]", &err));
	REFUSED(EINVAL, maple_memo_corpus_keep(a, mine, "grey", NULL, &err));

	/* What runs have executed is kept the same way, and for all to read. */
	OK(maple_memo_corpus_keep(a, mine, MAPLE_MEMO_REACHED, "[{}]", &err));
	OK(maple_memo_reached(b, program, &texts, &n, &err));
	assert_int_equal(n, 1);
	assert_string_equal(texts[0], "[{}]");
	maple_memo_texts_destroy(texts, n);
	OK(maple_memo_reached(b, 4711, &texts, &n, &err));
	assert_int_equal(n, 0);

	/* Of one's own campaigns alone, but of all of these. */
	later = begin(b, NULL);
	recalls(b, later, NULL);
	REFUSED(EPERM, maple_memo_corpus_keep(b, mine, "grey", "[3]", &err));
	REFUSED(EPERM, maple_memo_corpus_recall(b, mine, "grey",
						&(char *){ NULL }, &err));
	OK(maple_memo_program(b, later, "rebuilt", "/k", &program, &err));
	recalls(b, later, "[2]");
	/* What mapled has no room for is neither kept nor an error. */
	OK(maple_memo_corpus_keep(b, MAPLE_MEMO_UNKEPT, "grey", "[]", &err));
	recalls(b, MAPLE_MEMO_UNKEPT, NULL);
	free(most);
	maple_memo_close(a);
	maple_memo_close(b);
	maple_host_close(one);
	maple_host_close(two);
}

static void descriptors_are_not_hoarded(void **state)
{
	struct maple_wire_head head = { .type = MAPLE_WIRE_HELLO, .fds = 1 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM, 0), fds[8], e = 0;
	struct maple_memo *memo;
	struct maple_host *host;
	char answer[512];

	strcpy(addr.sun_path, path);
	assert_int_equal(connect(sock, (void *)&addr, sizeof(addr)), 0);
	for (int i = 0; i < 8; i++)
		fds[i] = sock;
	/* A byte a time, with more than any message takes. */
	for (int i = 0; i < 8 && e >= 0; i++)
		e = (int)maple_wire_send(sock, (char *)&head + i, 1, fds, 8);
	assert_true(recv(sock, answer, sizeof(answer), 0) <= 0);
	close(sock);
	host = connect_to(&memo);
	OK(maple_memo_check(memo, &err));
	maple_memo_close(memo);
	maple_host_close(host);
}

static void a_pidfd_of_another_is_no_greeting(void **state)
{
	const struct maple_wire_hello hello = { MAPLE_WIRE_VERSION, "x" };
	struct maple_host host = { .path = path, .lock = -1 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct maple_host_answer answer;
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	strcpy(addr.sun_path, path);
	host.sock = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(host.sock, (void *)&addr, sizeof(addr)), 0);
	OK(maple_host_send(&host, MAPLE_WIRE_HELLO, &hello, pipes, 1, &err));
	OK(maple_host_receive(&host, 5000, &answer, &err));
	assert_int_equal(answer.head.type, MAPLE_WIRE_REFUSED);
	assert_int_equal(answer.message.refused.error, EPERM);
	maple_host_disconnect(&host);
	free(host.in.data);
	free(host.out.data);
	close(pipes[0]);
	close(pipes[1]);
}

/* Set: whoever connects comes back only when it was sent away. */
static bool dawdles;

int connect(int fd, const struct sockaddr *addr, socklen_t size)
{
	int e = (int)syscall(SYS_connect, fd, addr, size);
	struct pollfd pfd = { .fd = fd, .events = POLLRDHUP };

	if (!e && dawdles)
		poll(&pfd, 1, 60000);
	return e;
}

static void who_is_refused_at_once_is_told_why(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct maple_error err = { "" };
	struct maple_host *host;
	int sock = socket(AF_UNIX, SOCK_STREAM, 0), from = -1;
	const struct maple_wire_refused why = { EDQUOT, "too many" };
	struct maple_wire_buffer out = { 0 };
	pid_t child;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/other", dir);
	assert_int_equal(bind(sock, (void *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(sock, 1), 0);
	OK(maple_wire_frame(&out, MAPLE_WIRE_REFUSED, &why, 0, 0, &err));
	child = fork();
	if (!child) {
		from = accept(sock, NULL, NULL);
		_exit(write(from, out.data, out.size) != (ssize_t)out.size);
	}
	dawdles = true;
	assert_int_equal(maple_host_open(addr.sun_path, &host, &err), -EDQUOT);
	dawdles = false;
	assert_string_equal(err.text, "too many");
	assert_int_equal(waitpid(child, &from, 0), child);
	assert_int_equal(from, 0);
	close(sock);
	free(out.data);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_what_a_database_says),
		cmocka_unit_test(a_request_is_done_once),
		cmocka_unit_test(it_goes_on_with_the_next_mapled),
		cmocka_unit_test(what_is_anothers_is_refused),
		cmocka_unit_test(what_a_strategy_keeps_is_replaced),
		cmocka_unit_test(descriptors_are_not_hoarded),
		cmocka_unit_test(a_pidfd_of_another_is_no_greeting),
		cmocka_unit_test(who_is_refused_at_once_is_told_why),
	};
	ssize_t n = readlink("/proc/self/exe", daemon_path,
			     sizeof(daemon_path) - 32);

	/* BUILD/tests/unit/test_host */
	if (n < 0)
		return 1;
	for (int i = 0; i < 3; i++)
		*strrchr(daemon_path, '/') = 0;
	strcat(daemon_path, "/mapled");
	return cmocka_run_group_tests(tests, setup, teardown);
}
