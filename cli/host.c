// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Whether mapled is there, and whether we use it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <maple/observer.h>
#include <maple/wire.h>
#include "cli.h"

/* Where mapled is to be; NULL: it is not wanted. */
static const char *socket_of(const struct maple_settings *settings)
{
	const char *never = getenv("MAPLE_NO_DAEMON");

	if (settings->no_daemon || (!settings->socket && never && *never))
		return NULL;
	return settings->socket ? settings->socket : MAPLE_WIRE_SOCKET;
}

/*
 * maple_host_observer - where the observer's service is to be; NULL: it is not
 * wanted
 */
const char *maple_host_observer(const struct maple_settings *settings)
{
	const char *named = getenv("MAPLE_OBSERVER");

	if (named)
		return *named ? named : NULL;
	return socket_of(settings) ? MAPLE_OBSERVER_SOCKET : NULL;
}

/*
 * maple_host_find - makes settings->campaign.host the mapled that answers
 *
 * Where none does, all is done here, unless --socket asked for it. Returns 0
 * or the exit status, the error said.
 */
int maple_host_find(struct maple_settings *settings)
{
	const char *path = socket_of(settings);
	struct maple_error err = { "" };
	int e;

	if (!path || settings->campaign.host)
		return 0;
	e = maple_host_open(path, &settings->campaign.host, &err);
	if (!e)
		return 0;
	if (!settings->socket && (e == -ENOENT || e == -ECONNREFUSED))
		return 0;
	if (!settings->socket && e == -EACCES) {
		maple_say_notice("%s; going on without it", err.text);
		return 0;
	}
	return maple_say_error(MAPLE_STATUS_FAILED,
			       "%s; --no-daemon goes on without it", err.text);
}

/*
 * maple_host_register - a job begins; mapled, where there is one, may have the
 * user's wait. Returns 0 or the exit status, the error said.
 */
int maple_host_register(struct maple_settings *settings)
{
	struct maple_error err = { "" };

	if (!settings->campaign.host ||
	    !maple_host_job(settings->campaign.host, &err))
		return 0;
	return maple_say_failed(&err);
}

/* maple_host_probe - what doctor says of mapled */
void maple_host_probe(struct maple_settings *settings, struct maple_probe *probe)
{
	const char *path = socket_of(settings);
	const struct maple_host_info *info;
	struct maple_error err = { "" };

	memset(probe, 0, sizeof(*probe));
	probe->name = "mapled";
	probe->state = MAPLE_PROBE_INFO;
	if (!path) {
		snprintf(probe->text, sizeof(probe->text),
			 "not wanted: --no-daemon, or MAPLE_NO_DAEMON");
		return;
	}
	if (maple_host_open(path, &settings->campaign.host, &err)) {
		if (settings->socket)
			probe->state = MAPLE_PROBE_MISSING;
		snprintf(probe->text, sizeof(probe->text),
			 "%.180s; campaigns do without", err.text);
		snprintf(probe->mend, sizeof(probe->mend),
			 "sudo systemctl enable --now mapled.socket");
		return;
	}
	info = maple_host_info(settings->campaign.host);
	probe->state = MAPLE_PROBE_OK;
	snprintf(probe->text, sizeof(probe->text),
		 "answers at %.60s, version %.20s, %u of %u CPUs lent, memo in "
		 "%.80s",
		 path, info->release, info->leased, info->cpus, info->database);
}
