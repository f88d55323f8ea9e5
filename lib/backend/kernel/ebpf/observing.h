/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A session of the eBPF observer, and what is asked of it. observing.c carries
 * out questions: for the campaign that has it in its own process, and, in the
 * observer's service (serve.c), for one that has not the rights. asking.c asks,
 * the same either way. The contracts stand at the definitions.
 *
 * A question is a packet: a head, and so many bytes; a file goes with some of
 * them. So is the answer. The asker gets records and numbers, never a
 * descriptor of the kernel's objects: those would outlive the session, and
 * could be written to.
 */
#ifndef MAPLE_BACKEND_KERNEL_OBSERVING_H
#define MAPLE_BACKEND_KERNEL_OBSERVING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <maple/error.h>
#include <maple/observer.h>
#include "../../../../bpf/observe.h"
#include "attach.h"

#define MAPLE_PROBING_VERSION 1		 /* both sides must have the same */
#define MAPLE_PROBING_MOST    (1u << 16) /* bytes behind a head */
#define MAPLE_PROBING_PLACES  1024	 /* of one question */

enum maple_probing_op {
	/* value: version -> whether one link has many places; a socket for the
	 * second channel, where there are channels */
	MAPLE_PROBING_HELLO = 1,
	/* a pidfd, value: its number -> from now on the session is on it, and
	 * its exec ends that; nothing is heard yet */
	MAPLE_PROBING_TARGET,
	MAPLE_PROBING_PROBES, /* first, struct maple_uapi_probe [] */
	/* id of a set or 0, what, a file, struct maple_probing_place []
	 * -> id, what became of the set, a byte each: refused */
	MAPLE_PROBING_ATTACH,
	MAPLE_PROBING_DROP,	  /* id, first: a place of it; not with many */
	MAPLE_PROBING_AGAIN,	  /* id, first, what, a file, a place */
	MAPLE_PROBING_UNDO,	  /* id; one that is not there is no error */
	MAPLE_PROBING_HEAR,	  /* struct maple_probing_hearing */
	MAPLE_PROBING_GENERATION, /* first: a batch, value */
	MAPLE_PROBING_COUNTS,	  /* first, n -> struct maple_observe_count [];
				      value: the epoch */
	MAPLE_PROBING_READ,   /* n at most -> struct maple_observe_record [] */
	MAPLE_PROBING_STATE,  /* -> struct maple_probing_state */
	MAPLE_PROBING_RETURN, /* value: a slot -> value; 0: not known */
	MAPLE_PROBING_DEAF,   /* nothing is heard any more */
	MAPLE_PROBING_FORGET, /* the session is on nobody, nothing is probed */
	MAPLE_PROBING_OPS,
};

enum maple_probing_what {
	MAPLE_PROBING_ACCESS,
	MAPLE_PROBING_ENTRY,
	MAPLE_PROBING_BACK,
	MAPLE_PROBING_WHATS,
};

/* How the target is heard. */
struct maple_probing_hearing {
	uint32_t budget, joined, is_static, runtimes;
	struct maple_observe_range runtime[MAPLE_OBSERVE_RUNTIMES];
};

struct maple_probing_place {
	uint64_t offset, cookie;
};

struct maple_probing_state {
	struct maple_observe_session session;
	struct maple_observe_end end;
};

struct maple_probing_question {
	uint32_t op; /* enum maple_probing_op */
	uint32_t id, what, first, n;
	uint32_t size; /* bytes behind it */
	uint64_t value;
};

struct maple_probing_answer {
	int32_t error; /* -errno */
	uint32_t id;
	uint64_t value;
	uint64_t places, refused, unreached; /* of a set */
	uint32_t size;
	char text[MAPLE_ERROR_MAX]; /* the error in words, or "" */
};

static_assert(MAPLE_PROBING_PLACES * sizeof(struct maple_probing_place) <=
		      MAPLE_PROBING_MOST,
	      "a question's places fit");

/* ---- observing.c ---- */

struct maple_observing;

int maple_observing_create(const struct maple_observer_rules *rules,
			   struct maple_observing **made,
			   struct maple_error *err);
void maple_observing_answer(struct maple_observing *o,
			    const struct maple_probing_question *question,
			    const void *bytes, int fd,
			    struct maple_probing_answer *answer, void *room);
bool maple_observing_look(struct maple_observing *o);
void maple_observing_destroy(struct maple_observing *o);

/* ---- asking.c ---- */

enum maple_probing_channel {
	MAPLE_PROBING_WORK, /* what changes probes, and waits for the kernel */
	MAPLE_PROBING_DATA, /* ... and what is asked while the target runs */
	MAPLE_PROBING_CHANNELS,
};

struct maple_probing {
	struct maple_observing *here; /* or NULL: by the sockets */
	struct maple_probing_way {
		int sock;
		pthread_mutex_t lock; /* one question at a time */
		void *packet;	      /* ... and its answer */
	} way[MAPLE_PROBING_CHANNELS];
	bool multi;
	struct maple_probing_state state;  /* when it was asked for last */
	struct maple_uapi_probe *probe;	   /* what it has been told */
	struct maple_observe_count *count; /* ... has told, by probe */
	uint32_t epoch;			   /* ... with that */
};

/* Places that are changed together, as the observer has them. */
struct maple_probed {
	uint32_t id; /* 0: none */
	uint64_t places, refused, unreached;
};

int maple_probing_open(struct maple_probing *o, const char *service,
		       struct maple_error *err);
int maple_probing_try(const char *service, struct maple_error *err);
int maple_probing_connect_early(const char *service, struct maple_error *err);
int maple_probing_target(struct maple_probing *o, pid_t pid, int pidfd,
			 struct maple_error *err);
int maple_probing_probes(struct maple_probing *o, uint32_t first, uint32_t n,
			 struct maple_error *err);
int maple_probing_attach(struct maple_probing *o, struct maple_probed *set,
			 enum maple_probing_what what, const char *path,
			 const struct maple_probing_place *place,
			 unsigned int n, bool *refused, struct maple_error *err);
void maple_probing_drop(struct maple_probing *o, struct maple_probed *set,
			unsigned int at);
void maple_probing_again(struct maple_probing *o, struct maple_probed *set,
			 const char *path, unsigned int at,
			 const struct maple_probing_place *place);
void maple_probing_undo(struct maple_probing *o, struct maple_probed *set);
int maple_probing_hear(struct maple_probing *o,
		       const struct maple_probing_hearing *hearing,
		       struct maple_error *err);
int maple_probing_generation(struct maple_probing *o, uint32_t batch,
			     uint32_t generation);
int maple_probing_counts(struct maple_probing *o, uint32_t first, uint32_t n);
int maple_probing_read(struct maple_probing *o, unsigned int most,
		       void (*take)(void *ctx,
				    const struct maple_observe_record *record),
		       void *ctx);
int maple_probing_state(struct maple_probing *o);
uint64_t maple_probing_return(struct maple_probing *o, uint64_t slot);
void maple_probing_deaf(struct maple_probing *o);
void maple_probing_forget(struct maple_probing *o);
void maple_probing_close(struct maple_probing *o);

#endif
