// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Before the first run: the program, the agent, permission, the memo. */
#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <maple/version.h>
#include "backend/guard/launch.h"
#include "../image/image.h"
#include "internal.h"

#define AGENT_FILE "libmaple-agent.so"
#define CPU_WAIT_S \
	120 /* seconds to wait for a CPU, unless --max-time is less */

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/*
 * maple_campaign_find_program - where the shell would find @name
 * @path: to be freed
 */
int maple_campaign_find_program(const char *name, char **path,
				struct maple_error *err)
{
	const char *dirs = getenv("PATH"), *end;
	char *full;
	int len, seen = 0;

	if (!dirs)
		dirs = "/usr/bin:/bin";
	if (strchr(name, '/')) {
		if (access(name, F_OK))
			return maple_error_set(err, errno, "%s: %s", name,
					       strerror(errno));
		if (!is_file(name) || access(name, X_OK))
			return maple_error_set(
				err, EACCES,
				is_file(name) ? "%s is not executable: "
						"chmod +x %s"
					      : "%s is no program",
				name, name);
		*path = strdup(name);
		return *path ? 0 : -ENOMEM;
	}
	for (; *name && dirs; dirs = *end ? end + 1 : NULL) {
		end = strchrnul(dirs, ':');
		len = end - dirs;
		if (asprintf(&full, "%.*s/%s", len ? len : 1, len ? dirs : ".",
			     name) < 0)
			return maple_error_set(err, ENOMEM, "out of memory");
		if (is_file(full) && !access(full, X_OK)) {
			*path = full;
			return 0;
		}
		seen |= is_file(full);
		free(full);
	}
	if (seen)
		return maple_error_set(err, EACCES, "%s is not executable",
				       name);
	return maple_error_set(err, ENOENT, "%s: not found in PATH", name);
}

static int check_elf(const char *path, const Elf64_Ehdr *ehdr, ssize_t n,
		     struct maple_error *err)
{
	if (n < (ssize_t)sizeof(*ehdr))
		return maple_error_set(err, ENOEXEC,
				       "%s is a truncated ELF file", path);
	if (ehdr->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr->e_machine != EM_X86_64)
		return maple_error_set(err, ENOTSUP,
				       "%s is no x86-64 program: only those "
				       "can be tested; rebuild it for x86-64",
				       path);
	if (ehdr->e_type != ET_EXEC && ehdr->e_type != ET_DYN)
		return maple_error_set(err, ENOEXEC, "%s is no program", path);
	return 0;
}

/*
 * maple_campaign_check_program - whether @path is a program that can be tested
 * @exe: --exe, with which @path may be a script or a wrapper
 */
int maple_campaign_check_program(const char *path, const char *exe,
				 struct maple_error *err)
{
	Elf64_Ehdr ehdr;
	int fd, e = 0;
	ssize_t n;

	if (exe)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return maple_error_set(err, errno, "%s: %m", path);
	n = read(fd, &ehdr, sizeof(ehdr));
	if (n >= 4 && !memcmp(ehdr.e_ident, ELFMAG, SELFMAG))
		e = check_elf(path, &ehdr, n, err);
	else if (n >= 2 && !memcmp(ehdr.e_ident, "#!", 2))
		e = maple_error_set(err, EINVAL,
				    "%s is a script: name the program under "
				    "test that it starts with --exe NAME",
				    path);
	else
		e = maple_error_set(err, ENOEXEC,
				    "%s is neither an ELF file nor a script",
				    path);
	close(fd);
	return e;
}

static char *beside(const char *self, const char *relative)
{
	char *copy = strdup(self), *path = NULL, *real;

	if (!copy || asprintf(&path, "%s/%s", dirname(copy), relative) < 0)
		path = NULL;
	free(copy);
	real = path ? realpath(path, NULL) : NULL;
	free(path);
	return real;
}

/*
 * maple_campaign_find_agent - the agent's path: as given, beside the running
 * program (a build tree), or where it was installed; NULL if nowhere
 */
char *maple_campaign_find_agent(const char *given)
{
	static const char *const places[] = {
		AGENT_FILE, "../lib/maple/" AGENT_FILE,
		"../lib/x86_64-linux-gnu/maple/" AGENT_FILE
	};
	char self[PATH_MAX], *found;
	unsigned int i;
	ssize_t n;

	if (!given)
		given = secure_getenv("MAPLE_AGENT_PATH");
	if (given)
		return realpath(given, NULL);
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		return NULL;
	self[n] = '\0';
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		found = beside(self, places[i]);
		if (found)
			return found;
	}
	return NULL;
}

static int begin_memo(struct maple_campaign *c)
{
	const struct maple_campaign_options *o = c->options;
	struct maple_memo_campaign campaign = {
		.argv = o->argv,
		.cwd = c->cwd ?: "",
		.apart = o->apart || !o->input,
		.exe = o->exe,
		.strategy = !c->strategy->forces	    ? c->strategy->name
			    : o->order == MAPLE_ORDER_PAPER ? "paper"
							    : "ranked",
		.seed = c->seed,
		.version = MAPLE_VERSION,
		.backend = c->backend,
		.job = o->job ? *o->job : (struct maple_memo_job){ 0 },
	};

	assert(!c->memo_campaign && !c->input);
	/* Other requests are another input as well. */
	c->input = o->input ? strdup(o->input)
			    : maple_memo_input(o->argv, c->requests);
	campaign.input = c->input;
	if (!c->input)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	return maple_memo_campaign_begin(c->memo, &campaign, &c->memo_campaign,
					 c->err);
}

/* maple_campaign_backend - see maple/campaign.h */
const char *maple_campaign_backend(unsigned int i)
{
	int half;

	for (half = 0; half < MAPLE_HALVES; half++)
		if (maple_half_built(half) && !i--)
			return maple_half_name(half);
	return NULL;
}

/* maple_campaign_knows_backend - see maple/campaign.h */
bool maple_campaign_knows_backend(const char *name)
{
	struct maple_pair_choice choice;

	return !strcmp(name, "auto") || !maple_pair_parse(name, &choice);
}

static int open_backends(struct maple_campaign *c)
{
	const struct maple_campaign_options *o = c->options;
	double left = o->patience > 0 ? o->patience
				      : maple_campaign_time_left(c);
	double patience = left >= 0 && left < CPU_WAIT_S ? left : CPU_WAIT_S;
	struct maple_backend_options backend = {
		.program = c->program,
		.argv = o->argv,
		.exe = o->exe,
		.include = o->include,
		.exclude = o->exclude,
		.agent = c->agent,
		.exec = o->exec,
		.sites = o->sites,
		.on_time = o->setup || o->teardown || o->under,
		.sleeps = c->sleeps,
		.registry = c->registry,
		.host = o->host,
		.observer = o->observer,
	};
	struct maple_pair_choice choice;
	int e = c->subject->choose(c, &backend, &choice);

	if (!e)
		e = maple_lanes_open(c, &choice, &backend, patience);
	if (e)
		return e;
	for (unsigned int i = 0; i < c->lanes.n; i++)
		c->result->shared_cpu |= c->lanes.lane[i].pair->cpu.shared;
	assert(c->lanes.n && c->lanes.turn);
	c->backend = maple_pair_name(&choice);
	c->result->backends = (struct maple_backends){
		.observe = maple_half_name(choice.observe),
		.enforce = choice.alone ? "none"
					: maple_half_name(choice.enforce),
	};
	memcpy(c->result->backends.why, choice.why, sizeof(choice.why));
	/* What cannot be forced is for everybody to know. */
	if (choice.alone)
		maple_campaign_notice(c, "%s", choice.why);
	return maple_study_open(c);
}

/* maple_campaign_open - makes everything ready for the first run */
int maple_campaign_open(struct maple_campaign *c)
{
	const struct maple_campaign_options *o = c->options;
	int e;

	assert(!c->registry && !c->program && !c->lanes.lane);
	c->subject = maple_subject_of(o);
	maple_study_init(c);
	if (!c->strategy)
		c->strategy = maple_strategy_find(o->strategy);
	if (!c->strategy || o->depth > MAPLE_DEPTH_MAX)
		return maple_error_set(c->err, EINVAL,
				       "no such strategy or depth");
	if (o->patterns && !c->strategy->patterned)
		return maple_error_set(c->err, EINVAL,
				       "--patterns: %s does not count them; "
				       "pcr, rw, pos, surw, pct and pctvb do",
				       c->strategy->name);
	if (o->patterns)
		c->strategy = c->strategy->patterned;
	if (o->until_covered && !c->strategy->covers)
		return maple_error_set(c->err, EINVAL,
				       "--until covered: %s does not say what "
				       "is left; --strategy pcr does",
				       c->strategy->name);
	if (o->exhaust && !c->strategy->exhausts)
		return maple_error_set(c->err, EINVAL,
				       "--exhaust: %s does not say which "
				       "schedules there are; --strategy rank "
				       "does",
				       c->strategy->name);
	c->seed = o->seed;
	while (!c->seed)
		if (getrandom(&c->seed, 4, 0) < 0)
			return maple_error_set(c->err, errno, "no seed: %m");
	c->registry = maple_registry_create();
	if (!c->registry)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	maple_registry_include(c->registry, o->include);
	e = c->subject->open(c);
	if (!e)
		e = open_backends(c);
	if (e)
		return e;
	/* A job has its number now. */
	maple_campaign_ready(c);
	return begin_memo(c);
}

/* maple_campaign_close - gives everything back; whatever was opened */
void maple_campaign_close(struct maple_campaign *c)
{
	maple_lanes_close(c);
	maple_round_close(c);
	maple_launch_dismiss();
	maple_study_close(c);
	maple_violated_deinit(c);
	maple_belongs_deinit(&c->belongs);
	maple_known_deinit(c);
	maple_unseen_deinit(c);
	maple_reached_deinit(&c->reached);
	maple_campaign_unknow(c);
	maple_registry_destroy(c->registry);
	maple_io_deinit(&c->io);
	free(c->program);
	free(c->cwd);
	free(c->agent);
	free(c->between);
	free(c->input);
}
