/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How much memory a call is about to read: the lengths of its strings, looked
 * at before it does. What is beyond MAPLE_OBSERVE_TEXT bytes is not seen; of
 * what cannot be read, one byte counts.
 */
#ifndef MAPLE_BPF_MEASURE_H
#define MAPLE_BPF_MEASURE_H

#include "session.bpf.h"

#define TEXTS 32 /* calls that are measured at a time; a power of two */

struct text {
	__u32 taken;
	char byte[2][MAPLE_OBSERVE_TEXT];
};

/* Who has one may sleep, and another thread come to the same CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TEXTS);
	__type(key, __u32);
	__type(value, struct text);
} texts SEC(".maps");

struct scan {
	struct text *text;
	__u32 n; /* how many bytes */
	__u32 at;
	__u8 byte, measure;
	__u8 found;
};

static __always_inline __u8 fold(__u8 c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* One byte; nonzero ends the search. */
static long scan_byte(__u32 i, struct scan *s)
{
	__u8 a, b;

	if (i >= s->n || i >= MAPLE_OBSERVE_TEXT)
		return 1;
	a = s->text->byte[0][i];
	switch (s->measure) {
	case MAPLE_MEASURE_CHAR:
	case MAPLE_MEASURE_BYTE:
		s->at = i + 1;
		return a == s->byte;
	case MAPLE_MEASURE_LAST:
		if (a == s->byte)
			s->at = i;
		return 0;
	default:
		b = s->text->byte[1][i];
		if (s->measure == MAPLE_MEASURE_FOLDED) {
			a = fold(a);
			b = fold(b);
		}
		s->at = i + 1;
		return !a || a != b;
	}
}

/* What has not been touched so far is not there yet: have it brought in. */
static __always_inline void touch(__u64 at, __u64 size)
{
	__u8 byte;

	bpf_copy_from_user(&byte, 1, (void *)at);
	if ((at & 4095) + size > 4096)
		bpf_copy_from_user(&byte, 1, (void *)((at | 4095) + 1));
}

/* Bytes up to the end of the string, or @max. */
static __always_inline __u32 extent(char *buf, __u64 at, __u64 max)
{
	long n;

	if (!max)
		return 0;
	if (max > MAPLE_OBSERVE_TEXT)
		max = MAPLE_OBSERVE_TEXT;
	n = bpf_probe_read_user_str(buf, max, (void *)at);
	if (n < 0) {
		touch(at, max);
		n = bpf_probe_read_user_str(buf, max, (void *)at);
	}
	return n > 0 ? n : 1;
}

static __always_inline __u32 scan(struct scan *s)
{
	bpf_loop(MAPLE_OBSERVE_TEXT, scan_byte, s, 0);
	return s->at;
}

/*
 * Two strings: the second is read first, so that what is compared is never
 * longer than either.
 */
static __always_inline __u32 measure_in(struct text *text, __u32 measure,
					__u64 a, __u64 b, __u64 max)
{
	struct scan s = { .text = text, .measure = measure };
	__u32 n;

	switch (measure) {
	case MAPLE_MEASURE_STRING:
		return extent(text->byte[0], a, max);
	case MAPLE_MEASURE_CHAR:
		s.n = extent(text->byte[0], a, max);
		s.byte = b;
		return scan(&s);
	case MAPLE_MEASURE_BYTE:
	case MAPLE_MEASURE_LAST:
		n = max > MAPLE_OBSERVE_TEXT ? MAPLE_OBSERVE_TEXT : max;
		if (n)
			touch(a, n);
		if (!n || bpf_probe_read_user(text->byte[0], n, (void *)a))
			return measure == MAPLE_MEASURE_LAST ? 0 : n;
		s.n = n;
		s.byte = b;
		return scan(&s);
	default:
		s.n = extent(text->byte[1], b, max);
		n = extent(text->byte[0], a, max);
		if (n < s.n)
			s.n = n;
		return scan(&s);
	}
}

static __noinline struct text *take_text(void)
{
	__u32 first = bpf_get_current_pid_tgid(), at;
	struct text *text;

	for (int i = 0; i < TEXTS; i++) {
		at = (first + i) & (TEXTS - 1);
		text = bpf_map_lookup_elem(&texts, &at);
		if (text && !__sync_lock_test_and_set(&text->taken, 1))
			return text;
	}
	return NULL;
}

static __noinline __u32 measure_texts(__u32 measure, __u64 a, __u64 b, __u64 max)
{
	struct text *text = take_text();
	__u32 n;

	if (!text) {
		lose();
		return 1;
	}
	n = measure_in(text, measure, a, b, max);
	__sync_lock_test_and_set(&text->taken, 0);
	return n;
}

/* glibc: the size of a block stands before it, with three flags. */
static __always_inline __u32 block_size(__u64 block)
{
	__u64 size = 0;

	if (!block || bpf_probe_read_user(&size, 8, (void *)(block - 8)))
		return 0;
	size = (size & ~7ull) - (size & 2 ? 16 : 8);
	return size > 0xffffffff ? 0xffffffff : size;
}

static __always_inline void measure(const struct maple_observe_function *f,
				    struct maple_observe_record *r)
{
	const __u64 arg[4] = { r->addr, r->other, r->extra, 0 };
	__u64 max = f->limit == MAPLE_OBSERVE_NO_LIMIT ? ~0ull
		    : f->limit == 1		       ? r->other
						       : r->extra;

	switch (f->measure) {
	case MAPLE_MEASURE_NOTHING:
		break;
	case MAPLE_MEASURE_WORD:
		bpf_probe_read_user(&r->size, 4, (void *)(r->addr + f->peek));
		break;
	case MAPLE_MEASURE_BLOCK:
		r->size = block_size(r->addr);
		break;
	case MAPLE_MEASURE_APPEND:
		r->aux = measure_texts(MAPLE_MEASURE_STRING, r->addr, 0, ~0ull);
		r->size = measure_texts(MAPLE_MEASURE_STRING, r->other, 0, max);
		break;
	case MAPLE_MEASURE_STRING:
		r->size = measure_texts(f->measure, f->text ? arg[1] : arg[0],
					0, max);
		break;
	default:
		r->size = measure_texts(f->measure, r->addr, r->other, max);
	}
}

#endif
