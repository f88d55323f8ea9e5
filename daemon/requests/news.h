/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLED_NEWS_H
#define MAPLED_NEWS_H

#include <stddef.h>
#include <stdint.h>

struct maple_client;
struct maple_finding;
struct maple_memo_lesson;

/* What a campaign has come to, since it began or was taken up. */
struct maple_news_count {
	uint64_t predicted, exposed; /* orders that were new */
	uint64_t told;		     /* ... of these, in a line already */
	uint64_t at;		     /* when that was, microseconds */
};

void maple_news_begin(struct maple_client *client, const char *program,
		      const char *strategy);
void maple_news_learnt(struct maple_client *client,
		       const struct maple_memo_lesson *lessons, size_t n);
void maple_news_finding(struct maple_client *client,
			const struct maple_finding *finding);
void maple_news_end(struct maple_client *client, const char *outcome);

#endif
