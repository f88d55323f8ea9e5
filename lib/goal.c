// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <maple/goal.h>
#include "base/array.h"

bool maple_class_is_name(const char *text)
{
	char before = ' ';

	if (!text || strlen(text) >= MAPLE_CLASS_NAME)
		return false;
	for (; *text; before = *text++)
		if (!islower((unsigned char)*text) &&
		    !isdigit((unsigned char)*text) && *text != '-' &&
		    !(*text == ' ' && before != ' '))
			return false;
	return before != ' ';
}

const char *maple_class_numbered(unsigned int number)
{
	static const char *const names[] = {
		"idiom 1", "idiom 2", "idiom 3",  "idiom 4",
		"idiom 5", "idiom 6", "deadlock",
	};

	return number && number <= sizeof(names) / sizeof(*names)
		       ? names[number - 1]
		       : NULL;
}

unsigned int maple_class_number(const char *name)
{
	const char *each;
	unsigned int i = 1;

	if (!name)
		return 0;
	while ((each = maple_class_numbered(i)) && strcmp(each, name))
		i++;
	return each ? i : 0;
}

int maple_coverage_init(struct maple_coverage *coverage,
			const char *const *names)
{
	*coverage = (struct maple_coverage){ 0 };
	for (; names && *names; names++) {
		if (maple_coverage_class(coverage, *names))
			continue;
		maple_coverage_deinit(coverage);
		return -ENOMEM;
	}
	return 0;
}

void maple_coverage_deinit(struct maple_coverage *coverage)
{
	free(coverage->class);
	*coverage = (struct maple_coverage){ 0 };
}

void maple_coverage_clear(struct maple_coverage *coverage)
{
	for (unsigned int i = 0; i < coverage->nclasses; i++) {
		struct maple_class_count *c = &coverage->class[i];

		c->predicted = c->exposed = c->failed = c->left = c->barred = 0;
	}
}

struct maple_class_count *maple_coverage_class(struct maple_coverage *coverage,
					       const char *name)
{
	unsigned int n = coverage->nclasses, i;

	for (i = 0; i < n; i++)
		if (!strcmp(coverage->class[i].name, name))
			return &coverage->class[i];
	if (n == MAPLE_CLASSES || !maple_class_is_name(name) ||
	    !maple_array_extend(coverage->class, n, n + 1))
		return NULL;
	strcpy(coverage->class[n].name, name);
	return &coverage->class[coverage->nclasses++];
}

struct maple_class_count
maple_coverage_sum(const struct maple_coverage *coverage)
{
	struct maple_class_count sum = { .name = "all" };

	for (unsigned int i = 0; i < coverage->nclasses; i++) {
		const struct maple_class_count *c = &coverage->class[i];

		sum.predicted += c->predicted;
		sum.exposed += c->exposed;
		sum.failed += c->failed;
		sum.left += c->left;
		sum.barred += c->barred;
	}
	return sum;
}

const char *maple_coverage_noun(const struct maple_coverage *coverage)
{
	bool iroots = false, patterns = false;

	for (unsigned int i = 0; i < coverage->nclasses; i++) {
		const struct maple_class_count *c = &coverage->class[i];

		if (!c->predicted && !c->exposed)
			continue;
		if (maple_class_number(c->name))
			iroots = true;
		else
			patterns = true;
	}
	if (!iroots && !patterns && coverage->nclasses)
		patterns = !maple_class_number(coverage->class[0].name);
	return !patterns ? "iRoot" : iroots ? "goal" : "pattern";
}
