/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Any request of mapled's protocol, filled at random from the list of its
 * fields (<maple/wire.h>) and well formed: words and numbers are mostly those
 * of something that is there, of whoever it may be.
 */
#ifndef MAPLE_TESTS_HOSTILE_WIRE_H
#define MAPLE_TESTS_HOSTILE_WIRE_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <maple/wire.h>
#include "draw.h"

#define WIRE_WORDS 64
#define WIRE_PARTS 4

/* What there is in the memo: ids, build-ids, paths. */
static char *wire_words[WIRE_WORDS];
static unsigned int wire_nwords;

static inline void wire_learn(const char *word)
{
	if (word && wire_nwords < WIRE_WORDS)
		wire_words[wire_nwords++] = strdup(word);
}

/* What a message points to; freed when the next one is made. */
static void *wire_held[256];
static unsigned int wire_nheld;

static void *wire_hold(void *data)
{
	if (!data || wire_nheld == sizeof(wire_held) / sizeof(*wire_held))
		abort();
	return wire_held[wire_nheld++] = data;
}

static void wire_forget(void)
{
	while (wire_nheld)
		free(wire_held[--wire_nheld]);
}

static uint64_t wire_number(void)
{
	static const uint64_t odd[] = { 0,	    1,		2,
					0x7fffffff, 0x80000000, 0xffffffff,
					~0ull,	    1ull << 63 };

	return chance(4) ? odd[draw(sizeof(odd) / sizeof(*odd))] : draw(40);
}

/* A finding, of an id and a place that others' may have. */
static const char *wire_finding(const char *id)
{
	char *text = wire_hold(malloc(1024));

	snprintf(text, 1024,
		 "{\"id\": \"%.64s\", \"kind\": \"signal\", \"title\": "
		 "\"SIGSEGV in %d\", \"signo\": 11, \"argv\": [\"/bin/sh\", "
		 "\"-c\", \"id >/tmp/was_run\"], \"cwd\": \"/\", \"replay\": "
		 "\"mapletest replay x; id\", \"backend\": \"agent\"}",
		 id, (int)draw(1000));
	return text;
}

/* A class, mostly one that there is, and that others have. */
static const char *wire_class(void)
{
	static const char *const classes[] = { "idiom 1",  "idiom 2",
					       "deadlock", "pattern 4",
					       "mine",	   "No name" };

	return classes[draw(sizeof(classes) / sizeof(*classes))];
}

static const char *wire_text(const char *field, size_t most)
{
	static const char *const mine[] = { "",	     "mine",   "mine-as-well",
					    "clean", "signal", "/bin/sh" };
	const char *word = mine[draw(sizeof(mine) / sizeof(*mine))];

	if (wire_nwords && !chance(3))
		word = wire_words[draw(wire_nwords)];
	if (!strcmp(field, "class") ||
	    (!strcmp(field, "name") && most == MAPLE_CLASS_NAME))
		return wire_class();
	if (!strcmp(field, "finding"))
		return chance(20) ? word : wire_finding(*word ? word : "mine");
	/* a campaign's own, which is to be hard to guess */
	if (!strcmp(field, "name") && !chance(4)) {
		char *name = wire_hold(malloc(40));

		snprintf(name, 40, "%032llx",
			 (unsigned long long)draw(1u << 30));
		return name;
	}
	if (chance(30)) { /* as long as may be */
		char *text = wire_hold(malloc(most));

		memset(text, 'x', most - 1);
		text[most - 1] = '\0';
		return text;
	}
	return chance(10) || strlen(word) >= most ? NULL : word;
}

static struct maple_wire_bytes wire_list(void)
{
	static char *words[] = { "/bin/true", "-x", NULL };
	struct maple_wire_bytes list = maple_wire_list(words);

	wire_hold((void *)list.data);
	return list;
}

static struct maple_wire_bytes wire_bytes(const char *field, size_t most)
{
	size_t size = draw(300);
	unsigned char *data;

	if (!strcmp(field, "cpus") && !chance(10))
		size = sizeof(cpu_set_t);
	if (size > most)
		size = most;
	data = wire_hold(calloc(1, size + 1));
	for (size_t i = 0; i < size; i += 1 + draw(16))
		data[i] = chance(3) ? 0xff : (unsigned char)draw(256);
	return (struct maple_wire_bytes){ data, (uint32_t)size };
}

static void wire_fill(unsigned int type, union maple_wire_message *message);

static struct maple_wire_bytes wire_parts(const char *field)
{
	static const struct {
		const char *field;
		unsigned int type;
	} of[] = { { "lessons", MAPLE_WIRE_LESSON },
		   { "events", MAPLE_WIRE_EVENT },
		   { "prints", MAPLE_WIRE_PRINT },
		   { "found", MAPLE_WIRE_EVENT },
		   { "known", MAPLE_WIRE_KNOWN },
		   { "classes", MAPLE_WIRE_CLASS },
		   { "tries", MAPLE_WIRE_TRIES },
		   { "failures", MAPLE_WIRE_FAILURES } };
	struct maple_wire_buffer parts = { 0 };
	union maple_wire_message message;

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		for (unsigned int n = (unsigned int)draw(WIRE_PARTS);
		     !strcmp(field, of[i].field) && n; n--) {
			wire_fill(of[i].type, &message);
			maple_wire_put(&parts, of[i].type, &message, NULL);
		}
	if (parts.data)
		wire_hold(parts.data);
	return (struct maple_wire_bytes){ parts.data, (uint32_t)parts.size };
}

#define WIRE_FILL_U32(name, most)   m->name = (uint32_t)wire_number();
#define WIRE_FILL_U64(name, most)   m->name = wire_number();
#define WIRE_FILL_I64(name, most)   m->name = (int64_t)wire_number();
#define WIRE_FILL_F64(name, most)   m->name = (double)wire_number();
#define WIRE_FILL_FLAG(name, most)  m->name = chance(2);
#define WIRE_FILL_TEXT(name, most)  m->name = wire_text(#name, most);
#define WIRE_FILL_LIST(name, most)  m->name = wire_list();
#define WIRE_FILL_BYTES(name, most) m->name = wire_bytes(#name, most);
#define WIRE_FILL_PARTS(name, most) m->name = wire_parts(#name);
#define WIRE_FILL(kind, name, most) WIRE_FILL_##kind(name, most)

/* A function for each message. */
#define M(NAME, name, kind, fds, text)                            \
	static void wire_fill_##name(struct maple_wire_##name *m) \
	{                                                         \
		(void)m;                                          \
		MAPLE_WIRE_##name(WIRE_FILL)                      \
	}
MAPLE_WIRE_MESSAGES(M)
#undef M

static void wire_fill(unsigned int type, union maple_wire_message *message)
{
	memset(message, 0, sizeof(*message));
	switch (type) {
#define M(NAME, name, kind, fds, text)            \
	case MAPLE_WIRE_##NAME:                   \
		wire_fill_##name(&message->name); \
		break;
		MAPLE_WIRE_MESSAGES(M)
#undef M
	}
}

/* A request, its type drawn; valid until the next. */
static inline unsigned int wire_request(union maple_wire_message *message)
{
	enum maple_wire_kind kind;
	unsigned int type;

	wire_forget();
	do {
		type = 1 + (unsigned int)draw(MAPLE_WIRE_TYPES - 1);
		kind = maple_wire_kind(type);
	} while (kind == MAPLE_WIRE_SAY || kind == MAPLE_WIRE_PART);
	wire_fill(type, message);
	return type;
}

#endif
