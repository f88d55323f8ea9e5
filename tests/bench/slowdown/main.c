// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * slowdown [OPTION...] -- PROG [ARG...]: how long PROG takes natively, under
 * maple, and under others. A line for each run, with tabs:
 *
 *	time NAME KIND TOTAL OWN AFTER LOST
 *	fail NAME KIND WHY
 *	over NAME KIND SECONDS	(killed after so long)
 *	count NAME OWN WORDS	(what an enforced run's time went to)
 *
 * KIND is native, pinned (native, on the target's one CPU), first (the first
 * profile run, which decodes the program), profile, executed (the same, but
 * not forked), all (without budgets), enforced, or a peer's. TOTAL and OWN are
 *seconds from the start of the run and from main() to its end; AFTER is what we
 *need from there until we know what was observed; - where there is none. LOST
 *are events.
 *
 *	--name NAME       in the lines (PROG's basename)
 *	--exe GLOB        PROG only starts the program under test
 *	--product FILE    what PROG writes; must be the same each time
 *	--rounds N        of each kind (5), in turns, every other one backwards
 *	--candidates N    enforced runs, of as many candidates at random (20)
 *	--peer NAME CMD   a shell command that runs PROG under something else;
 *	                  once; may be repeated
 *	--limit SEC       what a peer may take (60)
 *	--meets N         only native runs and, in each round, N in which two
 *threads are to meet (KIND meet), at two of the sites that write what others
 *read, drawn at random
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include "campaign/internal.h"
#include "slowdown.h"

#define MOST_FAILURES 3 /* then the program is given up */

static unsigned int failures;

void bench_die(const char *what, const char *why)
{
	fprintf(stderr, "slowdown: %s: %s\n", what, why);
	exit(2);
}

void bench_fail(const struct bench *b, const char *kind, const char *why)
{
	printf("fail\t%s\t%s\t%s\n", b->name, kind, why);
	failures++;
}

static void put_seconds(double s)
{
	if (s < 0)
		printf("\t-");
	else
		printf("\t%.6f", s);
}

void bench_say(const struct bench *b, const char *kind,
	       const struct bench_time *t)
{
	printf("time\t%s\t%s", b->name, kind);
	put_seconds(t->total);
	put_seconds(t->own);
	put_seconds(t->after);
	printf("\t%llu\t%llu\n", (unsigned long long)t->lost,
	       (unsigned long long)t->kept);
}

/* The last line that it printed, without what would break ours. */
static void last_line(int fd, char *text, size_t size)
{
	off_t end = lseek(fd, 0, SEEK_END), from;
	ssize_t n;
	char *p;

	from = end > (off_t)size - 1 ? end - ((off_t)size - 1) : 0;
	n = pread(fd, text, size - 1, from);
	text[n > 0 ? n : 0] = '\0';
	while ((p = strrchr(text, '\n')) && !p[1])
		*p = '\0';
	if (p)
		memmove(text, p + 1, strlen(p));
	for (p = text; *p; p++)
		if (*p == '\t')
			*p = ' ';
}

static bool digest_of(const char *path, uint64_t *digest)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st) || !st.st_size) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return false;
	*digest = XXH3_64bits(map, st.st_size);
	munmap(map, st.st_size);
	return true;
}

/* Whether the run did what the first one did; @out: what it printed. */
bool bench_judge(struct bench *b, const char *kind, int status, int out)
{
	char said[200], why[300];
	uint64_t digest = 0;

	if (status) {
		last_line(out, said, sizeof(said));
		snprintf(why, sizeof(why), "%s %d: %s",
			 WIFSIGNALED(status) ? "signal" : "status",
			 WIFSIGNALED(status) ? WTERMSIG(status)
					     : WEXITSTATUS(status),
			 said);
		bench_fail(b, kind, why);
		return false;
	}
	if (!b->product)
		return true;
	if (!digest_of(b->product, &digest)) {
		bench_fail(b, kind, "it wrote nothing");
		return false;
	}
	unlink(b->product);
	if (b->digested && digest != b->digest) {
		bench_fail(b, kind, "it wrote something else");
		return false;
	}
	b->digested = true;
	b->digest = digest;
	return true;
}

static void round_of(struct bench *b, unsigned int round)
{
	static const char *const profiles[] = { "profile", "executed", "all" };
	unsigned int i, kind, part = b->candidates / b->rounds;

	part += round < b->candidates % b->rounds;
	for (i = 0; i < 6; i++) {
		kind = round % 2 ? 5 - i : i;
		if (kind < 2)
			bench_native(b, kind);
		else if (kind < 5)
			bench_profile(b, profiles[kind - 2], round);
		for (unsigned int k = 0; kind == 5 && k < part; k++)
			bench_enforce(b, k * b->rounds + round);
	}
	fflush(stdout);
}

static void meetings_of(struct bench *b, unsigned int round)
{
	bench_native(b, false);
	for (unsigned int k = 0; k < b->meets; k++)
		bench_meet(b, round * b->meets + k);
	fflush(stdout);
}

static unsigned int number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || n > 1000)
		bench_die(text, "no such number");
	return n;
}

static void parse(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "name", 1, NULL, 'n' },
		{ "exe", 1, NULL, 'e' },
		{ "product", 1, NULL, 'p' },
		{ "rounds", 1, NULL, 'r' },
		{ "candidates", 1, NULL, 'c' },
		{ "peer", 1, NULL, 'x' },
		{ "limit", 1, NULL, 'l' },
		{ "meets", 1, NULL, 'm' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			b->name = optarg;
			break;
		case 'e':
			b->exe = optarg;
			break;
		case 'p':
			b->product = optarg;
			break;
		case 'r':
			b->rounds = number(optarg);
			break;
		case 'c':
			b->candidates = number(optarg);
			break;
		case 'l':
			b->limit = number(optarg);
			break;
		case 'm':
			b->meets = number(optarg);
			break;
		case 'x':
			if (b->npeers == BENCH_PEERS || optind >= argc)
				bench_die(optarg, "no command, or one too many");
			b->peer[b->npeers++] =
				(struct bench_peer){ optarg, argv[optind++] };
			break;
		default:
			exit(2);
		}
	}
	if (optind >= argc || !b->rounds)
		bench_die("usage", "slowdown [OPTION...] -- PROG [ARG...]");
	b->argv = argv + optind;
	if (!b->name)
		b->name = basename(b->argv[0]);
}

int main(int argc, char **argv)
{
	struct bench b = { .rounds = 5, .candidates = 20, .limit = 60 };
	struct maple_error err;

	parse(&b, argc, argv);
	if (maple_campaign_find_program(b.argv[0], &b.path, &err))
		bench_die(b.argv[0], err.text);
	sched_getaffinity(0, sizeof(b.cpus), &b.cpus);
	b.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bench_open(&b);
	bench_native(&b, false); /* warms up, and must work */
	if (!failures)
		bench_learn(&b);
	for (unsigned int i = 0; i < b.rounds && failures < MOST_FAILURES; i++)
		b.meets ? meetings_of(&b, i) : round_of(&b, i);
	for (unsigned int i = 0; i < b.npeers && b.native; i++)
		bench_peer(&b, &b.peer[i]);
	bench_close(&b);
	return failures ? 1 : 0;
}
