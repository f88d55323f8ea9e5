// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Long options alone, -h, and no argument. */
#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include "options.h"

/* maple_options_say - @text, and whose it is, to stderr; returns @status */
int maple_options_say(const struct maple_daemon_command *command, int status,
		      const char *text)
{
	fprintf(stderr, "%s: %s\n", command->name, text);
	return status;
}

static void help(const struct maple_daemon_command *command)
{
	const struct maple_daemon_option *o = command->options;
	char name[32];

	printf("%s\n\noptions:\n", command->about);
	for (; o->name; o++) {
		snprintf(name, sizeof(name), "--%s%s%s", o->name,
			 o->argument ? " " : "", o->argument ? o->argument : "");
		printf("  %-18s %s\n", name, o->help);
	}
	printf("  %-18s %s\n\n%s\n", "--help", "print this help", command->end);
}

static int refuse(const struct maple_daemon_command *command, const char *what,
		  const char *why)
{
	char text[160];

	snprintf(text, sizeof(text), "'%.60s': %s; see %s --help", what, why,
		 command->name);
	return maple_options_say(command, STATUS_USAGE, text);
}

/*
 * maple_options_read - reads what stands behind argv[0]
 * @given: of each option its value, "" if it takes none, or NULL
 *
 * Returns false where all is said: after --help, *@status is 0 then, or what is
 * wrong, and it is STATUS_USAGE.
 */
bool maple_options_read(const struct maple_daemon_command *command, int argc,
			char **argv, const char *given[MAPLE_OPTIONS],
			int *status)
{
	struct option longs[MAPLE_OPTIONS + 1] = { 0 };
	int c, n = 0, at = 0;

	for (; command->options[n].name; n++) {
		assert(n < MAPLE_OPTIONS - 1); /* or there is no end */
		longs[n].name = command->options[n].name;
		longs[n].has_arg = command->options[n].argument != NULL;
		given[n] = NULL;
	}
	longs[n] = (struct option){ "help", no_argument, NULL, 'h' };
	opterr = 0;
	*status = 0;
	while ((c = getopt_long(argc, argv, ":h", longs, &at)) != -1) {
		if (!c) {
			given[at] = optarg ? optarg : "";
		} else if (c == 'h') {
			help(command);
			return false;
		} else {
			*status = refuse(command, argv[optind - 1],
					 c == ':' ? "a value is missing"
						  : "there is no such option");
			return false;
		}
	}
	if (optind < argc)
		*status = refuse(command, argv[optind], "it takes options only");
	return optind == argc;
}
