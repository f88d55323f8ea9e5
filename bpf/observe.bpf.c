// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The observer: what the target's threads do, told as it happens.
 *
 * It decides what is worth a record. An access is, until its site has used up
 * its budget (a new thread renews them all), unless it says nothing new: of
 * the same access, made by one thread again and again with no record of
 * anybody's in between, the first two are told. More would be the same pair
 * of accesses to a predictor, whatever it pairs. A call of a function is,
 * unless libc makes it itself, or makes it within another one.
 *
 * What a record means is decided by the loader, which knows the functions and
 * sites by their index. Not for anything that must be exact: a record comes
 * before its access (MAPLE_PROBE_BEHIND: after), and the thread can lose the
 * CPU in between.
 */
#include "session.bpf.h"
#include "measure.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAPLE_OBSERVE_PROBES);
	__type(key, __u32);
	__type(value, struct maple_uapi_probe);
} probes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAPLE_OBSERVE_PROBES);
	__type(key, __u32);
	__type(value, struct maple_observe_count);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAPLE_OBSERVE_FUNCTIONS);
	__type(key, __u32);
	__type(value, struct maple_observe_function);
} functions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAPLE_OBSERVE_CALLERS);
	__type(key, __u64);
	__type(value, struct maple_observe_count);
} callers SEC(".maps");

/* By where it stood, before the kernel put an address of its own there. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAPLE_OBSERVE_RETURNS);
	__type(key, __u64);
	__type(value, __u64);
} returns SEC(".maps");

/* In the numbers of an instruction's encoding; the last one is no register. */
static __always_inline __u64 address(const struct pt_regs *regs,
				     const struct maple_uapi_probe *p)
{
	const __u64 value[17] = {
		regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->rsp,
		regs->rbp, regs->rsi, regs->rdi, regs->r8,  regs->r9,
		regs->r10, regs->r11, regs->r12, regs->r13, regs->r14,
		regs->r15, 0,
	};
	__u32 base = p->base, index = p->index;
	__u64 at = p->disp;

	if (p->flags & MAPLE_PROBE_RIP)
		at += regs->rip;
	at += value[base < 16 ? base : 16];
	return at + value[index < 16 ? index : 16] * p->scale;
}

/* Third and further times of the very same. */
static __always_inline bool repeats(struct thread *t, __u32 index, __u64 addr)
{
	if (t->index != index || t->addr != addr || t->seq != session.seq) {
		t->index = index;
		t->addr = addr;
		t->repeats = 0;
		return false;
	}
	return ++t->repeats > 1;
}

static __noinline void access(struct pt_regs *regs, struct thread *t,
			      const struct maple_uapi_probe *p, __u32 index)
{
	struct maple_observe_record r = { .what = MAPLE_OBSERVED_ACCESS };
	struct maple_observe_count *c = bpf_map_lookup_elem(&counts, &index);
	bool last, said;

	r.addr = address(regs, p);
	r.size = p->size;
	if (p->flags & MAPLE_PROBE_REP)
		r.size *= regs->rcx;
	if (!r.size || !c)
		return;
	r.index = index;
	r.thread = t->number;
	r.sp = regs->rsp;
	said = repeats(t, index, r.addr);
	if (!spend(c, &last)) {
		if (!last)
			return;
		__sync_fetch_and_add(&session.quieted, 1);
		r.what = MAPLE_OBSERVED_QUIET;
		say(&r);
		return;
	}
	if (said) {
		__sync_fetch_and_add(&session.condensed, 1);
		return;
	}
	__sync_fetch_and_add(&session.hits, 1);
	bpf_probe_read_user(&r.other, r.size < 8 ? r.size & 7 : 8,
			    (void *)r.addr);
	say(&r);
	t->seq = session.seq;
}

/*
 * An instruction that repeats comes here for each repetition: the processor
 * is stepped. Only the first one is told, which knows how many there will be.
 */
static __always_inline bool again(const struct pt_regs *regs, struct thread *t,
				  const struct maple_uapi_probe *p, __u32 index)
{
	bool goes_on;

	if (!(p->flags & MAPLE_PROBE_REP))
		return false;
	goes_on = t->rep == index && t->left == regs->rcx + 1 && regs->rcx;
	t->rep = index;
	t->left = regs->rcx;
	return goes_on;
}

SEC("uprobe")
int observe_access(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 index = cookie;
	const struct maple_uapi_probe *p;
	struct thread *t = self();

	if (!t || inside(t, regs->rsp) ||
	    session.generation[index / MAPLE_OBSERVE_BATCH %
			       MAPLE_OBSERVE_BATCHES] != cookie >> 32)
		return 0;
	if (!t->started)
		start(t, regs->rsp);
	for (int i = 0; i < MAPLE_OBSERVE_CHAIN; i++) {
		p = bpf_map_lookup_elem(&probes, &index);
		if (!p || (!i && again(regs, t, p, index)))
			break;
		access(regs, t, p, index++);
		if (!(p->aux & MAPLE_OBSERVE_MORE))
			break;
	}
	return 0;
}

static __always_inline bool is_runtime(__u64 address)
{
	for (int i = 0; i < MAPLE_OBSERVE_RUNTIMES; i++)
		if (i < session.runtimes && address >= session.runtime[i].lo &&
		    address < session.runtime[i].hi)
			return true;
	return false;
}

static __always_inline bool call_in_budget(struct maple_observe_record *r)
{
	const struct maple_observe_count none = { 0 };
	struct maple_observe_count *c =
		bpf_map_lookup_elem(&callers, &r->caller);
	bool last;

	if (!c) {
		bpf_map_update_elem(&callers, &r->caller, &none, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&callers, &r->caller);
	}
	if (!c || spend(c, &last))
		return true;
	if (last) {
		r->what = MAPLE_OBSERVED_QUIET_CALL;
		__sync_fetch_and_add(&session.quieted, 1);
		say(r);
	}
	return false;
}

static __always_inline void push(struct thread *t,
				 const struct maple_observe_record *r, __u64 sp,
				 __u32 flags)
{
	struct frame *f;

	if (t->depth >= MAPLE_OBSERVE_FRAMES) {
		lose(); /* its return */
		return;
	}
	f = &t->frame[t->depth & (MAPLE_OBSERVE_FRAMES - 1)];
	t->depth++;
	f->sp = sp;
	f->caller = r->caller;
	f->arg[0] = r->addr;
	f->arg[1] = r->other;
	f->index = r->index;
	f->flags = flags;
}

/* Where the kernel has probed functions return to: where its own mapping starts. */
static __always_inline __u64 trampoline(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!session.trampoline)
		session.trampoline =
			BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	return session.trampoline;
}

/*
 * Where a function returns to, also when the stack says that it is the kernel's
 * trampoline: then another one, which has noted it, has jumped to this one, and
 * they have one return.
 */
static __always_inline __u64 return_of(__u64 slot, __u64 caller)
{
	const __u64 *noted;

	if (caller != trampoline())
		return caller;
	noted = bpf_map_lookup_elem(&returns, &slot);
	return noted ? *noted : caller;
}

SEC("uprobe.s")
int observe_entry(struct pt_regs *regs)
{
	struct maple_observe_record r = { .what = MAPLE_OBSERVED_ENTRY };
	const struct maple_observe_function *f;
	struct thread *t = self();
	__u64 slot;

	r.index = bpf_get_attach_cookie(regs);
	f = bpf_map_lookup_elem(&functions, &r.index);
	if (!t || !f || bpf_probe_read_user(&r.caller, 8, (void *)regs->rsp))
		return 0;
	slot = regs->rsp;
	r.caller = return_of(slot, r.caller);
	/* For who unwinds the stack. */
	if (f->flags & MAPLE_OBSERVE_RETURN &&
	    bpf_map_update_elem(&returns, &slot, &r.caller, BPF_ANY))
		lose();
	if (is_runtime(r.caller) || inside(t, regs->rsp))
		return 0;
	if (!t->started)
		start(t, regs->rsp);
	r.thread = t->number;
	r.sp = regs->rsp;
	r.addr = regs->rdi;
	r.other = regs->rsi;
	r.extra = regs->rdx;
	if (f->flags & MAPLE_OBSERVE_BUDGET && !call_in_budget(&r))
		return 0;
	measure(f, &r);
	__sync_fetch_and_add(&session.calls, 1);
	if (f->flags & MAPLE_OBSERVE_RETURN)
		push(t, &r, regs->rsp, f->flags);
	say(&r);
	return 0;
}

SEC("uretprobe")
int observe_return(struct pt_regs *regs)
{
	struct maple_observe_record r = { .what = MAPLE_OBSERVED_RETURN };
	struct thread *t = self();
	struct frame *f;
	__u64 sp = regs->rsp - 8;

	r.index = bpf_get_attach_cookie(regs);
	if (!t)
		return 0;
	inside(t, sp);
	if (!t->depth || t->depth > MAPLE_OBSERVE_FRAMES)
		return 0;
	f = &t->frame[(t->depth - 1) & (MAPLE_OBSERVE_FRAMES - 1)];
	if (f->sp != sp || f->index != r.index)
		return 0;
	t->depth--;
	r.thread = t->number;
	r.sp = sp;
	r.caller = f->caller;
	r.addr = f->arg[0];
	r.other = f->arg[1];
	r.extra = regs->rax;
	say(&r);
	return 0;
}

#include "threads.bpf.h"

char _license[] SEC("license") = "Dual MIT/GPL";
