/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Between the files of lib/image/static. The order of the work:
 *
 *   types      types, variables and functions of the source     (types.c)
 *              what is declared only, what lies on stacks       (settle.c)
 *              which member is where                            (part.c)
 *   code       instructions, as what they do to registers       (code.c)
 *   flow       what registers have, which locks are held        (flow.c)
 *              ... where control comes together                 (state.c)
 *   datum      what an address is of                            (datum.c)
 *   calls      what each call means, by name                    (calls.c)
 *   roots      who runs a function                              (roots.c)
 *   pairs      which two sites may meet                         (pairs.c)
 */
#ifndef MAPLE_IMAGE_STATIC_STATIC_H
#define MAPLE_IMAGE_STATIC_STATIC_H

#include <uthash.h>
#include "image/internal.h"
#include "image/code/prints.h"
#include "pairs.h"

#define MAPLE_STATIC_NONE UINT32_MAX

/* ---- names: text that is kept, each once ---- */

struct maple_static_name {
	uint32_t at; /* in the text */
	UT_hash_handle hh;
	char text[];
};

struct maple_static_names {
	struct maple_array text; /* char; offset 0 is "" */
	struct maple_static_name *all;
};

uint32_t maple_static_name(struct maple_static_names *names, const char *text);

/* ---- types.c ---- */

enum maple_static_type_kind {
	MAPLE_TYPE_SCALAR,
	MAPLE_TYPE_POINTER, /* to inner */
	MAPLE_TYPE_ARRAY,   /* of inner */
	MAPLE_TYPE_OBJECT,  /* struct, class, union */
};

struct maple_static_type {
	uint8_t kind;
	bool named;	/* OBJECT: it has a name of its own */
	bool joint;	/* a union */
	bool lies;	/* there is one on a stack */
	bool elsewhere; /* one is, or may be, somewhere else */
	uint32_t name;
	uint32_t inner;
	uint64_t size;
	uint32_t member, nmembers;
};

struct maple_static_member {
	uint32_t type, name;
	uint64_t at;
};

/* Where a pointer of the source's is: in a register, or in a frame. */
enum maple_static_where {
	MAPLE_WHERE_REG,
	MAPLE_WHERE_CFA,
	MAPLE_WHERE_RBP,
	MAPLE_WHERE_RSP,
};

struct maple_static_variable {
	uint32_t range; /* index of the code's */
	uint8_t reg;	/* as machine code numbers them; 16: in a frame */
	uint8_t where;
	uint32_t lo, hi; /* while the code is there */
	int32_t off;	 /* REG: what it has is so far behind the pointer */
	uint32_t type;	 /* what is pointed to */
};

/* A variable with an address. */
struct maple_static_global {
	uint64_t lo, size;
	uint32_t type;
};

/* Whether a thread begins with a function, by what it takes and returns. */
enum maple_static_fit {
	MAPLE_FIT_NOT,
	MAPLE_FIT_ROUGHLY, /* it takes a pointer */
	MAPLE_FIT_WELL,	   /* void *, and returns something */
};

/* What the source says of a function. */
struct maple_static_prototype {
	uint64_t at;	 /* its address; 0: it is another image's */
	uint32_t name;	 /* the linker's */
	uint32_t result; /* what the pointer that it returns points to */
	uint8_t fit;	 /* enum maple_static_fit */
};

struct maple_static_types {
	struct maple_array types;      /* struct maple_static_type */
	struct maple_array members;    /* struct maple_static_member */
	struct maple_array variables;  /* sorted by range, reg, lo */
	struct maple_array globals;    /* sorted by lo */
	struct maple_array prototypes; /* sorted by at, name */
	bool debug, cut;
};

struct maple_static;

bool maple_static_spend(struct maple_static *s, uint64_t n);
int maple_static_types(struct maple_static *s);
void maple_static_settle(struct maple_static_types *types);
uint32_t maple_static_object(const struct maple_static_types *types,
			     uint32_t type, bool *pointer);
void maple_static_types_deinit(struct maple_static_types *types);

static inline struct maple_static_type *
maple_static_type_at(const struct maple_static_types *types, uint32_t type)
{
	return type < types->types.n
		       ? (struct maple_static_type *)types->types.at + type
		       : NULL;
}

const struct maple_static_prototype *
maple_static_prototype(const struct maple_static_types *types, uint64_t at,
		       uint32_t name);

/* What of a type is so far in it, down to the innermost with a name. */
struct maple_static_part {
	uint32_t type; /* OBJECT, or what it began with */
	uint64_t at;
	uint64_t size; /* of what is accessed; an array's as a whole */
	uint32_t leaf; /* type of what is there */
	uint32_t name; /* of the member, or 0 */
	bool any;      /* some element */
};

bool maple_static_is_lock(const struct maple_static *s,
			  const struct maple_static_type *type);
bool maple_static_part(const struct maple_static *s, uint32_t type, uint64_t at,
		       uint64_t size, bool loose, bool lock,
		       struct maple_static_part *part);

/* ---- code.c ---- */

#define MAPLE_RSI 6
#define MAPLE_RDI 7
#define MAPLE_RDX 2
#define MAPLE_RCX 1

enum maple_effect_kind {
	MAPLE_EFFECT_KILL, /* nothing is known of what it writes */
	MAPLE_EFFECT_MOVE,
	MAPLE_EFFECT_LOAD,
	MAPLE_EFFECT_STORE,   /* src */
	MAPLE_EFFECT_ADDRESS, /* lea, or mov of an address */
	MAPLE_EFFECT_ADD,     /* disp */
	MAPLE_EFFECT_SUM,
	MAPLE_EFFECT_CHOOSE, /* cmov */
	MAPLE_EFFECT_PUSH,
	MAPLE_EFFECT_POP,
	MAPLE_EFFECT_LEAVE,
	MAPLE_EFFECT_CALL,
	MAPLE_EFFECT_JUMP,
	MAPLE_EFFECT_BRANCH,
	MAPLE_EFFECT_RETURN,
	MAPLE_EFFECT_STOP, /* what is behind is not reached from here */
};

/* What an instruction does to registers. */
struct maple_effect {
	uint32_t offset, next;
	uint32_t target; /* of CALL, JUMP, BRANCH; 0: not known */
	uint32_t site;	 /* first of its sites, or MAPLE_SITE_NONE */
	uint32_t joined; /* number of the state that is kept there, or NONE */
	uint16_t kills;	 /* registers, a bit each */
	uint8_t kind;
	uint8_t dst, src, base, index, scale;
	bool entered; /* from where nobody knows */
	bool loops;   /* it is in a loop */
	int64_t disp;
};

struct maple_static_code {
	uint32_t range;
	struct maple_array effects; /* struct maple_effect */
	uint32_t njoined;
	uint32_t wild; /* jumps of which nobody knows where to: switches */
	bool unknown;  /* they may come from anywhere, to what is entered */
};

int maple_static_code(struct maple_static *s, uint32_t range,
		      struct maple_static_code *code);

/* ---- calls.c ---- */

enum maple_static_call_kind {
	MAPLE_CALL_PLAIN,
	MAPLE_CALL_LOCK,
	MAPLE_CALL_UNLOCK,
	MAPLE_CALL_WAIT, /* lets its lock go, and has it again */
	MAPLE_CALL_CREATE,
	MAPLE_CALL_CREATE_OBJECT, /* std::thread: what it runs is in memory */
	MAPLE_CALL_JOIN,
	MAPLE_CALL_DETACH,
	MAPLE_CALL_MAIN, /* of libc's start */
};

/* What is called by a name. */
struct maple_static_called {
	uint8_t kind;
	uint8_t arg; /* the register with the lock, or the function */
	bool inside; /* a function of the image's that is to be looked into */
	bool deaf;   /* it never returns */
};

struct maple_static_called maple_static_called(const char *name);
struct maple_static_called maple_static_called_at(const struct maple_static *s,
						  uint64_t addr);

/* What any call may change: all but rbx, rsp, rbp, r12 to r15. */
#define MAPLE_CLOBBERED 0x0fc7u

/* ---- flow.c ---- */

enum maple_value_kind {
	MAPLE_VALUE_NONE,
	MAPLE_VALUE_ADDRESS, /* at */
	MAPLE_VALUE_OBJECT,  /* at bytes behind the beginning of a type */
	MAPLE_VALUE_FRAME,   /* at from the CFA; lost: somewhere there */
	MAPLE_VALUE_NUMBER,  /* no pointer, but at was added to it */
};

/* A variable, or what of a type, or both. */
struct maple_static_lock {
	uint32_t name, type;
	int32_t off, at;
};

struct maple_value {
	uint8_t kind;
	bool loose; /* something unknown was added */
	bool lost;
	uint32_t type;
	int64_t at;
	uint32_t from; /* the instruction that took the address */
	/* Where the pointer itself was: it is a lock's name. */
	struct maple_static_lock via;
};

#define MAPLE_STATIC_LOCKS 4
#define MAPLE_STATIC_SAVED 8

/* What was stored into the frame, where no variable may have a name. */
struct maple_static_saved {
	int64_t at; /* from the CFA */
	struct maple_value value;
};

/* A lock that is held, and by which call; ascending. */
struct maple_static_held {
	uint32_t lock, section;
};

struct maple_state {
	bool live;
	bool started; /* there may be threads by then */
	struct maple_value reg[16];
	struct maple_static_saved saved[MAPLE_STATIC_SAVED];
	unsigned int nsaved;
	struct maple_static_held held[MAPLE_STATIC_LOCKS];
	unsigned int nheld;
};

/* What is known of a function once it was gone through. */
struct maple_static_function {
	uint32_t first_call, ncalls;
	struct maple_static_held leaves[MAPLE_STATIC_LOCKS]; /* held at its end */
	uint32_t frees[MAPLE_STATIC_LOCKS]; /* of its callers' */
	uint8_t nleaves, nfrees;
	bool primitive; /* a lock function by its name */
	bool taken;	/* its address, so an indirect call may come to it */
	bool given;	/* ... to what creates threads */
	uint16_t kills; /* registers that are others' when it comes back */
	bool often;	/* it may be executed more than once in a run */
	bool creates, joins; /* it does, or what it calls does */
	bool alone;	     /* before the first thread, after the last */
	uint64_t roots;	     /* a bit for each that runs it */
	struct maple_static_held around[MAPLE_STATIC_LOCKS]; /* all callers' */
	uint8_t naround;
};

/* A call, or a jump to another function. */
struct maple_static_edge {
	uint32_t from, to; /* functions; to NONE: indirect */
	uint32_t at;
	uint8_t kind; /* of the call */
	bool loops, started;
	uint32_t start; /* CREATE: the function, if it is known; else NONE */
	struct maple_static_held held[MAPLE_STATIC_LOCKS];
	uint8_t nheld;
};

/* Where a site is, and under which locks. */
struct maple_static_site {
	uint32_t function;
	uint32_t offset;
	struct maple_static_held held[MAPLE_STATIC_LOCKS];
	uint8_t nheld;
	bool sections; /* its function has its datum under two of them */
	bool loops, started;
};

/* Where the address of a function was taken. */
struct maple_static_taking {
	uint32_t function, from;
};

struct maple_static_root {
	uint32_t function;
	bool many; /* it may run beside itself */
};

struct maple_static {
	struct maple_image *image;
	struct maple_prints *names; /* code, symbols and imports */
	struct maple_image *code;   /* of those */
	struct maple_static_types types;
	struct maple_static_names text;
	struct maple_static_function *functions; /* of each range */
	struct maple_array edges;		 /* by function */
	struct maple_array locks;		 /* struct maple_static_lock */
	struct maple_array roots;		 /* struct maple_static_root */
	struct maple_array takings; /* struct maple_static_taking */
	struct maple_array used;    /* uint32_t: where a thread's was taken */
	struct maple_array passed;  /* struct maple_static_lock: data that
				       functions of others were given */
	struct maple_static_site *sites;
	struct maple_datum *data;
	struct maple_array pairs; /* struct maple_static_pair */
	struct maple_static_stats stats;
	uint64_t steps;	    /* left of what one image is worth */
	uint32_t main;	    /* its function, or NONE */
	uint32_t last_join; /* in main; 0: none */
	bool detaches;
	bool settled; /* all functions were gone through once */
};

static inline bool maple_static_calls(const struct maple_static_edge *e)
{
	return e->kind == MAPLE_CALL_PLAIN;
}

static inline bool maple_static_starts(const struct maple_static_edge *e)
{
	return e->kind == MAPLE_CALL_CREATE ||
	       e->kind == MAPLE_CALL_CREATE_OBJECT;
}

/* state.c */
bool maple_state_meet(const struct maple_static *s, struct maple_state *to,
		      const struct maple_state *from);
struct maple_value maple_value_meet(const struct maple_static *s,
				    const struct maple_value *a,
				    const struct maple_value *b);
void maple_state_meet_locks(struct maple_state *a, const struct maple_state *b);

int maple_static_flow(struct maple_static *s, const struct maple_static_code *c);
uint32_t maple_static_range(const struct maple_static *s, uint64_t addr,
			    bool exactly);

/* ---- datum.c ---- */

struct maple_datum maple_static_datum(struct maple_static *s,
				      const struct maple_value *base,
				      int64_t disp, bool index, uint32_t size);
struct maple_static_lock maple_static_named(const struct maple_datum *datum);
uint32_t maple_static_lock(struct maple_static *s, const struct maple_value *v);
bool maple_static_same_lock(const struct maple_static *s, uint32_t a,
			    uint32_t b);
struct maple_value maple_static_load(struct maple_static *s,
				     const struct maple_value *base,
				     int64_t disp, bool index);

/* ---- roots.c, pairs.c ---- */

int maple_static_creators(struct maple_static *s);
int maple_static_roots(struct maple_static *s);
int maple_static_pairs(struct maple_static *s);

#endif
