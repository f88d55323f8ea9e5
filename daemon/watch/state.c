// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The watch's knowledge, which outlives it: a line of text for each watch,
 * process and job. So a restart neither forgets what has been spent nor a job
 * that goes on.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "state.h"

#define FAIL_FIRST 60 /* seconds, twice as long each time, ... */
#define FAIL_MOST  3600

static void read_watch(struct maple_watch_state *s, const char *text)
{
	struct maple_watch_entry *e = &s->entry[s->n];
	struct maple_watch_line *l = &e->line;
	int force;

	if (s->n == MAPLE_WATCH_LINES)
		return;
	memset(e, 0, sizeof(*e));
	if (sscanf(text,
		   "%63s %255s %lf %lf %u %d %" SCNd64 " %lf %lf %u %u %u %u "
		   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %u %u %u",
		   l->user, l->glob, &l->share, &l->stretch, &l->processes,
		   &force, &e->since, &e->due, &e->spent, &e->stretches,
		   &e->failed, &e->runs, &e->findings, &e->predicted,
		   &e->exposed, &e->kept, &e->matching, &e->replaced,
		   &e->single) != 19)
		return;
	l->force = force;
	s->n++;
}

static void read_process(struct maple_watch_entry *e, const char *text)
{
	struct maple_watch_process *p = &e->process[e->n];
	int at = 0;

	if (e->n == MAPLE_WATCH_PROCESSES)
		return;
	memset(p, 0, sizeof(*p));
	if (sscanf(text, "%d %" SCNu64 " %u %u %" SCNd64 " %" SCNd64 "%n",
		   &p->is.pid, &p->is.started, &p->stretches, &p->fails,
		   &p->last, &p->until, &at) != 6)
		return;
	snprintf(p->note, sizeof(p->note), "%s", text[at] ? text + at + 1 : "");
	e->n++;
}

static void read_job(struct maple_watch_entry *e, const char *text)
{
	struct maple_watch_job j;

	if (sscanf(text, "%" SCNu64 " %d %" SCNu64 " %d %" SCNu64 " %" SCNd64,
		   &j.number, &j.carrier.pid, &j.carrier.started,
		   &j.process.pid, &j.process.started, &j.began) == 6)
		e->job = j;
}

int maple_watch_state_read(struct maple_watch_state *s, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	s->n = 0;
	if (!file)
		return -errno;
	while (getline(&line, &size, file) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "watch ", 6))
			read_watch(s, line + 6);
		else if (s->n && !strncmp(line, "process ", 8))
			read_process(&s->entry[s->n - 1], line + 8);
		else if (s->n && !strncmp(line, "job ", 4))
			read_job(&s->entry[s->n - 1], line + 4);
	}
	free(line);
	fclose(file);
	return 0;
}

static void write_entry(FILE *out, const struct maple_watch_entry *e)
{
	const struct maple_watch_line *l = &e->line;
	const struct maple_watch_job *j = &e->job;

	fprintf(out,
		"watch %s %s %g %g %u %d %" PRId64 " %.3f %.3f %u %u %u %u "
		"%" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %u\n",
		l->user, l->glob, l->share, l->stretch, l->processes, l->force,
		e->since, e->due, e->spent, e->stretches, e->failed, e->runs,
		e->findings, e->predicted, e->exposed, e->kept, e->matching,
		e->replaced, e->single);
	for (unsigned int i = 0; i < e->n; i++) {
		const struct maple_watch_process *p = &e->process[i];

		fprintf(out,
			"process %d %" PRIu64 " %u %u %" PRId64 " %" PRId64
			" %s\n",
			(int)p->is.pid, p->is.started, p->stretches, p->fails,
			p->last, p->until, p->note);
	}
	if (j->number)
		fprintf(out,
			"job %" PRIu64 " %d %" PRIu64 " %d %" PRIu64 " %" PRId64
			"\n",
			j->number, (int)j->carrier.pid, j->carrier.started,
			(int)j->process.pid, j->process.started, j->began);
}

int maple_watch_state_write(const struct maple_watch_state *s, const char *path,
			    gid_t gid)
{
	char new[4096];
	FILE *out;
	int fd, e = 0;

	if (snprintf(new, sizeof(new), "%s.new", path) >= (int)sizeof(new))
		return -ENAMETOOLONG;
	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0640);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return -errno;
	/* Whoever is not in the group is told nothing; that is no failure. */
	if (gid != (gid_t)-1 && fchown(fd, (uid_t)-1, gid))
		fchmod(fd, 0600);
	for (unsigned int i = 0; i < s->n; i++)
		write_entry(out, &s->entry[i]);
	if (ferror(out))
		e = -EIO;
	if (fclose(out) && !e)
		e = -errno;
	if (!e && rename(new, path))
		e = -errno;
	return e;
}

void maple_watch_state_take(struct maple_watch_state *s,
			    const struct maple_watch_lines *lines,
			    const struct maple_watch_state *before, int64_t now)
{
	assert(lines->n <= MAPLE_WATCH_LINES);
	s->n = (unsigned int)lines->n;
	for (unsigned int i = 0; i < s->n; i++) {
		struct maple_watch_entry *e = &s->entry[i];

		memset(e, 0, sizeof(*e));
		e->since = now;
		for (unsigned int k = 0; k < before->n; k++)
			if (!strcmp(before->entry[k].line.user,
				    lines->line[i].user) &&
			    !strcmp(before->entry[k].line.glob,
				    lines->line[i].glob))
				*e = before->entry[k];
		e->line = lines->line[i];
	}
}

static bool is_same(const struct maple_scan_process *a,
		    const struct maple_scan_process *b)
{
	return a->pid == b->pid && a->started == b->started;
}

void maple_watch_entry_update(struct maple_watch_entry *e,
			      const struct maple_scan *scan)
{
	static struct maple_watch_process known[MAPLE_WATCH_PROCESSES];
	unsigned int before = e->n;

	assert(scan->n <= MAPLE_WATCH_PROCESSES &&
	       before <= MAPLE_WATCH_PROCESSES);
	memcpy(known, e->process, sizeof(known));
	for (e->n = 0; e->n < scan->n; e->n++) {
		struct maple_watch_process *p = &e->process[e->n];

		*p = (struct maple_watch_process){ .is = scan->process[e->n] };
		for (unsigned int k = 0; k < before; k++)
			if (is_same(&known[k].is, &p->is))
				*p = known[k];
	}
	e->matching = scan->matching;
	e->replaced = scan->replaced;
	e->single = scan->single;
}

struct maple_watch_process *maple_watch_entry_next(struct maple_watch_entry *e,
						   int64_t now)
{
	struct maple_watch_process *next = NULL;

	for (unsigned int i = 0; i < e->n; i++) {
		struct maple_watch_process *p = &e->process[i];

		if (p->until <= now && (!next || p->last < next->last))
			next = p;
	}
	return next;
}

void maple_watch_process_fail(struct maple_watch_process *p, int64_t now,
			      const char *why)
{
	int64_t pause = FAIL_FIRST;

	for (unsigned int i = 0; i < p->fails && pause < FAIL_MOST; i++)
		pause *= 2;
	p->fails++;
	p->until = now + (pause < FAIL_MOST ? pause : FAIL_MOST);
	snprintf(p->note, sizeof(p->note), "%s", why);
	for (char *c = p->note; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
}
