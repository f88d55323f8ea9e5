// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * workers load ROWS URL
 * workers COUNT CONNECTIONS SECONDS REST FILE ROWS SERVER URL...
 *
 * The first makes an empty memo that knows of some thousand candidates, and
 * writes into the file ROWS which rows they are; copies of it are the memos of
 * the second.
 *
 * COUNT campaigns, of which all is real but the program: what they say to the
 * memo is said by the memo's own functions, in the transactions of an enforced
 * run. In place of the run there is a wait, as long as a run that was measured
 * has taken; between two runs a wait of REST seconds, what a campaign computes.
 * FILE has the plan of such a run in its first line, and a time in each other.
 *
 * Where there are fewer connections than campaigns each is that of several.
 * Their waits go on at the same time, but what they say comes one after the
 * other. The campaign I has the memo I modulo the number of URLs.
 *
 * Beside them two more connections measure how fast news is: one says that a
 * run has exposed a goal; the other one, a campaign that wants to try this
 * goal, asks for it again and again until it is told so.
 *
 * SERVER is the process id of the server: how much CPU time its processes take
 * for a run tells more of it than the time of day, where other things run too.
 *
 * Prints a line of names and values, for tests/bench/scale.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <maple/memo.h>

#define GOALS	 8000u /* of each memo: more than can be exposed meanwhile */
#define PROBES	 400u  /* more of them, for news */
#define TOGETHER 8u    /* candidates that are claimed for a run */
#define EXPOSES	 4u    /* one in so many candidates that are tried */
#define WARM	 2.0  /* seconds that are not counted: statements are planned */
#define ASK	 0.01 /* seconds between two questions for news */

struct samples {
	double *value;
	size_t n, room;
};

struct worker {
	int64_t campaign, run;
	uint64_t random;
	unsigned int next, stride, n, goal[TOGETHER];
	bool running;
	double at;		/* when it goes on */
	unsigned char *exposed; /* those it has heard of */
};

struct line {
	pthread_t thread;
	const char *url;
	struct maple_memo *memo;
	int64_t program;
	struct worker *worker;
	unsigned int number, n;
	unsigned char *busy; /* claimed by a worker of this connection */
	struct samples claim, write;
	uint64_t runs, claims, taken, told, twice;
};

static int64_t row[GOALS + PROBES]; /* the same in each memo */
static char *plan;
static double *times, rest, began = 1e300;
static pthread_barrier_t opened;
static unsigned long server;
static size_t ntimes;
static atomic_bool over;
static atomic_uint busy; /* others have written for longer than is waited for */
static atomic_uint probe; /* number of the goal that is news; 0: none */
static struct samples news;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void wait_for(double seconds)
{
	if (seconds > 0)
		usleep((useconds_t)(seconds * 1e6));
}

static void must(int ret, const struct maple_error *err)
{
	if (!ret)
		return;
	fprintf(stderr, "workers: %s\n", err->text);
	exit(1);
}

#define MUST(call)                               \
	do {                                     \
		struct maple_error err = { "" }; \
		must((call), &err);              \
	} while (0)

/*
 * The same until it is not too busy. A campaign would end here; this one goes
 * on, and it is counted.
 */
#define INSIST(call)                                \
	do {                                        \
		struct maple_error err = { "" };    \
		int ret_;                           \
		while ((ret_ = (call)) == -EBUSY)   \
			atomic_fetch_add(&busy, 1); \
		must(ret_, &err);                   \
	} while (0)

static int close_memo(struct maple_memo *memo, int e, struct maple_error *err)
{
	if (!e)
		e = maple_memo_commit(memo, err);
	if (e)
		maple_memo_rollback(memo);
	return e;
}

static void *allocate(size_t n, size_t size)
{
	void *memory = calloc(n ? n : 1, size);

	if (!memory)
		must(-ENOMEM, &(struct maple_error){ "out of memory" });
	return memory;
}

static void add(struct samples *s, double value)
{
	if (now() < began + WARM)
		return;
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->value = realloc(s->value, s->room * sizeof(*s->value));
		if (!s->value)
			must(-ENOMEM, &(struct maple_error){ "out of memory" });
	}
	s->value[s->n++] = value;
}

static bool counts(void)
{
	return now() >= began + WARM && !atomic_load(&over);
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static struct maple_memo_lesson lesson(unsigned int goal, unsigned int mark)
{
	return (struct maple_memo_lesson){
		.key = { .class = "idiom 1",
			 .n = 2,
			 .use = { { "be9c4", "/bin/simulated", 16 * goal, false,
				    'R', "reads", "simulated.c", goal },
				  { "be9c4", "/bin/simulated", 8 + 16 * goal,
				    false, 'W', "writes", "simulated.c",
				    goal } } },
		.marks = 1u << mark,
	};
}

/* ---- a campaign ---- */

static void begin_campaign(struct maple_memo *memo, unsigned int number,
			   int64_t *campaign, int64_t *program)
{
	static char *const argv[] = { (char *)"simulated", NULL };
	const struct maple_memo_campaign c = { .argv = argv,
					       .cwd = "/",
					       .input = "simulated",
					       .strategy = "ranked",
					       .seed = number + 1,
					       .version = "0",
					       .backend = "none" };

	INSIST(maple_memo_campaign_begin(memo, &c, campaign, &err));
	INSIST(maple_memo_program(memo, *campaign, "be9c4", "/bin/simulated",
				  program, &err));
}

/* The next candidates that it has not heard of; each has an order of its own. */
static void choose(struct line *line, struct worker *w)
{
	w->n = 0;
	for (unsigned int i = 0; i < GOALS && w->n < TOGETHER; i++) {
		w->next = (w->next + w->stride) % GOALS;
		if (!w->exposed[w->next] && !line->busy[w->next])
			w->goal[w->n++] = w->next;
	}
}

static void claim(struct line *line, struct worker *w)
{
	struct maple_memo_claim claims[TOGETHER];
	unsigned int n = w->n;
	int64_t known[TOGETHER];
	size_t nknown = 0;
	double at = now();

	for (unsigned int i = 0; i < n; i++)
		claims[i] = (struct maple_memo_claim){ row[w->goal[i]] };
	MUST(maple_memo_claim(line->memo, line->program, claims, n, &err));
	add(&line->claim, now() - at);
	w->n = 0;
	for (unsigned int i = 0; i < n; i++) {
		unsigned int goal = w->goal[i];

		line->taken += claims[i].taken && counts();
		if (claims[i].taken)
			continue;
		if (claims[i].state.exposed) {
			line->told += counts();
			w->exposed[goal] = 1;
			known[nknown++] = claims[i].goal;
			continue;
		}
		line->busy[goal] = 1;
		w->goal[w->n++] = goal;
	}
	if (nknown)
		MUST(maple_memo_release(line->memo, line->program, known,
					nknown, &err));
	line->claims += counts() ? n : 0;
}

/* That a run has begun: the other transaction of it. */
static int note_run(struct line *line, struct worker *w,
		    const struct maple_memo_run *run, struct maple_error *err)
{
	int e = maple_memo_begin(line->memo, err);

	if (!e)
		e = maple_memo_mark(line->memo, line->program, run->goal,
				    MAPLE_MEMO_ATTEMPT, err);
	if (!e)
		e = maple_memo_run_begin(line->memo, w->campaign, run, &w->run,
					 err);
	return close_memo(line->memo, e, err);
}

static void begin_run(struct line *line, struct worker *w)
{
	struct maple_memo_run run = {
		.kind = "enforced", .plan = plan, .seed = 7, .attempt = 1
	};

	choose(line, w);
	if (w->n)
		claim(line, w);
	w->at = now() + rest;
	if (!w->n)
		return; /* asks for others, after a rest */
	run.goal = row[w->goal[0]];
	INSIST(note_run(line, w, &run, &err));
	w->at = now() + times[draw(&w->random) % ntimes];
	w->running = true;
}

/* What a run means and that it has ended: one transaction. */
static int tell_once(struct maple_memo *memo, int64_t program, int64_t run,
		     struct maple_memo_lesson *l, bool exposed,
		     struct maple_error *err)
{
	const struct maple_memo_run_end end = {
		.verdict = "pass",
		.seconds = .05,
		.delivered = true,
		.exposed = exposed,
		.reason = exposed ? MAPLE_MEMO_REASON_EXPOSED
				  : MAPLE_MEMO_REASON_UNMET,
		.news = exposed,
	};
	struct maple_class_count count[] = { { "idiom 1", 9, 8, 7, 6, 5 },
					     { "idiom 2", 9, 8, 7, 6, 5 },
					     { "idiom 3", 9, 8, 7, 6, 5 } };
	const struct maple_coverage coverage = { 3, count };

	int e = maple_memo_begin(memo, err);

	if (!e)
		e = maple_memo_learn(memo, program, l, 1, err);
	if (!e)
		e = maple_memo_run_end(memo, run, &end, err);
	if (!e)
		e = maple_memo_sample(memo, run, &coverage, err);
	return close_memo(memo, e, err);
}

/* Whether another one had exposed it before. */
static bool tell(struct maple_memo *memo, int64_t program, int64_t run,
		 unsigned int goal, bool exposed)
{
	struct maple_memo_lesson l =
		lesson(goal, exposed ? MAPLE_MEMO_EXPOSED : MAPLE_MEMO_FAILED);

	INSIST(tell_once(memo, program, run, &l, exposed, &err));
	return exposed && l.state.exposed;
}

static void end_run(struct line *line, struct worker *w)
{
	bool exposed = draw(&w->random) % EXPOSES == 0;
	int64_t rows[TOGETHER];
	double at = now();

	line->twice +=
		tell(line->memo, line->program, w->run, w->goal[0], exposed);
	add(&line->write, now() - at);
	for (unsigned int i = 0; i < w->n; i++) {
		rows[i] = row[w->goal[i]];
		line->busy[w->goal[i]] = 0;
	}
	MUST(maple_memo_release(line->memo, line->program, rows, w->n, &err));
	if (exposed)
		w->exposed[w->goal[0]] = 1;
	line->runs += counts();
	w->running = false;
	w->at = now() + rest;
}

static void open_line(struct line *line)
{
	unsigned int number = line->number, workers = line->n;

	line->busy = allocate(GOALS, 1);
	line->worker = allocate(workers, sizeof(*line->worker));
	INSIST(maple_memo_open(line->url, 0, &line->memo, &err));
	for (unsigned int i = 0; i < workers; i++) {
		struct worker *w = &line->worker[i];

		w->random = (number * 1000003u + i + 1) * 0x9e3779b97f4a7c15u;
		w->next = (unsigned int)(draw(&w->random) % GOALS);
		/* Prime to the number of goals: it comes to each. */
		w->stride =
			(unsigned int)(draw(&w->random) % GOALS) / 10 * 10 + 1;
		w->exposed = allocate(GOALS, 1);
		begin_campaign(line->memo, number, &w->campaign, &line->program);
		/* They do not all begin in step. */
		w->at = now() + times[draw(&w->random) % ntimes];
	}
}

static void *work(void *arg)
{
	struct line *line = arg;

	open_line(line);
	pthread_barrier_wait(&opened);
	while (!atomic_load(&over)) {
		struct worker *first = line->worker;
		double wait;

		for (unsigned int i = 1; i < line->n; i++)
			if (line->worker[i].at < first->at)
				first = &line->worker[i];
		wait = first->at - now();
		/* So that the end is seen. */
		wait_for(wait < .1 ? wait : .1);
		if (wait >= .1)
			continue;
		if (first->running)
			end_run(line, first);
		else
			begin_run(line, first);
	}
	maple_memo_close(line->memo);
	return NULL;
}

/* ---- news ---- */

struct prober {
	pthread_t thread;
	struct maple_memo *memo;
	int64_t campaign, program;
};

static double told_at; /* when the run was over */

static void *say_news(void *arg)
{
	const struct maple_memo_run run = { .kind = "enforced", .plan = plan };
	struct prober *p = arg;
	int64_t id;

	for (unsigned int i = 0; i < PROBES && !atomic_load(&over); i++) {
		INSIST(maple_memo_run_begin(p->memo, p->campaign, &run, &id,
					    &err));
		told_at = now();
		atomic_store(&probe, GOALS + i);
		tell(p->memo, p->program, id, GOALS + i, true);
		while (atomic_load(&probe) && !atomic_load(&over))
			wait_for(ASK);
		wait_for(.2);
	}
	return NULL;
}

static void *hear_news(void *arg)
{
	struct prober *p = arg;

	while (!atomic_load(&over)) {
		unsigned int goal = atomic_load(&probe);
		struct maple_memo_claim c = { goal ? row[goal] : 0 };

		if (goal) {
			MUST(maple_memo_claim(p->memo, p->program, &c, 1, &err));
			MUST(maple_memo_release(p->memo, p->program, &c.goal, 1,
						&err));
		}
		if (goal && c.state.exposed) {
			add(&news, now() - told_at);
			atomic_store(&probe, 0);
		} else {
			wait_for(ASK);
		}
	}
	return NULL;
}

static void open_prober(struct prober *p, const char *url, unsigned int number)
{
	INSIST(maple_memo_open(url, 0, &p->memo, &err));
	begin_campaign(p->memo, number, &p->campaign, &p->program);
}

/* ---- all of it ---- */

/* Goals that a profile run has predicted, which all of them know. */
static void load(const char *url, const char *path)
{
	enum { CHUNK = 400 };
	static struct maple_memo_lesson lessons[CHUNK];
	struct maple_memo *memo;
	int64_t campaign, program;
	FILE *out;

	MUST(maple_memo_open(url, 0, &memo, &err));
	begin_campaign(memo, 0, &campaign, &program);
	for (unsigned int i = 0; i < GOALS + PROBES; i += CHUNK) {
		for (unsigned int k = 0; k < CHUNK; k++)
			lessons[k] = lesson(i + k, MAPLE_MEMO_PREDICTED);
		MUST(maple_memo_learn(memo, program, lessons, CHUNK, &err));
		for (unsigned int k = 0; k < CHUNK; k++)
			row[i + k] = lessons[k].goal;
	}
	maple_memo_close(memo);
	out = fopen(path, "w");
	if (!out || fwrite(row, sizeof(row), 1, out) != 1 || fclose(out))
		must(-EIO, &(struct maple_error){ "the rows are not written" });
}

static void read_rows(const char *path)
{
	FILE *in = fopen(path, "r");

	if (!in || fread(row, sizeof(row), 1, in) != 1)
		must(-EIO, &(struct maple_error){ "the file has no rows" });
	fclose(in);
}

static void read_file(const char *path)
{
	FILE *in = fopen(path, "r");
	size_t size = 0, room = 0;
	double value;

	if (!in || getline(&plan, &size, in) < 1)
		must(-EIO, &(struct maple_error){ "the file has no plan" });
	plan[strcspn(plan, "\n")] = '\0';
	while (fscanf(in, "%lf", &value) == 1) {
		if (ntimes == room) {
			room = room ? 2 * room : 256;
			times = realloc(times, room * sizeof(*times));
			if (!times)
				must(-ENOMEM, &(struct maple_error){ "memory" });
		}
		times[ntimes++] = value;
	}
	fclose(in);
	if (!ntimes)
		must(-EIO, &(struct maple_error){ "the file has no times" });
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* "NAME50 MS NAME95 MS" */
static void print_samples(const char *name, struct samples *s)
{
	qsort(s->value, s->n, sizeof(*s->value), by_value);
	printf(" %s50 %.1f %s95 %.1f", name, s->n ? s->value[s->n / 2] * 1e3 : 0,
	       name, s->n ? s->value[s->n * 95 / 100] * 1e3 : 0);
}

static void append(struct samples *to, const struct samples *from)
{
	to->value =
		realloc(to->value, (to->n + from->n + 1) * sizeof(*to->value));
	if (!to->value)
		must(-ENOMEM, &(struct maple_error){ "out of memory" });
	if (from->n)
		memcpy(to->value + to->n, from->value,
		       from->n * sizeof(*to->value));
	to->n += from->n;
}

static void print_all(struct line *lines, unsigned int n, double seconds)
{
	struct samples claims = { 0 }, writes = { 0 };
	struct line sum = { 0 };

	for (unsigned int i = 0; i < n; i++) {
		append(&claims, &lines[i].claim);
		append(&writes, &lines[i].write);
		sum.runs += lines[i].runs;
		sum.claims += lines[i].claims;
		sum.taken += lines[i].taken;
		sum.told += lines[i].told;
		sum.twice += lines[i].twice;
	}
	printf("runs_s %.1f claims_s %.1f taken_s %.1f told_s %.1f twice %llu",
	       (double)sum.runs / seconds, (double)sum.claims / seconds,
	       (double)sum.taken / seconds, (double)sum.told / seconds,
	       (unsigned long long)sum.twice);
	print_samples("claim", &claims);
	print_samples("write", &writes);
	print_samples("news", &news);
	printf(" heard %zu busy %u\n", news.n, atomic_load(&busy));
}

/* Of one process, if the server has started it; else 0. */
static double time_of(const char *pid)
{
	unsigned long parent, user, kernel;
	char path[300];
	int n = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	in = fopen(path, "r");
	if (in)
		n = fscanf(in,
			   "%*d (%*[^)]) %*c %lu %*d %*d %*d %*d %*u %*u %*u "
			   "%*u %*u %lu %lu",
			   &parent, &user, &kernel);
	if (in)
		fclose(in);
	return n == 3 && parent == server
		       ? (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK)
		       : 0;
}

/* Seconds that all of the server's processes have taken, which are there. */
static double server_time(void)
{
	DIR *all = opendir("/proc");
	struct dirent *e;
	double sum = 0;

	while (all && (e = readdir(all)))
		if (*e->d_name >= '1' && *e->d_name <= '9')
			sum += time_of(e->d_name);
	if (all)
		closedir(all);
	return sum;
}

static double own_time(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void start(pthread_t *thread, void *(*what)(void *ctx), void *ctx)
{
	if (pthread_create(thread, NULL, what, ctx))
		must(-EAGAIN, &(struct maple_error){ "no thread" });
}

static void simulate(unsigned int count, unsigned int n, char **urls,
		     unsigned int nurls, double seconds)
{
	struct line *lines = allocate(n, sizeof(*lines));
	struct prober probers[2];
	double served, own;

	for (unsigned int i = 0; i < n; i++) {
		lines[i].url = urls[i % nurls];
		lines[i].number = i;
		lines[i].n = count / n + (i < count % n);
	}
	open_prober(&probers[0], urls[0], n);
	open_prober(&probers[1], urls[0], n + 1);
	pthread_barrier_init(&opened, NULL, n + 1);
	for (unsigned int i = 0; i < n; i++)
		start(&lines[i].thread, work, &lines[i]);
	pthread_barrier_wait(&opened);
	began = now();
	start(&probers[0].thread, say_news, &probers[0]);
	start(&probers[1].thread, hear_news, &probers[1]);
	wait_for(WARM);
	served = server_time();
	own = own_time();
	wait_for(seconds);
	served = server_time() - served;
	own = own_time() - own;
	atomic_store(&over, true);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(lines[i].thread, NULL);
	for (unsigned int i = 0; i < 2; i++) {
		pthread_join(probers[i].thread, NULL);
		maple_memo_close(probers[i].memo);
	}
	printf("server %.2f clients %.2f ", served, own);
	print_all(lines, n, seconds);
}

int main(int argc, char **argv)
{
	unsigned int count, connections;
	double seconds;

	if (argc == 4 && !strcmp(argv[1], "load")) {
		load(argv[3], argv[2]);
		return 0;
	}
	if (argc < 9) {
		fputs("workers load ROWS URL\n"
		      "workers COUNT CONNECTIONS SECONDS REST FILE ROWS "
		      "SERVER URL...\n",
		      stderr);
		return 2;
	}
	count = (unsigned int)strtoul(argv[1], NULL, 10);
	connections = (unsigned int)strtoul(argv[2], NULL, 10);
	seconds = strtod(argv[3], NULL);
	rest = strtod(argv[4], NULL);
	read_file(argv[5]);
	read_rows(argv[6]);
	server = strtoul(argv[7], NULL, 10);
	simulate(count, connections < count ? connections : count, argv + 8,
		 (unsigned int)argc - 8, seconds);
	return 0;
}
