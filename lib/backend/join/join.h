/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The agent in a process that runs already: how it gets in, and out again.
 * All of it is done by the joiner, a process of ours that outlives mapletest
 * by what it takes to leave; nobody else is a tracer. Internal to lib/backend.
 */
#ifndef MAPLE_BACKEND_JOIN_H
#define MAPLE_BACKEND_JOIN_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/user.h>
#include <maple/error.h>
#include <maple/event.h>

/* ---- halt.c: all threads, stopped for a moment ---- */

struct maple_halted {
	pid_t tid;
	bool stopped;
	bool group; /* by job control, before we came */
	int signo;  /* that it was about to get; or 0 */
	struct user_regs_struct regs;
	bool asked, restarts; /* once: a signal may come at any time */
	struct user_regs_struct again;
};

struct maple_halt {
	pid_t pid;
	unsigned int n;
	struct maple_halted thread[MAPLE_THREADS];
};

int maple_halt_all(struct maple_halt *stop, pid_t pid, struct maple_error *err);
int maple_halt_one(struct maple_halt *stop, pid_t pid, pid_t tid,
		   struct maple_error *err);
bool maple_halt_restarts(struct maple_halted *t);
void maple_halt_go(struct maple_halt *stop);

/* ---- call.c: a function is called by one of the threads ---- */

/* Who makes calls: while one of them lives the process is theirs. */
struct maple_call_by {
	struct maple_call_process {
		uint32_t pid, since; /* 0: nobody */
	} process[3];
};

struct maple_call {
	pid_t pid, tid;
	uint64_t room;	/* of the code, in the process; 0: not there yet */
	uint64_t block; /* what it works on, on the thread's stack */
	bool away; /* a thread was sent, and was not seen to have come back */
};

#define MAPLE_CALL_TEXT 256 /* bytes of a text that may go with a call */

struct maple_called {
	uint64_t function;
	const char *text; /* in place of the first argument, or NULL */
	uint64_t argument[2];
};

int maple_call_prepare(struct maple_call *call, pid_t pid,
		       struct maple_error *err);
bool maple_call_find(struct maple_call *call, pid_t pid,
		     struct maple_call_by *by);
void maple_call_sign(const struct maple_call *call,
		     const struct maple_call_by *by);
int maple_call_begin(struct maple_call *call, struct maple_halted *t,
		     const struct maple_called *what, struct maple_error *err);
int maple_call_end(struct maple_call *call, uint64_t *result,
		   struct maple_error *err);
bool maple_call_is_back(struct maple_call *call);
bool maple_call_is_in(const struct maple_call *call, uint64_t pc);
void maple_call_clear(struct maple_call *call);

/* ---- memory.c: what is in the process's memory, and where ---- */

bool maple_memory_read(pid_t pid, uint64_t at, void *to, size_t n);
bool maple_memory_write(pid_t pid, uint64_t at, const void *from, size_t n);

#define MAPLE_JOIN_COPY "maple-agent" /* the name of a copy's file */

struct maple_memory_map {
	uint64_t lo, hi, offset;
	bool exec, write, file;
	char path[256];
};

/* each() returns false to end it */
void maple_memory_bind(pid_t pid);
bool maple_memory_is_bound(pid_t pid);
int maple_memory_maps(pid_t pid,
		      bool (*each)(void *ctx, const struct maple_memory_map *m),
		      void *ctx);
uint64_t maple_memory_symbol(const char *path, const char *name);
uint64_t maple_memory_extent(const char *path);
uint64_t maple_memory_libc(pid_t pid, const char *name);
uint64_t maple_memory_loader(pid_t pid, const char *name);
bool maple_memory_is_copy(const struct maple_memory_map *m);

/* ---- safe.c: who may call libc ---- */

#define MAPLE_SAFE_FRAMES 32

/* A thread that waits, and holds no lock of libc's: how it came there. */
struct maple_safe {
	pid_t tid;
	uint64_t pc, sp;
	unsigned int n;
	uint64_t slot[MAPLE_SAFE_FRAMES], back[MAPLE_SAFE_FRAMES];
};

int maple_safe_find(struct maple_safe *safe, pid_t pid, struct maple_error *err);
bool maple_safe_still(const struct maple_safe *safe, pid_t pid,
		      const struct maple_halted *t);

/* ---- levels.c: policy, priority, affinity ---- */

struct maple_level {
	pid_t tid;
	int policy, priority, nice;
	cpu_set_t cpus;
};

struct maple_levels {
	unsigned int n;
	struct maple_level level[MAPLE_THREADS];
	bool raised; /* its limit of real-time priorities was, from ... */
	struct rlimit limit;
};

void maple_levels_keep(struct maple_levels *levels, pid_t pid);
bool maple_levels_pin(const struct maple_levels *levels, int cpu);
int maple_levels_allow(struct maple_levels *levels, pid_t pid);
bool maple_levels_allowed(pid_t pid);
bool maple_levels_valid(const struct maple_levels *levels);
void maple_levels_back(struct maple_levels *levels, pid_t pid, int cpu);

/* ---- will.c ---- */

int maple_join_mend(pid_t pid, bool *mended, struct maple_error *err);

/* ---- fit.c ---- */

int maple_join_fits(pid_t pid, struct maple_error *err);

/* ---- joiner.c ---- */

/* Shared with the joiner, and with one that takes its place. */
struct maple_join_state {
	pid_t pid;
	char loading[64]; /* the copy that is to be loaded, until handle is known */
	uint64_t handle;     /* of the agent, by dlopen(); 0: it is not there */
	uint64_t base, size; /* where it is */
	uint64_t leave, close, forget; /* functions of it */
	bool entered;
	unsigned int kept; /* copies that could not be taken out */
	unsigned int turn; /* whose it is to be in the process; joiner.c */
	struct maple_call call;
	struct maple_levels levels;
	int cpu; /* to pin to, or -1 */
	bool forces;
	int result;
	struct maple_error error;
};

struct maple_joiner {
	struct maple_join_state *state;
	char agent[256];       /* the file of it */
	int shm_fd, tables_fd; /* of the files that the agent opens */
	unsigned int turn;     /* what the state had, when it was made */
	pid_t pid;
	int socket;
	/* Where it is the porter's: what state is the memory of, and itself. */
	int state_fd, pidfd;
};

int maple_joiner_open(struct maple_joiner *j, pid_t pid, const char *agent,
		      struct maple_error *err);
int maple_joiner_load(struct maple_joiner *j, struct maple_error *err);
int maple_joiner_enter(struct maple_joiner *j, int cpu, bool forces,
		       struct maple_error *err);
int maple_joiner_leave(struct maple_joiner *j, struct maple_error *err);
void maple_joiner_close(struct maple_joiner *j);
_Noreturn void maple_joiner_run(const struct maple_joiner *j, int state_fd,
				int socket, pid_t maker, pid_t target,
				const char *agent);

#endif
