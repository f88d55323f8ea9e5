// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The machine: its name, its kernel, and what /proc calls its CPUs. And what a
 * memo says of all the machines whose campaigns share it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "base/array.h"
#include "memo/machine.h"
#include "memo/sql.h"
#include "memo/store.h"

static void read_cpu(char *text, size_t size)
{
	FILE *in = fopen("/proc/cpuinfo", "re");
	char line[256];

	*text = '\0';
	while (in && !*text && fgets(line, sizeof(line), in)) {
		const char *colon = strchr(line, ':');

		if (colon && !strncmp(line, "model name", 10))
			snprintf(text, size, "%.*s",
				 (int)strcspn(colon + 1, "\n"), colon + 1);
	}
	if (in)
		fclose(in);
	memmove(text, text + strspn(text, " "),
		strlen(text + strspn(text, " ")) + 1);
}

void maple_machine_describe(struct maple_machine *machine)
{
	struct utsname u = { "" };

	uname(&u);
	snprintf(machine->name, sizeof(machine->name), "%s", u.nodename);
	snprintf(machine->kernel, sizeof(machine->kernel), "%.127s", u.release);
	read_cpu(machine->cpu, sizeof(machine->cpu));
}

/* maple_memo_here - see maple/memo.h */
struct maple_memo_machine *maple_memo_here(void)
{
	struct maple_memo_machine *here = calloc(1, sizeof(*here));
	struct maple_machine machine;

	if (!here)
		return NULL;
	maple_machine_describe(&machine);
	here->name = strdup(machine.name);
	here->cpu = strdup(machine.cpu);
	here->kernel = strdup(machine.kernel);
	if (here->name && here->cpu && here->kernel)
		return here;
	maple_memo_machines_destroy(here, 1);
	return NULL;
}

void maple_memo_machines_destroy(struct maple_memo_machine *machines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(machines[i].name);
		free(machines[i].cpu);
		free(machines[i].kernel);
		free(machines[i].backend);
	}
	free(machines);
}

/* Whether memory was enough; no text, or an empty one, is NULL. */
static bool take_text(char **text, struct maple_query *row, int column)
{
	const char *is = maple_sql_text_of(row, column);

	*text = is && *is ? strdup(is) : NULL;
	return !is || !*is || *text;
}

static int add_machine(struct maple_query *row,
		       struct maple_memo_machine **machines, size_t *n)
{
	struct maple_memo_machine *m;
	bool all;

	if (!maple_array_extend(*machines, *n, *n + 1))
		return -ENOMEM;
	m = &(*machines)[(*n)++];
	all = take_text(&m->name, row, 0);
	all &= take_text(&m->cpu, row, 1);
	all &= take_text(&m->kernel, row, 2);
	all &= take_text(&m->backend, row, 3);
	m->campaigns = (uint64_t)maple_sql_number(row, 4);
	m->runs = (uint64_t)maple_sql_number(row, 5);
	m->news = (uint64_t)maple_sql_number(row, 6);
	m->findings = (uint64_t)maple_sql_number(row, 7);
	m->last_heard = (uint64_t)maple_sql_number(row, 8);
	return all ? 0 : -ENOMEM;
}

int maple_store_machines(struct maple_memo *memo, bool always,
			 struct maple_memo_machine **machines, size_t *n,
			 struct maple_error *err)
{
	struct maple_query *rows;
	int64_t count = 0;
	int ret = maple_sql_find(memo, MAPLE_SQL_MACHINE_COUNT, &count, err, "");

	*machines = NULL;
	*n = 0;
	/* Runs take a while to be counted, so only if somebody looks at it. */
	if (ret || (!always && count < 2))
		return ret;
	ret = maple_sql_get(memo, MAPLE_SQL_MACHINES, &rows, err, "");
	while (!ret && (ret = maple_sql_step(memo, rows, err)) > 0) {
		ret = add_machine(rows, machines, n);
		if (ret) {
			maple_error_set(err, ENOMEM, "out of memory");
			maple_sql_reset(rows);
		}
	}
	if (!ret)
		return 0;
	maple_memo_machines_destroy(*machines, *n);
	*machines = NULL;
	*n = 0;
	return ret;
}

int maple_store_hours(struct maple_memo *memo, struct maple_memo_hour **hours,
		      size_t *n, struct maple_error *err)
{
	struct maple_query *rows;
	int ret = maple_sql_get(memo, MAPLE_SQL_HOURS, &rows, err, "");
	struct maple_memo_hour *h;

	*hours = NULL;
	*n = 0;
	while (!ret && (ret = maple_sql_step(memo, rows, err)) > 0) {
		if (!maple_array_extend(*hours, *n, *n + 1)) {
			ret = maple_error_set(err, ENOMEM, "out of memory");
			maple_sql_reset(rows);
			break;
		}
		h = &(*hours)[(*n)++];
		h->since = (uint64_t)maple_sql_number(rows, 0);
		h->runs = (uint64_t)maple_sql_number(rows, 1);
		h->news = (uint64_t)maple_sql_number(rows, 2);
		h->findings = (uint64_t)maple_sql_number(rows, 3);
		ret = 0;
	}
	if (!ret)
		return 0;
	free(*hours);
	*hours = NULL;
	*n = 0;
	return ret;
}
