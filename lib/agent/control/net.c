// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The net of a controlled run: hardware watchpoints on up to four variables,
 * for accesses by code that has no sites (algorithms.md 10, rule 19). What they
 * see is a point after the access: its thread stands within the handler of
 * SIGTRAP, on a stack of its own, as it would in a hook.
 *
 * Whose code it is says the program counter alone, so that a replay, in which
 * most sites are not patched, counts the same accesses. Slots and images with
 * sites are known. So is libc: what it does for the program is announced by
 * intercept/, or not observed.
 *
 * One perf event per thread and variable, which a thread opens for itself when
 * it starts. The kernel's accesses are not seen: so memory is read through it
 * where it is only looked at. To disarm a watchpoint and arm it again around a
 * known access is two system calls for each thread, and no known access is
 * worth them: its trap is ignored, and so many traps are the end of the net.
 */
#include <sys/uio.h>
#include "agent/core.h"
#include "agent/raw.h"
#include "agent/force/watchpoint.h"

#define VARIABLES MAPLE_SHM_NET
#define HITS_MAX  1000 /* of a variable, 20 us each */
#define ASYNC	  1    /* TRAP_PERF_FLAG_: it was blocked when it happened */
#define BYTES	  8

static struct variable {
	uint32_t site; /* what accesses to it are called */
	uint32_t hits;
	uint64_t addr;
	uint64_t value; /* when it was last hit */
} variable[VARIABLES];

static uint32_t nvariables; /* 0: there is no net */
static struct maple_watchpoint point[WATCHED_THREADS][VARIABLES];
/* Accesses of the calling thread so far. */
static __thread uint32_t seen[VARIABLES]
	__attribute__((tls_model("initial-exec")));

/* Of this library. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static uint32_t libc = ~0u; /* its image */

/*
 * maple_net_read - up to 8 bytes at @addr, without a trap; false: they are not
 *                  to be read that way
 */
bool maple_net_read(uint64_t addr, uint64_t size, uint64_t *value)
{
	struct iovec to = { value, size }, from = { (void *)addr, size };

	*value = 0;
	return size <= sizeof(*value) &&
	       raw6(SYS_process_vm_readv, maple_agent_pid, &to, 1, &from, 1,
		    0) == (long)size;
}

/* maple_net_has - whether an access there would be a hit */
bool maple_net_has(uint64_t addr, uint64_t size)
{
	for (uint32_t i = 0; i < nvariables; i++)
		if (addr < variable[i].addr + BYTES &&
		    variable[i].addr < addr + size)
			return true;
	return false;
}

static void add(uint32_t site)
{
	struct variable *v = &variable[nvariables];
	uint32_t number = site & ~MAPLE_SITE_CALL;
	const struct maple_shm_image *image;
	const struct maple_shm_call *call;

	if (!(site & MAPLE_SITE_CALL) || number >= MAPLE_SHM_CALLS ||
	    nvariables == VARIABLES)
		return;
	call = &maple_shm->call[number];
	if (!(call->offset & MAPLE_SHM_VARIABLE) ||
	    call->image >= MAPLE_SHM_IMAGES)
		return;
	for (uint32_t i = 0; i < nvariables; i++)
		if (variable[i].site == site)
			return;
	image = &maple_shm->image[call->image];
	v->site = site;
	v->addr = image->bias + (call->offset & ~MAPLE_SHM_VARIABLE);
	if (image->loaded && v->addr >= image->lo &&
	    v->addr + BYTES <= image->hi &&
	    maple_net_read(v->addr, BYTES, &v->value))
		nvariables++;
}

/*
 * maple_net_start - what this run is to watch, and its list is about; before
 *                   the first thread, with all images known
 */
void maple_net_start(void)
{
	const struct maple_shm_control *c = &maple_shm->control;
	uint64_t offset;

	for (uint32_t i = 0; i < c->nlist; i++)
		add(c->list[i].site);
	for (uint32_t i = 0; i < c->nnet; i++)
		add(c->net[i]);
	if (!nvariables)
		return;
	maple_watch_start();
	if (!maple_watch_sees()) {
		maple_shm->stats.watches_refused += nvariables;
		nvariables = 0;
	}
	libc = maple_image_of((uint64_t)maple_agent_real("sigaction"), &offset);
}

static bool arm(uint32_t t, uint32_t i)
{
	struct perf_event_attr attr;

	maple_watchpoint_attr(&attr, HW_BREAKPOINT_RW, variable[i].addr, BYTES,
			      &variable[i]);
	return maple_watchpoint_open(&point[t][i], &attr, 0);
}

/* maple_net_begin - the calling thread is a thread of the run from here on */
void maple_net_begin(void)
{
	uint32_t t = maple_self.number;

	for (uint32_t i = 0; i < nvariables; i++) {
		seen[i] = 0;
		if (t < WATCHED_THREADS && arm(t, i))
			maple_shm->stats.watches++;
		else
			maple_shm->stats.watches_refused++;
	}
}

/* maple_net_end - thread @t ends */
void maple_net_end(uint32_t t)
{
	for (uint32_t i = 0; i < nvariables && t < WATCHED_THREADS; i++)
		maple_watchpoint_close(&point[t][i]);
}

/* maple_net_forget - it belongs to another process */
void maple_net_forget(void)
{
	for (uint32_t t = 0; t < WATCHED_THREADS; t++)
		maple_net_end(t);
	nvariables = 0;
}

static bool is_known(uint64_t pc)
{
	struct maple_patch_origin origin;
	uint64_t offset;
	uint32_t image = maple_image_of(pc - 1, &offset);

	if (image != ~0u)
		return image == libc ||
		       maple_shm->image[image].state == MAPLE_IMAGE_READY;
	return (pc >= (uint64_t)__ehdr_start && pc < (uint64_t)etext) ||
	       maple_patch_origin(pc - 1, &origin);
}

/*
 * What changes a variable has written it. Who writes what is there already
 * cannot be told from who reads.
 */
static void access(struct variable *v, uint64_t was, uint64_t sp)
{
	const struct maple_access acc = {
		.site = v->site,
		.kind = v->value == was ? MAPLE_EV_READ : MAPLE_EV_WRITE,
		.addr = v->addr,
		.size = BYTES,
	};

	maple_control_unknown(&acc, v->value, was, seen[v - variable]++, sp);
}

/*
 * maple_net_hit - whether a SIGTRAP is ours; if so, it is dealt with
 * @code, @data, @flags: its si_code, si_perf_data and si_perf_flags
 * @pc, @sp: of what comes next
 * @room: the handler's stack is large enough to stand on
 *
 * Context: signal handler of the thread that made the access, right after that.
 */
bool maple_net_hit(int code, uint64_t data, uint32_t flags, uint64_t pc,
		   uint64_t sp, bool room)
{
	struct variable *v = (struct variable *)data;
	uint64_t was;

	if (code != WATCHED_TRAP || data < (uint64_t)variable ||
	    data >= (uint64_t)(variable + VARIABLES))
		return false;
	if (!maple_shm)
		return true;
	maple_shm->stats.watch_hits++;
	if (flags & ASYNC || !maple_agent_on() || !maple_control_decides())
		return true;
	maple_agent_enter();
	was = v->value;
	/* Each by itself: what else is watched is not the same in a replay. */
	if (v->hits++ >= HITS_MAX) {
		if (maple_self.number < WATCHED_THREADS)
			maple_watchpoint_close(
				&point[maple_self.number][v - variable]);
	} else if (maple_net_read(v->addr, BYTES, &v->value) && !is_known(pc)) {
		maple_shm->stats.watch_told++;
		access(v, was, sp);
	}
	maple_agent_leave();
	return true;
}
