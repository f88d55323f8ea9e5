// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A member of mapled's group who means no good, or has gone mad:
 *   hostile SOCKET SECONDS SEED SLOW [FOREIGN-PID]...
 *   hostile finds SOCKET
 *
 * Clients of mapled come and go, several at once. Each does at random what the
 * protocol allows, on processes of its own that end, exec, fork, or become
 * root's, and on files that are unmounted, cut off or replaced; or it is
 * killed in the middle of that. Whatever it may be answered, it must get
 * nothing that is not its own: then this program ends with status 1 and says
 * what it got. What others lose by it, they have to find out themselves.
 *
 * It goes on for that time and until it has done enough of everything, see
 * hostile_actor.h; where all takes SLOW times as long, that much less is
 * enough. When in ten times the time nothing comes to what is missing, that is
 * failure, too. Where SECONDS is 0, it goes on until SIGTERM, and one of
 * everything is enough.
 * "finds" is for another member, who has found something.
 *
 * Beside it lies "raised", a copy of it that is root's and set-user-id, and
 * "book", a file of root's; see erratic.h.
 */
#include <time.h>
#include "hostile_changes.h"
#include "hostile_onlooker.h"
#include "hostile_requests.h"

#define ACTORS	 4   /* at once */
#define LIFETIME 10  /* s, SLOW times; then one is killed */
#define PARTING	 120 /* s, SLOW times, for what is missing when told to end */
#define FOREVER	 1e9 /* seconds */

static volatile sig_atomic_t over;		    /* SIGTERM */
static char book[sizeof(folder) + sizeof("/book")]; /* root's: see erratic.h */

/* ---- actors ---- */

static void end_any(struct actor *a)
{
	struct held *h = any_session(a);

	if (h)
		end_session(h);
}

static void probe_any(struct actor *a)
{
	struct held *h = any_session(a);

	if (h)
		put_probes(a, h);
}

static void ask_any(struct actor *a)
{
	struct held *h = any_session(a);

	if (h)
		ask_session(h);
}

static void read_any(struct actor *a)
{
	struct held *h = any_session(a);

	if (h)
		read_log(h);
}

static void copy_one(struct actor *a)
{
	keep(a, make_copy((unsigned int)draw(8)));
}

static void change_one(struct actor *a)
{
	(void)a;
	change_copy((unsigned int)draw(8));
}

static void give_back(struct actor *a)
{
	union maple_wire_message none = { 0 };

	send_request(a, MAPLE_WIRE_GIVE_BACK, &none);
}

static const struct {
	void (*act)(struct actor *a);
	unsigned int often;
} acts[] = {
	{ strike, 8 },	       { begin_session, 4 }, { begin_foreign, 3 },
	{ change_target, 4 },  { unmount_under, 2 }, { change_under, 2 },
	{ lease, 1 },	       { give_back, 1 },     { start_target, 2 },
	{ disturb_target, 1 }, { probe_any, 3 },     { ask_any, 3 },
	{ read_any, 2 },       { end_any, 2 },	     { keep_mounted, 1 },
	{ copy_one, 1 },       { change_one, 1 },    { take_name, 1 },
	{ store, 1 },	       { any_request, 4 },   { ask_kernel, 1 },
};

/* Without a CPU no session can have probes; others want it as well. */
static void share_cpu(struct actor *a)
{
	if (a->cpu < 0 && chance(4))
		lease(a);
	else if (a->cpu >= 0 && chance(8))
		give_back(a);
}

static void act(struct actor *a)
{
	unsigned int n = 0, k;

	share_cpu(a);
	for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++)
		n += acts[i].often;
	k = (unsigned int)draw(n);
	for (n = 0; k >= acts[n].often; n++)
		k -= acts[n].often;
	acts[n].act(a);
}

static _Noreturn void be_actor(uint64_t number)
{
	struct actor a = { .cpu = -1 };
	struct maple_error err = { "" };

	signal(SIGTERM, SIG_DFL);
	for (unsigned int i = 0; i < SESSIONS; i++)
		a.session[i].pidfd = -1;
	draw_seed(number);
	prctl(PR_SET_CHILD_SUBREAPER, chance(2));
	if (chance(16)) {
		be_silent();
		_exit(0);
	}
	if (maple_host_open(socket_path, &a.host, &err)) {
		target_nap(200000);
		_exit(0);
	}
	if (chance(16)) {
		be_deaf(&a);
		_exit(0);
	}
	if (chance(32)) {
		be_busy(&a);
		_exit(0);
	}
	start_target(&a);
	for (unsigned int n = 10 + (unsigned int)draw(100); n; n--) {
		act(&a);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	if (chance(2))
		for (unsigned int i = 0; i < SESSIONS; i++)
			end_session(&a.session[i]);
	if (chance(2))
		maple_host_close(a.host);
	_exit(0);
}

/* ---- all of them ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What others have found, and with what. */
static void learn_words(void)
{
	struct maple_memo_program_info *programs = NULL;
	struct maple_finding **findings = NULL;
	struct maple_error err = { "" };
	struct maple_memo *memo;
	struct maple_host *host;
	size_t n = 0;

	if (maple_host_open(socket_path, &host, &err) ||
	    maple_host_memo(host, &memo, &err)) {
		fprintf(stderr, "hostile: %s\n", err.text);
		exit(1);
	}
	maple_memo_programs(memo, &programs, &n, &err);
	for (size_t i = 0; i < n; i++) {
		wire_learn(programs[i].build_id);
		wire_learn(programs[i].path);
	}
	maple_memo_programs_destroy(programs, n);
	n = 0;
	maple_memo_findings(memo, 0, &findings, &n, &err);
	for (size_t i = 0; i < n; i++)
		wire_learn(findings[i]->id);
	maple_memo_findings_destroy(findings, n);
	maple_memo_close(memo);
	maple_host_close(host);
}

/* A campaign with a finding, as anybody's. */
static int find_one(void)
{
	const union maple_wire_message campaign = {
		.campaign = { .name = "0123456789abcdef0123456789abcdef",
			      .argv = wire_list() },
	};
	union maple_wire_message message = { 0 };
	struct maple_error err = { "" };
	struct maple_host *host;
	int64_t id = 0;
	int e;

	e = maple_host_open(socket_path, &host, &err);
	if (!e)
		e = maple_host_number(host, MAPLE_WIRE_CAMPAIGN, &campaign, &id,
				      &err);
	message.program.campaign = id;
	message.program.build_id = "0123456789";
	message.program.path = "/bin/true";
	if (!e)
		e = maple_host_number(host, MAPLE_WIRE_PROGRAM, &message, NULL,
				      &err);
	memset(&message, 0, sizeof(message));
	message.store.campaign = id;
	message.store.finding = wire_finding("f1nd");
	if (!e)
		e = maple_host_number(host, MAPLE_WIRE_STORE, &message, NULL,
				      &err);
	if (e) {
		fprintf(stderr, "hostile: %s\n", err.text);
		return 1;
	}
	maple_host_close(host);
	return 0;
}

/* Everyone whom we may but us, so that nothing is left. */
static void end_all(void)
{
	do {
		kill(-1, SIGKILL);
	} while (waitpid(-1, NULL, 0) > 0);
}

static void end_rage(int signo)
{
	over = signo;
}

/* Whether a set-user-id program has run, and has said so where only root may. */
static bool raised_ran(void)
{
	struct stat st;

	return !stat(book, &st) && st.st_size > 0;
}

/*
 * Until @seconds are over, or somebody has had enough of it, and @minutes'
 * worth is done.
 */
static void rage(double seconds, double minutes, uint64_t seed)
{
	double begun = now(), patience = 10 * seconds, born[ACTORS] = { 0 };
	double got_on = begun;
	unsigned long done = 0;
	pid_t actor[ACTORS] = { 0 };

	for (uint64_t number = 0; !shared->wrong;) {
		unsigned int i = (unsigned int)draw(ACTORS);
		double past = now() - begun;

		if (over && seconds > 0) {
			seconds = 0;
			patience = PARTING * slow;
			got_on = now();
		}
		if (done_of(minutes) > done) {
			done = done_of(minutes);
			got_on = now();
		}
		if (now() - got_on > patience ||
		    (past > seconds && done_enough(minutes) &&
		     (over || raised_ran())))
			break;
		if (actor[i] > 0 && now() - born[i] > LIFETIME * slow &&
		    chance(4)) {
			kill(actor[i], SIGKILL);
			count(KILLED);
		}
		if (actor[i] > 0 && !waitpid(actor[i], NULL, WNOHANG)) {
			usleep(20000);
			continue;
		}
		actor[i] = fork();
		if (!actor[i])
			be_actor(seed * 1000003 + number);
		born[i] = now();
		number++;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static void find_places(void)
{
	char self[256];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n < 0 ? 0 : n] = '\0';
	target_self = strdup(self);
	*strrchr(self, '/') = '\0';
	snprintf(folder, sizeof(folder), "%s", self);
	snprintf(book, sizeof(book), "%s/book", folder);
	if (asprintf(&target_raised, "%s/raised", folder) < 0)
		abort();
}

int main(int argc, char **argv)
{
	double seconds, minutes;

	find_places();
	if (getuid() && !geteuid())
		return raised_main(book);
	if (argc == 3 && !strcmp(argv[1], "target"))
		return target_main(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "onlook"))
		return onlooker_main();
	if (argc == 3 && !strcmp(argv[1], "finds")) {
		socket_path = argv[2];
		return find_one();
	}
	if (argc < 5 || !getuid()) {
		fprintf(stderr, "usage, not as root: hostile SOCKET SECONDS "
				"SEED SLOW [FOREIGN-PID]...\n");
		return 2;
	}
	socket_path = argv[1];
	seconds = atof(argv[2]);
	slow = atof(argv[4]);
	minutes = seconds / 60 / slow;
	if (seconds <= 0) {
		seconds = FOREVER;
		minutes = 1e-9;
	}
	for (int i = 5; i < argc && nforeign < 8; i++)
		foreign[nforeign++] = atoi(argv[i]);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGTERM, end_rage);
	learn_words();
	printf("seed %s\n", argv[3]);
	fflush(stdout);
	draw_seed(strtoull(argv[3], NULL, 10));
	rage(seconds, minutes, strtoull(argv[3], NULL, 10));
	end_all();
	return report(minutes);
}
