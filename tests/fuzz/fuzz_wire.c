// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The decoder, both ways: bytes as the message that their first one names,
 * with all parts in it; what can be read is written and is the same. And the
 * bytes as what a client hears from a mapled gone mad.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "host/host.h"

static void parts(struct maple_wire_bytes list, unsigned int type);

static void look_into(unsigned int type, const union maple_wire_message *m)
{
	char **words;

	switch (type) {
	case MAPLE_WIRE_CAMPAIGN:
		words = maple_wire_words(&m->campaign.argv);
		for (char **w = words; w && *w; w++)
			assert(strlen(*w) < m->campaign.argv.size);
		free(words);
		break;
	case MAPLE_WIRE_LEARN:
		parts(m->learn.lessons, MAPLE_WIRE_LESSON);
		break;
	case MAPLE_WIRE_LESSON:
		parts(m->lesson.events, MAPLE_WIRE_EVENT);
		break;
	case MAPLE_WIRE_LEARNT:
		parts(m->learnt.known, MAPLE_WIRE_KNOWN);
		break;
	case MAPLE_WIRE_OLD:
		parts(m->old.prints, MAPLE_WIRE_PRINT);
		break;
	case MAPLE_WIRE_CARRY:
		parts(m->carry.found, MAPLE_WIRE_EVENT);
		break;
	}
}

static void parts(struct maple_wire_bytes list, unsigned int type)
{
	union maple_wire_message message;
	struct maple_error err;

	while (maple_wire_part(&list, type, &message, &err) > 0)
		look_into(type, &message);
}

static void decode(unsigned int type, const uint8_t *data, size_t size)
{
	struct maple_wire_buffer again = { 0 };
	union maple_wire_message message;
	struct maple_error err = { "" };

	if (maple_wire_get(type, data, size, &message, &err)) {
		assert(*err.text);
		return;
	}
	look_into(type, &message);
	assert(!maple_wire_put(&again, type, &message, &err));
	assert(again.size == size && (!size || !memcmp(again.data, data, size)));
	free(again.data);
}

static void hear(const uint8_t *data, size_t size)
{
	struct maple_host host = { .path = "fuzz", .lock = -1 };
	struct maple_host_answer answer;
	struct maple_error err;
	int pair[2];

	/* What fits into a socket, so that nobody has to read meanwhile. */
	if (size > 100000 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return;
	if (write(pair[1], data, size) != (ssize_t)size)
		abort();
	close(pair[1]);
	host.sock = pair[0];
	while (!maple_host_receive(&host, 1000, &answer, &err))
		look_into(answer.head.type, &answer.message);
	assert(host.sock == -1);
	free(host.in.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (*data && *data < MAPLE_WIRE_TYPES)
		decode(*data, data + 1, size - 1);
	else
		hear(data + 1, size - 1);
	return 0;
}
