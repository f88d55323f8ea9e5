// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A member of mapled's group who means no good, or has gone mad:
 *   hostile SOCKET SECONDS SEED [FOREIGN-PID]...
 *   hostile requests SOCKET SECONDS SEED
 *   hostile finds SOCKET
 *
 * Clients of mapled come and go, several at once. Each does at random what the
 * protocol allows, on processes of its own that end, exec, fork, or become
 * root's, and on files that are unmounted, cut off or replaced; or it is
 * killed in the middle of that. Whatever it may be answered, it must get
 * nothing that is not its own: then this program ends with status 1 and says
 * what it got. What others lose by it, they have to find out themselves. With
 * "requests", they only keep mapled as busy as they can. "finds" is for another
 * member, who has found something.
 *
 * Beside it lies "raised", a copy of it that is root's and set-user-id, and
 * "book", a file of root's; see erratic.h.
 */
#include <poll.h>
#include <stddef.h>
#include <sys/un.h>
#include <time.h>
#include "hostile_files.h"
#include "hostile_onlooker.h"
#include "hostile_wire.h"

#define ACTORS	3     /* at once */
#define ANSWERS 20000 /* ms */

static const char *socket_path;
static bool requests_alone;

/* ---- targets ---- */

static void start_target(struct actor *a)
{
	const struct target_kind *kind = &target_kinds[draw(TARGET_KINDS)];
	int fd = a->nfiles && chance(3) ? a->file[draw(a->nfiles)] : -1;
	unsigned int i = a->ntargets;
	pid_t pid;

	if (i == TARGETS) {
		i = (unsigned int)draw(TARGETS);
		kill(a->target[i].pid, SIGKILL);
		waitpid(a->target[i].pid, NULL, WNOHANG);
		close(a->target[i].pidfd);
		a->target[i] = a->target[--a->ntargets];
		i = a->ntargets;
	}
	pid = fork();
	if (!pid) {
		draw_seed(draw_state + (uint64_t)getpid());
		if (fd >= 0)
			target_mapped(fd);
		/* Some keep open what they inherit: it outlives the actor. */
		if (!chance(8))
			close_range(3, ~0u, 0);
		if (chance(2))
			execl(target_self, "hostile", "target", kind->name,
			      NULL);
		target_run(kind);
	}
	a->target[i].pid = pid;
	a->target[i].pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	a->ntargets++;
}

static void disturb_target(struct actor *a)
{
	static const int signals[] = { SIGKILL, SIGSTOP, SIGCONT,
				       SIGCONT, SIGSEGV, SIGTERM };

	if (a->ntargets)
		kill(a->target[draw(a->ntargets)].pid,
		     signals[draw(sizeof(signals) / sizeof(*signals))]);
}

/* ---- sessions ---- */

static void end_session(struct actor *a, unsigned int i)
{
	maple_control_close(a->session[i]);
	a->session[i] = NULL;
}

static void make_plan(struct maple_plan *plan)
{
	static const unsigned int kinds[] = { MAPLE_EV_WRITE, MAPLE_EV_READ,
					      MAPLE_EV_UPDATE };
	struct maple_iroot iroot = { .idiom = MAPLE_IDIOM_1 };

	for (int i = 0; i < 2; i++) {
		iroot.e[i].site = (uint32_t)draw(3);
		iroot.e[i].kind = kinds[draw(3)];
	}
	maple_plan_init(plan, &iroot, 1 + (int)draw(3), 0, 1);
}

static uint64_t offset_of(const char *label)
{
	return (uint64_t)(label - __ehdr_start);
}

static void any_probe(struct maple_uapi_probe *p)
{
	static const struct {
		const char *at, *next;
		uint8_t kind;
	} labels[] = { { insn_store, next_store, MAPLE_EV_WRITE },
		       { insn_load, next_load, MAPLE_EV_READ },
		       { insn_lock, next_lock, MAPLE_EV_UPDATE } };
	unsigned int i = (unsigned int)draw(3);

	*p = (struct maple_uapi_probe){
		.offset = offset_of(labels[i].at),
		.next = offset_of(labels[i].next),
		.number = i,
		.size = chance(4) ? 1u << draw(7) : 8,
		.flags = chance(2) ? MAPLE_PROBE_WANTED : 0,
		.kind = labels[i].kind,
		.base = chance(8) ? (uint8_t)draw(16) : 7, /* rdi */
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};
	if (chance(4)) { /* another place to look at */
		p->index = (uint8_t)draw(16);
		p->scale = (uint8_t)(1u << draw(4));
		p->disp = (int64_t)draw(100) - 50;
	}
	if (chance(3)) {
		p->offset = offset_of(insn_deep);
		p->next = 0;
		p->number = MAPLE_SITE_NONE;
		p->flags = MAPLE_PROBE_CALL |
			   (chance(2) ? MAPLE_PROBE_RETURN : 0);
		p->kind = MAPLE_EV_BLOCK;
		p->after = p->flags & MAPLE_PROBE_RETURN ? MAPLE_EV_LOCK
							 : MAPLE_EV_NONE;
	}
}

/* At the labels, often many at one offset, in any file that may be had. */
static void put_probes(struct actor *a, struct maple_control *c)
{
	struct maple_uapi_probe probe[32];
	unsigned int n = 1 + (unsigned int)draw(chance(3) ? 32 : 4);
	struct maple_error err = { "" };
	bool same = chance(3);
	int fd;

	for (unsigned int i = 0; i < n; i++)
		if (i && same)
			probe[i] = probe[i - 1];
		else
			any_probe(&probe[i]);
	switch (draw(8)) {
	case 0:
		fd = any_file(a);
		break;
	case 1:
	case 2:
		fd = open(target_raised, O_RDONLY | O_CLOEXEC);
		break;
	case 3:
	case 4:
		fd = a->nfiles ? dup(a->file[draw(a->nfiles)]) : -1;
		break;
	default:
		fd = open(target_self, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return;
	count(maple_control_probes(c, fd, probe, n, &err) ? REFUSED : PROBED);
	close(fd);
}

static void start_session(struct actor *a, struct maple_control *c, int pidfd,
			  bool others)
{
	struct maple_control_order order = {
		.pidfd = pidfd,
		.cpu = chance(8) ? (int)draw(3) : a->cpu,
		.sched = (uint32_t)draw(__MAPLE_UAPI_SCHED_MAX),
		.seed = draw(1000),
		.changes = (uint32_t)draw(4),
		.deadline_ms = 1 + (uint32_t)draw(chance(20) ? 60000 : 200),
	};
	struct maple_error err = { "" };
	struct maple_plan plan;

	if (chance(3) || order.sched == MAPLE_UAPI_PLAN) {
		order.sched = MAPLE_UAPI_PLAN;
		make_plan(&plan);
		order.plan = &plan;
	}
	if (maple_control_start(c, &order, &err)) {
		count(REFUSED);
	} else if (others) {
		wrong("a session on a process of another user's");
	} else if (order.cpu >= 0 && order.cpu != a->cpu) {
		wrong("CPU %d, which nobody has lent", order.cpu);
	} else {
		count(SESSION);
		while (!chance(3))
			put_probes(a, c);
	}
}

/* A pidfd, mostly of one that lives. */
static int any_target(struct actor *a)
{
	struct pollfd pfd = { .events = POLLIN };

	for (int tries = 0; tries < 4; tries++) {
		if (!a->ntargets)
			start_target(a);
		pfd.fd = a->target[draw(a->ntargets)].pidfd;
		if (poll(&pfd, 1, 0) == 0)
			break;
		start_target(a);
	}
	return dup(pfd.fd);
}

static void begin_session(struct actor *a)
{
	unsigned int i = (unsigned int)draw(SESSIONS);
	struct maple_error err = { "" };
	bool others = nforeign && chance(10);
	int pidfd = -1;

	if (!a->session[i] &&
	    maple_control_open_by(a->host, &a->session[i], &err)) {
		a->session[i] = NULL;
		return;
	}
	if (others)
		pidfd = (int)syscall(SYS_pidfd_open, foreign[draw(nforeign)], 0);
	else
		pidfd = any_target(a);
	if (pidfd < 0)
		return;
	start_session(a, a->session[i], pidfd, others);
	close(pidfd);
}

static void name_sites(struct maple_control *c)
{
	struct maple_uapi_site site[4];
	int fd = open(target_self, O_RDONLY | O_CLOEXEC);
	struct maple_error err = { "" };

	for (unsigned int i = 0; i < 4; i++)
		site[i] = (struct maple_uapi_site){
			offset_of(insn_deep) + draw(16),
			MAPLE_SITE_CALL | (uint32_t)draw(100), 0
		};
	maple_control_sites(c, fd, site, 1 + draw(4), &err);
	close(fd);
}

static bool is_secret(uint64_t value)
{
	return value == SECRET || value == SECRET + 1 ||
	       value - SECRET_PAGE < SECRET_SIZE;
}

static void read_log(struct maple_control *c)
{
	static struct maple_log_entry entries[MAPLE_PER_MESSAGE];
	struct maple_error err = { "" };
	int n;

	while ((n = maple_control_log(c, entries, &err)) > 0) {
		count(LOGGED);
		for (int i = 0; i < n; i++)
			if (is_secret(entries[i].event.value) ||
			    is_secret(entries[i].event.addr))
				wrong("what a set-user-id program had at %#llx",
				      (unsigned long long)entries[i].event.addr);
		if (chance(4))
			break;
	}
}

static void ask_session(struct maple_control *c)
{
	struct maple_uapi_return returns[MAPLE_PER_MESSAGE];
	struct maple_control_status status;
	struct maple_error err = { "" };

	switch (draw(6)) {
	case 0:
		if (!maple_control_status(c, chance(2), &status, &err))
			free(status.threads);
		break;
	case 1:
		maple_control_returns(c, (uint32_t)draw(8), returns, &err);
		break;
	case 2:
		maple_control_release(c, &err);
		break;
	case 3:
		maple_control_resume(c, &err);
		break;
	case 4:
		maple_control_stop(c, &err);
		break;
	case 5:
		name_sites(c);
		break;
	}
}

/* A member cannot talk to maple.ko but by way of mapled. */
static void ask_kernel(struct actor *a)
{
	struct maple_control_order order = { .cpu = -1, .deadline_ms = 1000 };
	struct maple_error err = { "" };
	struct maple_control *c;

	if (!a->ntargets || maple_control_open(&c, &err))
		return;
	order.pidfd = a->target[draw(a->ntargets)].pidfd;
	if (!maple_control_start(c, &order, &err))
		wrong("a session without mapled");
	maple_control_close(c);
}

/* ---- requests ---- */

/* Whether no more of the answer is to come. */
static bool is_last(unsigned int asked, unsigned int type)
{
	switch (type) {
	case MAPLE_WIRE_FOUND:
		return asked == MAPLE_WIRE_LOAD;
	case MAPLE_WIRE_INFO:
		return false;
	default:
		return true;
	}
}

static void take_answers(struct actor *a, unsigned int asked)
{
	struct maple_host_answer answer;
	struct maple_error err = { "" };

	do {
		if (maple_host_receive(a->host, ANSWERS, &answer, &err)) {
			count(UNANSWERED);
			return;
		}
		if (answer.fd >= 0)
			keep(a, answer.fd);
	} while (answer.head.serial != a->host->serial ||
		 !is_last(asked, answer.head.type));
	count(answer.head.type == MAPLE_WIRE_REFUSED ? REFUSED : ANSWERED);
	if (answer.head.type == MAPLE_WIRE_LEASED) {
		a->cpu = (int)answer.message.leased.cpu;
		count(LEASED);
	}
	if (answer.head.type != MAPLE_WIRE_NUMBER)
		return;
	if (asked == MAPLE_WIRE_STORE)
		count(STORED);
	if (asked == MAPLE_WIRE_GIVE_BACK)
		a->cpu = -1;
	if (maple_wire_kind(asked) == MAPLE_WIRE_ROOT)
		wrong("%s, which is root's", maple_wire_name(asked));
}

static void send_request(struct actor *a, unsigned int type,
			 const union maple_wire_message *message)
{
	unsigned int most = maple_wire_fds(type), n = 0;
	struct maple_error err = { "" };
	int fds[MAPLE_WIRE_FDS];

	if (maple_host_return(a->host, &err))
		return;
	while (n < most && !chance(3)) {
		fds[n] = any_file(a);
		if (fds[n] < 0)
			break;
		n++;
	}
	if (!chance(20)) /* else once more under the same number */
		a->host->serial++;
	if (!maple_host_send(a->host, type, message, fds, n, &err))
		take_answers(a, type);
	while (n)
		close(fds[--n]);
}

static void any_request(struct actor *a)
{
	union maple_wire_message message;
	unsigned int type = wire_request(&message);

	send_request(a, type, &message);
}

/* A campaign, and findings in it, which others may have by that name. */
static void store(struct actor *a)
{
	static const unsigned int types[] = {
		MAPLE_WIRE_CAMPAIGN, MAPLE_WIRE_PROGRAM, MAPLE_WIRE_LEARN,
		MAPLE_WIRE_RUN,	     MAPLE_WIRE_STORE,	 MAPLE_WIRE_STORE,
		MAPLE_WIRE_RUN_END,  MAPLE_WIRE_FORGET,
	};
	union maple_wire_message message;
	int64_t campaign = 0;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		struct maple_error err = { "" };

		wire_forget();
		wire_fill(types[i], &message);
		if (types[i] == MAPLE_WIRE_CAMPAIGN) {
			char name[40];

			snprintf(name, sizeof(name), "%016llx%016llx",
				 (unsigned long long)draw(1ull << 40),
				 (unsigned long long)draw(1ull << 40));
			message.campaign.name = name;
			if (maple_host_number(a->host, types[i], &message,
					      &campaign, &err))
				return;
			continue;
		}
		if (types[i] == MAPLE_WIRE_PROGRAM)
			message.program.campaign = campaign;
		if (types[i] == MAPLE_WIRE_RUN)
			message.run.campaign = campaign;
		if (types[i] == MAPLE_WIRE_STORE)
			message.store.campaign = campaign;
		send_request(a, types[i], &message);
	}
}

static void lease(struct actor *a)
{
	union maple_wire_message message = { .lease.held = -1 };
	struct pollfd pfd = { .events = POLLIN };
	struct maple_host_answer answer;
	struct maple_error err = { "" };
	cpu_set_t cpus;

	memset(&cpus, 0xff, sizeof(cpus));
	message.lease.cpus = (struct maple_wire_bytes){ &cpus, sizeof(cpus) };
	if (chance(4))
		message.lease.held = (int64_t)draw(3);
	send_request(a, MAPLE_WIRE_LEASE, &message);
	pfd.fd = a->host->sock;
	/* It may be told its place, again and again, and its CPU at last. */
	while (a->cpu < 0 && pfd.fd >= 0 && poll(&pfd, 1, 300) > 0) {
		if (maple_host_receive(a->host, 1000, &answer, &err))
			return;
		if (answer.fd >= 0)
			keep(a, answer.fd);
		if (answer.head.type != MAPLE_WIRE_LEASED)
			continue;
		a->cpu = (int)answer.message.leased.cpu;
		count(LEASED);
	}
	if (a->cpu < 0) /* leaves the queue */
		send_request(a, MAPLE_WIRE_GIVE_BACK, &message);
}

/* Takes the name that a claim on a CPU would have, if it is free. */
static void take_name(struct actor *a)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, chance(2) ? SOCK_STREAM : SOCK_DGRAM, 0), n;

	n = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
		     "maple-cpu-%d", (int)draw(2));
	if (fd >= 0)
		bind(fd, (struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				 (size_t)n));
	keep(a, fd);
}

/* ---- actors ---- */

/* One that there is; or NULL. */
static struct maple_control *any_session(const struct actor *a)
{
	unsigned int n = 0, k;

	for (unsigned int i = 0; i < SESSIONS; i++)
		n += a->session[i] != NULL;
	k = n ? (unsigned int)draw(n) : 0;
	for (unsigned int i = 0; i < SESSIONS; i++)
		if (a->session[i] && !k--)
			return a->session[i];
	return NULL;
}

static void act(struct actor *a)
{
	struct maple_control *c = any_session(a);
	union maple_wire_message none = { 0 };

	switch (draw(24)) {
	case 0:
	case 1:
	case 2:
		start_target(a);
		break;
	case 3:
		disturb_target(a);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		begin_session(a);
		break;
	case 8:
		for (unsigned int i = 0; i < SESSIONS; i++)
			if (c && a->session[i] == c)
				end_session(a, i);
		break;
	case 9:
		mount_one(a);
		if (a->ntargets < TARGETS && !chance(3))
			start_target(a);
		break;
	case 10:
		make_copy(a);
		break;
	case 11:
		change_copy();
		break;
	case 12:
		lease(a);
		break;
	case 13:
		if (chance(2))
			send_request(a, MAPLE_WIRE_GIVE_BACK, &none);
		else
			take_name(a);
		break;
	case 14:
		store(a);
		break;
	case 15:
		if (chance(4))
			ask_kernel(a);
		else
			target_nap(20000);
		break;
	case 16:
	case 17:
		any_request(a);
		break;
	case 18:
	case 19:
	case 20:
		if (c)
			put_probes(a, c);
		break;
	case 21:
		if (c)
			ask_session(c);
		break;
	default:
		if (c)
			read_log(c);
	}
}

/* A client that says nothing, or stops in the midst of a word. */
static void be_silent(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct maple_wire_head head = { .size = 100, .type = MAPLE_WIRE_HELLO };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", socket_path);
	for (int i = 0; i < 16; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		if (fd < 0 ||
		    connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			break;
		if (chance(2) && write(fd, &head, 1 + draw(sizeof(head))) < 0)
			break;
	}
	target_nap(2000000);
}

/* A client that asks, and does not listen. */
static void be_deaf(struct actor *a)
{
	static const unsigned int types[] = { MAPLE_WIRE_DUMP, MAPLE_WIRE_CHECK,
					      MAPLE_WIRE_PROGRAMS,
					      MAPLE_WIRE_FINDINGS };
	union maple_wire_message message = { 0 };
	struct maple_error err = { "" };
	struct pollfd pfd;

	for (int i = 0; i < 1000; i++) {
		pfd = (struct pollfd){ a->host->sock, POLLOUT, 0 };
		if (poll(&pfd, 1, 100) <= 0)
			break;
		a->host->serial++;
		if (maple_host_send(a->host, types[draw(4)], &message, NULL, 0,
				    &err))
			return;
	}
	target_nap(1000000);
}

/* As much as one finding may be, under ever other names. */
static void store_much(struct actor *a, int64_t campaign)
{
	struct maple_wire_store store = { .campaign = campaign };
	size_t size = (2u << 20) - 1;
	char *text = malloc(size);
	int n;

	if (!text)
		return;
	memset(text, 'x', size);
	n = snprintf(text, size,
		     "{\"id\": \"%llx\", \"kind\": \"signal\", \"title\": "
		     "\"much\", \"output\": \"",
		     (unsigned long long)draw(1ull << 40));
	text[n] = 'x';
	memcpy(text + size - 3, "\"}", 3);
	store.finding = text;
	send_request(a, MAPLE_WIRE_STORE, (void *)&store);
	free(text);
}

/* A client that asks for what takes long, and for nothing else. */
static void be_busy(struct actor *a)
{
	static const unsigned int types[] = {
		MAPLE_WIRE_CHECK, MAPLE_WIRE_DUMP,     MAPLE_WIRE_PROGRAMS,
		MAPLE_WIRE_LEARN, MAPLE_WIRE_FINDINGS, MAPLE_WIRE_SAMPLES,
	};
	union maple_wire_message message = {
		.campaign = { .name = NULL, .argv = wire_list() },
	};
	struct maple_error err = { "" };
	int64_t campaign = 0;
	char name[40];

	snprintf(name, sizeof(name), "%032llx",
		 (unsigned long long)draw(1ull << 40));
	message.campaign.name = name;
	maple_host_number(a->host, MAPLE_WIRE_CAMPAIGN, &message, &campaign,
			  &err);
	for (int i = 0; i < 8; i++)
		store_much(a, campaign);
	for (int i = 0; i < 1000; i++) {
		unsigned int type = types[draw(sizeof(types) / sizeof(*types))];

		wire_forget();
		wire_fill(type, &message);
		send_request(a, type, &message);
	}
}

static _Noreturn void be_actor(uint64_t number)
{
	struct actor a = { .cpu = -1 };
	struct maple_error err = { "" };

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
	if (requests_alone || chance(32)) {
		be_busy(&a);
		_exit(0);
	}
	start_target(&a);
	for (unsigned int n = 20 + (unsigned int)draw(200); n; n--) {
		act(&a);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	if (chance(2))
		for (unsigned int i = 0; i < SESSIONS; i++)
			end_session(&a, i);
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

static void rage(double seconds, uint64_t seed)
{
	double until = now() + seconds, born[ACTORS] = { 0 };
	pid_t actor[ACTORS] = { 0 };

	for (uint64_t number = 0; now() < until && !shared->wrong;) {
		unsigned int i = (unsigned int)draw(ACTORS);

		if (actor[i] > 0 && now() - born[i] > 15 && chance(4)) {
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
	if (asprintf(&target_raised, "%s/raised", folder) < 0)
		abort();
}

int main(int argc, char **argv)
{
	char book[300];

	find_places();
	if (getuid() && !geteuid()) {
		snprintf(book, sizeof(book), "%s/book", folder);
		return raised_main(book);
	}
	if (argc == 3 && !strcmp(argv[1], "target"))
		return target_main(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "onlook"))
		return onlooker_main();
	if (argc == 3 && !strcmp(argv[1], "finds")) {
		socket_path = argv[2];
		return find_one();
	}
	if (argc > 1 && !strcmp(argv[1], "requests")) {
		requests_alone = true;
		argv++;
		argc--;
	}
	if (argc < 4 || !getuid()) {
		fprintf(stderr, "usage, not as root: hostile [requests] SOCKET "
				"SECONDS SEED [FOREIGN-PID]...\n");
		return 2;
	}
	socket_path = argv[1];
	for (int i = 4; i < argc && nforeign < 8; i++)
		foreign[nforeign++] = atoi(argv[i]);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	learn_words();
	printf("seed %s\n", argv[3]);
	fflush(stdout);
	draw_seed(strtoull(argv[3], NULL, 10));
	rage(atof(argv[2]), strtoull(argv[3], NULL, 10));
	end_all();
	return report();
}
