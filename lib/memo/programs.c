// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Programs: listing them, forgetting them, and exporting the whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "base/array.h"
#include "memo/sql.h"
#include "memo/store.h"
#include "base/bytes.h"

/* A text to be freed; NULL: there is none, or nothing in it. */
static char *filled(struct maple_query *query, int column)
{
	const char *text = maple_sql_text_of(query, column);

	return text && *text ? strdup(text) : NULL;
}

/* ---- what the parts of strategies did in all campaigns of a program ---- */

#define PARTS	   64u	/* that are told of; the first ones */
#define PART_MOST  1e12 /* of what one campaign says of itself */
#define PARTS_MOST 1e15
#define PART_NAME  32 /* characters */

static const char *const part_counts[] = { "runs", "news", "findings" };

#define COUNTS	(sizeof(part_counts) / sizeof(*part_counts))
#define SECONDS COUNTS

struct part {
	char *name;
	double sum[COUNTS + 1];
};

/* No more than PART_NAME characters of it. */
static char *part_name(const char *text)
{
	size_t n = 0, characters = 0;

	for (; text[n]; n++)
		if ((text[n] & 0xc0) != 0x80 && characters++ == PART_NAME)
			break;
	return strndup(text, n);
}

/* Neither does anybody take away what others have done. */
static double part_value(const char *text)
{
	double value = text ? strtod(text, NULL) : 0;

	if (!(value > 0))
		return 0;
	return value < PART_MOST ? value : PART_MOST;
}

/* The row at hand is added to the part of its name. */
static int add_part(struct part *parts, size_t *n, struct maple_query *row)
{
	const char *text = maple_sql_text_of(row, 0);
	char *name = text ? part_name(text) : NULL;
	size_t i = 0;

	if (!name)
		return text ? -ENOMEM : 0;
	while (i < *n && strcmp(parts[i].name, name))
		i++;
	if (i == *n && i < PARTS)
		parts[(*n)++].name = name;
	else
		free(name);
	for (size_t k = 0; i < *n && k <= SECONDS; k++)
		parts[i].sum[k] +=
			part_value(maple_sql_text_of(row, (int)k + 1));
	return 0;
}

static double at_most(double value)
{
	return value < PARTS_MOST ? value : PARTS_MOST;
}

static char *encode_parts(const struct part *parts, size_t n)
{
	json_t *array = json_array();
	char *text = NULL;
	int bad = 0;

	for (size_t i = 0; i < n; i++) {
		json_t *part = json_object();

		bad |= json_object_set_new(part, "name",
					   maple_bytes_encode(parts[i].name));
		for (size_t k = 0; k < COUNTS; k++)
			bad |= json_object_set_new(
				part, part_counts[k],
				json_integer(
					(json_int_t)at_most(parts[i].sum[k])));
		bad |= json_object_set_new(
			part, "seconds",
			json_real(at_most(parts[i].sum[SECONDS])));
		bad |= json_array_append_new(array, part);
	}
	if (!bad)
		text = json_dumps(array, JSON_COMPACT);
	json_decref(array);
	return text;
}

/* @text: NULL: nobody says anything */
static int sum_parts(struct maple_memo *memo, int64_t program, char **text,
		     struct maple_error *err)
{
	struct part *parts = calloc(PARTS, sizeof(*parts));
	struct maple_query *s = NULL;
	size_t n = 0;
	int ret = parts ? maple_sql_get(memo, MAPLE_SQL_PARTS, &s, err, "i",
					program)
			: maple_error_set(err, ENOMEM, "out of memory");

	while (!ret && (ret = maple_sql_step(memo, s, err)) > 0) {
		ret = add_part(parts, &n, s);
		if (ret)
			maple_error_set(err, ENOMEM, "out of memory");
	}
	maple_sql_reset(s);
	if (!ret && n) {
		*text = encode_parts(parts, n);
		if (!*text)
			ret = maple_error_set(err, ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < n; i++)
		free(parts[i].name);
	free(parts);
	return ret;
}

/* ---- listing ---- */

static int add_program(struct maple_memo *memo, struct maple_query *statement,
		       struct maple_memo_program_info **programs, size_t *n,
		       struct maple_error *err)
{
	struct maple_memo_program_info *p;
	int ret;

	if (!maple_array_extend(*programs, *n, *n + 1))
		return maple_error_set(err, ENOMEM, "out of memory");
	p = &(*programs)[(*n)++];
	p->id = maple_sql_number(statement, 0);
	p->build_id = maple_sql_string(statement, 1);
	p->path = maple_sql_string(statement, 2);
	p->input = filled(statement, 3);
	p->campaigns = (unsigned int)maple_sql_number(statement, 4);
	p->runs = (unsigned int)maple_sql_number(statement, 5);
	p->findings = (unsigned int)maple_sql_number(statement, 6);
	p->last_used = (uint64_t)maple_sql_number(statement, 7);
	p->unobserved = filled(statement, 8);
	if (!p->build_id)
		return maple_error_set(err, ENOMEM, "out of memory");
	ret = sum_parts(memo, p->id, &p->parts, err);
	return ret ? ret : maple_store_coverage(memo, p->id, &p->coverage, err);
}

int maple_store_programs(struct maple_memo *memo,
			 struct maple_memo_program_info **programs, size_t *n,
			 struct maple_error *err)
{
	struct maple_query *statement;
	int ret = maple_sql_get(memo, MAPLE_SQL_PROGRAMS, &statement, err, "");

	*programs = NULL;
	*n = 0;
	while (!ret) {
		ret = maple_sql_step(memo, statement, err);
		if (!ret)
			return 0;
		if (ret > 0)
			ret = add_program(memo, statement, programs, n, err);
	}
	maple_sql_reset(statement);
	maple_memo_programs_destroy(*programs, *n);
	*programs = NULL;
	*n = 0;
	return ret;
}

void maple_memo_programs_destroy(struct maple_memo_program_info *programs,
				 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(programs[i].build_id);
		free(programs[i].path);
		free(programs[i].input);
		free(programs[i].unobserved);
		free(programs[i].parts);
		maple_coverage_deinit(&programs[i].coverage);
	}
	free(programs);
}

/*
 * The executable as a whole, with every input: what is exposed with another
 * input would else still be known.
 */
int maple_store_forget_program(struct maple_memo *memo, int64_t program,
			       int64_t keep, struct maple_error *err)
{
	bool ours;
	int ret = maple_sql_enter(memo, MAPLE_BEGIN_ALONE, &ours, err);

	if (ret)
		return ret;
	ret = maple_sql_run(memo, MAPLE_SQL_FORGET_MEMO, err, "i", program);
	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_FORGET_CORPUS, err, "i",
				    program);
	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_FORGET_FINDINGS, err, "i",
				    program);
	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_FORGET_CAMPAIGNS, err, "ii",
				    program, keep);
	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_FORGET_PROGRAMS, err, "i",
				    program);
	return maple_sql_leave(memo, ours, ret, err);
}

int maple_store_forget_all(struct maple_memo *memo, struct maple_error *err)
{
	bool ours;
	int ret = maple_sql_enter(memo, MAPLE_BEGIN_ALONE, &ours, err);

	if (ret)
		return ret;
	/* The last one stays: classes. */
	for (int i = 0; maple_sql_tables[i + 1] && !ret; i++) {
		char sql[64];

		snprintf(sql, sizeof(sql), "DELETE FROM %s",
			 maple_sql_tables[i]);
		ret = maple_sql_exec(memo, sql, err);
	}
	if (!ret)
		ret = maple_sql_exec(memo, "DELETE FROM usage", err);
	return maple_sql_leave(memo, ours, ret, err);
}

/* Whether column @name is JSON, where it can be read as that. */
static bool is_json(const char *name)
{
	static const char *const names[] = { "json", "argv", "plan", "sites",
					     "contexts" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static json_t *column_value(struct maple_query *query, int i)
{
	const struct maple_driver *driver = query->driver;
	const char *name = driver->name(query, i);
	const char *text;
	json_t *value = NULL;

	switch (driver->type(query, i)) {
	case MAPLE_VALUE_NUMBER:
		if (!strcmp(name, "seed"))
			return json_sprintf(
				"0x%llx",
				(unsigned long long)driver->number(query, i));
		return json_integer(driver->number(query, i));
	case MAPLE_VALUE_REAL:
		return json_real(driver->real(query, i));
	case MAPLE_VALUE_NULL:
		return json_null();
	default:
		text = driver->text(query, i);
		if (is_json(name))
			value = json_loads(text, 0, NULL);
		return value ? value : maple_bytes_encode(text);
	}
}

static int export_row(struct maple_query *statement, FILE *out,
		      struct maple_error *err)
{
	json_t *row = json_object();
	int bad = 0;

	for (int i = 0; i < statement->driver->columns(statement); i++) {
		const char *name = statement->driver->name(statement, i);

		/* Which SQLite shows to nobody who does not ask. */
		if (strcmp(name, "rowid"))
			bad |= json_object_set_new(row, name,
						   column_value(statement, i));
	}
	if (!bad)
		bad = json_dumpf(row, out, JSON_COMPACT);
	json_decref(row);
	return bad ? maple_error_set(err, EIO,
				     "the export could not be written: %m")
		   : 0;
}

static int export_table(struct maple_memo *memo, const char *table, FILE *out,
			struct maple_error *err)
{
	struct maple_query *query;
	char sql[64];
	int ret;

	/* By their numbers; findings have none to be seen. */
	snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY %s", table,
		 strcmp(table, "findings") ? "1, 2" : "rowid");
	ret = maple_sql_prepare(memo, sql, "", &query, err);
	if (ret)
		return ret;
	fprintf(out, "\"%s\":[", table);
	for (int i = 0; !ret && (ret = maple_sql_step(memo, query, err)) > 0;
	     i++) {
		fputs(i ? ",\n" : "\n", out);
		ret = export_row(query, out, err);
	}
	maple_sql_finish(query);
	fputs("]", out);
	return ret;
}

int maple_store_export(struct maple_memo *memo, FILE *out,
		       struct maple_error *err)
{
	/* One snapshot of all tables, while others go on writing. */
	int ret = memo->driver->begin(memo, MAPLE_BEGIN_READ, err);
	/* What strategies keep is its owner's, and no part of an export. */
	const char *const *tables = maple_sql_tables + 1;

	if (ret)
		return ret;
	fprintf(out, "{\"schema\":%d,\n", maple_sql_version);
	for (int i = 0; tables[i] && !ret; i++) {
		ret = export_table(memo, tables[i], out, err);
		fputs(tables[i + 1] ? ",\n" : "}\n", out);
	}
	memo->driver->rollback(memo);
	if (!ret && (fflush(out) || ferror(out)))
		ret = maple_error_set(err, EIO,
				      "the export could not be written: %m");
	return ret;
}
