// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The file of --atomic-sets, read. What is wrong with a line is said of it. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <maple/atomic_sets.h>
#include "base/array.h"

#define MOST  1000u /* sets of a file */
#define BLANK " \t\r\n"

/* Where something is read, for what is said of it. */
struct reading {
	struct maple_atomic_sets *sets;
	unsigned int line;
	struct maple_error *err;
};

static int refuse(const struct reading *r, const char *what, const char *word,
		  const char *mend)
{
	return maple_error_set(r->err, EINVAL, "%s:%u: %s%s%s%s; %s",
			       r->sets->path, r->line, what, word ? " '" : "",
			       word ? word : "", word ? "'" : "", mend);
}

static int no_memory(const struct reading *r)
{
	return maple_error_set(r->err, ENOMEM, "out of memory");
}

static char *trim(char *text)
{
	char *end;

	text += strspn(text, BLANK);
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

/* "S.f": a type and a field of it; all of a set are of one type. */
static int take_field(const struct reading *r, struct maple_atomic_set *set,
		      char **member)
{
	char *dot = strchr(*member, '.');

	if (!dot || dot == *member || !dot[1])
		return refuse(r, "no field of a struct is", *member,
			      "write the type, a dot and the field: S.f");
	*dot = '\0';
	if (set->type && strcmp(set->type, *member))
		return refuse(r, "another struct than that of the set:", *member,
			      "declare a set for each struct");
	if (!set->type)
		set->type = strdup(*member);
	*member = dot + 1;
	return set->type ? 0 : no_memory(r);
}

static int take_member(const struct reading *r, struct maple_atomic_set *set,
		       char *member)
{
	int e;

	if (!*member || strpbrk(member, BLANK))
		return refuse(r, "no name is", member,
			      "write names with commas between them: S.f, S.g");
	e = set->global ? 0 : take_field(r, set, &member);
	if (e)
		return e;
	for (unsigned int i = 0; i < set->n; i++)
		if (!strcmp(set->member[i], member))
			return refuse(r, "it is there twice:", member,
				      "name it once");
	if (!maple_array_resize(set->member, set->n + 1))
		return no_memory(r);
	set->member[set->n] = strdup(member);
	if (!set->member[set->n])
		return no_memory(r);
	set->n++;
	return 0;
}

static int begin_set(const struct reading *r, const char *name, bool global)
{
	struct maple_atomic_sets *sets = r->sets;

	for (unsigned int i = 0; i < sets->n; i++)
		if (!strcmp(sets->set[i].name, name))
			return refuse(r, "there is another set", name,
				      "give each a name of its own");
	if (sets->n == MOST)
		return refuse(r, "there are more than 1,000 sets", NULL,
			      "declare fewer");
	if (!maple_array_resize(sets->set, sets->n + 1))
		return no_memory(r);
	sets->set[sets->n] = (struct maple_atomic_set){
		.name = strdup(name),
		.line = r->line,
		.global = global,
	};
	if (!sets->set[sets->n].name)
		return no_memory(r);
	sets->n++;
	return 0;
}

static int take_set(const struct reading *r, char *rest)
{
	static const char how[] =
		"write 'set NAME struct S.f, S.g' or 'set NAME global a, b'";
	char *save, *name = strtok_r(rest, BLANK, &save);
	char *kind = name ? strtok_r(NULL, BLANK, &save) : NULL;
	char *member, *next = kind ? trim(save) : NULL;
	bool global = kind && !strcmp(kind, "global");
	int e;

	if (!name)
		return refuse(r, "the set has no name", NULL, how);
	if (!kind || (!global && strcmp(kind, "struct")))
		return refuse(r,
			      kind ? "neither 'struct' nor 'global' is"
				   : "nothing is said of set",
			      kind ? kind : name, how);
	if (!*next)
		return refuse(r, "nothing belongs to set", name, how);
	e = begin_set(r, name, global);
	while (!e && (member = strsep(&next, ",")))
		e = take_member(r, &r->sets->set[r->sets->n - 1], trim(member));
	return e;
}

static int take_line(const struct reading *r, char *line)
{
	char *word, *save;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	word = strtok_r(line, BLANK, &save);
	if (!strcmp(word, "set"))
		return take_set(r, save);
	if (!strcmp(word, "unit"))
		return refuse(r, "units are not declared", NULL,
			      "leave the line out: a unit is what one call of a "
			      "function does to a set");
	return refuse(r, "no line begins with", word,
		      "write 'set NAME struct S.f, S.g' or 'set NAME global a, "
		      "b'");
}

static int take_lines(struct reading *r, FILE *in)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int e = 0;

	while (!e && (n = getline(&line, &room, in)) >= 0) {
		r->line++;
		e = memchr(line, 0, (size_t)n)
			    ? refuse(r, "this is no text file", NULL,
				     "give the file that has the sets")
			    : take_line(r, line);
	}
	if (!e && ferror(in))
		e = maple_error_set(r->err, EIO, "%s: %m", r->sets->path);
	free(line);
	return e;
}

int maple_atomic_sets_read(const char *path, struct maple_atomic_sets **sets,
			   struct maple_error *err)
{
	struct reading r = { .sets = calloc(1, sizeof(**sets)), .err = err };
	FILE *in = fopen(path, "re");
	int e;

	*sets = NULL;
	if (!in)
		e = maple_error_set(err, errno, "%s: %m", path);
	else if (!r.sets || !(r.sets->path = strdup(path)))
		e = no_memory(&r);
	else
		e = take_lines(&r, in);
	if (!e && !r.sets->n)
		e = maple_error_set(err, EINVAL,
				    "%s declares no set; write 'set NAME struct "
				    "S.f, S.g' or 'set NAME global a, b'",
				    path);
	if (in)
		fclose(in);
	if (e)
		maple_atomic_sets_destroy(r.sets);
	else
		*sets = r.sets;
	return e;
}

void maple_atomic_sets_destroy(struct maple_atomic_sets *sets)
{
	if (!sets)
		return;
	for (unsigned int i = 0; i < sets->n; i++) {
		struct maple_atomic_set *set = &sets->set[i];

		for (unsigned int k = 0; k < set->n; k++)
			free(set->member[k]);
		free(set->member);
		free(set->name);
		free(set->type);
	}
	free(sets->set);
	free(sets->path);
	free(sets);
}
