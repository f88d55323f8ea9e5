// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest attach: a campaign on a program that runs. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli.h"

#define PLACES "/var/lib/maple" /* of memos, for users without a home */

static pid_t parse_pid(const char *text)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	return *end || errno || pid <= 0 || pid > INT_MAX ? 0 : (pid_t)pid;
}

static int open_status(const struct maple_settings *settings, int error)
{
	return settings->skip_unsupported &&
			       (error == -EPERM || error == -ENOTSUP)
		       ? MAPLE_STATUS_SKIPPED
		       : MAPLE_STATUS_FAILED;
}

static bool is_folder_of(const char *path, uid_t uid)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == uid;
}

/* A folder for @uid's memo, which is to have a name. */
static int make_place(const struct passwd *pw, uid_t uid, char **db)
{
	char number[16], *folder;
	int e = 0;

	snprintf(number, sizeof(number), "%u", uid);
	if (asprintf(&folder, PLACES "/%s", pw ? pw->pw_name : number) < 0)
		return -ENOMEM;
	mkdir(PLACES, 0755);
	if (mkdir(folder, 0700) ? errno != EEXIST
				: lchown(folder, uid, (gid_t)-1))
		e = -errno;
	if (!e && !is_folder_of(folder, uid))
		e = -EACCES;
	if (!e && asprintf(db, "%s/memo.db", folder) < 0)
		e = -ENOMEM;
	free(folder);
	return e;
}

/*
 * What is learned of a user's process is that user's, unless the user may not
 * look into it. One that has no home, as services have none, gets a place from
 * root.
 */
static int find_place(struct maple_settings *settings)
{
	const struct passwd *pw;
	char *db;
	int e;

	if (!settings->user || settings->db)
		return 0;
	if (settings->hidden) {
		settings->db = ":memory:";
		maple_say_notice("what is learned is not kept: it would be "
				 "read by user %u, who process %s runs as, but "
				 "who may not trace it; --db FILE keeps it all "
				 "the same, where that user may write",
				 settings->user, settings->argv[0]);
		return 0;
	}
	pw = getpwuid(settings->user);
	if (pw && is_folder_of(pw->pw_dir, settings->user))
		return 0;
	e = make_place(pw, settings->user, &db);
	if (e)
		return maple_say_error(MAPLE_STATUS_FAILED,
				       "there is no place for the memo of %s, "
				       "who has no home: " PLACES ": %s; name "
				       "one with --db FILE",
				       pw ? pw->pw_name
					  : "a user without a name",
				       strerror(-e));
	settings->db = db;
	maple_say_notice("what is learned is kept in %s: mapletest report "
			 "--db FILE shows it",
			 db);
	return 0;
}

/*
 * maple_attach_settle - from now on we are the process's user, if we were root
 *
 * Returns 0 or the exit status, the error said.
 */
int maple_attach_settle(struct maple_settings *settings)
{
	struct maple_error err = { "" };
	int ret = find_place(settings);

	if (ret || !maple_attach_become(settings->campaign.attached, &err))
		return ret;
	return maple_say_failed(&err);
}

/*
 * ---- the sandbox ----
 *
 * A job that is attached to a process works in one: nobody looks at what it
 * says, and what it reads somebody else has written. A campaign of `run` has
 * none, job or not: all of it would be its program's as well, which would then
 * be another program than the one under test.
 */

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
 * maple_attach_prepare - before the memo is opened: the database has its
 * temporary files beside it
 */
void maple_attach_prepare(const struct maple_settings *settings)
{
	char *folder = folder_of_memo(settings);

	if (folder)
		setenv("SQLITE_TMPDIR", folder, 0);
	free(folder);
}

/*
 * maple_attach_enter - from now on the job is in its sandbox
 * @server: its memo is at one
 *
 * Returns 0 or the exit status, the error said.
 */
int maple_attach_enter(struct maple_settings *settings, bool server)
{
	char *folder = folder_of_memo(settings);
	char *spools = server ? maple_database_place("spool") : NULL;
	const char *writes[3] = { folder ? folder : spools,
				  folder ? spools : NULL };
	const struct maple_attach_rest rest = {
		.writes = writes,
		.agent = settings->campaign.agent,
		.backend = settings->campaign.backend,
		.observer = settings->campaign.observer,
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
		ret = maple_say_failed(&err);
	} else if (!files) {
		maple_say_notice("this kernel has no Landlock: the job may open "
				 "files as its user may");
	}
	free(folder);
	free(spools);
	return ret;
}

int maple_command_attach(struct maple_settings *settings)
{
	struct maple_error err = { "" };
	struct maple_attached *attached;
	pid_t pid;
	int ret;

	if (settings->argc != 1)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "which process? mapletest attach "
				       "[options] PID");
	pid = parse_pid(settings->argv[0]);
	if (!pid)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "'%s' is no process number: `pidof "
				       "PROGRAM` knows it",
				       settings->argv[0]);
	ret = maple_attach_open(pid, &attached, &err);
	if (ret)
		return maple_say_error(open_status(settings, ret), "%s",
				       err.text);
	settings->campaign.attached = attached;
	settings->campaign.argv = maple_attach_argv(attached);
	if (!geteuid() &&
	    maple_attach_user(attached, &settings->user, &settings->hidden))
		ret = maple_say_error(MAPLE_STATUS_FAILED,
				      "it is not known who process %d runs as",
				      pid);
	else
		ret = maple_run_campaign(settings);
	maple_attach_close(attached);
	return ret;
}
