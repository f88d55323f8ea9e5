// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The watch: one stretch at a time, of the line that may have one first; then a
 * pause of that line's, which follows from what the stretch cost.
 *
 * Who is orphaned by a job becomes our child, so what jobs used of the CPU is
 * what our children have used. A job that an earlier watch began is none of
 * ours; what that uses is looked at while it runs.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../journal.h"
#include "../stat.h"
#include "service.h"
#include "stretch.h"

#define LOOK	 10.0 /* seconds until processes are looked for again */
#define HABIT_MS 2000 /* by which it is known, where nothing else is */
#define STEP_MS	 500
#define WEEK	 (7 * 86400.0)
#define LATE	 60 /* seconds that a job may take beyond its time */

static int64_t today(void)
{
	return (int64_t)time(NULL);
}

static double day_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What we have used ourselves, and all children that are gone. */
static double used_by_us(void)
{
	static const int who[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	double sum = 0;
	struct rusage r;

	for (int i = 0; i < 2; i++)
		if (!getrusage(who[i], &r))
			sum += (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
			       (double)(r.ru_utime.tv_usec +
					r.ru_stime.tv_usec) /
				       1e6;
	return sum;
}

/* Waits; true: we are to end. */
static bool nap(struct maple_watch *w, int fd, int ms)
{
	struct pollfd on[2] = { { w->signals, POLLIN, 0 }, { fd, POLLIN, 0 } };

	if (poll(on, fd < 0 ? 1 : 2, ms) > 0 && on[0].revents)
		w->ends = true;
	return w->ends;
}

/* Not those of user_do() and of begin(), which wait for theirs. */
static void reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void save(struct maple_watch *w)
{
	int e = maple_watch_state_write(&w->state, w->path, w->gid);

	if (e && !w->unsaved)
		maple_journal(LOG_WARNING, NULL, "watch: %s: %s", w->path,
			      strerror(-e));
	w->unsaved = e;
}

/* ---- one that is under way ---- */

/* Whether @who is there, and what it and its children have used. */
static bool runs(const struct maple_scan_process *who, double *used)
{
	struct maple_stat stat;

	if (!maple_stat_read(who->pid, &stat) || stat.started != who->started)
		return false;
	*used = stat.used;
	return true;
}

static void stop_late(const struct maple_watch_entry *e,
		      const struct maple_watch_user *user)
{
	maple_journal(LOG_WARNING, NULL,
		      "watch: job %" PRIu64
		      " of %s does not come to an end, and "
		      "is asked to",
		      e->job.number, user->name);
	maple_stretch_stop(user, e->job.number);
}

/*
 * Until nobody carries the job out. Returns what a carrier that is no child of
 * ours has used; negative: we are to end before.
 */
static double await(struct maple_watch *w, const struct maple_watch_entry *e,
		    const struct maple_watch_user *user)
{
	const struct maple_watch_job *job = &e->job;
	double used = 0, more;
	int fd = job->carrier.pid > 0 && runs(&job->carrier, &used)
			 ? (int)syscall(SYS_pidfd_open, job->carrier.pid, 0)
			 : -1;
	int64_t late = job->began + (int64_t)e->line.stretch + LATE;
	int64_t last = late + 2 * LATE;
	bool ended = fd < 0, there;

	while (!ended && !nap(w, fd, STEP_MS)) {
		struct pollfd pfd = { fd, POLLIN, 0 };

		there = runs(&job->carrier, &more);
		used = there && more > used ? more : used;
		/* Who it is is the user's word: nobody keeps us for ever. */
		ended = poll(&pfd, 1, 0) == 1 || !there || today() > last;
		if (!ended && today() > late) {
			stop_late(e, user);
			late = today() + LATE;
		}
	}
	if (fd >= 0)
		close(fd);
	reap();
	return ended ? used : -1;
}

static void tell(const struct maple_watch_entry *e, uid_t user,
		 const struct maple_stretch_news *news, double cost,
		 double pause)
{
	char number[24], pid[16], uid[16];
	/* As a job's other lines have them, for mapletest log. */
	const struct maple_journal_field fields[] = { { "MAPLE_JOB", number },
						      { "MAPLE_PID", pid },
						      { "MAPLE_UID", uid },
						      { NULL, NULL } };

	snprintf(number, sizeof(number), "%" PRIu64, e->job.number);
	snprintf(pid, sizeof(pid), "%d", (int)e->job.process.pid);
	snprintf(uid, sizeof(uid), "%u", (unsigned int)user);
	maple_journal_with(
		news->findings ? LOG_WARNING : LOG_INFO, NULL, fields,
		"watch: job %s of %s, process %s: %s, %" PRIu64
		" iRoots predicted, %" PRIu64
		" exposed, %u findings; it cost %.2f s of CPU, the "
		"next one is in %.0f s at the earliest",
		number, e->line.user, pid,
		maple_detached_state_name(news->state), news->predicted,
		news->exposed, news->findings, cost, pause);
}

static struct maple_watch_process *
find_process(struct maple_watch_entry *e, const struct maple_scan_process *is)
{
	for (unsigned int i = 0; i < e->n; i++)
		if (e->process[i].is.pid == is->pid &&
		    e->process[i].is.started == is->started)
			return &e->process[i];
	return NULL;
}

/* How it ended, for the line and the process. */
static void learn(struct maple_watch_entry *e,
		  const struct maple_watch_user *user,
		  const struct maple_stretch_news *news)
{
	struct maple_watch_process *p = find_process(e, &e->job.process);
	bool fine = news->state == MAPLE_DETACHED_CLEAN ||
		    news->state == MAPLE_DETACHED_FINDING;
	char why[MAPLE_WATCH_NOTE];

	e->stretches++;
	e->runs += news->runs;
	e->findings += news->findings;
	if (news->predicted || news->exposed) {
		e->predicted = news->predicted;
		e->exposed = news->exposed;
	}
	/* What it learned is in the memo; its folder would be one of thousands. */
	if (news->state == MAPLE_DETACHED_CLEAN)
		maple_stretch_remove(user, e->job.number);
	if (fine && p) {
		p->fails = 0;
		*p->note = '\0';
	}
	if (fine)
		return;
	e->failed++;
	if (e->kept && e->kept != e->job.number)
		maple_stretch_remove(user, e->kept);
	e->kept = e->job.number;
	snprintf(why, sizeof(why),
		 "job %" PRIu64 " %s: 'mapletest jobs %" PRIu64
		 "', as %.60s, says why",
		 e->job.number, maple_detached_state_name(news->state),
		 e->job.number, e->line.user);
	if (p)
		maple_watch_process_fail(p, today(), why);
}

/* What a stretch has cost is the line's, whatever came of it. */
static double charge(struct maple_watch_entry *e, double cost, double lasted,
		     double least)
{
	double pause = maple_price_pause(cost, lasted, e->line.share);

	if (pause < least)
		pause = least;
	e->spent += cost;
	e->due = day_time() + pause;
	return pause;
}

/* The job that is under way ends; @before: what all had used when it began. */
static void follow(struct maple_watch *w, struct maple_watch_entry *e,
		   const struct maple_watch_user *user, double before,
		   const struct maple_price_sample sample[2], bool ours)
{
	struct maple_watch_process *p;
	struct maple_stretch_news news = { .state = MAPLE_DETACHED_CUT_OFF };
	struct maple_price_sample end = { 0 };
	double used = await(w, e, user), cost, lasted;

	if (used < 0)
		return;
	maple_stretch_look(user, e->job.number, &news);
	learn(e, user, &news);
	lasted = (double)(today() - e->job.began);
	cost = used_by_us() - before + (ours ? 0 : used);
	p = find_process(e, &e->job.process);
	if (p) {
		p->stretches++;
		p->sampled = maple_price_look(p->is.pid, &end);
		p->sample = end;
	}
	/* Where the kernel does not say what it lost, or nobody looked, all. */
	if (p && p->sampled && sample)
		cost += maple_price_lost(&sample[0], &sample[1], &end);
	else
		cost += lasted;
	tell(e, user->uid, &news, cost, charge(e, cost, lasted, 0));
	e->job.number = 0;
}

/* ---- how one begins ---- */

/* How the process does when nobody is there; false: it is gone. */
static bool sample_habit(struct maple_watch *w, struct maple_watch_process *p,
			 struct maple_price_sample sample[2])
{
	sample[0] = p->sample;
	if (!p->sampled) {
		if (!maple_price_look(p->is.pid, &sample[0]) ||
		    nap(w, -1, HABIT_MS))
			return false;
	}
	return maple_price_look(p->is.pid, &sample[1]);
}

static void refuse(struct maple_watch_entry *e, struct maple_watch_process *p,
		   const struct maple_error *err)
{
	bool known = *p->note;

	e->failed++;
	maple_watch_process_fail(p, today(), err->text);
	/* The same again is for who asks. */
	if (!known)
		maple_journal(LOG_WARNING, NULL,
			      "watch: process %d of %s is not joined: %s",
			      (int)p->is.pid, e->line.user, p->note);
}

static void begin(struct maple_watch *w, struct maple_watch_entry *e,
		  const struct maple_watch_user *user,
		  struct maple_watch_process *p, double before)
{
	struct maple_price_sample sample[2];
	struct maple_stretch_news news = { .pid = 0 };
	struct maple_error err = { "" };
	uint64_t number = 0;
	bool known = sample_habit(w, p, sample);
	int e2;

	if (w->ends)
		return;
	p->last = today();
	e->job.began = today();
	e2 = maple_stretch_begin(&e->line, user, &p->is, w->socket, &number,
				 &err);
	if (e2) {
		if (e2 != -ESRCH)
			refuse(e, p, &err);
		charge(e, used_by_us() - before, 0, 1);
		return;
	}
	maple_stretch_look(user, number, &news);
	e->job.number = number;
	e->job.carrier = (struct maple_scan_process){ news.pid, news.started };
	e->job.process = p->is;
	save(w);
	follow(w, e, user, before, known ? sample : NULL, true);
}

static void tell_limits(struct maple_watch_entry *e, unsigned int matched,
			unsigned int replaced)
{
	if (e->matching > e->line.processes && matched <= e->line.processes)
		maple_journal(LOG_WARNING, NULL,
			      "watch: %u processes match %s of %s: the %u "
			      "oldest are watched, see processes= in "
			      "mapled.conf(5)",
			      e->matching, e->line.glob, e->line.user,
			      e->line.processes);
	if (e->replaced > replaced)
		maple_journal(LOG_WARNING, NULL,
			      "watch: the executable of %u processes of %s that "
			      "match %s was replaced: they are not watched "
			      "until they are started again",
			      e->replaced, e->line.user, e->line.glob);
}

/* It is this line's turn. */
static void turn(struct maple_watch *w, struct maple_watch_entry *e)
{
	double before = used_by_us();
	unsigned int matched = e->matching, replaced = e->replaced;
	static struct maple_scan scan;
	struct maple_watch_process *p;
	struct maple_watch_user user;
	struct maple_error err = { "" };
	int error = maple_watch_user_find(e->line.user, &user, &err);

	if (!error)
		error = maple_scan(&e->line, &user, &scan);
	if (error) {
		if (!e->told)
			maple_journal(LOG_WARNING, NULL, "watch: %s",
				      *err.text ? err.text : strerror(-error));
		e->told = true;
		charge(e, used_by_us() - before, 0, LOOK);
		return;
	}
	maple_watch_entry_update(e, &scan);
	tell_limits(e, matched, replaced);
	p = maple_watch_entry_next(e, today());
	if (p)
		begin(w, e, &user, p, before);
	else
		charge(e, used_by_us() - before, 0, LOOK);
}

/* An earlier watch has begun it: what it cost until now is not known. */
static void resume(struct maple_watch *w, struct maple_watch_entry *e)
{
	struct maple_watch_user user;
	struct maple_error err = { "" };

	if (!e->job.number)
		return;
	if (maple_watch_user_find(e->line.user, &user, &err)) {
		e->job.number = 0;
		return;
	}
	maple_journal(LOG_INFO, NULL,
		      "watch: job %" PRIu64
		      " of %s was under way when the watch "
		      "ended",
		      e->job.number, e->line.user);
	follow(w, e, &user, used_by_us(), NULL, false);
}

/* maple_watch_run - until SIGTERM or SIGINT; a job under way goes on */
void maple_watch_run(struct maple_watch *w)
{
	struct maple_watch_entry *next;
	double wait;

	assert(w->state.n && w->signals >= 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (unsigned int i = 0; i < w->state.n && !w->ends; i++)
		resume(w, &w->state.entry[i]);
	save(w);
	while (!w->ends) {
		next = &w->state.entry[0];
		for (unsigned int i = 1; i < w->state.n; i++)
			if (w->state.entry[i].due < next->due)
				next = &w->state.entry[i];
		wait = next->due - day_time();
		/* No pause is that long: the clock was set back. */
		if (wait > WEEK)
			wait = 0;
		if (wait > 0) {
			/* The clock may be set. */
			nap(w, -1,
			    (int)((wait < LOOK ? wait : LOOK) * 1000) + 1);
			continue;
		}
		turn(w, next);
		reap();
		save(w);
	}
	save(w);
}
