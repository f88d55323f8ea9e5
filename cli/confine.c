// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A job that is attached to a process works in a sandbox: nobody looks at what
 * it says, and what it reads somebody else has written. A campaign of `run` has
 * none, job or not: all of it would be its program's as well, which would then
 * be another program than the one under test.
 */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

/* The folder of the memo, if that is a file; to be freed. */
static char *folder_of_memo(const struct maple_settings *settings)
{
	char *path, *folder;

	if (!settings->db && settings->campaign.host)
		return NULL;
	path = settings->db ? strdup(settings->db)
			    : maple_database_place("memo.db");
	if (!path || *path == ':' || strstr(path, "://")) {
		free(path);
		return NULL;
	}
	folder = strdup(dirname(path));
	free(path);
	return folder;
}

/*
 * maple_confine_prepare - before the memo is opened: the database has its
 * temporary files beside it
 */
void maple_confine_prepare(const struct maple_settings *settings)
{
	char *folder = folder_of_memo(settings);

	if (folder)
		setenv("SQLITE_TMPDIR", folder, 0);
	free(folder);
}

/*
 * maple_confine - from now on the job is in its sandbox
 * @server: its memo is at one
 *
 * Returns 0 or the exit status, the error said.
 */
int maple_confine(struct maple_settings *settings, bool server)
{
	char *folder = folder_of_memo(settings);
	char *spools = server ? maple_database_place("spool") : NULL;
	const char *writes[3] = { folder ? folder : spools,
				  folder ? spools : NULL };
	const struct maple_attach_rest rest = {
		.writes = writes,
		.agent = settings->campaign.agent,
		.backend = settings->campaign.backend,
		.mapled = settings->campaign.host,
		.server = server,
	};
	struct maple_error err = { "" };
	bool files = maple_attach_confines(); /* from inside nobody can tell */
	int ret = 0;

	if (settings->campaign.oracle) {
		maple_say_notice("this job has no sandbox, since --oracle is "
				 "to do what its user may do");
	} else if (maple_attach_confine(settings->campaign.attached, &rest,
					&err)) {
		ret = maple_say_error(MAPLE_STATUS_FAILED, "%s", err.text);
	} else if (!files) {
		maple_say_notice("this kernel has no Landlock: the job may open "
				 "files as its user may");
	}
	free(folder);
	free(spools);
	return ret;
}
