// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Pairs of backends: who may be with whom, what two halves that know nothing
 * of each other must agree on, and how one from outside works, played here by
 * one that reads what the kernel says of the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "backend/pair.h"
#include "backend/process.h"

#define PATIENCE 8 /* seconds to wait for a CPU; then it is shared */

static char build[512];
static const char *library;

static void notice(void *ctx, const char *text)
{
	print_message("%s\n", text);
}

static char *target(const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", build, name);
	return path;
}

/* ---- names and choices ---- */

static void pairs_have_names(void **state)
{
	static const char *const good[] = { "agent", "agent+agent",
					    "agent+module", "ebpf+agent",
					    "ebpf+module" };
	static const char *const bad[] = {
		"",	      "ebpf",	      "module", "module+agent",
		"agent+ebpf", "ebpf+ebpf",    "agent+", "+agent",
		"kernel+",    "ebpf+module+", "auto",	"agen"
	};
	struct maple_pair_choice choice;

	for (unsigned int i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(maple_pair_parse(good[i], &choice), 0);
		assert_string_equal(maple_pair_name(&choice), good[i]);
	}
	assert_int_equal(maple_pair_parse("kernel", &choice), 0);
	assert_string_equal(maple_pair_name(&choice), "ebpf+module");
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(maple_pair_parse(bad[i], &choice), -EINVAL);
}

/* What cannot be had is refused with the reason, whoever is asked for. */
static void what_is_missing_is_named(void **state)
{
	struct maple_backend_options options = { .program = target("fiftieth") };
	struct maple_ability ability[MAPLE_HALVES];
	struct maple_pair_choice choice;
	struct maple_error err = { "" };
	bool outside;

	maple_pair_look(&options, ability);
	assert_int_equal(ability[MAPLE_HALF_AGENT].error, -ENOPKG);
	assert_int_equal(maple_pair_choose("agent", &options, &choice, &err),
			 -ENOPKG);
	assert_non_null(strstr(err.text, "MAPLE_AGENT_PATH"));
	options.agent = library;
	assert_int_equal(maple_pair_choose("agent", &options, &choice, &err), 0);
	assert_int_equal(choice.observe, MAPLE_HALF_AGENT);
	assert_int_equal(choice.enforce, MAPLE_HALF_AGENT);
	/* Who is not needed is not asked: it costs each campaign. */
	assert_false(*choice.ability[MAPLE_HALF_EBPF].text);
	assert_int_equal(maple_pair_choose(NULL, &options, &choice, &err), 0);
	assert_true(*choice.why);
	assert_int_equal(!*choice.ability[MAPLE_HALF_EBPF].text,
			 !!ability[MAPLE_HALF_MODULE].error);
	outside = !ability[MAPLE_HALF_EBPF].error &&
		  !ability[MAPLE_HALF_MODULE].error;
	assert_int_equal(choice.observe,
			 outside ? MAPLE_HALF_EBPF : MAPLE_HALF_AGENT);
	assert_int_equal(
		maple_pair_choose("kernel", &options, &choice, &err),
		outside ? 0
			: maple_backend_errno(
				  ability[MAPLE_HALF_MODULE].error
					  ? ability[MAPLE_HALF_MODULE].error
					  : ability[MAPLE_HALF_EBPF].error));
	if (ability[MAPLE_HALF_MODULE].error)
		assert_non_null(
			strstr(err.text, ability[MAPLE_HALF_MODULE].text));
}

/* ---- two agents ---- */

struct seen {
	uint32_t site, n;
	uint16_t thread;
	uint8_t kind;
};

struct witness {
	struct seen seen[4096];
	unsigned int n;
	bool stop;
};

static void on_event(void *ctx, const struct maple_event *e)
{
	struct witness *w = ctx;
	unsigned int i;

	for (i = 0; i < w->n; i++)
		if (w->seen[i].site == e->site && w->seen[i].kind == e->kind &&
		    w->seen[i].thread == e->thread)
			break;
	assert_true(i < 4096);
	if (i == w->n)
		w->seen[w->n++] =
			(struct seen){ e->site, 0, e->thread, e->kind };
	w->seen[i].n++;
}

static bool on_tick(void *ctx, pid_t pid)
{
	return !((struct witness *)ctx)->stop;
}

static int by_all(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct seen));
}

static struct maple_run_order order_of(enum maple_run_kind kind)
{
	static int null = -1;

	if (null < 0)
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	return (struct maple_run_order){ .kind = kind,
					 .schedule = MAPLE_SCHEDULE_OLDER,
					 .seed = 1,
					 .timeout = 20,
					 .in = null,
					 .out = null,
					 .err = null,
					 .own_group = true,
					 .stacks = true };
}

static struct maple_run run_of(struct maple_pair *pair,
			       const struct maple_run_order *order,
			       struct witness *w)
{
	struct maple_run_sink sink = { .ctx = w,
				       .event = on_event,
				       .tick = on_tick };
	struct maple_error err = { "" };
	struct maple_run run;

	memset(w, 0, sizeof(*w));
	if (maple_pair_run(pair, order, &sink, &run, &err))
		fail_msg("%s", err.text);
	if (!run.delivered)
		fail_msg("%s", run.why_not);
	qsort(w->seen, w->n, sizeof(*w->seen), by_all);
	return run;
}

static struct maple_pair *pair_of(const char *name,
				  struct maple_backend_options *options)
{
	struct maple_pair_choice choice;
	struct maple_error err = { "" };
	struct maple_pair *pair = NULL;

	options->agent = library;
	options->registry = maple_registry_create();
	options->notice = notice;
	if (maple_pair_choose(name, options, &choice, &err) ||
	    maple_pair_create(&choice, options, PATIENCE, &pair, &err))
		fail_msg("%s", err.text);
	return pair;
}

/* The sites and call sites of two threads that take two locks each. */
static void two_agents_agree(void **state)
{
	char *argv[] = { target("lock_order"), NULL };
	struct maple_backend_options options = { .program = argv[0],
						 .argv = argv };
	struct maple_pair *pair = pair_of("agent+agent", &options);
	struct maple_run_order order = order_of(MAPLE_RUN_PROFILE);
	static struct witness first, other;
	struct maple_site_info info;
	struct maple_run a, b;
	unsigned int calls = 0;

	assert_ptr_not_equal(pair->observe, pair->enforce);
	a = run_of(pair, &order, &first);
	/* The other half observes as well, for once. */
	pair->observe = pair->enforce;
	b = run_of(pair, &order, &other);
	assert_true(first.n > 8);
	assert_int_equal(first.n, other.n);
	assert_memory_equal(first.seen, other.seen,
			    first.n * sizeof(*first.seen));
	for (unsigned int i = 0; i < first.n; i++) {
		if (first.seen[i].site == MAPLE_SITE_NONE)
			continue;
		assert_int_equal(maple_registry_site(options.registry,
						     first.seen[i].site, &info),
				 0);
		calls += info.is_call;
	}
	assert_true(calls >= 4);
	assert_int_equal(a.nthreads, b.nthreads);
	for (unsigned int i = 0; i < a.nthreads; i++)
		assert_string_equal(a.threads[i].name, b.threads[i].name);
	maple_run_deinit(&a);
	maple_run_deinit(&b);
	maple_pair_destroy(pair);
	maple_registry_destroy(options.registry);
}

/* ---- one from outside ---- */

struct outsider {
	struct maple_backend base;
	enum { NEW, PREPARED, ATTACHED, FINISHED } stage;
	pid_t pid;
	bool fifo; /* a thread was seen under SCHED_FIFO */
	bool high; /* two priorities were seen */
	int refuse;
	bool chatty; /* it always has something to tell */
	unsigned int threads;
	int prio;
	struct witness *witness; /* stops the run when all was seen */
};

static int prepare(struct maple_backend *b, const struct maple_run_order *order,
		   char ***envp, struct maple_error *err)
{
	struct outsider *o = (struct outsider *)b;

	assert_int_equal(order->kind, MAPLE_RUN_PROFILE);
	o->stage = PREPARED;
	o->pid = 0;
	return 0;
}

static int attach(struct maple_backend *b, pid_t pid, struct maple_error *err)
{
	struct outsider *o = (struct outsider *)b;
	char path[64], line[1024];
	bool libc = false;
	FILE *maps;

	assert_int_equal(o->stage, PREPARED);
	o->stage = ATTACHED;
	if (o->refuse)
		return maple_error_set(err, o->refuse, "refused");
	o->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		libc |= strstr(line, "libc.so.6") != NULL;
	fclose(maps);
	assert_true(libc);
	return 0;
}

static pid_t serve(struct maple_backend *b, const struct maple_run_sink *sink,
		   struct maple_run *run)
{
	struct outsider *o = (struct outsider *)b;
	struct sched_param param;
	pid_t tids[64];
	int n = o->pid ? maple_process_threads(o->pid, tids, 64) : 0;

	if ((unsigned int)n > o->threads)
		o->threads = n;
	for (int i = 0; i < n; i++) {
		if (sched_getscheduler(tids[i]) !=
			    (SCHED_FIFO | SCHED_RESET_ON_FORK) ||
		    sched_getparam(tids[i], &param))
			continue;
		o->fifo = true;
		o->high |= o->prio && o->prio != param.sched_priority;
		o->prio = param.sched_priority;
	}
	if (o->witness)
		o->witness->stop = o->fifo && o->high;
	if (o->chatty && sink->event)
		sink->event(sink->ctx, &(struct maple_event){ 0 });
	return o->pid;
}

static void finish(struct maple_backend *b, const struct maple_run_sink *sink,
		   struct maple_run *run)
{
	struct outsider *o = (struct outsider *)b;

	o->stage = FINISHED;
	o->pid = 0;
	run->delivered = true;
}

static void release(struct maple_backend *b)
{
}

static const struct maple_backend_ops outside = {
	.name = "outsider",
	.prepare = prepare,
	.attach = attach,
	.serve = serve,
	.finish = finish,
	.release = release,
};

/* The agent gives the threads their priorities; it records nothing. */
static void who_only_observes_is_helped(void **state)
{
	char *argv[] = { target("../e2e/spinner"), "forever", NULL };
	struct maple_backend_options options = { .program = argv[0],
						 .argv = argv };
	struct maple_pair *pair = pair_of("agent", &options);
	struct maple_run_order order = order_of(MAPLE_RUN_PROFILE);
	static struct witness w;
	struct outsider o = { .base.ops = &outside, .witness = &w };
	struct maple_run run;

	o.base.options = options;
	o.base.options.cpu = &pair->cpu;
	pair->observe = &o.base;
	run = run_of(pair, &order, &w);
	assert_int_equal(o.stage, FINISHED);
	assert_int_equal(run.end, MAPLE_END_STOPPED);
	assert_true(o.threads > 1);
	assert_true(o.fifo && o.high);
	assert_int_equal(w.n, 0);
	maple_run_deinit(&run);
	pair->observe = pair->enforce;
	maple_pair_destroy(pair);
	maple_registry_destroy(options.registry);
}

/* Alone, with nobody inside: the guard keeps what crashes. */
static struct maple_run alone(char *const *argv, const char *exe, int refuse,
			      int *error, struct maple_error *err)
{
	struct maple_cpu cpu = { .lock = -1 };
	struct maple_run_order order = order_of(MAPLE_RUN_PROFILE);
	struct maple_run_sink sink = { 0 };
	struct outsider o = { .base.ops = &outside, .refuse = refuse };
	struct maple_run run;

	assert_int_equal(maple_cpu_take(&cpu, PATIENCE, notice, NULL), 0);
	o.base.options = (struct maple_backend_options){
		.program = argv[0], .argv = argv, .exe = exe, .cpu = &cpu
	};
	*error = maple_backend_run(&o.base, NULL, &order, &sink, &run, err);
	assert_int_equal(o.stage, FINISHED);
	maple_cpu_give_back(&cpu);
	return run;
}

static void crash_is_seen_from_outside(void **state)
{
	char *argv[] = { "/bin/sh", "-c", "kill -SEGV $$; exit 1", NULL };
	struct maple_run run;
	int e;

	run = alone(argv, NULL, 0, &e, NULL);
	assert_int_equal(e, 0);
	assert_true(run.delivered);
	assert_int_equal(run.end, MAPLE_END_ITSELF);
	assert_true(WIFSIGNALED(run.status));
	assert_int_equal(WTERMSIG(run.status), SIGSEGV);
	assert_int_equal(run.signo, SIGSEGV);
	assert_true(run.failed_tid > 0 && run.pc);
	assert_int_equal(run.nstacks, 1);
	assert_int_equal(run.stacks[0].tid, run.failed_tid);
	assert_true(run.stacks[0].nframes > 0);
	assert_int_equal(run.stacks[0].frames[0].pc, run.pc);
	maple_run_deinit(&run);
}

/* It takes long: because of the program, or because of who observes it? */
static void slow_observing_is_no_hang(void **state)
{
	for (int chatty = 0; chatty < 2; chatty++) {
		char *argv[] = { "/bin/sleep", "60", NULL };
		struct maple_cpu cpu = { .lock = -1 };
		struct maple_run_order order = order_of(MAPLE_RUN_PROFILE);
		struct maple_run_sink sink = { 0 };
		struct outsider o = { .base.ops = &outside, .chatty = chatty };
		struct maple_run run;

		assert_int_equal(maple_cpu_take(&cpu, PATIENCE, notice, NULL),
				 0);
		o.base.options = (struct maple_backend_options){
			.program = argv[0], .argv = argv, .cpu = &cpu
		};
		order.timeout = 0.2;
		order.grace = 0.1;
		assert_int_equal(maple_backend_run(&o.base, NULL, &order, &sink,
						   &run, NULL),
				 0);
		assert_int_equal(run.end,
				 chatty ? MAPLE_END_SLOW : MAPLE_END_HANG);
		assert_int_equal(run.delivered, !chatty);
		if (chatty)
			assert_non_null(strstr(run.why_not, "outsider"));
		maple_run_deinit(&run);
		maple_cpu_give_back(&cpu);
	}
}

static void who_cannot_attach_ends_the_run(void **state)
{
	char *argv[] = { "/bin/sleep", "60", NULL };
	struct maple_error err = { "" };
	struct maple_run run;
	int e;

	run = alone(argv, NULL, EBUSY, &e, &err);
	assert_int_equal(e, -EBUSY);
	assert_string_equal(err.text, "refused");
	maple_run_deinit(&run);
	/* No reason to say that the program is not there. */
	run = alone(argv, NULL, ENOENT, &e, &err);
	assert_int_equal(e, -ENOTSUP);
	maple_run_deinit(&run);
}

static void a_program_that_never_came_is_told(void **state)
{
	char *argv[] = { "/bin/true", NULL };
	struct maple_run run;
	int e;

	run = alone(argv, "no-such-*", 0, &e, NULL);
	assert_int_equal(e, 0);
	assert_false(run.delivered);
	assert_non_null(strstr(run.why_not, "no-such-*"));
	maple_run_deinit(&run);
}

static int find_build(void **state)
{
	static char agent[600];
	ssize_t n = readlink("/proc/self/exe", build, sizeof(build) - 64);

	if (n <= 0)
		return -1;
	build[n] = 0;
	for (int i = 0; i < 3; i++)
		*strrchr(build, '/') = 0;
	snprintf(agent, sizeof(agent), "%s/libmaple-agent.so", build);
	strcat(build, "/tests/targets");
	library = agent;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_have_names),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(two_agents_agree),
		cmocka_unit_test(who_only_observes_is_helped),
		cmocka_unit_test(crash_is_seen_from_outside),
		cmocka_unit_test(slow_observing_is_no_hang),
		cmocka_unit_test(who_cannot_attach_ends_the_run),
		cmocka_unit_test(a_program_that_never_came_is_told),
	};

	return cmocka_run_group_tests(tests, find_build, NULL);
}
