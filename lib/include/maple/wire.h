/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What mapletest and mapled say to each other, over a stream socket: frames of
 * a head and a message. The lists below are all there is: they make the
 * structures, the coder and decoder with their checks, and the list in
 * mapled(8).
 *
 * A client begins with HELLO and then sends requests, one at a time; each is
 * answered by what the list says, or REFUSED with the reason. Answers bear the
 * request's serial number, which grows over the life of the client, also over
 * reconnections: what changes a campaign is done once for each number.
 *
 * Ownership: what is decoded points into the frame it came in.
 * Context: the coder knows no state and may be used by any thread.
 */
#ifndef MAPLE_WIRE_H
#define MAPLE_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <maple/error.h>
#include <sys/types.h>
#include <maple/memo.h>

#define MAPLE_WIRE_VERSION 14 /* both sides must have the same */
#define MAPLE_WIRE_SOCKET  "/run/mapled.sock"
#define MAPLE_WIRE_LEASES  "/run/mapled" /* claims on CPUs */
#define MAPLE_WIRE_MAX	   (4u << 20)	 /* bytes of a message */
#define MAPLE_WIRE_FDS	   2		 /* file descriptors with a message */
#define MAPLE_WIRE_RTPRIO  85		 /* the limit that REALTIME gives */

#define MAPLE_WIRE_WORD	   256	 /* bytes of names and ids, NUL included */
#define MAPLE_WIRE_LINE	   16384 /* ... of paths and function names */

/*
 * F(kind, name, most): most is how many bytes it may have at most, of the
 * kinds that vary in length.
 *
 *   U32 U64 I64  integers, F64 a double, all in the machine's byte order
 *   FLAG         a byte, 0 or 1
 *   TEXT         a string, which may be absent (NULL)
 *   LIST         strings, one behind the other; see maple_wire_words()
 *   BYTES        anything
 *   PARTS        messages, one behind the other; see maple_wire_part()
 */
/* It has no notion of such lists: */
/* clang-format off */
#define MAPLE_WIRE_NOTHING(F)
#define MAPLE_WIRE_hello(F) F(U32, version, 0) F(TEXT, release, MAPLE_WIRE_WORD)
#define MAPLE_WIRE_welcome(F) \
	F(U32, version, 0) F(TEXT, release, MAPLE_WIRE_WORD) \
	F(FLAG, is_root, 0) F(TEXT, database, MAPLE_WIRE_LINE) \
	F(U32, cpus, 0) F(U32, leased, 0) F(U32, waiting, 0) \
	F(U32, clients, 0)
#define MAPLE_WIRE_number(F) F(I64, number, 0)
#define MAPLE_WIRE_refused(F) F(U32, error, 0) F(TEXT, text, MAPLE_ERROR_MAX)

#define MAPLE_WIRE_realtime(F) MAPLE_WIRE_NOTHING(F)
#define MAPLE_WIRE_lease(F) F(BYTES, cpus, 1024) F(I64, held, 0)
#define MAPLE_WIRE_queued(F) F(U32, place, 0)
#define MAPLE_WIRE_leased(F) F(U32, cpu, 0)
#define MAPLE_WIRE_give_back(F) MAPLE_WIRE_NOTHING(F)
#define MAPLE_WIRE_job(F) F(FLAG, again, 0)
#define MAPLE_WIRE_target(F) F(U32, processes, 0)
#define MAPLE_WIRE_joined(F) F(BYTES, spared, 4096)
#define MAPLE_WIRE_module(F) \
	F(U32, command, 0) F(I64, session, 0) F(BYTES, attributes, 65536)
#define MAPLE_WIRE_answer(F) \
	F(U32, error, 0) F(TEXT, text, MAPLE_ERROR_MAX) \
	F(BYTES, attributes, 131072)

#define MAPLE_WIRE_campaign(F) \
	F(TEXT, name, MAPLE_WIRE_WORD) F(LIST, argv, 1u << 20) \
	F(TEXT, cwd, MAPLE_WIRE_LINE) F(TEXT, input, MAPLE_WIRE_LINE) \
	F(TEXT, exe, MAPLE_WIRE_LINE) F(TEXT, strategy, MAPLE_WIRE_WORD) \
	F(U64, seed, 0) F(TEXT, version, MAPLE_WIRE_WORD) F(FLAG, apart, 0) \
	F(U64, job, 0) F(U32, job_user, 0) \
	F(TEXT, backend, MAPLE_WIRE_WORD)
#define MAPLE_WIRE_resume(F) \
	F(I64, campaign, 0) F(TEXT, name, MAPLE_WIRE_WORD) F(U64, job, 0) \
	F(U32, job_user, 0)
#define MAPLE_WIRE_end(F) \
	F(I64, campaign, 0) F(TEXT, outcome, MAPLE_WIRE_WORD) \
	F(TEXT, unobserved, MAPLE_WIRE_LINE) F(TEXT, parts, MAPLE_WIRE_LINE)
#define MAPLE_WIRE_program(F) \
	F(I64, campaign, 0) F(TEXT, build_id, MAPLE_WIRE_WORD) \
	F(TEXT, path, MAPLE_WIRE_LINE)
#define MAPLE_WIRE_event(F) \
	F(TEXT, build_id, MAPLE_WIRE_WORD) F(TEXT, image, MAPLE_WIRE_LINE) \
	F(U64, offset, 0) F(FLAG, call, 0) F(U32, kind, 0) \
	F(TEXT, function, MAPLE_WIRE_LINE) F(TEXT, file, MAPLE_WIRE_LINE) \
	F(U32, line, 0) F(TEXT, fingerprint, MAPLE_WIRE_WORD) \
	F(U64, context, 0) F(I64, old, 0)
#define MAPLE_WIRE_lesson(F) \
	F(TEXT, class, MAPLE_CLASS_NAME) F(U32, marks, 0) \
	F(PARTS, events, 1u << 19)
#define MAPLE_WIRE_learn(F) F(I64, program, 0) F(PARTS, lessons, 1u << 20)
#define MAPLE_WIRE_known(F) \
	F(I64, goal, 0) F(FLAG, predicted, 0) F(FLAG, exposed, 0) \
	F(FLAG, broke, 0) \
	F(U32, failed, 0) F(U32, attempts, 0)
#define MAPLE_WIRE_learnt(F) F(PARTS, known, MAPLE_WIRE_MAX)
#define MAPLE_WIRE_mark(F) F(I64, program, 0) F(I64, goal, 0) F(U32, mark, 0)
#define MAPLE_WIRE_run(F) \
	F(I64, campaign, 0) F(TEXT, kind, MAPLE_WIRE_WORD) F(I64, goal, 0) \
	F(TEXT, plan, 1u << 20) F(U64, seed, 0) F(U32, attempt, 0) \
	F(FLAG, flip, 0)
#define MAPLE_WIRE_run_end(F) \
	F(I64, run, 0) F(TEXT, verdict, MAPLE_WIRE_WORD) F(I64, signo, 0) \
	F(I64, status, 0) F(F64, seconds, 0) F(F64, cpu_seconds, 0) \
	F(FLAG, delivered, 0) F(FLAG, exposed, 0) F(FLAG, claimed, 0) \
	F(U32, reason, 0) F(FLAG, rested, 0) \
	F(U32, news, 0)
#define MAPLE_WIRE_sample(F) \
	F(I64, run, 0) F(PARTS, classes, 1u << 14)
#define MAPLE_WIRE_class(F) \
	F(TEXT, name, MAPLE_CLASS_NAME) F(U64, predicted, 0) \
	F(U64, exposed, 0) F(U64, failed, 0) F(U64, left, 0) F(U64, barred, 0)
#define MAPLE_WIRE_store(F) F(I64, campaign, 0) F(TEXT, finding, 2u << 20)
#define MAPLE_WIRE_keep(F) \
	F(I64, campaign, 0) F(TEXT, strategy, MAPLE_WIRE_WORD) \
	F(TEXT, lists, MAPLE_MEMO_CORPUS_TEXT)
#define MAPLE_WIRE_recall(F) \
	F(I64, campaign, 0) F(TEXT, strategy, MAPLE_WIRE_WORD)
#define MAPLE_WIRE_kept(F) F(TEXT, lists, MAPLE_MEMO_CORPUS_TEXT)
#define MAPLE_WIRE_older(F) \
	F(TEXT, build_id, MAPLE_WIRE_WORD) F(TEXT, path, MAPLE_WIRE_LINE)
#define MAPLE_WIRE_print(F) \
	F(I64, site, 0) F(FLAG, call, 0) \
	F(TEXT, fingerprint, MAPLE_WIRE_WORD)
#define MAPLE_WIRE_old(F) \
	F(I64, image, 0) F(FLAG, by_name, 0) F(PARTS, prints, MAPLE_WIRE_MAX)
#define MAPLE_WIRE_carry(F) \
	F(I64, image, 0) F(FLAG, by_name, 0) F(U32, of, 0) \
	F(TEXT, build_id, MAPLE_WIRE_WORD) F(TEXT, path, MAPLE_WIRE_LINE) \
	F(PARTS, found, MAPLE_WIRE_MAX)

#define MAPLE_WIRE_programs(F) MAPLE_WIRE_NOTHING(F)
#define MAPLE_WIRE_info(F) \
	F(I64, id, 0) F(TEXT, build_id, MAPLE_WIRE_WORD) \
	F(TEXT, path, MAPLE_WIRE_LINE) F(TEXT, input, MAPLE_WIRE_LINE) \
	F(U32, campaigns, 0) F(U32, runs, 0) F(U32, findings, 0) \
	F(U64, last_used, 0) F(TEXT, unobserved, MAPLE_WIRE_LINE) \
	F(TEXT, parts, MAPLE_WIRE_LINE) F(PARTS, classes, 1u << 14)
#define MAPLE_WIRE_machines(F) F(FLAG, always, 0)
#define MAPLE_WIRE_machine(F) \
	F(TEXT, name, MAPLE_WIRE_LINE) F(TEXT, cpu, MAPLE_WIRE_LINE) \
	F(TEXT, kernel, MAPLE_WIRE_LINE) F(TEXT, backend, MAPLE_WIRE_LINE) \
	F(U64, campaigns, 0) F(U64, runs, 0) F(U64, news, 0) \
	F(U64, findings, 0) F(U64, last_heard, 0)
#define MAPLE_WIRE_hours(F) MAPLE_WIRE_NOTHING(F)
#define MAPLE_WIRE_hour(F) \
	F(U64, since, 0) F(U64, runs, 0) F(U64, news, 0) F(U64, findings, 0)
#define MAPLE_WIRE_findings(F) F(I64, program, 0) F(FLAG, known, 0)
#define MAPLE_WIRE_load(F) F(TEXT, id, MAPLE_WIRE_WORD) F(I64, owner, 0)
#define MAPLE_WIRE_found(F) \
	F(TEXT, finding, MAPLE_WIRE_MAX) F(U64, found_at, 0) \
	F(U32, times_seen, 0) F(U32, owner, 0)
#define MAPLE_WIRE_samples(F) F(I64, program, 0) F(I64, since, 0)
#define MAPLE_WIRE_coverage(F) F(I64, program, 0)
#define MAPLE_WIRE_success(F) F(I64, program, 0)
#define MAPLE_WIRE_reached(F) F(I64, program, 0)
#define MAPLE_WIRE_counts(F) F(I64, run, 0) F(PARTS, classes, 1u << 14)
#define MAPLE_WIRE_tried(F) \
	F(PARTS, tries, 1u << 15) F(U64, claims, 0) F(U64, refused, 0)
#define MAPLE_WIRE_tries(F) \
	F(TEXT, name, MAPLE_CLASS_NAME) F(U64, attempted, 0) F(U64, forced, 0) \
	F(U64, rested, 0) F(U64, rested_forced, 0) F(PARTS, failures, 256)
#define MAPLE_WIRE_failures(F) F(U32, reason, 0) F(U64, number, 0)
#define MAPLE_WIRE_check(F) MAPLE_WIRE_NOTHING(F)
#define MAPLE_WIRE_dump(F) MAPLE_WIRE_NOTHING(F)
#define MAPLE_WIRE_forget(F) F(I64, program, 0) F(I64, keep, 0)
#define MAPLE_WIRE_forget_finding(F) \
	F(TEXT, id, MAPLE_WIRE_WORD) F(U32, owner, 0)
#define MAPLE_WIRE_forget_all(F) MAPLE_WIRE_NOTHING(F)

/*
 * M(NAME, name, kind, fds, text): fds is how many file descriptors may come
 * with it at most.
 *
 *   ASK    anybody's request, ahead of HELLO as well
 *   USE    a request of who may use the service
 *   ONCE   ... that changes a campaign, and is done once for each serial
 *   ROOT   root's
 *   SAY    mapled's answer
 *   PART   stands in a PARTS
 */
#define MAPLE_WIRE_MESSAGES(M)                                                 \
	M(HELLO, hello, ASK, 1, "who I am; with a pidfd of me -> WELCOME")     \
	M(REALTIME, realtime, USE, 0,                                          \
	  "let me and what I start use real-time priorities -> NUMBER")        \
	M(LEASE, lease, USE, 1,                                                \
	  "a CPU of this set for my targets, or go on holding one, with what " \
	  "keeps it -> QUEUED ..., LEASED")                                    \
	M(GIVE_BACK, give_back, USE, 0, "the CPU is free -> NUMBER")           \
	M(TARGET, target, USE, 2,                                              \
	  "pidfds of what must not outlive me, in place of those before; "     \
	  "none: nothing -> NUMBER")                                           \
	M(JOINED, joined, USE, 1,                                              \
	  "pidfd of a process that runs on without me: then no thread of it "  \
	  "is reset on fork, but for those spared, a u32 each -> NUMBER")      \
	M(MODULE, module, USE, 1,                                              \
	  "a command for maple.ko, with the file that it is about -> ANSWER")  \
	M(CAMPAIGN, campaign, USE, 0, "a campaign begins -> NUMBER, its id")   \
	M(RESUME, resume, USE, 0,                                              \
	  "a campaign goes on over this connection -> NUMBER, its program")    \
	M(END, end, ONCE, 0, "the campaign ends -> NUMBER")                    \
	M(PROGRAM, program, ONCE, 0, "what it tests -> NUMBER, its id")        \
	M(LEARN, learn, USE, 0,                                                \
	  "goals with their marks -> LEARNT, what was known before")           \
	M(MARK, mark, ONCE, 0, "what happened to a goal -> NUMBER")            \
	M(RUN, run, ONCE, 0, "a run begins -> NUMBER, its id")                 \
	M(RUN_END, run_end, ONCE, 0, "a run has ended -> NUMBER")              \
	M(SAMPLE, sample, ONCE, 0, "the coverage after a run -> NUMBER")       \
	M(STORE, store, ONCE, 0, "a finding, as JSON -> NUMBER")               \
	M(KEEP, keep, ONCE, 0,                                                 \
	  "what a strategy goes on with, as JSON, for what was there -> "      \
	  "NUMBER")                                                            \
	M(RECALL, recall, USE, 0, "what I have kept of my program -> KEPT")    \
	M(OLDER, older, USE, 0, "an older build of this image -> OLD")         \
	M(CARRY, carry, ONCE, 0,                                               \
	  "sites of an older build that this one has -> NUMBER, of goals")     \
	M(PROGRAMS, programs, USE, 0, "-> INFO ..., NUMBER")                   \
	M(MACHINES, machines, USE, 0,                                          \
	  "always: also if there is one only -> MACHINE ..., NUMBER")          \
	M(HOURS, hours, USE, 0, "-> HOUR ..., NUMBER")                         \
	M(FINDINGS, findings, USE, 0,                                          \
	  "of a program, or 0; known: of other builds of it, too "             \
	  "-> FOUND ..., NUMBER")                                              \
	M(LOAD, load, USE, 0, "a finding; owner: a uid, -1 anybody's -> FOUND") \
	M(SAMPLES, samples, USE, 0, "-> COUNTS ..., NUMBER")                   \
	M(COVERAGE, coverage, USE, 0, "-> COUNTS")                             \
	M(SUCCESS, success, USE, 0, "-> TRIED")                                \
	M(REACHED, reached, USE, 0,                                            \
	  "what runs of a program have executed, as JSON -> KEPT ..., NUMBER") \
	M(CHECK, check, USE, 0, "the database's integrity -> NUMBER")          \
	M(DUMP, dump, USE, 0, "all of it as JSON -> NUMBER, with a file to read it from; NUMBER")        \
	M(FORGET, forget, USE, 0, "a program, if it is all mine -> NUMBER")    \
	M(FORGET_FINDING, forget_finding, USE, 0, "if it is mine -> NUMBER")   \
	M(FORGET_ALL, forget_all, ROOT, 0, "-> NUMBER")                        \
	M(WELCOME, welcome, SAY, 0, "who is here, and how busy")               \
	M(NUMBER, number, SAY, 1, "done; a number, if one was asked for")      \
	M(REFUSED, refused, SAY, 0, "not done, an errno and why")              \
	M(QUEUED, queued, SAY, 0, "the place in the queue for a CPU")          \
	M(LEASED, leased, SAY, 1, "the CPU, and what keeps it while open")     \
	M(ANSWER, answer, SAY, 0, "maple.ko's")                                \
	M(LEARNT, learnt, SAY, 0, "what was known, in the order of LEARN")     \
	M(KEPT, kept, SAY, 0, "as KEEP had it; nothing: there is none")        \
	M(OLD, old, SAY, 0, "a build and its sites; image 0: there is none")   \
	M(INFO, info, SAY, 0, "a program")                                     \
	M(MACHINE, machine, SAY, 0, "a machine, and what was done there")      \
	M(HOUR, hour, SAY, 0, "an hour, and what was done in it")              \
	M(FOUND, found, SAY, 0, "a finding, as JSON, and the uid of its owner") \
	M(COUNTS, counts, SAY, 0, "a coverage; of a sample, its run")          \
	M(TRIED, tried, SAY, 0, "what the tries of a program came to")         \
	M(EVENT, event, PART, 0, "a site that a goal uses; old: found for it") \
	M(LESSON, lesson, PART, 0, "a goal, a bit for each mark")              \
	M(KNOWN, known, PART, 0, "of a goal")                                  \
	M(CLASS, class, PART, 0, "of goals: how many")                         \
	M(TRIES, tries, PART, 0, "with goals of a class")                      \
	M(FAILURES, failures, PART, 0, "of tries, for this reason")            \
	M(PRINT, print, PART, 0, "a site and its fingerprint")                 \
	M(JOB, job, USE, 0,                                                    \
	  "I am a job, as long as this connection lasts; again: I was one of " \
	  "a mapled before you -> NUMBER")

/* clang-format on */

enum maple_wire_type {
	MAPLE_WIRE_NONE,
#define M(NAME, name, kind, fds, text) MAPLE_WIRE_##NAME,
	MAPLE_WIRE_MESSAGES(M)
#undef M
		MAPLE_WIRE_TYPES
};

enum maple_wire_kind {
	MAPLE_WIRE_ASK,
	MAPLE_WIRE_USE,
	MAPLE_WIRE_ONCE,
	MAPLE_WIRE_ROOT,
	MAPLE_WIRE_SAY,
	MAPLE_WIRE_PART,
};

struct maple_wire_bytes {
	const void *data;
	uint32_t size;
};

#define MAPLE_WIRE_C_U32		    uint32_t
#define MAPLE_WIRE_C_U64		    uint64_t
#define MAPLE_WIRE_C_I64		    int64_t
#define MAPLE_WIRE_C_F64		    double
#define MAPLE_WIRE_C_FLAG		    bool
#define MAPLE_WIRE_C_TEXT		    const char *
#define MAPLE_WIRE_C_LIST		    struct maple_wire_bytes
#define MAPLE_WIRE_C_BYTES		    struct maple_wire_bytes
#define MAPLE_WIRE_C_PARTS		    struct maple_wire_bytes

#define MAPLE_WIRE_MEMBER(kind, name, most) MAPLE_WIRE_C_##kind name;
#define M(NAME, name, kind, fds, text)               \
	struct maple_wire_##name {                   \
		MAPLE_WIRE_##name(MAPLE_WIRE_MEMBER) \
	};
MAPLE_WIRE_MESSAGES(M)
#undef M

union maple_wire_message {
#define M(NAME, name, kind, fds, text) struct maple_wire_##name name;
	MAPLE_WIRE_MESSAGES(M)
#undef M
};

/* Ahead of every message. */
struct maple_wire_head {
	uint32_t size; /* of the message behind it */
	uint16_t type; /* enum maple_wire_type */
	uint16_t fds;  /* that come with it */
	uint32_t serial;
	uint32_t reserved; /* 0 */
};

/* Bytes that grow. Zero-initialised is empty; free with free(data). */
struct maple_wire_buffer {
	unsigned char *data;
	size_t size, room;
};

/* maple_wire_name - "HELLO", ...; NULL when there is no such type */
const char *maple_wire_name(unsigned int type);
/* maple_wire_kind - of a type that there is */
enum maple_wire_kind maple_wire_kind(unsigned int type);
/* maple_wire_fds - how many file descriptors may come with it */
unsigned int maple_wire_fds(unsigned int type);

/* maple_wire_append - -ENOMEM, or 0 */
int maple_wire_append(struct maple_wire_buffer *buffer, const void *data,
		      size_t size);

/*
 * maple_wire_put - appends @message, of @type, as a part
 *
 * Errors: -EMSGSIZE when something is longer than it may be; then the buffer
 * is as it was. -ENOMEM.
 */
int maple_wire_put(struct maple_wire_buffer *buffer, unsigned int type,
		   const void *message, struct maple_error *err);

/* maple_wire_frame - the same, with a head before it */
int maple_wire_frame(struct maple_wire_buffer *buffer, unsigned int type,
		     const void *message, uint32_t serial, unsigned int fds,
		     struct maple_error *err);

/*
 * maple_wire_head_check - whether such a frame may come from a client
 * (@from_client) or from mapled; -EPROTO with what is wrong
 */
int maple_wire_head_check(const struct maple_wire_head *head, bool from_client,
			  struct maple_error *err);

/*
 * maple_wire_get - decodes all of @data into @message, of @type
 *
 * Errors: -EPROTO, with the field that is wrong.
 */
int maple_wire_get(unsigned int type, const void *data, size_t size,
		   void *message, struct maple_error *err);

/*
 * maple_wire_part - the next of @parts, which are of @type, into @message
 *
 * Takes it off @parts. Returns 1, 0 when there is none left, or -EPROTO.
 */
int maple_wire_part(struct maple_wire_bytes *parts, unsigned int type,
		    void *message, struct maple_error *err);

/*
 * maple_wire_words - a LIST as a NULL-terminated array; NULL: out of memory
 *
 * free() it; the words stay in @list. maple_wire_list() is the way back; free
 * the data of what it makes, which is NULL when out of memory.
 */
char **maple_wire_words(const struct maple_wire_bytes *list);
struct maple_wire_bytes maple_wire_list(char *const *words);

/*
 * maple_wire_put_coverage, maple_wire_get_coverage - CLASS parts; what is got
 * is @coverage's to free, unless it fails: -EPROTO, -ENOMEM
 * maple_wire_put_success, maple_wire_get_success - the same of a TRIED; what
 * it points to is @buffer's
 */
int maple_wire_put_coverage(struct maple_wire_buffer *buffer,
			    const struct maple_coverage *coverage,
			    struct maple_error *err);
int maple_wire_get_coverage(struct maple_wire_bytes classes,
			    struct maple_coverage *coverage,
			    struct maple_error *err);
int maple_wire_put_success(struct maple_wire_buffer *buffer,
			   const struct maple_memo_success *success,
			   struct maple_wire_tried *tried,
			   struct maple_error *err);
int maple_wire_get_success(const struct maple_wire_tried *tried,
			   struct maple_memo_success *success,
			   struct maple_error *err);

/* maple_wire_describe - the protocol as text, a message a paragraph */
void maple_wire_describe(FILE *out);

/*
 * maple_wire_send, maple_wire_receive - over a socket, with file descriptors
 *
 * Send: as much of @data as fits; @fds go with its first byte. Receive: what
 * there is, up to @size; file descriptors that came are added to @fds, close
 * on exec, @nfds up to @most; more are closed. Both return how many bytes
 * went, or -errno: -EAGAIN where the socket would block; receive returns 0 at
 * the end of the stream, and -EPROTO when there were too many descriptors.
 */
ssize_t maple_wire_send(int sock, const void *data, size_t size, const int *fds,
			unsigned int nfds);
ssize_t maple_wire_receive(int sock, void *data, size_t size, int *fds,
			   unsigned int *nfds, unsigned int most);

/*
 * maple_wire_process - the number, here, of the process whose pidfd came along;
 * 0: it has ended, is of another pid namespace, or that is no pidfd
 */
pid_t maple_wire_process(int pidfd);

#endif
