// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A function is called by a thread of another process.
 *
 * The thread is one that was called out of a wait in the kernel. It executes a
 * few instructions of ours, which keep all its registers, call, put all
 * registers back and return to where it was. So from the moment at which it is
 * sent there it needs nobody: if we are killed then, it comes back by itself.
 *
 * The instructions stand in the rest of a page behind the code of some file
 * that the process has mapped, where there is nothing but zeros.
 */
#include <assert.h>
#include <cpuid.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "backend/process.h"
#include "join.h"

#define RED_ZONE 128
#define STACK	 65536 /* bytes that the call may want */
#define ROOM	 320   /* zeros that have to be there */
#define XSAVE	 16384 /* bytes, at most: AMX has 11,008 */
#define WITHIN	 10.0  /* seconds that it may sleep, ... */
#define AT_MOST \
	600.0	    /* ... and that it may take: others want the CPU as well */
#define XHEADER 512 /* where the state's header is; it has 64 bytes */

/* What the code works on; it knows where what is. */
struct block {
	uint64_t function, first, second, result;      /* 0, 8, 16, 24 */
	uint64_t done;				       /* 32 */
	uint64_t flags;				       /* 40 */
	uint64_t rax, rcx, rdx, rsi, rdi, rbp;	       /* 48 ... 88 */
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15; /* 96 ... 152 */
	char text[MAPLE_CALL_TEXT];		       /* 160 */
	char pad[32];
	unsigned char state[]; /* 448 */
};

static_assert(offsetof(struct block, state) == 448 && 448 % 64 == 0, "asm");

/*
 * Behind the code, since signals may overwrite what is below the stack: where
 * the thread goes back to, and for whom finds the code when all who knew of it
 * are dead, who that was, and which call is under way.
 */
struct back {
	uint64_t rbx, rsp, rip;
	uint64_t block; /* 0: none is */
	uint64_t tid;
	struct maple_call_by by;
};

static_assert(sizeof(struct back) == 64, "asm");

extern const unsigned char maple_call_code[], maple_call_code_end[];
extern const unsigned char maple_call_returns[];

__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"maple_call_code:\n"
	"	cld\n"
	"	mov $-1, %eax\n"
	"	mov $-1, %edx\n"
	"	xsave64 448(%rbx)\n"
	"	mov 8(%rbx), %rdi\n"
	"	mov 16(%rbx), %rsi\n"
	"	call *(%rbx)\n"
	"maple_call_returns:\n"
	"	mov %rax, 24(%rbx)\n"
	"	mov $-1, %eax\n"
	"	mov $-1, %edx\n"
	"	xrstor64 448(%rbx)\n"
	"	movq $1, 32(%rbx)\n"
	"	push 40(%rbx)\n"
	"	popfq\n"
	"	mov 48(%rbx), %rax\n"
	"	mov 56(%rbx), %rcx\n"
	"	mov 64(%rbx), %rdx\n"
	"	mov 72(%rbx), %rsi\n"
	"	mov 80(%rbx), %rdi\n"
	"	mov 88(%rbx), %rbp\n"
	"	mov 96(%rbx), %r8\n"
	"	mov 104(%rbx), %r9\n"
	"	mov 112(%rbx), %r10\n"
	"	mov 120(%rbx), %r11\n"
	"	mov 128(%rbx), %r12\n"
	"	mov 136(%rbx), %r13\n"
	"	mov 144(%rbx), %r14\n"
	"	mov 152(%rbx), %r15\n"
	"	mov 1f(%rip), %rbx\n"
	"	mov 1f+8(%rip), %rsp\n"
	"	jmp *1f+16(%rip)\n"
	"	.balign 8\n"
	"1:	.quad 0, 0, 0, 0, 0, 0, 0, 0\n"
	"maple_call_code_end:\n"
	".popsection\n");

static size_t code_size(void)
{
	return (size_t)(maple_call_code_end - maple_call_code);
}

static bool may_have_room(const struct maple_memory_map *m)
{
	return m->exec && !m->write && m->file;
}

static uint64_t room_in(const struct maple_memory_map *m)
{
	return (m->hi - code_size()) & ~15ull;
}

/* Where @m ends in zeros that are no part of any code. */
static bool find_room(void *ctx, const struct maple_memory_map *m)
{
	struct maple_call *call = ctx;
	unsigned char rest[ROOM];

	if (!may_have_room(m) ||
	    !maple_memory_read(call->pid, m->hi - ROOM, rest, ROOM))
		return true;
	for (unsigned int i = 0; i < ROOM; i++)
		if (rest[i])
			return true;
	call->room = room_in(m);
	return false;
}

/* Where @m ends in this very code. */
static bool find_code(void *ctx, const struct maple_memory_map *m)
{
	struct maple_call *call = ctx;
	unsigned char code[ROOM];
	size_t n = code_size() - sizeof(struct back);

	if (!may_have_room(m) ||
	    !maple_memory_read(call->pid, room_in(m), code, n) ||
	    memcmp(code, maple_call_code, n))
		return true;
	call->room = room_in(m);
	return false;
}

static uint64_t back_of(const struct maple_call *call)
{
	return call->room + code_size() - sizeof(struct back);
}

/*
 * maple_call_find - takes up the code that others have left in process @pid;
 * false: there is none
 * @by: who they are
 */
bool maple_call_find(struct maple_call *call, pid_t pid,
		     struct maple_call_by *by)
{
	struct back back;

	assert(pid > 0);
	*call = (struct maple_call){ .pid = pid };
	if (maple_memory_maps(pid, find_code, call) || !call->room ||
	    !maple_memory_read(pid, back_of(call), &back, sizeof(back)))
		return false;
	call->tid = (pid_t)back.tid;
	call->block = back.block;
	call->away = back.block != 0;
	*by = back.by;
	return true;
}

/* maple_call_sign - says who can make calls in the process from now on */
void maple_call_sign(const struct maple_call *call,
		     const struct maple_call_by *by)
{
	if (call->room)
		maple_memory_write(call->pid,
				   back_of(call) + offsetof(struct back, by),
				   by, sizeof(*by));
}

static uint64_t state_size(void)
{
	unsigned int a, b, c, d;

	if (!__get_cpuid_count(1, 0, &a, &b, &c, &d) || !(c & bit_OSXSAVE) ||
	    !__get_cpuid_count(13, 0, &a, &b, &c, &d))
		return 0;
	return b;
}

/* maple_call_prepare - calls can be made in process @pid from now on */
int maple_call_prepare(struct maple_call *call, pid_t pid,
		       struct maple_error *err)
{
	assert(pid > 0 && code_size() + 16 < ROOM);
	assert(!call->room || call->pid == pid);
	call->pid = pid;
	if (!state_size() || state_size() > XSAVE)
		return maple_error_set(err, ENOTSUP,
				       "this CPU has no XSAVE, or a state of "
				       "more than %d bytes: the agent cannot "
				       "join here",
				       XSAVE);
	if (call->room)
		return 0;
	if (maple_memory_maps(pid, find_room, call) || !call->room)
		return maple_error_set(err, ENOTSUP,
				       "no code of process %d has %d bytes to "
				       "spare in its last page: start it with "
				       "`mapletest run`",
				       pid, ROOM);
	if (!maple_memory_write(pid, call->room, maple_call_code, code_size()))
		return maple_error_set(err, errno,
				       "the code of process %d cannot be "
				       "written: %m",
				       pid);
	return 0;
}

struct stack_at {
	uint64_t sp;
	bool fits;
};

static bool find_stack(void *ctx, const struct maple_memory_map *m)
{
	struct stack_at *at = ctx;

	if (at->sp <= m->lo || at->sp > m->hi)
		return true;
	at->fits = m->write && (at->sp - m->lo > STACK + XSAVE + RED_ZONE ||
				!strcmp(m->path, "[stack]"));
	return false;
}

static void fill(struct block *b, const struct user_regs_struct *r)
{
	b->flags = r->eflags;
	b->rax = r->rax;
	b->rcx = r->rcx;
	b->rdx = r->rdx;
	b->rsi = r->rsi;
	b->rdi = r->rdi;
	b->rbp = r->rbp;
	b->r8 = r->r8;
	b->r9 = r->r9;
	b->r10 = r->r10;
	b->r11 = r->r11;
	b->r12 = r->r12;
	b->r13 = r->r13;
	b->r14 = r->r14;
	b->r15 = r->r15;
}

/* The code's last bytes, and the block with an empty state. */
static bool put(struct maple_call *call, const struct user_regs_struct *again,
		const struct block *head)
{
	const struct back back = { .rbx = again->rbx,
				   .rsp = again->rsp,
				   .rip = again->rip,
				   .block = call->block,
				   .tid = (uint64_t)call->tid };
	static const unsigned char header[XHEADER + 64];
	static const uint64_t none;

	return maple_memory_write(call->pid, call->block, head,
				  offsetof(struct block, state)) &&
	       maple_memory_write(call->pid, call->block - sizeof(none), &none,
				  sizeof(none)) &&
	       maple_memory_write(call->pid,
				  call->block + offsetof(struct block, state),
				  header, sizeof(header)) &&
	       maple_memory_write(call->pid, back_of(call), &back,
				  offsetof(struct back, by));
}

/*
 * maple_call_begin - @t, which maple_halt_restarts() has to say yes to, makes
 * the call @what; it is let go for that
 *
 * maple_call_end() is to follow before the next one.
 */
int maple_call_begin(struct maple_call *call, struct maple_halted *t,
		     const struct maple_called *what, struct maple_error *err)
{
	struct user_regs_struct again, there;
	struct stack_at stack = { t->regs.rsp, false };
	struct block head = { .function = what->function,
			      .first = what->argument[0],
			      .second = what->argument[1] };
	uint64_t size = offsetof(struct block, state) + state_size() + 64;

	assert(call->room && what->function);
	if (!maple_call_is_back(call))
		return maple_error_set(err, EBUSY,
				       "thread %d of process %d has not come "
				       "back from a call",
				       call->tid, call->pid);
	if (!maple_halt_restarts(t))
		return maple_error_set(err, EAGAIN,
				       "thread %d does not wait any more",
				       t->tid);
	if (maple_memory_maps(call->pid, find_stack, &stack) || !stack.fits)
		return maple_error_set(err, ENOTSUP,
				       "thread %d of process %d has no room on "
				       "its stack",
				       t->tid, call->pid);
	again = t->again;
	call->tid = t->tid;
	call->block = (again.rsp - RED_ZONE - size) & ~63ull;
	assert(call->block < again.rsp - RED_ZONE);
	fill(&head, &again);
	if (what->text) {
		snprintf(head.text, sizeof(head.text), "%s", what->text);
		head.first = call->block + offsetof(struct block, text);
	}
	there = again;
	there.rip = call->room;
	there.rbx = call->block;
	there.rsp = call->block;
	assert(call->block % 64 == 0); /* for XSAVE; is_called() looks below */
	/* We may be killed as soon as it is: then it is under way. */
	call->away = true;
	if (!put(call, &again, &head) ||
	    ptrace(PTRACE_SETREGS, t->tid, NULL, &there)) {
		call->away = false;
		return maple_error_set(err, errno, "thread %d of process %d: %m",
				       t->tid, call->pid);
	}
	ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
	t->tid = 0;
	return 0;
}

/* The function that was called has been entered, and has not returned. */
static bool is_called(const struct maple_call *call)
{
	const uint64_t returns =
		call->room + (uint64_t)(maple_call_returns - maple_call_code);
	struct block head;
	uint64_t to;

	return maple_memory_read(call->pid, call->block, &head,
				 offsetof(struct block, text)) &&
	       maple_memory_read(call->pid, call->block - sizeof(to), &to,
				 sizeof(to)) &&
	       !head.done && to == returns;
}

/* What is to be found there says that nothing is under way. */
static void forget(struct maple_call *call)
{
	static const uint64_t none;

	call->away = false;
	maple_memory_write(call->pid,
			   back_of(call) + offsetof(struct back, block), &none,
			   sizeof(none));
}

/*
 * maple_call_is_back - whether nobody is under way: who was sent has come back,
 * or is no more, or was not sent after all
 *
 * What a call has left behind on its way is needed until then. Context: the
 * thread is not in the code itself (maple_call_is_in).
 */
bool maple_call_is_back(struct maple_call *call)
{
	if (!call->away)
		return true;
	if (is_called(call) && maple_process_has(call->pid, call->tid))
		return false;
	forget(call);
	return true;
}

/* It works, or waits for the CPU or the kernel, and not for another thread. */
static bool is_busy(const struct maple_call *call)
{
	char state = 'S';
	uint64_t ns;

	return maple_process_cpu(call->pid, call->tid, &ns, &state) &&
	       (state == 'R' || state == 'D');
}

/* maple_call_is_in - whether who stands at @pc is about to return from a call */
bool maple_call_is_in(const struct maple_call *call, uint64_t pc)
{
	return call->room && pc >= call->room && pc < call->room + code_size();
}

/* maple_call_end - waits until the call has come back; its *@result */
int maple_call_end(struct maple_call *call, uint64_t *result,
		   struct maple_error *err)
{
	double now = maple_clock_now(), until = now + WITHIN;
	const double last = now + AT_MOST;
	const struct timespec pause = { 0, 300000 };
	struct block head;

	assert(call->room && call->tid && call->block);
	for (;;) {
		if (!maple_memory_read(call->pid, call->block, &head,
				       offsetof(struct block, text)) ||
		    !maple_process_has(call->pid, call->tid))
			return maple_error_set(
				err, ESRCH, "process %d has ended", call->pid);
		if (head.done)
			break;
		now = maple_clock_now();
		/* While it works, all others may stand and rely on its end. */
		if (now > until && is_busy(call))
			until = now + 1;
		if (now > until || now > last)
			return maple_error_set(err, ETIMEDOUT,
					       "thread %d of process %d does "
					       "not come back: it waits for "
					       "something in libc",
					       call->tid, call->pid);
		nanosleep(&pause, NULL);
	}
	*result = head.result;
	forget(call);
	return 0;
}

/* maple_call_clear - nothing of the code is left; nobody may be in it */
void maple_call_clear(struct maple_call *call)
{
	static const unsigned char zeros[ROOM];

	if (call->room)
		maple_memory_write(call->pid, call->room, zeros, code_size());
	call->room = 0;
}
