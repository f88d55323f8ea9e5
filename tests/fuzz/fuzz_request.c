// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapled's side: requests, one after the other, of several clients, each of
 * which has got so far: no HELLO yet, HELLO, a campaign and a program, a
 * session. They are two users', neither of them root, and one who is. Each
 * request is a byte for its type, a byte for who asks and with which
 * descriptors, two for its size, and the message. Of no type, it is what
 * happens to them meanwhile: targets end or exec, clients go and others come.
 * It lends no CPU here, so that no other campaign misses one; maple.ko is a
 * stand-in that keeps to the order of its commands.
 */
#include <assert.h>
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <maple/module.h>
#include "daemon/requests/aside.h"
#include "daemon/client.h"
#include "daemon/limits/queue.h"
#include "daemon/requests/request.h"
#include "daemon/target.h"
#include "daemon/limits/turns.h"

#define CLIENTS 5

#define USER	1001 /* who has most of them, and the living target */

static struct maple_server server;
static int living, ended, memory; /* two pidfds, a file */

/* ---- maple.ko's stand-in; fuzz.mk has the calls come here ---- */

struct maple_module {
	bool begun, over;
	int target; /* pidfd */
};

static _Atomic unsigned int modules, sessions; /* counted aside as well */

int __wrap_maple_module_open(struct maple_module **module,
			     struct maple_error *err);
void __wrap_maple_module_close(struct maple_module *module);
int __wrap_maple_module_ask(struct maple_module *module,
			    const struct maple_module_request *request,
			    struct maple_wire_buffer *answer,
			    struct maple_error *err);

int __wrap_maple_module_open(struct maple_module **module,
			     struct maple_error *err)
{
	(void)err;
	*module = calloc(1, sizeof(**module));
	if (!*module)
		abort();
	modules++;
	return 0;
}

static void stop(struct maple_module *module)
{
	if (module->begun)
		close(module->target);
	module->begun = module->over = false;
}

void __wrap_maple_module_close(struct maple_module *module)
{
	if (!module)
		return;
	stop(module);
	free(module);
	modules--;
}

static const char *start(struct maple_module *module, int target)
{
	if (module->begun)
		return "this socket has a session already";
	module->target = dup(target);
	if (module->target < 0)
		return "no target";
	module->begun = true;
	sessions++;
	return NULL;
}

static const char *refusal(struct maple_module *module,
			   const struct maple_module_request *request)
{
	struct pollfd pfd = { .fd = module->target, .events = POLLIN };

	if (request->command == MAPLE_CMD_INFO)
		return NULL;
	if (request->command == MAPLE_CMD_START)
		return start(module, request->fd);
	if (!module->begun)
		return "this socket has no session";
	module->over |= poll(&pfd, 1, 0) > 0;
	if (request->command == MAPLE_CMD_STOP)
		stop(module);
	else if (request->command == MAPLE_CMD_RELEASE)
		module->over = true;
	else if (request->command == MAPLE_CMD_PROBE && module->over)
		return "the session is over";
	return NULL;
}

int __wrap_maple_module_ask(struct maple_module *module,
			    const struct maple_module_request *request,
			    struct maple_wire_buffer *answer,
			    struct maple_error *err)
{
	const char *why = refusal(module, request);
	struct nlattr attr = { .nla_len = sizeof(attr) };

	if (why)
		return maple_error_set(err, EBUSY, "%s", why);
	return maple_wire_append(answer, &attr, sizeof(attr));
}

/* ---- clients ---- */

static struct maple_client *make_client(uid_t uid, int *other)
{
	struct stat st;
	int pair[2];

	/* As after HELLO of one with our namespace and no capabilities. */
	if (stat("/proc/self/ns/user", &st) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		abort();
	maple_client_create(&server, pair[0]);
	if (!server.clients)
		abort();
	*other = pair[1];
	server.clients->peer.uid = uid;
	server.clients->peer.gid = uid;
	server.clients->marks.user_ns = st.st_ino;
	server.clients->is_root = !uid;
	server.clients->may_use = true;
	return server.clients;
}

/* Some of what may come with a request; the handler's to close, or ours. */
static void give_fds(struct maple_client *client, unsigned int type,
		     unsigned int which)
{
	const int fds[] = { -1, living, ended, memory };

	for (; which && client->nfds < maple_wire_fds(type); which >>= 2)
		if (which & 3)
			client->fds[client->nfds++] = dup(fds[which & 3]);
}

/* What is done aside comes back through the loop. */
static void turn_loop(void)
{
	if (sd_event_run(server.event, 1000000) < 0)
		abort();
}

static void request(struct maple_client *client, unsigned int type,
		    unsigned int fds, const void *data, size_t size)
{
	struct maple_error err = { "" };
	int e;

	if (!type || type >= MAPLE_WIRE_TYPES ||
	    maple_wire_kind(type) == MAPLE_WIRE_SAY ||
	    maple_wire_kind(type) == MAPLE_WIRE_PART)
		return;
	client->serial++;
	give_fds(client, type, fds);
	e = maple_request(client, type, data, size, &err);
	/* Either it is none, or it has been answered, or will be. */
	assert(e && e != MAPLE_ANSWERED ? !!*err.text
					: client->out.size > 0 || client->asks);
	while (client->asks)
		turn_loop();
	client->out.size = client->said = 0;
	if (client->out_fd >= 0)
		close(client->out_fd);
	client->out_fd = -1;
	while (client->nfds)
		close(client->fds[--client->nfds]);
}

static void begin_campaign(struct maple_client *client, const char *name,
			   int64_t id)
{
	const struct maple_wire_campaign campaign = {
		.name = name,
		.argv = { "prog", 5 },
	};
	const struct maple_wire_program program = { id, "aa", "/bin/prog" };
	struct maple_wire_buffer b = { 0 };

	client->greeted = true;
	maple_wire_put(&b, MAPLE_WIRE_CAMPAIGN, &campaign, NULL);
	request(client, MAPLE_WIRE_CAMPAIGN, 0, b.data, b.size);
	b.size = 0;
	maple_wire_put(&b, MAPLE_WIRE_PROGRAM, &program, NULL);
	request(client, MAPLE_WIRE_PROGRAM, 0, b.data, b.size);
	free(b.data);
}

/* A target is begun on, in state ARMED. */
static void begin_session(struct maple_client *client)
{
	struct {
		struct nlattr head;
		uint32_t value;
	} attrs[] = {
		{ { 8, MAPLE_A_CPU }, UINT32_MAX }, /* none */
		{ { 8, MAPLE_A_SCHED }, MAPLE_UAPI_NATIVE },
		{ { 8, MAPLE_A_DEADLINE }, 1000 },
	};
	const struct maple_wire_module module = {
		.command = MAPLE_CMD_START,
		.session = 1,
		.attributes = { attrs, sizeof(attrs) },
	};
	struct maple_wire_buffer b = { 0 };

	maple_wire_put(&b, MAPLE_WIRE_MODULE, &module, NULL);
	request(client, MAPLE_WIRE_MODULE, 1, b.data, b.size);
	free(b.data);
}

/*
 * Of a process of USER's that ends with us and execs at SIGUSR1, or of one that
 * has ended.
 */
static void exec_sleep(int signo)
{
	(void)signo;
	execl("/bin/sleep", "sleep", "1000", NULL);
	_exit(1);
}

static int make_process(bool lives)
{
	int ready[2], fd;
	pid_t pid;
	char c;

	if (pipe(ready))
		abort();
	pid = fork();
	if (!pid) {
		if (!geteuid() && (setresgid(USER, USER, USER) ||
				   setresuid(USER, USER, USER)))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGUSR1, exec_sleep);
		close(ready[0]);
		close(ready[1]);
		while (lives)
			pause();
		_exit(0);
	}
	close(ready[1]);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* until it is what it is to be */
	if (fd < 0 || read(ready[0], &c, 1) != 0 ||
	    (!lives && waitpid(pid, NULL, 0) != pid))
		abort();
	close(ready[0]);
	return fd;
}

static void end_process(int pidfd)
{
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	waitid(P_PIDFD, (id_t)pidfd, NULL, WEXITED);
	close(pidfd);
}

static void open_server(void)
{
	struct maple_error err = { "" };

	if (server.memo)
		return;
	if (maple_settings_init(&server.settings) ||
	    sd_event_default(&server.event) < 0 ||
	    maple_memo_open(":memory:", 0, &server.memo, &err) ||
	    maple_queue_init(&server, &err) ||
	    maple_turns_init(&server, &err) || maple_aside_init(&server, &err))
		abort();
	living = make_process(true);
	ended = make_process(false);
	memory = memfd_create("fuzz", MFD_CLOEXEC);
}

/* What is left of a client's targets is killed; another one lives then. */
static void end_leftovers(void)
{
	if (!server.leftovers)
		return;
	maple_target_close(&server);
	waitid(P_PIDFD, (id_t)living, NULL, WEXITED);
	close(living);
	living = make_process(true);
}

static const uid_t uids[CLIENTS] = { USER, USER, USER, USER + 1, 0 };
static struct maple_client *client[CLIENTS];
static int other[CLIENTS];

static void connect_one(unsigned int i)
{
	client[i] = make_client(uids[i], &other[i]);
	client[i]->greeted = i > 0;
}

/* Its sessions end aside, and it is there until then. */
static void disconnect(unsigned int i)
{
	struct maple_account *account = client[i]->account;
	uint32_t clients = account ? account->clients : 0;

	maple_client_destroy(client[i]);
	while (account && account->clients == clients)
		turn_loop();
	close(other[i]);
}

/* What nobody asks for. */
static void happen(unsigned int what, unsigned int who)
{
	switch (what % 4) {
	case 0: /* the target ends, and another one is there */
		end_process(living);
		living = make_process(true);
		break;
	case 1: /* it execs, sooner or later */
		syscall(SYS_pidfd_send_signal, living, SIGUSR1, NULL, 0);
		break;
	case 2:
		disconnect(who);
		connect_one(who);
		break;
	case 3:
		begin_session(client[who]);
		break;
	}
}

/* Who owes for what lasted has an account for as long. */
static bool holds_nothing(const struct maple_account *account)
{
	for (unsigned int i = 0; i < MAPLE_LIMITS; i++)
		if (account->used[i])
			return false;
	return !account->clients && !account->first;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t length;

	open_server();
	for (unsigned int i = 0; i < CLIENTS; i++)
		connect_one(i);
	begin_campaign(client[2], "0123456789abcdef", 1);
	begin_campaign(client[3], "fedcba9876543210", 2);
	begin_session(client[2]);
	assert(sessions); /* or none has a target */
	while (size >= 4) {
		unsigned int who = (data[1] + 2) % CLIENTS;

		memcpy(&length, data + 2, sizeof(length));
		if (length > size - 4)
			length = (uint16_t)(size - 4);
		if (*data)
			request(client[who], *data, data[1] >> 4, data + 4,
				length);
		else
			happen(data[1] >> 4, who);
		data += 4 + length;
		size -= 4 + length;
	}
	for (unsigned int i = 0; i < CLIENTS; i++)
		disconnect(i);
	end_leftovers();
	/* Nothing is left of them but the memo, which is whole. */
	assert(!server.clients && !server.nclients && !server.leased);
	assert(!modules);
	for (const struct maple_account *a = server.accounts; a; a = a->next)
		assert(holds_nothing(a));
	return 0;
}
