// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The warden's side: see warden.h. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <maple/module.h>
#include <maple/wire.h>
#include "backend/kernel/ebpf/uprobe.h"
#include "stop.h"
#include "warden.h"

#define TEXT_MOST 4096 /* of what a thread waits for */

struct session {
	uint32_t number;
	struct maple_module *module; /* NULL: there is none */
};

struct warden {
	int sock, pidfd;
	pid_t pid;
	struct maple_identity was; /* when it was joined */
	struct session session[MAPLE_WARDEN_SESSIONS];
	int nstopped;
	struct maple_stopped stopped[MAPLE_STOP_MOST];
};

struct packet {
	struct maple_warden_question question;
	unsigned char bytes[MAPLE_WARDEN_MOST];
};

/* ---- whose process it is ---- */

static bool says_whose(const char *line)
{
	static const char *const names[] = { "Uid:", "Gid:", "Groups:",
					     "CapPrm:" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(line, names[i], strlen(names[i])))
			return true;
	return false;
}

/*
 * The lines of its status that say whose it is, and whose its files are: root's
 * when it is not dumpable. NULL: it is gone.
 */
static char *read_rights(pid_t pid)
{
	char path[64], *line = NULL, *text = NULL;
	size_t room = 0, size;
	struct stat st;
	FILE *file, *to;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	to = file ? open_memstream(&text, &size) : NULL;
	while (to && getline(&line, &room, file) > 0)
		if (says_whose(line))
			fputs(line, to);
	if (to && !fstat(fileno(file), &st))
		fprintf(to, "Files: %u\n", st.st_uid);
	free(line);
	if (file)
		fclose(file);
	if (to)
		fclose(to);
	return text;
}

/*
 * maple_identify - what process @pid, of @pidfd, runs, and with which rights;
 * -ESRCH: it is gone
 * @identity: free its rights
 */
int maple_identify(pid_t pid, int pidfd, struct maple_identity *identity)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	identity->rights = read_rights(pid);
	if (identity->rights && !stat(path, &st) && !poll(&pfd, 1, 0)) {
		identity->dev = st.st_dev;
		identity->ino = st.st_ino;
		return 0;
	}
	free(identity->rights);
	identity->rights = NULL;
	return -ESRCH;
}

/* maple_identify_again - -EPERM: it is not what it @was */
int maple_identify_again(pid_t pid, int pidfd, const struct maple_identity *was)
{
	struct maple_identity is;
	int e = maple_identify(pid, pidfd, &is);

	if (!e && (is.dev != was->dev || is.ino != was->ino ||
		   strcmp(is.rights, was->rights)))
		e = -EPERM;
	free(is.rights);
	return e;
}

/* To be asked after something was read: then it was the same before, too. */
static int unchanged(const struct warden *w)
{
	return maple_identify_again(w->pid, w->pidfd, &w->was);
}

/* ---- files ---- */

enum form { NONE, TEXT, FILE_OF_PROC, MAPPED };

/* Which names there are, all of them; what comes of each. */
static enum form form_of(const char *name)
{
	static const char *const files[] = { "maps", "mem", "status", "timers" };
	unsigned long lo, hi;
	char again[MAPLE_WARDEN_NAME];
	int tid;

	for (unsigned int i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(name, files[i]))
			return FILE_OF_PROC;
	if (!strcmp(name, "exe"))
		return MAPPED;
	/* What was read is written again, so nothing else can hide in it. */
	if (sscanf(name, "map_files/%lx-%lx", &lo, &hi) == 2) {
		snprintf(again, sizeof(again), "map_files/%lx-%lx", lo, hi);
		return strcmp(name, again) ? NONE : MAPPED;
	}
	if (sscanf(name, "task/%d/syscall", &tid) == 1 && tid > 0) {
		snprintf(again, sizeof(again), "task/%d/syscall", tid);
		return strcmp(name, again) ? NONE : TEXT;
	}
	return NONE;
}

/* A file of ours with these bytes in it. */
static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("maple", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (write(fd, bytes, size) == (ssize_t)size && !lseek(fd, 0, SEEK_SET))
		return fd;
	close(fd);
	return -ENOSPC;
}

/* It may be read by who opens it alone: so it is read here. */
static int text_of(int fd)
{
	char text[TEXT_MOST];
	ssize_t n = read(fd, text, sizeof(text));

	return n < 0 ? -errno : file_of(text, n);
}

/* What is mapped may be no file, whose opening would do something. */
static int mapped_of(int fd)
{
	char path[64];
	struct stat st;
	int to;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	to = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return to < 0 ? -errno : to;
}

static int open_name(struct warden *w, const char *name)
{
	enum form form = form_of(name);
	char path[128];
	int fd, to, e;

	if (form == NONE)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/%s", w->pid, name);
	fd = open(path, O_CLOEXEC | (form == MAPPED ? O_PATH : O_RDONLY));
	if (fd < 0)
		return -errno;
	to = form == TEXT ? text_of(fd) : form == MAPPED ? mapped_of(fd) : fd;
	if (to != fd)
		close(fd);
	e = to < 0 ? to : unchanged(w);
	if (e && to >= 0)
		close(to);
	return e ? e : to;
}

/* That the process comes to a place, in a file that mapletest can open. */
static int uprobe(struct warden *w, const struct maple_warden_question *q,
		  int file)
{
	char path[64];
	int fd, e;

	if (file < 0)
		return -EBADF;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = maple_uprobe_event(w->pid, path, q->offset, q->at_return);
	e = fd < 0 ? fd : unchanged(w);
	if (e && fd >= 0)
		close(fd);
	return e ? e : fd;
}

/* ---- threads ---- */

static void let_go(struct warden *w)
{
	maple_stop_let_go(w->stopped, w->nstopped);
	w->nstopped = 0;
}

static int stop(struct warden *w, int *n)
{
	int e;

	let_go(w);
	assert(!w->nstopped);
	*n = maple_stop_all(w->pid, w->stopped);
	w->nstopped = abs(*n);
	assert(w->nstopped <= MAPLE_STOP_MOST);
	e = unchanged(w);
	if (e)
		let_go(w);
	return e ? e : file_of(w->stopped, w->nstopped * sizeof(*w->stopped));
}

/* ---- maple.ko ---- */

/* The session of that number, or room for it; NULL: there is none. */
static struct session *session_of(struct warden *w, uint32_t number)
{
	struct session *room = NULL;

	for (unsigned int i = 0; i < MAPLE_WARDEN_SESSIONS; i++) {
		if (!w->session[i].module)
			room = &w->session[i];
		else if (w->session[i].number == number)
			return &w->session[i];
	}
	if (room)
		room->number = number;
	return room;
}

static int module(struct warden *w, const struct packet *p, int fd,
		  struct maple_wire_buffer *to, struct maple_error *err)
{
	const struct maple_warden_question *q = &p->question;
	struct maple_module_request request = {
		.command = q->command,
		.attributes = p->bytes,
		.size = q->size,
		/* There is one process to have a session on. */
		.fd = q->command == MAPLE_CMD_START ? w->pidfd : fd,
		.cpu = MAPLE_MODULE_ANY_CPU,
		.bound = true,
	};
	struct session *s = session_of(w, q->session);
	int e;

	if (!s)
		return maple_error_set(err, EMFILE, "%u sessions are enough",
				       MAPLE_WARDEN_SESSIONS);
	if (q->command == MAPLE_CMD_UNSPEC) {
		maple_module_close(s->module);
		s->module = NULL;
		return 0;
	}
	if (q->command > MAPLE_CMD_MAX)
		return maple_error_set(err, EINVAL, "there is no command %u",
				       q->command);
	e = q->command == MAPLE_CMD_START ? unchanged(w) : 0;
	if (e)
		return maple_error_set(err, -e,
				       "process %d is another than it was: "
				       "attach to it again",
				       w->pid);
	assert(s->number == q->session);
	if (!s->module)
		e = maple_module_open(&s->module, err);
	return e ? e : maple_module_ask(s->module, &request, to, err);
}

/* ---- the course of it ---- */

static bool is_whole(const struct packet *p, ssize_t n)
{
	return n >= (ssize_t)sizeof(p->question) &&
	       p->question.size == n - sizeof(p->question) &&
	       memchr(p->question.name, '\0', sizeof(p->question.name));
}

/* Returns the file that goes with the answer, or -1. */
static int carry_out(struct warden *w, const struct packet *p, int fd,
		     struct maple_warden_answer *answer,
		     struct maple_wire_buffer *bytes)
{
	struct maple_error err = { "" };
	int to = -1;

	switch (p->question.op) {
	case MAPLE_WARDEN_OPEN:
		to = open_name(w, p->question.name);
		break;
	case MAPLE_WARDEN_STOP:
		to = stop(w, &answer->n);
		break;
	case MAPLE_WARDEN_LET_GO:
		let_go(w);
		return -1;
	case MAPLE_WARDEN_UPROBE:
		to = uprobe(w, &p->question, fd);
		break;
	case MAPLE_WARDEN_MODULE:
		answer->error = module(w, p, fd, bytes, &err);
		memcpy(answer->text, err.text, sizeof(answer->text));
		return -1;
	default:
		to = -EINVAL;
	}
	if (to < 0)
		answer->error = to;
	return to < 0 ? -1 : to;
}

static bool reply(struct warden *w, const struct maple_warden_answer *answer,
		  const struct maple_wire_buffer *bytes, int fd)
{
	struct maple_wire_buffer packet = { 0 };
	bool sent;

	sent = !maple_wire_append(&packet, answer, sizeof(*answer)) &&
	       !maple_wire_append(&packet, bytes->data, bytes->size) &&
	       maple_wire_send(w->sock, packet.data, packet.size, &fd,
			       fd >= 0) == (ssize_t)packet.size;
	free(packet.data);
	return sent;
}

/* One question; false: nobody asks any more. */
static bool serve_one(struct warden *w, struct packet *p)
{
	struct maple_warden_answer answer = { 0 };
	struct maple_wire_buffer bytes = { 0 };
	unsigned int nfds = 0;
	int fd = -1, to = -1;
	ssize_t n = maple_wire_receive(w->sock, p, sizeof(*p), &fd, &nfds, 1);
	bool sent;

	if (n <= 0)
		return n == -EINTR;
	if (is_whole(p, n))
		to = carry_out(w, p, fd, &answer, &bytes);
	else
		answer.error = -EINVAL;
	if (fd >= 0)
		close(fd);
	if (bytes.size > MAPLE_WARDEN_MOST) {
		answer.error = -EMSGSIZE;
		bytes.size = 0;
	}
	answer.size = bytes.size;
	sent = reply(w, &answer, &bytes, to);
	if (to >= 0)
		close(to);
	free(bytes.data);
	return sent;
}

/*
 * Of what mapletest has open nothing is the warden's: who reads from its output
 * would wait for us.
 */
static void shut(const struct warden *w)
{
	unsigned int lo = w->sock < w->pidfd ? w->sock : w->pidfd;
	unsigned int hi = w->sock < w->pidfd ? w->pidfd : w->sock;
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close_range(3, lo - 1, 0);
	close_range(lo + 1, hi - 1, 0);
	close_range(hi + 1, ~0u, 0);
}

/*
 * maple_warden_serve - answers what is asked over @sock about process @pid, of
 * @pidfd, while it is @identity, until nobody can ask
 *
 * Context: a forked child, which it ends.
 */
_Noreturn void maple_warden_serve(int sock, pid_t pid, int pidfd,
				  const struct maple_identity *identity)
{
	struct warden *w = calloc(1, sizeof(*w));
	struct packet *packet = malloc(sizeof(*packet));

	/* It is ended by the end of who asks, not by the keyboard. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGTSTP, SIG_IGN);
	prctl(PR_SET_NAME, "maple-warden");
	if (!w || !packet)
		_exit(1);
	w->sock = sock;
	w->pidfd = pidfd;
	w->pid = pid;
	w->was = *identity;
	shut(w);
	while (serve_one(w, packet))
		;
	/* Who is stopped and who has a session is free when we have ended. */
	_exit(0);
}
