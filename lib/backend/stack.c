// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The stacks of a live process, by libdwfl: used when the target has crashed
 * (the agent keeps it standing), is deadlocked, or hangs.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <elfutils/libdwfl.h>
#include "image/source/scopes.h"
#include "backend/guard/door.h"
#include "stack.h"

#define FRAMES	48
#define THREADS MAPLE_STOP_MOST
#define RBP	6 /* as DWARF numbers registers */
#define RSP	7

struct walk {
	const struct maple_stack_returns *returns; /* or NULL */
	uint64_t lo, hi; /* where uprobes have functions return to */
	int memory;
	struct maple_stopped at[THREADS];
	int nat; /* of which so many are ours */
	int next;
	Dwfl *dwfl;
	struct maple_scopes scopes;
	struct maple_stack *stacks;
	unsigned int n;
};

static char *copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

/* What all functions that have @pc share. */
static void fill_place(Dwfl_Module *module, Dwarf_Addr pc,
		       struct maple_place *place)
{
	const unsigned char *id;
	Dwarf_Addr bias = 0;
	GElf_Addr vaddr;
	int i, n;

	place->image = copy(dwfl_module_info(module, NULL, NULL, NULL, NULL,
					     NULL, NULL, NULL));
	if (dwfl_module_getelf(module, &bias))
		place->offset = pc - bias;
	n = dwfl_module_build_id(module, &id, &vaddr);
	if (n > 0 && (place->build_id = calloc(1, 2 * n + 1)))
		for (i = 0; i < n; i++)
			sprintf(place->build_id + 2 * i, "%02x", id[i]);
}

/* A frame for each function that the compiler has made this code of. */
static void add_frames(struct walk *walk, Dwfl_Module *module, Dwarf_Addr pc,
		       bool is_call)
{
	Dwarf_Addr at = is_call ? pc - 1 : pc, bias = 0;
	Dwarf_Die *unit = maple_scopes_unit(&walk->scopes, module, at, &bias);
	struct maple_stack *stack = &walk->stacks[walk->n];
	struct maple_scope scope[MAPLE_SCOPES];
	unsigned int n =
		maple_scopes_find(&walk->scopes, unit, at - bias, scope);

	assert(n && n <= MAPLE_SCOPES && walk->n < THREADS);
	if (!scope[n - 1].function)
		maple_scopes_name(&scope[n - 1],
				  dwfl_module_addrname(module, at));
	for (unsigned int i = 0; i < n && stack->nframes < FRAMES; i++) {
		struct maple_frame *frame = &stack->frames[stack->nframes++];
		struct maple_place *place = &frame->place;

		frame->pc = pc;
		frame->is_call = is_call;
		fill_place(module, pc, place);
		place->function = scope[i].function;
		place->signature = scope[i].signature;
		scope[i].function = scope[i].signature = NULL;
		place->file = copy(scope[i].file);
		place->line = scope[i].line;
	}
	maple_scopes_deinit(scope, n);
}

static int on_frame(Dwfl_Frame *state, void *arg)
{
	struct walk *walk = arg;
	struct maple_stack *stack = &walk->stacks[walk->n];
	Dwfl_Module *module = NULL;
	bool exact; /* the innermost, or one that a signal interrupted */
	unsigned int first = stack->nframes, i;
	Dwarf_Addr pc, sp, bp;

	if (!dwfl_frame_pc(state, &pc, &exact) || stack->nframes == FRAMES)
		return DWARF_CB_ABORT;
	/* What libdwfl takes for the last library is the kernel's. */
	if (pc < walk->lo || pc >= walk->hi)
		module = dwfl_addrmodule(walk->dwfl, exact ? pc : pc - 1);
	if (module)
		add_frames(walk, module, pc, !exact);
	else
		stack->frames[stack->nframes++].pc = pc;
	for (i = first; i < stack->nframes; i++) {
		stack->frames[i].sp = dwfl_frame_reg(state, RSP, &sp) ? 0 : sp;
		stack->frames[i].bp = dwfl_frame_reg(state, RBP, &bp) ? 0 : bp;
	}
	return DWARF_CB_OK;
}

static int on_thread(Dwfl_Thread *thread, void *arg)
{
	struct walk *walk = arg;
	struct maple_stack *stack = &walk->stacks[walk->n];

	if (walk->n == THREADS)
		return DWARF_CB_ABORT;
	stack->tid = dwfl_thread_tid(thread);
	stack->frames = calloc(FRAMES, sizeof(*stack->frames));
	if (!stack->frames)
		return DWARF_CB_ABORT;
	dwfl_thread_getframes(thread, on_frame, walk);
	walk->n++;
	return DWARF_CB_OK;
}

/* ---- how libdwfl sees the process ---- */

/*
 * A function whose return is probed returns to a place of the kernel's, which
 * goes on to where its caller is. Whoever has the probe knows where that is.
 */
static bool read_word(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *word, void *arg)
{
	struct walk *walk = arg;
	uint64_t real;

	if (pread(walk->memory, word, sizeof(*word), (off_t)at) != sizeof(*word))
		return false;
	if (*word < walk->lo || *word >= walk->hi)
		return true;
	real = walk->returns ? walk->returns->find(walk->returns->ctx, at) : 0;
	if (real)
		*word = real;
	return true;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	struct walk *walk = arg;

	if (!*thread)
		walk->next = 0;
	assert(walk->next <= walk->nat && walk->nat <= THREADS);
	if (walk->next == walk->nat)
		return 0;
	*thread = &walk->at[walk->next++];
	return ((struct maple_stopped *)*thread)->tid;
}

/* In the order that x86-64's ABI numbers them for unwinding. */
static bool read_registers(Dwfl_Thread *thread, void *arg)
{
	const struct maple_stopped *at = arg;
	const struct user_regs_struct r = at->regs;

	if (!at->known)
		return false;
	return dwfl_thread_state_registers(
		thread, 0, 17,
		(const Dwarf_Word[]){ r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi,
				      r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11,
				      r.r12, r.r13, r.r14, r.r15, r.rip });
}

/* Where the kernel has its places for uprobes, if it has any. */
static void find_trampoline(struct walk *walk, pid_t pid)
{
	FILE *f = maple_door_read(pid, "maps");
	char line[512];

	while (f && !walk->hi && fgets(line, sizeof(line), f))
		if (strstr(line, "[uprobes]") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &walk->lo,
			   &walk->hi) != 2)
			walk->lo = walk->hi = 0;
	if (f)
		fclose(f);
}

/* libdwfl knows how to look at the vDSO only of whom it may read itself. */
static int report(Dwfl *dwfl, pid_t pid)
{
	FILE *maps;
	int e;

	if (!maple_door_has_warden())
		return dwfl_linux_proc_report(dwfl, pid);
	maps = maple_door_read(pid, "maps");
	if (!maps)
		return -1;
	e = dwfl_linux_proc_maps_report(dwfl, maps);
	fclose(maps);
	return e;
}

static bool attach(struct walk *walk, pid_t pid)
{
	static const Dwfl_Thread_Callbacks callbacks = {
		.next_thread = next_thread,
		.memory_read = read_word,
		.set_initial_registers = read_registers,
	};

	find_trampoline(walk, pid);
	walk->memory = maple_door_open(pid, "mem");
	return walk->memory >= 0 &&
	       dwfl_attach_state(walk->dwfl, NULL, pid, &callbacks, walk);
}

static int walk_all(struct walk *walk, pid_t pid, struct maple_error *err)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};
	int e = 0;

	walk->dwfl = dwfl_begin(&callbacks);
	if (!walk->dwfl || report(walk->dwfl, pid) ||
	    dwfl_report_end(walk->dwfl, NULL, NULL) || !attach(walk, pid))
		e = maple_error_set(err, EIO,
				    "cannot read the stacks of process %d: %s",
				    pid, dwfl_errmsg(-1));
	else
		dwfl_getthreads(walk->dwfl, on_thread, walk);
	maple_scopes_forget(&walk->scopes);
	dwfl_end(walk->dwfl);
	if (walk->memory >= 0)
		close(walk->memory);
	return e;
}

struct collection {
	pid_t pid;
	struct walk walk;
	struct maple_error *err;
	int e;
};

static void *collect(void *arg)
{
	struct collection *c = arg;
	struct walk *walk = &c->walk;
	int n = maple_door_stop(c->pid, walk->at);

	walk->nat = n > 0 ? n : 0;
	if (n > 0)
		c->e = walk_all(walk, c->pid, c->err);
	else
		c->e = maple_error_set(c->err, n ? EBUSY : ESRCH,
				       "the threads of process %d cannot be "
				       "stopped",
				       c->pid);
	maple_door_let_go(c->pid, walk->at, abs(n));
	if (!c->e && !walk->n)
		c->e = maple_error_set(c->err, ESRCH, "no stack to be had");
	return NULL;
}

/* A thread's tracees are free when it ends, whatever they were doing. */
static int in_thread(struct collection *c)
{
	sigset_t all, before;
	pthread_t thread;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	e = pthread_create(&thread, NULL, collect, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (e)
		return maple_error_set(c->err, e,
				       "no thread to read the stacks of "
				       "process %d: %s",
				       c->pid, strerror(e));
	pthread_join(thread, NULL);
	return c->e;
}

/*
 * maple_stack_collect - the stacks of all threads of @pid, as far as they can
 * be unwound; at most MAPLE_THREADS threads and 48 frames each
 * @returns: asked for return addresses that are not on the stacks, from
 *           another thread while the caller waits; or NULL
 *
 * Nobody is traced any more when it returns. The caller frees *@stacks with
 * maple_stack_destroy().
 */
int maple_stack_collect(pid_t pid, const struct maple_stack_returns *returns,
			struct maple_stack **stacks, unsigned int *nstacks,
			struct maple_error *err)
{
	struct collection *c = calloc(1, sizeof(*c));
	int e;

	*stacks = NULL;
	*nstacks = 0;
	if (c) {
		c->pid = pid;
		c->err = err;
		c->walk.returns = returns;
		c->walk.memory = -1;
		c->walk.stacks = calloc(THREADS, sizeof(*c->walk.stacks));
	}
	if (!c || !c->walk.stacks) {
		free(c);
		return maple_error_set(err, ENOMEM, "out of memory");
	}
	e = in_thread(c);
	if (e) {
		maple_stack_destroy(c->walk.stacks, c->walk.n);
	} else {
		*stacks = c->walk.stacks;
		*nstacks = c->walk.n;
	}
	free(c);
	return e;
}

/* maple_stack_destroy - frees what maple_stack_collect() made */
void maple_stack_destroy(struct maple_stack *stacks, unsigned int n)
{
	unsigned int i, j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < stacks[i].nframes; j++)
			maple_place_deinit(&stacks[i].frames[j].place);
		free(stacks[i].frames);
		free(stacks[i].thread);
		free(stacks[i].state);
		free(stacks[i].before);
	}
	free(stacks);
}
