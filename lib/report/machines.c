// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The machines whose campaigns share a memo, and the hours in which they ran,
 * as text and as JSON.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <maple/report.h>
#include "report/clean.h"
#include "report/codec.h"
#include "report/fields.h"
#include "report/words.h"

#define HOURS 24 /* the last ones, that are shown as text */

static const struct maple_field machine_fields[] = {
	MAPLE_FIELD(maple_memo_machine, name, STRING),
	MAPLE_FIELD(maple_memo_machine, cpu, STRING),
	MAPLE_FIELD(maple_memo_machine, kernel, STRING),
	MAPLE_FIELD(maple_memo_machine, backend, STRING),
	MAPLE_FIELD(maple_memo_machine, campaigns, NUMBER),
	MAPLE_FIELD(maple_memo_machine, runs, NUMBER),
	MAPLE_FIELD(maple_memo_machine, news, NUMBER),
	MAPLE_FIELD(maple_memo_machine, findings, NUMBER),
	MAPLE_FIELD(maple_memo_machine, last_heard, NUMBER),
	MAPLE_FIELD_END,
};

static const struct maple_field hour_fields[] = {
	MAPLE_FIELD(maple_memo_hour, since, NUMBER),
	MAPLE_FIELD(maple_memo_hour, runs, NUMBER),
	MAPLE_FIELD(maple_memo_hour, news, NUMBER),
	MAPLE_FIELD(maple_memo_hour, findings, NUMBER),
	MAPLE_FIELD_END,
};

/* maple_codec_machines - an array for JSON; NULL: out of memory */
json_t *maple_codec_machines(const struct maple_memo_machine *machines, size_t n)
{
	return maple_fields_encode_all(machine_fields, machines,
				       sizeof(*machines), n);
}

/* maple_codec_hours - the same of hours */
json_t *maple_codec_hours(const struct maple_memo_hour *hours, size_t n)
{
	return maple_fields_encode_all(hour_fields, hours, sizeof(*hours), n);
}

/* Whether both are known, and not the same. */
static bool differs(const char *there, const char *here)
{
	return there && here && *there && *here && strcmp(there, here) != 0;
}

char *maple_report_elsewhere(const struct maple_finding *f,
			     const struct maple_memo_machine *here)
{
	bool cpu = differs(f->cpu, here->cpu);
	bool kernel = differs(f->kernel, here->kernel);
	char *where, *text = NULL;
	int n;

	if (!differs(f->machine, here->name))
		return NULL;
	where = maple_words_machine(f);
	if (!where)
		return NULL;
	if (cpu && kernel)
		n = asprintf(&text,
			     "%s; here are another CPU (%s) and another "
			     "kernel (%s)",
			     where, here->cpu, here->kernel);
	else if (cpu || kernel)
		n = asprintf(&text, "%s; here is another %s (%s)", where,
			     cpu ? "CPU" : "kernel",
			     cpu ? here->cpu : here->kernel);
	else
		n = asprintf(&text, "%s%s", where,
			     f->cpu && f->kernel
				     ? "; CPU and kernel are the same here"
				     : "");
	free(where);
	return n < 0 ? NULL : text;
}

static void print_machine(FILE *out, const struct maple_memo_machine *m,
			  const struct maple_report_style *style)
{
	struct maple_clean name =
		maple_clean(m->name ? m->name : "(not known)", style->unicode);
	char when[MAPLE_WORDS_WHEN];

	fprintf(out,
		"%-20s %9" PRIu64 " %9" PRIu64 " %7" PRIu64 " %8" PRIu64
		"  %s\n",
		name.text, m->campaigns, m->runs, m->news, m->findings,
		maple_words_when(m->last_heard, when));
	if (m->cpu)
		fprintf(out, "    %s\n",
			maple_clean(m->cpu, style->unicode).text);
	if (m->kernel)
		fprintf(out, "    Linux %s",
			maple_clean(m->kernel, style->unicode).text);
	if (m->kernel && m->backend)
		fprintf(out, ", backend %s",
			maple_clean(m->backend, style->unicode).text);
	if (m->kernel)
		putc('\n', out);
}

static void print_hours(FILE *out, const struct maple_memo_hour *hours, size_t n)
{
	size_t from = n > HOURS ? n - HOURS : 0;
	char when[MAPLE_WORDS_WHEN];

	if (!n)
		return;
	fprintf(out, "\n%-20s %9s %9s %7s %8s\n", "hour", "", "runs", "new",
		"findings");
	for (size_t i = from; i < n; i++)
		fprintf(out,
			"%-20s %9s %9" PRIu64 " %7" PRIu64 " %8" PRIu64 "\n",
			maple_words_when(hours[i].since, when), "",
			hours[i].runs, hours[i].news, hours[i].findings);
	if (from)
		fprintf(out, "and %zu hour%s before, in the report as JSON\n",
			from, from == 1 ? "" : "s");
}

void maple_report_machines(FILE *out, const struct maple_report *report,
			   const struct maple_report_style *style)
{
	fprintf(out, "%-20s %9s %9s %7s %8s  %s\n", "machine", "campaigns",
		"runs", "new", "findings", "last heard");
	for (size_t i = 0; i < report->nmachines; i++)
		print_machine(out, &report->machines[i], style);
	print_hours(out, report->hours, report->nhours);
}
