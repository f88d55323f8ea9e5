// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The levels of a controlled run (algorithms.md 10), as /proc has them while
 * one thread of tests/control/levels.c holds still. At any time, whatever the
 * stage: who runs stands strictly above all others that could, below HIGH if it
 * was chosen, at HIGH if it is in transit; and who has blocked is at HIGH.
 */
#include "control_stage.h"
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include "backend/agent/agent.h"

#define TASKS	80
#define NAP_MS	40 /* without a letter, until who was demoted is promoted */
#define DEMOTED 3  /* letters, until it is */

struct task {
	pid_t tid;
	char name, state;
	int policy, prio;
	unsigned int switches; /* of its own will */
};

/* Who looks, in a thread beside the run. */
struct look {
	struct maple_shm *shm;
	int out;      /* of the program's output */
	char demotes; /* at this letter; 0: never */
	bool itself;  /* ... who shows it, not who stands */
	char letter;  /* the last one, of whom, and all that were there then */
	const struct task *runs;
	struct task task[TASKS];
	unsigned int n;
	unsigned int seen[128]; /* letters */
	unsigned int asleep;	/* 'f', when 'w' was shown */
	unsigned int went_on;	/* 'd' that was still chosen when it woke up */
	unsigned int set_aside; /* ... that was not */
	unsigned int switches[128]; /* of whose letter that was, before */
	uint32_t low;		    /* who is demoted, or MAPLE_THREAD_NONE */
	unsigned int passed;	    /* 's', while another one is */
	unsigned int since;	    /* letters */
	char wrong[256];	    /* what was, first */
};

/* /proc has a process by the id of any of its threads. */
static bool read_task(pid_t pid, pid_t tid, struct task *t)
{
	char path[64], line[512], *at;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = 0;
	at = strrchr(line, ')');
	t->tid = tid;
	t->name = *(strchr(line, '(') + 1);
	/* Fields 3, 40 and 41 of proc(5). */
	if (!at || sscanf(at + 1,
			  " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			  "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			  "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d %d",
			  &t->state, &t->prio, &t->policy) != 3)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		sscanf(line, "voluntary_ctxt_switches: %u", &t->switches);
	fclose(f);
	return true;
}

static void read_tasks(struct look *l, pid_t runs)
{
	char path[64];
	struct dirent *d;
	DIR *dir;

	l->n = 0;
	l->runs = NULL;
	snprintf(path, sizeof(path), "/proc/%d/task", runs);
	dir = opendir(path);
	while (dir && (d = readdir(dir)) && l->n < TASKS) {
		if (*d->d_name == '.' ||
		    !read_task(runs, atoi(d->d_name), &l->task[l->n]))
			continue;
		if (l->task[l->n].tid == runs)
			l->runs = &l->task[l->n];
		l->n++;
	}
	if (dir)
		closedir(dir);
}

static void be(struct look *l, bool right, const char *what)
{
	int n;

	if (right || *l->wrong)
		return;
	n = snprintf(l->wrong, sizeof(l->wrong), "at '%c': %s:", l->letter,
		     what);
	for (unsigned int i = 0; i < l->n; i++)
		if (n < (int)sizeof(l->wrong))
			n += snprintf(l->wrong + n, sizeof(l->wrong) - n,
				      " %c%c %d/%d%s", l->task[i].name,
				      l->task[i].state, l->task[i].policy,
				      l->task[i].prio,
				      &l->task[i] == l->runs ? "*" : "");
}

/* Whether a task other than who runs could. */
static bool is_another_ready(const struct look *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (&l->task[i] != l->runs && l->task[i].state == 'R')
			return true;
	return false;
}

static bool is_asleep(const struct look *l, char name)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (l->task[i].name == name && l->task[i].state == 'S')
			return true;
	return false;
}

static void check_levels(struct look *l)
{
	bool transit = l->runs->prio == MAPLE_PRIO_HIGH;

	/* Who is demoted runs if nobody else can. */
	if (l->runs->policy == SCHED_OTHER && l->since)
		return;
	be(l,
	   l->runs->state == 'R' && l->runs->policy == SCHED_FIFO &&
		   l->runs->prio > MAPLE_PRIO_LOW &&
		   l->runs->prio <= MAPLE_PRIO_HIGH,
	   "who runs has no level");
	for (unsigned int i = 0; i < l->n; i++) {
		const struct task *t = &l->task[i];

		if (t == l->runs || (t->policy == SCHED_OTHER && l->since))
			continue;
		be(l, t->policy == SCHED_FIFO, "not at any level");
		be(l, t->prio >= MAPLE_PRIO_LOW, "below all that stand");
		/* Who slept by the machine's time may come while we look. */
		if (t->state == 'R') {
			be(l,
			   t->prio < l->runs->prio ||
				   (t->prio == MAPLE_PRIO_HIGH && !transit &&
				    (t->name == 'z' || t->name == 'd')),
			   "beside who runs");
			continue;
		}
		/* Who blocked just now has not been set aside yet. */
		be(l, t->prio == MAPLE_PRIO_HIGH || transit,
		   "asleep, and not in transit");
	}
}

static void check_letter(struct look *l)
{
	bool transit = l->runs->prio == MAPLE_PRIO_HIGH;
	bool slept = l->runs->switches > l->switches[(int)l->runs->name];

	switch (l->letter) {
	case 'b':
		be(l, transit, "new, and not in transit");
		break;
	case 'f':
		be(l, transit, "woken, and not in transit");
		break;
	case 'w':
		l->asleep += is_asleep(l, 'f');
		be(l, !transit, "chosen, and in transit");
		break;
	case 'h':
		be(l, transit || !l->passed, "not set aside");
		break;
	case 'z':
		be(l, transit || !is_another_ready(l), "not set aside");
		break;
	case 'd':
		l->went_on += !transit && slept && is_another_ready(l);
		l->set_aside += transit;
		break;
	default:
		be(l, !transit, "chosen, and in transit");
	}
}

static void set_sched(const struct look *l, bool demoted)
{
	struct maple_shm_thread *t = &l->shm->thread[l->low];
	struct sched_param param = { demoted ? 0 : (int)t->prio };

	t->demoted = demoted;
	sched_setscheduler(t->tid, demoted ? SCHED_OTHER : SCHED_FIFO, &param);
}

/* As one that is taken for a spinner, or is starved from outside. */
static void demote(struct look *l)
{
	for (uint32_t i = 1; i < l->shm->nthreads; i++) {
		if (!l->shm->thread[i].alive ||
		    (l->shm->thread[i].tid == l->runs->tid) != l->itself)
			continue;
		l->low = i;
		set_sched(l, true);
		l->since = 1;
		return;
	}
}

/* It may be one of any of the process's threads. */
static void answer(const struct look *l, pid_t tid)
{
	syscall(SYS_tgkill, l->shm->pid, tid, SIGUSR1);
}

static void promote(struct look *l)
{
	if (l->since)
		set_sched(l, false);
	if (l->since && l->itself)
		answer(l, l->shm->thread[l->low].tid);
	l->since = 0;
}

static void see(struct look *l, const char *line)
{
	pid_t tid = atoi(line + 1);

	l->letter = *line;
	read_tasks(l, tid);
	if (!l->runs) {
		be(l, false, "it does not run");
		return;
	}
	check_levels(l);
	check_letter(l);
	l->switches[(int)l->runs->name] = l->runs->switches;
	l->seen[(int)*line]++;
	if (l->since && ++l->since > DEMOTED)
		promote(l);
	l->passed += l->since && l->itself && *line == 's';
	if (l->letter == l->demotes && l->seen[(int)*line] == 1)
		demote(l);
}

/* The next line; whether there is one, and not just no letter for a while. */
static bool read_line(struct look *l, char *line, size_t size)
{
	struct pollfd p = { l->out, POLLIN, 0 };
	size_t n = 0;

	while (n < size - 1) {
		if (!poll(&p, 1, NAP_MS))
			promote(l);
		else if (read(l->out, line + n, 1) != 1)
			return false;
		else if (line[n++] == '\n')
			break;
	}
	line[n] = 0;
	return true;
}

static void *watch(void *arg)
{
	struct look *l = arg;
	char line[32];

	/* An empty line is the test's. */
	while (read_line(l, line, sizeof(line)) && *line != '\n') {
		see(l, line);
		if (l->since != 1 || !l->itself)
			answer(l, atoi(line + 1));
	}
	return NULL;
}

/* A run of @s, looked at by @l. */
static void show(struct stage *s, struct look *l,
		 const struct maple_run_control *c)
{
	const struct maple_run_sink sink = { 0 };
	struct maple_run_order order = {
		.kind = MAPLE_RUN_CONTROL,
		.control = c,
		.timeout = LIMIT,
	};
	struct maple_error err;
	pthread_t thread;
	int out[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	order.in = order.err = open("/dev/null", O_RDWR | O_CLOEXEC);
	order.out = out[1];
	l->out = out[0];
	l->low = MAPLE_THREAD_NONE;
	l->passed = 0;
	memset(l->switches, 0, sizeof(l->switches));
	l->since = 0;
	l->shm = ((struct maple_agent_backend *)s->play->alone.backend)->shm;
	assert_int_equal(pthread_create(&thread, NULL, watch, l), 0);
	maple_run_deinit(&s->run);
	if (maple_backend_run(s->play->alone.backend, NULL, &order, &sink,
			      &s->run, &err))
		fail_msg("%s", err.text);
	/* The next run's process has these ends as well: no end of file comes. */
	assert_int_equal(write(order.out, "\n", 1), 1);
	close(order.in);
	close(order.out);
	pthread_join(thread, NULL);
	close(out[0]);
	if (!s->run.delivered)
		fail_msg("%s", s->run.why_not);
	if (*l->wrong || s->run.end != MAPLE_END_ITSELF || s->run.status)
		fail_msg("%s, policy %u, seed %lu: end %d, status %x: %s",
			 s->play->argv[1], c->order.policy,
			 (unsigned long)c->order.seed, s->run.end,
			 s->run.status, l->wrong);
}

/* Some runs of a stage by each policy, in each of which it shows @letters. */
static void look_at(struct look *l, const char *stage, const char *letters,
		    unsigned int seeds)
{
	struct maple_run_control c = { 0 };
	struct stage s;

	open_stage(&s, "control/levels", stage);
	for (unsigned int i = 0; i < 4 * seeds; i++) {
		order_by(&c.order, nth_policy(i), i);
		memset(l->seen, 0, sizeof(l->seen));
		show(&s, l, &c);
		for (const char *at = letters; *at; at++)
			if (!l->seen[(int)*at])
				fail_msg("%s: '%c' was not seen", stage, *at);
	}
	close_stage(&s);
}

static void test_one_goes_on_above_those_who_stand(void **state)
{
	struct look l = { 0 };

	look_at(&l, "park", "s", 5);
	assert_int_equal(l.seen['s'], 3);
	look_at(&l, "60", "s", 1);
	assert_int_equal(l.seen['s'], 60);
}

static void test_who_is_new_or_woken_comes_first(void **state)
{
	struct look l = { 0 };

	look_at(&l, "birth", "bcs", 3);
	look_at(&l, "futex", "fgwv", 3);
	assert_true(l.asleep > 0);
	look_at(&l, "sleep", "z", 3);
}

/* Rule 7, and rule 5: which of them it is the machine's timer decides. */
static void test_who_wakes_up_at_once_was_never_away(void **state)
{
	struct look l = { 0 };

	look_at(&l, "doze", "d", 1);
	print_message("# %u went on, %u were set aside\n", l.went_on,
		      l.set_aside);
	assert_true(l.went_on > 0);
	assert_true(l.set_aside > 0);
}

/* The chosen one; and one that stands, and is chosen before it can run. */
static void test_who_is_demoted_is_not_waited_for(void **state)
{
	struct look l = { .demotes = 'e', .itself = true };

	look_at(&l, "demoted", "ehs", 3);
	l = (struct look){ .demotes = 's' };
	look_at(&l, "4", "s", 10);
	assert_int_equal(l.seen['s'], 4);
}

static void test_a_child_has_left_the_run(void **state)
{
	struct look l = { 0 };

	look_at(&l, "fork", "kl", 2);
}

static void test_the_program_ends_while_others_stand(void **state)
{
	struct look l = { 0 };

	look_at(&l, "exit", "x", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_one_goes_on_above_those_who_stand),
		T(test_who_is_new_or_woken_comes_first),
		T(test_who_wakes_up_at_once_was_never_away),
		T(test_who_is_demoted_is_not_waited_for),
		T(test_a_child_has_left_the_run),
		T(test_the_program_ends_while_others_stand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
