// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memory that short runs write, copied before they do: page by page, when
 * they come to it, that takes as long as all else that they do. A stem notes
 * its ranges, and a spare (stem.c) has copies of its own made of them.
 */
#include <sys/mman.h>
#include "agent/core.h"
#include "agent/raw.h"

#define RANGE_MAX (128 * 1024) /* of larger ones, a run needs little */
#define RANGES	  64
#define STACK	  (16 * 1024) /* that is in use, or soon will be */

static struct {
	uint64_t from, size;
} warm[RANGES];
static unsigned int nwarm;

static uint64_t hex(const char **at)
{
	uint64_t n = 0;

	for (;; ++*at) {
		if (**at >= '0' && **at <= '9')
			n = n << 4 | (**at - '0');
		else if (**at >= 'a' && **at <= 'f')
			n = n << 4 | (**at - 'a' + 10);
		else
			return n;
	}
}

static bool is_at(const char *text, const char *at)
{
	while (*text && *text == *at)
		text++, at++;
	return !*text;
}

/*
 * maple_warm_note - a mapping of this process
 * @line: "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [stack]"
 */
void maple_warm_note(const char *line)
{
	uint64_t from = hex(&line), to;

	to = *line++ == '-' ? hex(&line) : 0;
	if (to <= from || nwarm == RANGES || !is_at(" rw-p", line))
		return;
	while (*line && *line != '[')
		line++;
	if (is_at("[stack]", line) && to - from > STACK)
		from = to - STACK;
	if (to - from > RANGE_MAX)
		return;
	warm[nwarm].from = from;
	warm[nwarm++].size = to - from;
}

/* maple_warm_up - the calling process gets its own pages of all that was noted */
void maple_warm_up(void)
{
	for (unsigned int i = 0; i < nwarm; i++)
		maple_lock_populate(warm[i].from, warm[i].from + warm[i].size);
}
