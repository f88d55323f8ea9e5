// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What reports read from mapled's memo. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <maple/report.h>
#include "base/array.h"
#include "host/host.h"

/* ---- counts ---- */

int maple_host_coverage(struct maple_host *host, int64_t program,
			struct maple_coverage *coverage, struct maple_error *err)
{
	const struct maple_wire_coverage m = { program };
	struct maple_host_answer answer;
	int e = maple_host_ask(host, MAPLE_WIRE_COVERAGE, &m, MAPLE_WIRE_COUNTS,
			       &answer, err);

	return e ? e
		 : maple_wire_get_coverage(answer.message.counts.classes,
					   coverage, err);
}

int maple_host_success(struct maple_host *host, int64_t program,
		       struct maple_memo_success *success,
		       struct maple_error *err)
{
	const struct maple_wire_success m = { program };
	struct maple_host_answer answer;
	int e = maple_host_ask(host, MAPLE_WIRE_SUCCESS, &m, MAPLE_WIRE_TRIED,
			       &answer, err);

	return e ? e
		 : maple_wire_get_success(&answer.message.tried, success, err);
}

struct samples {
	struct maple_memo_sample *sample;
	size_t n;
};

static int take_sample(void *ctx, const struct maple_host_answer *answer,
		       struct maple_error *err)
{
	const struct maple_wire_counts *m = &answer->message.counts;
	struct samples *s = ctx;

	if (!maple_array_extend(s->sample, s->n, s->n + 1))
		return maple_error_set(err, ENOMEM, "out of memory");
	s->sample[s->n].run = m->run;
	return maple_wire_get_coverage(m->classes, &s->sample[s->n++].coverage,
				       err);
}

int maple_host_samples(struct maple_host *host, int64_t program, int64_t since,
		       struct maple_memo_sample **samples, size_t *n,
		       struct maple_error *err)
{
	const struct maple_wire_samples m = { program, since };
	struct samples s = { 0 };
	int e = maple_host_ask_all(host, MAPLE_WIRE_SAMPLES, &m,
				   MAPLE_WIRE_COUNTS, take_sample, &s, err);

	if (e) {
		maple_memo_samples_destroy(s.sample, s.n);
		s = (struct samples){ 0 };
	}
	*samples = s.sample;
	*n = s.n;
	return e;
}

struct texts {
	char **text;
	size_t n;
};

static int take_text(void *ctx, const struct maple_host_answer *answer,
		     struct maple_error *err)
{
	const char *lists = answer->message.kept.lists;
	struct texts *t = ctx;

	if (!maple_array_extend(t->text, t->n, t->n + 1))
		return maple_error_set(err, ENOMEM, "out of memory");
	t->text[t->n] = strdup(lists ? lists : "");
	return t->text[t->n++] ? 0
			       : maple_error_set(err, ENOMEM, "out of memory");
}

int maple_host_reached(struct maple_host *host, int64_t program, char ***texts,
		       size_t *n, struct maple_error *err)
{
	const struct maple_wire_reached m = { program };
	struct texts t = { 0 };
	int e = maple_host_ask_all(host, MAPLE_WIRE_REACHED, &m,
				   MAPLE_WIRE_KEPT, take_text, &t, err);

	if (e) {
		maple_memo_texts_destroy(t.text, t.n);
		t = (struct texts){ 0 };
	}
	*texts = t.text;
	*n = t.n;
	return e;
}

/* ---- programs ---- */

struct programs {
	struct maple_memo_program_info *info;
	size_t n;
};

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static int take_program(void *ctx, const struct maple_host_answer *answer,
			struct maple_error *err)
{
	const struct maple_wire_info *m = &answer->message.info;
	struct programs *p = ctx;
	struct maple_memo_program_info *info;

	if (!maple_array_resize(p->info, p->n + 1))
		return maple_error_set(err, ENOMEM, "out of memory");
	info = &p->info[p->n++];
	*info = (struct maple_memo_program_info){
		.id = m->id,
		.build_id = copy(m->build_id),
		.path = copy(m->path),
		.input = copy(m->input),
		.campaigns = m->campaigns,
		.runs = m->runs,
		.findings = m->findings,
		.last_used = m->last_used,
		.unobserved = copy(m->unobserved),
		.parts = copy(m->parts),
	};
	if (!info->build_id)
		return maple_error_set(err, EPROTO, "mapled tells half of it");
	return maple_wire_get_coverage(m->classes, &info->coverage, err);
}

int maple_host_programs(struct maple_host *host,
			struct maple_memo_program_info **programs, size_t *n,
			struct maple_error *err)
{
	struct programs p = { 0 };
	int e = maple_host_ask_all(host, MAPLE_WIRE_PROGRAMS, "",
				   MAPLE_WIRE_INFO, take_program, &p, err);

	if (e) {
		maple_memo_programs_destroy(p.info, p.n);
		p = (struct programs){ 0 };
	}
	*programs = p.info;
	*n = p.n;
	return e;
}

/* ---- machines ---- */

struct machines {
	struct maple_memo_machine *machine;
	size_t n;
};

static int take_machine(void *ctx, const struct maple_host_answer *answer,
			struct maple_error *err)
{
	const struct maple_wire_machine *m = &answer->message.machine;
	struct machines *s = ctx;

	if (!maple_array_resize(s->machine, s->n + 1))
		return maple_error_set(err, ENOMEM, "out of memory");
	s->machine[s->n++] = (struct maple_memo_machine){
		.name = copy(m->name),
		.cpu = copy(m->cpu),
		.kernel = copy(m->kernel),
		.backend = copy(m->backend),
		.campaigns = m->campaigns,
		.runs = m->runs,
		.news = m->news,
		.findings = m->findings,
		.last_heard = m->last_heard,
	};
	return 0;
}

int maple_host_machines(struct maple_host *host, bool always,
			struct maple_memo_machine **machines, size_t *n,
			struct maple_error *err)
{
	const struct maple_wire_machines m = { always };
	struct machines s = { 0 };
	int e = maple_host_ask_all(host, MAPLE_WIRE_MACHINES, &m,
				   MAPLE_WIRE_MACHINE, take_machine, &s, err);

	if (e) {
		maple_memo_machines_destroy(s.machine, s.n);
		s = (struct machines){ 0 };
	}
	*machines = s.machine;
	*n = s.n;
	return e;
}

struct hours {
	struct maple_memo_hour *hour;
	size_t n;
};

static int take_hour(void *ctx, const struct maple_host_answer *answer,
		     struct maple_error *err)
{
	const struct maple_wire_hour *m = &answer->message.hour;
	struct hours *h = ctx;

	if (!maple_array_resize(h->hour, h->n + 1))
		return maple_error_set(err, ENOMEM, "out of memory");
	h->hour[h->n++] = (struct maple_memo_hour){
		.since = m->since,
		.runs = m->runs,
		.news = m->news,
		.findings = m->findings,
	};
	return 0;
}

int maple_host_hours(struct maple_host *host, struct maple_memo_hour **hours,
		     size_t *n, struct maple_error *err)
{
	struct hours h = { 0 };
	int e = maple_host_ask_all(host, MAPLE_WIRE_HOURS, "", MAPLE_WIRE_HOUR,
				   take_hour, &h, err);

	if (e) {
		free(h.hour);
		h = (struct hours){ 0 };
	}
	*hours = h.hour;
	*n = h.n;
	return e;
}

/* ---- findings ---- */

struct found {
	struct maple_finding **finding;
	size_t n;
};

static int decode(const struct maple_wire_found *m,
		  struct maple_finding **finding, struct maple_error *err)
{
	int e = maple_report_finding_decode(m->finding ? m->finding : "",
					    finding, err);

	if (e)
		return e;
	(*finding)->found_at = m->found_at;
	(*finding)->times_seen = m->times_seen;
	(*finding)->owner = m->owner;
	return 0;
}

static int take_finding(void *ctx, const struct maple_host_answer *answer,
			struct maple_error *err)
{
	struct found *f = ctx;
	int e;

	if (!maple_array_resize(f->finding, f->n + 1))
		return maple_error_set(err, ENOMEM, "out of memory");
	e = decode(&answer->message.found, &f->finding[f->n], err);
	if (!e)
		f->n++;
	return e;
}

int maple_host_findings(struct maple_host *host, int64_t program, bool known,
			struct maple_finding ***findings, size_t *n,
			struct maple_error *err)
{
	const struct maple_wire_findings m = { program, known };
	struct found f = { 0 };
	int e = maple_host_ask_all(host, MAPLE_WIRE_FINDINGS, &m,
				   MAPLE_WIRE_FOUND, take_finding, &f, err);

	if (e) {
		maple_memo_findings_destroy(f.finding, f.n);
		f = (struct found){ 0 };
	}
	*findings = f.finding;
	*n = f.n;
	return e;
}

int maple_host_finding_load(struct maple_host *host, const char *id,
			    int64_t owner, struct maple_finding **finding,
			    struct maple_error *err)
{
	const struct maple_wire_load m = { id, owner };
	struct maple_host_answer answer;
	int e = maple_host_ask(host, MAPLE_WIRE_LOAD, &m, MAPLE_WIRE_FOUND,
			       &answer, err);

	return e ? e : decode(&answer.message.found, finding, err);
}

/* ---- all of it ---- */

static int copy_file(int fd, FILE *out, struct maple_error *err)
{
	char data[16384];
	ssize_t n;

	while ((n = read(fd, data, sizeof(data))) > 0)
		fwrite(data, 1, n, out);
	if (n < 0)
		return maple_error_set(err, errno, "mapled's file: %m");
	if (fflush(out) || ferror(out))
		return maple_error_set(err, EIO,
				       "the export could not be written: %m");
	return 0;
}

int maple_host_export(struct maple_host *host, FILE *out,
		      struct maple_error *err)
{
	struct maple_host_answer answer;
	int e = maple_host_ask(host, MAPLE_WIRE_DUMP, "", MAPLE_WIRE_NUMBER,
			       &answer, err);

	if (e)
		return e;
	if (answer.fd < 0)
		return maple_error_set(err, EPROTO, "mapled sent no file");
	/* It ends when mapled has written all, and says so, or why not. */
	e = copy_file(answer.fd, out, err);
	close(answer.fd);
	if (!e)
		return maple_host_last(host, MAPLE_WIRE_NUMBER, &answer, err);
	maple_host_disconnect(host);
	return e;
}
