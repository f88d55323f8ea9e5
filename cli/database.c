// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Where the memo database is, and which of its programs is meant. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli.h"

#define PLACES "/var/lib/maple" /* of what has no home, root's */

/* Makes the folders that lead to @path, for the user alone; 0, or errno, and
   @path is the one that cannot be made. */
static int make_folders(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		if (mkdir(path, 0700) && errno != EEXIST)
			return errno;
		*p = '/';
	}
	return 0;
}

static int make_parents(char *path)
{
	int error = make_folders(path);

	return error ? maple_say_error(MAPLE_STATUS_FAILED,
				       "the directory '%s' for the memo "
				       "database cannot be made: %s; name "
				       "another place with --db FILE",
				       path, strerror(error))
		     : 0;
}

/* The user's own @name, to be freed; NULL: there is no place for it. */
static char *default_path(const char *name)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int n;

	/* The standard has relative paths ignored. */
	if (state && *state == '/')
		n = asprintf(&path, "%s/maple/%s", state, name);
	else if (home && *home == '/')
		n = asprintf(&path, "%s/.local/state/maple/%s", home, name);
	else
		return NULL;
	return n < 0 ? NULL : path;
}

/*
 * maple_database_place - the path of the user's own @name, beside the memo
 *
 * Root has a place without a home, too. Returns NULL where there is none; to be
 * freed.
 */
char *maple_database_place(const char *name)
{
	char *path = default_path(name);

	if (path || geteuid())
		return path;
	mkdir(PLACES, 0755);
	return asprintf(&path, PLACES "/%s", name) < 0 ? NULL : path;
}

/*
 * maple_database_below - the same, as @path
 *
 * Returns 0 or the exit status, the error said.
 */
int maple_database_below(const char *name, char **path)
{
	*path = maple_database_place(name);
	if (*path)
		return 0;
	return maple_say_error(MAPLE_STATUS_FAILED,
			       "there is no place for %s: neither HOME nor "
			       "XDG_STATE_HOME is set",
			       name);
}

static int open_file(const struct maple_settings *settings, unsigned int flags,
		     struct maple_memo **memo)
{
	struct maple_error err = { "" };
	char *path = settings->db ? strdup(settings->db)
				  : default_path("memo.db");
	int ret;

	if (!path)
		return maple_say_error(MAPLE_STATUS_FAILED,
				       "there is no place for the memo "
				       "database: neither HOME nor "
				       "XDG_STATE_HOME is set; name one with "
				       "--db FILE");
	if (!settings->db && !(flags & MAPLE_MEMO_READONLY) &&
	    make_parents(path)) {
		free(path);
		return MAPLE_STATUS_FAILED;
	}
	ret = maple_memo_open(path, flags, memo, &err);
	if (ret == -ENOENT && flags & MAPLE_MEMO_READONLY)
		ret = maple_say_error(MAPLE_STATUS_FAILED,
				      "there is no memo database '%s' yet; "
				      "'mapletest run' makes it",
				      path);
	else if (ret)
		ret = maple_say_error(MAPLE_STATUS_FAILED, "%s%s", err.text,
				      settings->campaign.attached
					      ? "; it is opened by the user "
						"that the process runs as"
					      : "");
	free(path);
	return ret;
}

/*
 * maple_database_open - the database of --db, mapled's, or the user's own
 * @flags: of maple_memo_open()
 *
 * Looks for mapled in any case. Returns 0 or the exit status, the error said.
 */
int maple_database_open(struct maple_settings *settings, unsigned int flags,
			struct maple_memo **memo)
{
	struct maple_error err = { "" };
	int ret = maple_host_find(settings);

	if (ret)
		return ret;
	if (settings->db || !settings->campaign.host)
		return open_file(settings, flags, memo);
	if (maple_host_memo(settings->campaign.host, memo, &err))
		return maple_say_failed(&err);
	return 0;
}

/*
 * maple_database_show - what @show has to say of the database, which is opened
 * with @flags, goes to standard output or where --output says
 *
 * Returns the exit status.
 */
int maple_database_show(struct maple_settings *settings, unsigned int flags,
			int (*show)(struct maple_settings *settings,
				    struct maple_memo *memo, FILE *out))
{
	struct maple_memo *memo;
	int ret = maple_database_open(settings, flags, &memo);
	FILE *out;

	if (ret)
		return ret;
	out = maple_out_open(settings, stdout);
	ret = out ? show(settings, memo, out) : MAPLE_STATUS_FAILED;
	maple_memo_close(memo);
	return out ? maple_out_close(out, ret) : ret;
}

/* maple_database_name - what @p is called, by whoever has run it */
void maple_database_name(FILE *out, const struct maple_memo_program_info *p)
{
	const char *command = maple_memo_command(p->input);
	const char *slash = p->path ? strrchr(p->path, '/') : NULL;
	size_t n = slash ? strlen(slash + 1) : 0;

	maple_report_clean(out, p->path ? p->path : p->build_id);
	if (!p->input)
		return;
	/* The program's own name is said already, unless it was another one. */
	if (command && n && !strncmp(command, slash + 1, n) &&
	    (!command[n] || command[n] == ' ')) {
		maple_report_clean(out, command + n);
		return;
	}
	fputs(command ? ": " : ", input ", out);
	maple_report_clean(out, command ? command : p->input);
}

/* The user in front of "USER:ID"; @id is what follows, or all of it. */
static int owner_in(const char *word, int64_t *owner, const char **id)
{
	const char *colon = strchr(word, ':');
	const struct passwd *user;
	char name[64], *end;

	*owner = MAPLE_MEMO_ANYBODY;
	*id = colon ? colon + 1 : word;
	if (!colon)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(colon - word), word);
	*owner = strtol(name, &end, 10);
	if (*name && !*end && *owner >= 0)
		return 0;
	user = getpwnam(name);
	if (!user)
		return maple_say_error(MAPLE_STATUS_FAILED,
				       "there is no user '%s' whose finding "
				       "'%s' could be",
				       name, *id);
	*owner = user->pw_uid;
	return 0;
}

/*
 * maple_database_finding - the finding that @word means: the beginning of its
 * id, of ours or else of anybody's, or USER:ID
 *
 * Returns 0 or the exit status, the error said.
 */
int maple_database_finding(struct maple_memo *memo, const char *word,
			   struct maple_finding **finding)
{
	struct maple_error err = { "" };
	int64_t owner;
	const char *id;
	int ret = owner_in(word, &owner, &id);

	if (ret)
		return ret;
	ret = -ENOENT;
	if (owner == MAPLE_MEMO_ANYBODY)
		ret = maple_memo_finding_load(memo, id, geteuid(), finding,
					      &err);
	if (ret == -ENOENT)
		ret = maple_memo_finding_load(memo, id, owner, finding, &err);
	return ret ? maple_say_failed(&err) : 0;
}

static bool matches(const struct maple_memo_program_info *p, const char *word)
{
	const char *slash = p->path ? strrchr(p->path, '/') : NULL;
	char number[32];

	snprintf(number, sizeof(number), "%lld", (long long)p->id);
	return !strcmp(word, number) || (p->path && !strcmp(word, p->path)) ||
	       (slash && !strcmp(word, slash + 1)) ||
	       (strlen(word) >= 6 && !strncmp(word, p->build_id, strlen(word)));
}

/*
 * maple_database_select - the program that @word means, NULL: the last used
 * @which: its index
 *
 * A word is a number of `memo list`, a path or its last part, or the
 * beginning of a build-id; of several that match it is the last used.
 * Returns 0 or -ENOENT, nothing said.
 */
int maple_database_select(const char *word,
			  struct maple_memo_program_info *programs, size_t n,
			  size_t *which)
{
	char *real = word ? realpath(word, NULL) : NULL;
	int ret = -ENOENT;

	for (size_t i = 0; i < n && ret; i++) {
		if (word && !matches(&programs[i], word) &&
		    !(real && matches(&programs[i], real)))
			continue;
		*which = i;
		ret = 0;
	}
	free(real);
	return ret;
}

/*
 * ---- spools ----
 *
 * Beside the user's own memo: what campaigns have learned while the server of
 * their memo was lost. A campaign with that server delivers them before it
 * begins, the one that was left without it tries so at its end.
 */

#define SPOOLS "spool"

static void on_notice(void *ctx, const char *text)
{
	maple_say_notice("%s", text);
}

static void tell(const struct maple_memo_delivery *d, bool asked)
{
	if (d->delivered || (asked && !d->before && !d->busy && !d->others))
		maple_say_notice("delivered to the server: %u spools with %llu "
				 "runs",
				 d->delivered, (unsigned long long)d->runs);
	if (d->before)
		maple_say_notice("%u spools had been delivered already, and "
				 "are removed",
				 d->before);
	if (asked && d->busy)
		maple_say_notice("%u spools are being written yet, by "
				 "campaigns that go on without the server",
				 d->busy);
	if (asked && d->others)
		maple_say_notice("%u spools belong to other memos: --db says "
				 "which is meant",
				 d->others);
}

/*
 * maple_spools_deliver - what is kept for the server of @memo, if it has one
 * @asked: the user wants to know, also that nothing was
 *
 * Returns 0 or the exit status, the error said.
 */
int maple_spools_deliver(struct maple_memo *memo, bool asked)
{
	static const char failed[] =
		"what is kept in '%s' for the server is not delivered: %s";
	struct maple_memo_delivery delivery = { 0 };
	char *folder = maple_database_place(SPOOLS);
	struct maple_error err = { "" };
	int ret = folder ? maple_memo_deliver(memo, folder, &delivery, &err)
			 : 0;

	tell(&delivery, asked);
	if (ret && asked)
		ret = maple_say_error(MAPLE_STATUS_FAILED, failed, folder,
				      err.text);
	else if (ret)
		maple_say_notice(failed, folder, err.text);
	free(folder);
	return ret;
}

/*
 * maple_spools_open - what is kept from before is delivered; @memo, which is to
 * be written, goes on in a spool if its server is lost
 */
void maple_spools_open(struct maple_memo *memo)
{
	struct maple_error err = { "" };
	char *folder;

	if (!maple_memo_shares(memo))
		return;
	folder = maple_database_place(SPOOLS);
	if (!folder) {
		maple_say_notice("neither HOME nor XDG_STATE_HOME is set: the "
				 "campaign ends if the memo's server is lost");
		return;
	}
	if (make_folders(folder))
		maple_error_set(&err, EACCES, "no folder '%s' can be made",
				folder);
	else
		maple_spools_deliver(memo, false);
	if (*err.text || maple_memo_spool(memo, folder, on_notice, NULL, &err))
		maple_say_notice("the campaign ends if the memo's server is "
				 "lost: %s",
				 err.text);
	free(folder);
}

/* maple_spools_close - closes @memo, and delivers what it has left, if it can */
void maple_spools_close(const struct maple_settings *settings,
			struct maple_memo *memo)
{
	bool left = maple_memo_spooled(memo);
	struct maple_error err = { "" };

	maple_memo_close(memo);
	if (!left)
		return;
	if (maple_memo_open(settings->db, 0, &memo, &err)) {
		maple_say_notice("what this campaign has learned is delivered "
				 "by the next one with --db '%s', or by "
				 "'mapletest memo deliver': %s",
				 settings->db, err.text);
		return;
	}
	maple_spools_deliver(memo, false);
	maple_memo_close(memo);
}

/*
 * maple_database_part - puts the @n @findings of a memo, which are sorted for
 * that, into @report
 * @asked: violations are told as well
 * @violations: filled in, if so; @report then points to it
 *
 * They stay the caller's.
 */
void maple_database_part(struct maple_finding **findings, size_t n, bool asked,
			 struct maple_violations *violations,
			 struct maple_report *report)
{
	*violations = (struct maple_violations){ .asked = asked };
	report->findings = findings;
	report->nfindings = maple_violations_part(findings, n);
	if (!asked)
		return;
	violations->at = findings + report->nfindings;
	violations->n = (unsigned int)(n - report->nfindings);
	report->violations = violations;
}

/* maple_database_violates - whether it is one alone, and that is a violation */
bool maple_database_violates(struct maple_finding *const *findings, size_t n)
{
	return n == 1 && findings[0]->kind == MAPLE_FAILURE_VIOLATION;
}
