// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The decoder, both ways: bytes as the message that their first one names,
 * with all parts in it; what can be read is written and is the same. And the
 * bytes as what a client hears from a mapled gone mad, unasked, and in answer
 * to each question; the head of an answer has the question's number.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "host/host.h"

static void parts(struct maple_wire_bytes list, unsigned int type);

/* What can be read is put as it was, up to classes that are said twice. */
static void counts(struct maple_wire_bytes classes)
{
	struct maple_wire_buffer again = { 0 };
	struct maple_coverage coverage;
	struct maple_error err;

	if (maple_wire_get_coverage(classes, &coverage, &err))
		return;
	assert(coverage.nclasses <= MAPLE_CLASSES);
	assert(!maple_wire_put_coverage(&again, &coverage, &err));
	assert(again.size <= classes.size);
	free(again.data);
	maple_coverage_deinit(&coverage);
}

static void tries(const struct maple_wire_tried *tried)
{
	struct maple_wire_buffer again = { 0 };
	struct maple_memo_success success;
	struct maple_wire_tried same;
	struct maple_error err;

	if (maple_wire_get_success(tried, &success, &err))
		return;
	assert(!maple_wire_put_success(&again, &success, &same, &err));
	assert(same.tries.size <= tried->tries.size &&
	       same.claims == tried->claims);
	free(again.data);
	maple_memo_success_deinit(&success);
}

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
	case MAPLE_WIRE_SAMPLE:
		counts(m->sample.classes);
		break;
	case MAPLE_WIRE_INFO:
		counts(m->info.classes);
		break;
	case MAPLE_WIRE_COUNTS:
		counts(m->counts.classes);
		break;
	case MAPLE_WIRE_TRIED:
		tries(&m->tried);
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

/* What mapled says, and then no more; @pair[1] is its end. */
static void say(uint8_t *data, size_t size, bool numbered, int pair[2])
{
	struct maple_wire_head head;

	for (size_t at = 0; numbered && size - at >= sizeof(head);
	     at += sizeof(head) + head.size) {
		memcpy(&head, data + at, sizeof(head));
		head.serial = 1;
		memcpy(data + at, &head, sizeof(head));
		if (head.size > size - at - sizeof(head))
			break;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    write(pair[1], data, size) != (ssize_t)size)
		abort();
	shutdown(pair[1], SHUT_WR);
}

static void ask(struct maple_host *host, unsigned int question)
{
	struct maple_memo_program_info *programs = NULL;
	struct maple_memo_sample *samples = NULL;
	struct maple_memo_lesson lesson = { 0 };
	struct maple_coverage coverage;
	struct maple_memo_success success;
	struct maple_error err = { "" };
	struct maple_memo_old old;
	size_t n = 0;
	int cpu;

	switch (question) {
	case 0:
		if (!maple_host_coverage(host, 1, &coverage, &err))
			maple_coverage_deinit(&coverage);
		break;
	case 1:
		if (!maple_host_success(host, 1, &success, &err))
			maple_memo_success_deinit(&success);
		break;
	case 2:
		if (!maple_host_samples(host, 1, 0, &samples, &n, &err))
			maple_memo_samples_destroy(samples, n);
		break;
	case 3:
		if (!maple_host_programs(host, &programs, &n, &err))
			maple_memo_programs_destroy(programs, n);
		break;
	case 4:
		if (!maple_host_older(host, "aa", "/bin/prog", &old, &err))
			maple_memo_old_deinit(&old);
		break;
	case 5:
		maple_host_learn(host, 1, &lesson, 1, &err);
		break;
	case 6:
		maple_host_check(host, &err);
		break;
	default:
		if (!maple_host_lease(host, &(cpu_set_t){ 0 }, NULL, &cpu, &err))
			maple_host_give_back(host);
	}
}

/* A name that is too long for a socket: nobody is waited for there. */
static char nowhere[256];

static void hear(const uint8_t *data, size_t size)
{
	struct maple_host host = { .path = nowhere, .lock = -1, .cpu = -1 };
	struct maple_host_answer answer;
	struct maple_error err;
	unsigned int question;
	uint8_t *copy;
	int pair[2];

	/* What fits into a socket, so that nobody has to read meanwhile. */
	if (size < 1 || size > 100000)
		return;
	memset(nowhere, 'x', sizeof(nowhere) - 1);
	question = *data % 9;
	copy = malloc(size);
	memcpy(copy, data + 1, size - 1);
	say(copy, size - 1, question < 8, pair);
	free(copy);
	host.sock = pair[0];
	if (question < 8)
		ask(&host, question);
	while (!maple_host_receive(&host, 1000, &answer, &err)) {
		look_into(answer.head.type, &answer.message);
		if (answer.fd >= 0)
			close(answer.fd);
	}
	assert(host.sock == -1);
	close(pair[1]);
	free(host.in.data);
	free(host.out.data);
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
