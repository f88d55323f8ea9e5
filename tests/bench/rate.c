// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * rate LOG MEMO WORKERS SECONDS [SERVER]: how many runs a second a memo takes
 * when many campaigns write it. SERVER is the process whose children serve it.
 *
 * LOG is the memo of a campaign that was executed, a file. Each worker is a
 * process that says its runs again, as a campaign says them: it claims the goal
 * of an enforced run, tells the memo that the run begins, what it has taught
 * and that it has ended, and releases the goal. Nothing is executed. A program
 * has up to five workers, and ten times the goals of the log, since few
 * programs have as few goals as a short log.
 *
 * It prints the runs, the seconds, and the CPU seconds of the workers and of
 * the server meanwhile. At the end the memo has to have all runs, each with its
 * end and its try, once.
 */
#include <glob.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "memo/sql.h"

#define TOGETHER 5  /* workers of a program */
#define COPIES	 10 /* of each goal */
#define APART	 0x100000
#define PAUSE_US 10000

struct goal {
	int64_t id;
	char *class, *kinds, *sites;
	uint64_t offset[MAPLE_GOAL_USES];
	bool call[MAPLE_GOAL_USES];
	unsigned int n;
	int64_t row[COPIES]; /* in the memo that is written */
};

struct sample {
	char *class;
	uint64_t predicted, exposed, failed, left, barred;
};

struct run {
	char *kind, *plan, *verdict, *reason;
	int64_t id;
	struct goal *goal; /* NULL: none */
	uint64_t seed;
	unsigned int attempt;
	struct maple_memo_run_end end;
	struct sample *samples;
	size_t nsamples;
};

static struct goal *goals;
static struct run *runs;
static size_t ngoals, nruns;
static struct maple_error err;

static struct shared {
	atomic_uint ready;
	atomic_bool on, over;
	atomic_uint_fast64_t runs, attempts, cpu_us;
} * shared;

static void must(int ret)
{
	if (!ret)
		return;
	fprintf(stderr, "rate: %s\n", err.text);
	exit(1);
}

static void *grown(void *array, size_t n, size_t size)
{
	void *more = reallocarray(array, n + 1, size);

	if (!more) {
		fprintf(stderr, "rate: out of memory\n");
		exit(1);
	}
	memset((char *)more + n * size, 0, size);
	return more;
}

/* ---- the log ---- */

static struct maple_query *asked(struct maple_memo *log, const char *sql)
{
	struct maple_query *query;

	must(maple_sql_prepare(log, sql, "", &query, &err));
	return query;
}

static bool next(struct maple_memo *log, struct maple_query *query)
{
	int ret = maple_sql_step(log, query, &err);

	if (ret > 0)
		return true;
	must(ret);
	maple_sql_finish(query);
	return false;
}

static void read_goals(struct maple_memo *log)
{
	struct maple_query *q = asked(
		log, "SELECT g.id, k.name, g.kinds, s.\"offset\","
		     " s.is_call FROM goals g JOIN classes k ON k.id ="
		     " g.class, json_each(g.sites) u JOIN sites s ON s.id ="
		     " u.value ORDER BY g.id, u.key");

	while (next(log, q)) {
		int64_t id = maple_sql_number(q, 0);
		struct goal *g;

		if (!ngoals || goals[ngoals - 1].id != id) {
			goals = grown(goals, ngoals, sizeof(*goals));
			goals[ngoals++] = (struct goal){
				.id = id,
				.class = maple_sql_string(q, 1),
				.kinds = maple_sql_string(q, 2),
			};
		}
		g = &goals[ngoals - 1];
		if (g->n == MAPLE_GOAL_USES)
			continue;
		g->offset[g->n] = (uint64_t)maple_sql_number(q, 3);
		g->call[g->n++] = maple_sql_number(q, 4);
	}
}

static struct goal *goal_of(int64_t id)
{
	for (size_t i = 0; i < ngoals; i++)
		if (goals[i].id == id)
			return &goals[i];
	return NULL;
}

static void read_runs(struct maple_memo *log)
{
	struct maple_query *q = asked(
		log, "SELECT id, kind, goal, plan, seed, attempt, verdict,"
		     " signo, status, seconds, cpu_seconds, delivered, exposed,"
		     " claimed, reason FROM runs WHERE ended IS NOT NULL"
		     " ORDER BY id");

	while (next(log, q)) {
		struct run *r;

		runs = grown(runs, nruns, sizeof(*runs));
		r = &runs[nruns++];
		r->id = maple_sql_number(q, 0);
		r->kind = maple_sql_string(q, 1);
		r->goal = goal_of(maple_sql_number(q, 2));
		r->plan = maple_sql_string(q, 3);
		r->seed = (uint64_t)maple_sql_number(q, 4);
		r->attempt = (unsigned int)maple_sql_number(q, 5);
		r->end.verdict = maple_sql_string(q, 6);
		r->end.signo = (int)maple_sql_number(q, 7);
		r->end.status = (int)maple_sql_number(q, 8);
		r->end.seconds = q->driver->real(q, 9);
		r->end.cpu_seconds = q->driver->real(q, 10);
		r->end.delivered = maple_sql_number(q, 11);
		r->end.exposed = maple_sql_number(q, 12);
		r->end.claimed = maple_sql_number(q, 13);
		r->reason = maple_sql_string(q, 14);
		for (unsigned int i = 1; r->reason && i < MAPLE_MEMO_REASONS;
		     i++)
			if (!strcmp(r->reason, maple_memo_reason_name(i)))
				r->end.reason = i;
	}
}

static void read_samples(struct maple_memo *log)
{
	struct maple_query *q =
		asked(log, "SELECT s.run, k.name, s.predicted, s.exposed,"
			   " s.failed, s.\"left\", s.barred FROM samples s"
			   " JOIN classes k ON k.id = s.class ORDER BY s.run");
	size_t at = 0;

	while (next(log, q)) {
		int64_t id = maple_sql_number(q, 0);
		struct run *r;

		while (at < nruns && runs[at].id < id)
			at++;
		if (at == nruns || runs[at].id != id)
			continue;
		r = &runs[at];
		r->samples = grown(r->samples, r->nsamples, sizeof(*r->samples));
		r->samples[r->nsamples++] = (struct sample){
			maple_sql_string(q, 1),
			(uint64_t)maple_sql_number(q, 2),
			(uint64_t)maple_sql_number(q, 3),
			(uint64_t)maple_sql_number(q, 4),
			(uint64_t)maple_sql_number(q, 5),
			(uint64_t)maple_sql_number(q, 6),
		};
	}
}

static void read_log(const char *path)
{
	struct maple_memo *log;

	must(maple_memo_open(path, MAPLE_MEMO_READONLY, &log, &err));
	read_goals(log);
	read_runs(log);
	read_samples(log);
	maple_memo_close(log);
	if (nruns && ngoals)
		return;
	fprintf(stderr, "rate: there are no runs in '%s'\n", path);
	exit(1);
}

/* ---- a worker ---- */

struct worker {
	struct maple_memo *memo;
	int64_t campaign, program;
	char build_id[32];
	unsigned int random;
	uint64_t runs, attempts;
};

static unsigned int any(struct worker *w, size_t n)
{
	return (unsigned int)((size_t)rand_r(&w->random) % n);
}

static void fill_key(const struct worker *w, const struct goal *g,
		     unsigned int copy, struct maple_memo_goal_key *key)
{
	*key = (struct maple_memo_goal_key){ .class = g->class, .n = g->n };
	for (unsigned int i = 0; i < g->n; i++)
		key->use[i] = (struct maple_memo_event){
			.build_id = w->build_id,
			.image = "/bin/program",
			.offset = g->offset[i] + copy * APART,
			.call = g->call[i],
			.kind = g->kinds[i],
			.function = "function",
			.file = "file.c",
			.line = 1,
			.fingerprint = "fingerprint",
		};
}

/* All goals are predicted, as the first profile runs do. */
static void learn_all(struct worker *w)
{
	struct maple_memo_lesson *lessons;
	size_t n = ngoals * COPIES;

	lessons = calloc(n, sizeof(*lessons));
	if (!lessons)
		exit(1);
	for (size_t i = 0; i < n; i++) {
		fill_key(w, &goals[i / COPIES], i % COPIES, &lessons[i].key);
		lessons[i].marks = 1u << MAPLE_MEMO_PREDICTED;
	}
	must(maple_memo_learn(w->memo, w->program, lessons, n, &err));
	for (size_t i = 0; i < n; i++)
		goals[i / COPIES].row[i % COPIES] = lessons[i].goal;
	free(lessons);
}

static void open_worker(struct worker *w, const char *path, const char *folder,
			unsigned int number)
{
	char *argv[] = { "program", NULL };
	struct maple_memo_campaign campaign = { .argv = argv,
						.cwd = "/",
						.strategy = "auto",
						.seed = number,
						.version = "rate" };

	w->random = number;
	snprintf(w->build_id, sizeof(w->build_id), "%08x", number / TOGETHER);
	must(maple_memo_open(path, 0, &w->memo, &err));
	must(maple_memo_spool(w->memo, folder, NULL, NULL, &err));
	must(maple_memo_campaign_begin(w->memo, &campaign, &w->campaign, &err));
	must(maple_memo_program(w->memo, w->campaign, w->build_id,
				"/bin/program", &w->program, &err));
	learn_all(w);
}

/* False: another worker has it. */
static bool claimed(struct worker *w, int64_t goal)
{
	struct maple_memo_claim claim = { .goal = goal };

	if (!maple_memo_shares(w->memo))
		return true;
	must(maple_memo_claim(w->memo, w->program, &claim, 1, &err));
	return !claim.taken;
}

static int64_t begin(struct worker *w, const struct run *r, int64_t goal)
{
	struct maple_memo_run start = { .kind = r->kind,
					.goal = goal,
					.plan = r->plan,
					.seed = r->seed,
					.attempt = r->attempt };
	int64_t row;

	must(maple_memo_begin(w->memo, &err));
	if (goal)
		must(maple_memo_mark(w->memo, w->program, goal,
				     MAPLE_MEMO_ATTEMPT, &err));
	must(maple_memo_run_begin(w->memo, w->campaign, &start, &row, &err));
	must(maple_memo_commit(w->memo, &err));
	return row;
}

static void end(struct worker *w, const struct run *r, int64_t row)
{
	struct maple_coverage coverage = { 0 };

	for (size_t i = 0; i < r->nsamples; i++) {
		const struct sample *s = &r->samples[i];
		struct maple_class_count *c =
			maple_coverage_class(&coverage, s->class);

		c->predicted = s->predicted;
		c->exposed = s->exposed;
		c->failed = s->failed;
		c->left = s->left;
		c->barred = s->barred;
	}
	must(maple_memo_run_end(w->memo, row, &r->end, &err));
	if (r->nsamples)
		must(maple_memo_sample(w->memo, row, &coverage, &err));
	maple_coverage_deinit(&coverage);
}

/* A profile run has seen a goal by itself. */
static void observe(struct worker *w)
{
	struct maple_memo_lesson lesson = {
		.marks = 1u << MAPLE_MEMO_OBSERVED,
	};

	fill_key(w, &goals[any(w, ngoals)], any(w, COPIES), &lesson.key);
	must(maple_memo_learn(w->memo, w->program, &lesson, 1, &err));
}

/* As lib/campaign/trial.c and lib/strategy/maple/enforce.c have it. */
static void do_run(struct worker *w)
{
	const struct run *r = &runs[any(w, nruns)];
	bool tries = r->goal && r->end.reason;
	int64_t goal = r->goal ? r->goal->row[any(w, COPIES)] : 0, row;

	if (tries && !claimed(w, goal))
		return;
	row = begin(w, r, tries ? goal : 0);
	if (!strcmp(r->kind, "profile"))
		observe(w);
	must(maple_memo_begin(w->memo, &err));
	if (tries)
		must(maple_memo_mark(w->memo, w->program, goal,
				     r->end.exposed ? MAPLE_MEMO_EXPOSED
						    : MAPLE_MEMO_FAILED,
				     &err));
	end(w, r, row);
	must(maple_memo_commit(w->memo, &err));
	if (tries && maple_memo_shares(w->memo))
		must(maple_memo_release(w->memo, w->program, &goal, 1, &err));
	w->attempts += tries;
	w->runs++;
}

static uint64_t cpu_us(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) *
		       1000000 +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void work(const char *path, const char *folder, unsigned int number)
{
	struct worker w = { 0 };
	uint64_t used;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* when another one has failed */
	/* One after the other: what is new is one campaign's at a time. */
	while (atomic_load(&shared->ready) < number)
		usleep(PAUSE_US);
	open_worker(&w, path, folder, number);
	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->on))
		usleep(PAUSE_US);
	used = cpu_us();
	while (!atomic_load(&shared->over))
		do_run(&w);
	atomic_fetch_add(&shared->cpu_us, cpu_us() - used);
	must(maple_memo_campaign_end(w.memo, w.campaign, "clean", NULL, NULL,
				     &err));
	if (maple_memo_spooled(w.memo)) {
		fprintf(stderr, "rate: the server was lost\n");
		exit(1);
	}
	maple_memo_close(w.memo);
	atomic_fetch_add(&shared->runs, w.runs);
	atomic_fetch_add(&shared->attempts, w.attempts);
	exit(0);
}

/* ---- all of them ---- */

static void await(unsigned int workers)
{
	int status;

	for (unsigned int i = 0; i < workers; i++)
		if (wait(&status) < 0 || status)
			exit(1);
}

static int64_t count(struct maple_memo *memo, const char *sql)
{
	struct maple_query *query = asked(memo, sql);
	int64_t n = next(memo, query) ? maple_sql_number(query, 0) : -1;

	maple_sql_finish(query);
	return n;
}

static void check(const char *path)
{
	struct maple_memo *memo;
	int64_t all, over, attempts;

	must(maple_memo_open(path, MAPLE_MEMO_READONLY, &memo, &err));
	all = count(memo, "SELECT count(*) FROM runs");
	over = count(memo, "SELECT count(*) FROM runs WHERE ended IS NOT NULL");
	attempts = count(memo, "SELECT sum(attempts) FROM memo");
	maple_memo_close(memo);
	if (all == (int64_t)shared->runs && over == all &&
	    attempts == (int64_t)shared->attempts)
		return;
	fprintf(stderr,
		"rate: of %ld runs with %ld tries the memo has %ld, of which "
		"%ld have ended, with %ld\n",
		(long)shared->runs, (long)shared->attempts, (long)all,
		(long)over, (long)attempts);
	exit(1);
}

/* CPU seconds of the children of @server that there are. */
static double server_cpu(int server)
{
	double ticks = 0;
	glob_t found;

	if (!server || glob("/proc/[0-9]*/stat", 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *in = fopen(found.gl_pathv[i], "r");
		unsigned long user, system;
		int parent;

		if (in &&
		    fscanf(in,
			   "%*d (%*[^)]) %*c %d %*d %*d %*d %*d %*u %*u %*u"
			   " %*u %*u %lu %lu",
			   &parent, &user, &system) == 3 &&
		    parent == server)
			ticks += (double)(user + system);
		if (in)
			fclose(in);
	}
	globfree(&found);
	return ticks / (double)sysconf(_SC_CLK_TCK);
}

static void share(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		exit(1);
}

/* Until all of them could begin, and one more moment, so that all have. */
static void until_ready(unsigned int workers)
{
	int status;

	while (atomic_load(&shared->ready) < workers) {
		if (waitpid(-1, &status, WNOHANG))
			exit(1);
		usleep(PAUSE_US);
	}
	atomic_store(&shared->on, true);
	usleep(2 * PAUSE_US);
}

int main(int argc, char **argv)
{
	unsigned int workers = argc >= 5 ? (unsigned int)atoi(argv[3]) : 0;
	int server = argc > 5 ? atoi(argv[5]) : 0;
	char folder[] = "/tmp/maple-rate-XXXXXX";
	double began, used;

	if (!workers || !mkdtemp(folder)) {
		fprintf(stderr, "usage: rate LOG MEMO WORKERS SECONDS "
				"[SERVER]\n");
		return 2;
	}
	read_log(argv[1]);
	share();
	for (unsigned int i = 0; i < workers; i++)
		if (!fork())
			work(argv[2], folder, i);
	until_ready(workers);
	began = maple_clock_now();
	used = server_cpu(server);
	usleep((useconds_t)(atof(argv[4]) * 1e6));
	used = server_cpu(server) - used;
	atomic_store(&shared->over, true);
	began = maple_clock_now() - began;
	await(workers);
	rmdir(folder);
	check(argv[2]);
	printf("%ld %.3f %.3f %.3f\n", (long)shared->runs, began,
	       (double)shared->cpu_us / 1e6, used);
	return 0;
}
