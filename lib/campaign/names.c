// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <maple/campaign.h>

/* maple_phase_name - see maple/campaign.h */
const char *maple_phase_name(enum maple_phase phase)
{
	switch (phase) {
	case MAPLE_PHASE_BASELINE:
		return "baseline";
	case MAPLE_PHASE_PROFILE:
		return "profile";
	case MAPLE_PHASE_ENFORCE:
		return "enforce";
	case MAPLE_PHASE_CONTROL:
		return "control";
	case MAPLE_PHASE_CONFIRM:
		return "confirm";
	case MAPLE_PHASE_DONE:
		return "done";
	}
	return "unknown";
}

/* maple_outcome_name - see maple/campaign.h */
const char *maple_outcome_name(enum maple_outcome outcome)
{
	switch (outcome) {
	case MAPLE_CLEAN:
		return "clean";
	case MAPLE_FOUND:
		return "finding";
	case MAPLE_UNDELIVERED:
		return "undelivered";
	}
	return "unknown";
}
