// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapled.conf: a line is empty, a comment behind '#', or NAME = VALUE. What
 * is not known is an error, with its line.
 */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <maple/wire.h>
#include "settings.h"

#define DATABASE "/var/lib/mapled/memo.db"
#define GROUP	 "maple"
#define CLIENTS	 256

/* Each takes a value, or returns what it expected. */
static const char *take_path(const char *value, void *to)
{
	char *copy;

	if (*value != '/' && strcmp(value, ":memory:"))
		return "an absolute path";
	copy = strdup(value);
	if (copy) {
		free(*(char **)to);
		*(char **)to = copy;
	}
	return copy ? NULL : "memory";
}

/* By name or number; a number needs no name. */
static const char *take_group(const char *value, void *to)
{
	char *copy;

	if (value[strspn(value, "0123456789")] && !getgrnam(value))
		return "a group that is there";
	copy = strdup(value);
	if (!copy)
		return "memory";
	free(*(char **)to);
	*(char **)to = copy;
	return NULL;
}

static const char *take_count(const char *value, void *to)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (!isdigit((unsigned char)*value) || *end || n < 1 || n > 4096)
		return "a number from 1 to 4096";
	*(unsigned int *)to = (unsigned int)n;
	return NULL;
}

/* As taskset and the kernel write it: 1,4-7 */
static const char *take_cpus(const char *value, void *to)
{
	static const char expected[] = "a list of CPUs, such as 1,4-7";
	static char there[64];
	unsigned long first, last, n = sysconf(_SC_NPROCESSORS_CONF);
	cpu_set_t set;
	char *end;

	CPU_ZERO(&set);
	do {
		if (!isdigit((unsigned char)*value))
			return expected;
		first = last = strtoul(value, &end, 10);
		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				return expected;
			last = strtoul(end + 1, &end, 10);
		}
		if (last < first || last >= CPU_SETSIZE)
			return expected;
		snprintf(there, sizeof(there), "CPUs that are there, 0 to %lu",
			 n - 1);
		if (last >= n)
			return there;
		for (; first <= last; first++)
			CPU_SET(first, &set);
		value = end + 1;
	} while (*end == ',');
	if (*end)
		return expected;
	*(cpu_set_t *)to = set;
	return NULL;
}

static const char *take_watch(const char *value, void *to)
{
	return maple_watch_lines_add(to, value);
}

static const struct setting {
	const char *name;
	const char *(*take)(const char *value, void *to);
	size_t offset;
} settings_known[] = {
	{ "socket", take_path, offsetof(struct maple_daemon_settings, socket) },
	{ "database", take_path,
	  offsetof(struct maple_daemon_settings, database) },
	{ "group", take_group, offsetof(struct maple_daemon_settings, group) },
	{ "cpus", take_cpus, offsetof(struct maple_daemon_settings, cpus) },
	{ "max-clients", take_count,
	  offsetof(struct maple_daemon_settings, max_clients) },
	{ "watch", take_watch, offsetof(struct maple_daemon_settings, watch) },
};

/* maple_settings_init - what holds without a file; -ENOMEM */
int maple_settings_init(struct maple_daemon_settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	settings->socket = strdup(MAPLE_WIRE_SOCKET);
	settings->database = strdup(DATABASE);
	settings->group = strdup(GROUP);
	settings->max_clients = CLIENTS;
	maple_limits_init(settings->limit);
	return settings->socket && settings->database && settings->group
		       ? 0
		       : -ENOMEM;
}

void maple_settings_deinit(struct maple_daemon_settings *settings)
{
	free(settings->socket);
	free(settings->database);
	free(settings->group);
	maple_watch_lines_deinit(&settings->watch);
}

/* Without what is blank around it; @text is changed. */
static char *trim(char *text)
{
	size_t n;

	while (isspace((unsigned char)*text))
		text++;
	for (n = strlen(text); n && isspace((unsigned char)text[n - 1]); n--)
		text[n - 1] = 0;
	return text;
}

static int wants(const char *where, const char *name, const char *expected,
		 const char *value, struct maple_error *err)
{
	return maple_error_set(err, EINVAL, "%s: %s wants %s, not '%.60s'",
			       where, name, expected, value);
}

static int take_line(struct maple_daemon_settings *settings, char *line,
		     const char *where, struct maple_error *err)
{
	char *name, *value, *equals;
	const char *expected;

	line[strcspn(line, "#")] = 0;
	line = trim(line);
	if (!*line)
		return 0;
	equals = strchr(line, '=');
	if (!equals)
		return maple_error_set(err, EINVAL,
				       "%s: '%.60s' is no NAME = VALUE", where,
				       line);
	*equals = 0;
	name = trim(line);
	value = trim(equals + 1);
	for (size_t i = 0; i < sizeof(settings_known) / sizeof(*settings_known);
	     i++) {
		const struct setting *s = &settings_known[i];

		if (strcmp(name, s->name) != 0)
			continue;
		expected = *value ? s->take(value, (char *)settings + s->offset)
				  : "a value";
		if (!expected)
			return 0;
		return wants(where, name, expected, value, err);
	}
	expected = "a value";
	switch (maple_limits_set(settings->limit, name, value, &expected)) {
	case 0:
		return 0;
	case -EINVAL:
		return wants(where, name, expected, value, err);
	}
	return maple_error_set(err, EINVAL,
			       "%s: there is no setting '%.60s'; mapled.conf(5) "
			       "lists them",
			       where, name);
}

/*
 * maple_settings_read - adds what the file at @path says
 *
 * Errors: -ENOENT ... it cannot be read; -EINVAL with file and line.
 */
int maple_settings_read(struct maple_daemon_settings *settings,
			const char *path, struct maple_error *err)
{
	FILE *file = fopen(path, "re");
	char where[256];
	char *line = NULL;
	size_t size = 0;
	int e = 0;

	if (!file)
		return maple_error_set(err, errno, "%s: %m", path);
	for (unsigned int n = 1; !e && getline(&line, &size, file) >= 0; n++) {
		snprintf(where, sizeof(where), "%.230s:%u", path, n);
		e = take_line(settings, line, where, err);
	}
	if (!e && ferror(file))
		e = maple_error_set(err, EIO, "%s: cannot be read", path);
	free(line);
	fclose(file);
	return e;
}
