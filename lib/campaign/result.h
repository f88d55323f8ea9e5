/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_RESULT_H
#define MAPLE_CAMPAIGN_RESULT_H

#include <maple/campaign.h>

int maple_campaign_result_add(struct maple_campaign_result *result,
			      struct maple_campaign_result *later);

#endif
