// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which cases a test program has. Without a command that lists them, each
 * framework's question is put to the program, and exactly one must be
 * answered: to a framework that is not its own, a program may well run all
 * of its tests, so each question has a time limit, and once one is answered
 * the others get little more time than that took.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <maple/suite.h>
#include "campaign/internal.h"
#include "suite/framework.h"

#define ASK_LIMIT  5.0 /* seconds for an answer */
#define ASK_TIMES  5.0 /* ... or so often what the answer took, */
#define ASK_LEAST  1.0 /* ... and this at least */
#define LIST_LIMIT 60.0
#define PLACE	   "{}" /* of the case in the user's arguments */

static const char mend[] = "say how its cases are listed, a line each: "
			   "--each-test='COMMAND', with {} in the program's "
			   "arguments where the case goes";

static bool said(const struct maple_answer *answer)
{
	return !answer->late && WIFEXITED(answer->status);
}

/* Returns 1 if @f's question is answered, 0 if not, or an error. */
static int ask_framework(char *const *argv, const struct maple_framework *f,
			 double *limit, struct maple_names *names,
			 struct maple_error *err)
{
	struct maple_answer answer;
	int e = maple_ask(argv, f->list, *limit, &answer, err);
	double took = answer.seconds * ASK_TIMES;
	bool good, added = !f->add;

	if (e)
		return e;
	good = said(&answer) && f->read(&answer, names);
	maple_answer_deinit(&answer);
	for (int i = 0; good && !added && i < 2 && *f->more[i]; i++) {
		e = maple_ask(argv, f->more[i], *limit, &answer, err);
		if (e)
			return e;
		added = said(&answer) && f->add(&answer, names);
		maple_answer_deinit(&answer);
	}
	if (good && added && took < *limit)
		*limit = took > ASK_LEAST ? took : ASK_LEAST;
	if (!good || !added)
		maple_names_deinit(names);
	return good && added;
}

static int refuse(char *const *argv, struct maple_error *err)
{
	char tried[256] = "";

	for (unsigned int i = 0; i < maple_frameworks_n; i++)
		snprintf(tried + strlen(tried), sizeof(tried) - strlen(tried),
			 "%s%s (%s)", i ? ", " : "", maple_frameworks[i].name,
			 maple_frameworks[i].list[0]);
	return maple_error_set(err, ENOMSG,
			       "%s does not answer as the test programs of %s "
			       "do; %s",
			       argv[0], tried, mend);
}

/* Which framework's it is. */
static int recognise(char *const *argv, const struct maple_framework **framework,
		     struct maple_names *names, struct maple_error *err)
{
	double limit = ASK_LIMIT;

	*framework = NULL;
	for (unsigned int i = 0; i < maple_frameworks_n; i++) {
		struct maple_names more = { 0 };
		const struct maple_framework *f = &maple_frameworks[i];
		int ret = ask_framework(argv, f, &limit, &more, err);

		if (ret > 0 && *framework)
			ret = maple_error_set(
				err, ENOMSG,
				"%s answers as the test programs "
				"of %s do, and as those of %s; %s",
				argv[0], (*framework)->name, f->name, mend);
		if (ret < 0) {
			maple_names_deinit(&more);
			return ret;
		}
		if (ret) {
			*framework = f;
			*names = more;
		}
	}
	return *framework ? 0 : refuse(argv, err);
}

/* The user's own list: each line that is not empty is a case. */
static int read_list(const char *command, struct maple_names *names,
		     struct maple_error *err)
{
	char *const argv[] = { "/bin/sh", "-c", (char *)command, NULL };
	const char *const none[] = { NULL };
	struct maple_answer answer;
	const char *at;
	int e = maple_ask(argv, none, LIST_LIMIT, &answer, err);

	if (e)
		return e;
	if (answer.late)
		e = maple_error_set(err, ENOMSG,
				    "--each-test='%s' did not end in %.0f s",
				    command, LIST_LIMIT);
	else if (!WIFEXITED(answer.status) || WEXITSTATUS(answer.status))
		e = maple_error_set(err, ENOMSG,
				    "--each-test='%s' fails: %.200s", command,
				    answer.err);
	for (at = answer.out; !e && *at;) {
		size_t n = strcspn(at, "\r\n");

		if (n && maple_names_add(names, at, n))
			e = maple_error_set(err, ENOMEM, "out of memory");
		at += n + strspn(at + n, "\r\n");
	}
	if (!e && !names->n)
		e = maple_error_set(err, ENOMSG,
				    "--each-test='%s' lists no case", command);
	maple_answer_deinit(&answer);
	return e;
}

/* ---- the arguments of a case ---- */

static char *replaced(const char *word, const char *name)
{
	char *text = NULL;
	const char *at;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (; (at = strstr(word, PLACE)); word = at + strlen(PLACE)) {
		fwrite(word, 1, (size_t)(at - word), out);
		fputs(name, out);
	}
	fputs(word, out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static char *filter(const struct maple_framework *f, const char *name)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs(f->prefix, out);
	if (f->write)
		f->write(out, name);
	else
		fputs(name, out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* @f: NULL: the user's own list. Returns -ENOMEM or 0. */
static int make_argv(struct maple_suite_case *c, char *const *argv,
		     const struct maple_framework *f)
{
	size_t n = 0, given = 0;
	bool placed = false;

	while (argv[given])
		given++;
	c->argv = calloc(given + 3, sizeof(*c->argv));
	if (!c->argv)
		return -ENOMEM;
	for (; n < given; n++) {
		bool here = !f && strstr(argv[n], PLACE);

		c->argv[n] = here ? replaced(argv[n], c->name)
				  : strdup(argv[n]);
		placed |= here;
		if (!c->argv[n])
			return -ENOMEM;
	}
	if (f && f->before && !(c->argv[n++] = strdup(f->before)))
		return -ENOMEM;
	if (!placed) {
		c->argv[n] = f ? filter(f, c->name) : strdup(c->name);
		if (!c->argv[n])
			return -ENOMEM;
	}
	if (f && c->name[strcspn(c->name, f->forbidden)] &&
	    asprintf(&c->error,
		     "%s cannot be asked for a case with one of the characters "
		     "%s in its name",
		     f->name, f->forbidden) < 0) {
		c->error = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int make_cases(struct maple_suite *suite, char *const *argv,
		      const struct maple_framework *f, struct maple_names *names)
{
	int e = 0;

	suite->disabled = names->disabled;
	suite->cases = calloc(names->n + 1, sizeof(*suite->cases));
	if (!suite->cases)
		return -ENOMEM;
	for (; !e && suite->n < names->n; suite->n++) {
		struct maple_suite_case *c = &suite->cases[suite->n];

		c->name = names->at[suite->n];
		names->at[suite->n] = NULL;
		e = make_argv(c, argv, f);
	}
	return e;
}

/* maple_suite_create - see maple/suite.h */
int maple_suite_create(char *const *argv, const char *list,
		       struct maple_suite **suite, struct maple_error *err)
{
	const struct maple_framework *framework = NULL;
	struct maple_names names = { 0 };
	char *program;
	int e;

	e = maple_campaign_find_program(argv[0], &program, err);
	if (e)
		return e;
	free(program);
	*suite = calloc(1, sizeof(**suite));
	if (!*suite)
		return maple_error_set(err, ENOMEM, "out of memory");
	e = list ? read_list(list, &names, err)
		 : recognise(argv, &framework, &names, err);
	(*suite)->framework = framework ? framework->name : "list";
	if (!e && make_cases(*suite, argv, framework, &names))
		e = maple_error_set(err, ENOMEM, "out of memory");
	maple_names_deinit(&names);
	if (e) {
		maple_suite_destroy(*suite);
		*suite = NULL;
	}
	return e;
}

static void deinit_case(struct maple_suite_case *c)
{
	for (char **word = c->argv; word && *word; word++)
		free(*word);
	free(c->argv);
	free(c->name);
	free(c->error);
	maple_campaign_result_destroy(c->result);
}

/* maple_suite_share - see maple/suite.h */
void maple_suite_share(struct maple_suite *suite, unsigned int task,
		       unsigned int of)
{
	unsigned int kept = 0;

	assert(task >= 1 && task <= of);
	for (unsigned int i = 0; i < suite->n; i++) {
		if (i % of == task - 1)
			suite->cases[kept++] = suite->cases[i];
		else
			deinit_case(&suite->cases[i]);
	}
	suite->n = kept;
}

void maple_suite_destroy(struct maple_suite *suite)
{
	if (!suite)
		return;
	for (unsigned int i = 0; i < suite->n; i++)
		deinit_case(&suite->cases[i]);
	free(suite->cases);
	free(suite);
}

/* ---- verdicts ---- */

const char *maple_suite_verdict_name(enum maple_suite_verdict verdict)
{
	static const char *const names[MAPLE_SUITE_VERDICTS] = {
		[MAPLE_SUITE_CLEAN] = "clean",
		[MAPLE_SUITE_FOUND] = "finding",
		[MAPLE_SUITE_SINGLE] = "single-threaded",
		[MAPLE_SUITE_UNTESTED] = "not tested",
	};

	return verdict < MAPLE_SUITE_VERDICTS ? names[verdict] : NULL;
}

enum maple_suite_verdict maple_suite_judge(const struct maple_suite_case *c)
{
	const struct maple_campaign_result *r = c->result;

	if (r && r->outcome == MAPLE_FOUND)
		return MAPLE_SUITE_FOUND;
	if (c->error || !r || r->interrupted)
		return MAPLE_SUITE_UNTESTED;
	if (r->outcome == MAPLE_CLEAN)
		return MAPLE_SUITE_CLEAN;
	return r->single_threaded ? MAPLE_SUITE_SINGLE : MAPLE_SUITE_UNTESTED;
}

const char *maple_suite_why(const struct maple_suite_case *c)
{
	if (c->error)
		return c->error;
	if (!c->result)
		return "its turn did not come: raise --max-time";
	if (c->result->undelivered)
		return c->result->undelivered;
	return c->result->interrupted ? "interrupted" : "";
}

enum maple_suite_verdict
maple_suite_sum(const struct maple_suite *suite,
		unsigned int count[MAPLE_SUITE_VERDICTS])
{
	unsigned int own[MAPLE_SUITE_VERDICTS] = { 0 };

	for (unsigned int i = 0; i < suite->n; i++)
		own[maple_suite_judge(&suite->cases[i])]++;
	if (count)
		memcpy(count, own, sizeof(own));
	if (own[MAPLE_SUITE_FOUND])
		return MAPLE_SUITE_FOUND;
	if (own[MAPLE_SUITE_UNTESTED] || !suite->n)
		return MAPLE_SUITE_UNTESTED;
	return own[MAPLE_SUITE_CLEAN] ? MAPLE_SUITE_CLEAN : MAPLE_SUITE_SINGLE;
}
