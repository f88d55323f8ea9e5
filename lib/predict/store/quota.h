/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_QUOTA_H
#define MAPLE_PREDICT_QUOTA_H

#include <stdint.h>

#define MAPLE_QUOTA_COUNT 0xffull /* of a quota; the rest is its key */

/* How often each of many small keys came, up to 255 times. */
struct maple_quotas {
	uint32_t n, room;
	uint64_t *slot; /* key and count; 0: free */
};

uint64_t *maple_quotas_at(struct maple_quotas *quotas, uint64_t key);
void maple_quotas_load(const struct maple_quotas *quotas, uint64_t key);
void maple_quotas_clear(struct maple_quotas *quotas);
void maple_quotas_deinit(struct maple_quotas *quotas);

#endif
