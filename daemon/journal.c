// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What mapled has to say: to the journal with fields to filter by, or, where
 * it was started by hand, to stderr.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <systemd/sd-journal.h>
#include <maple/report.h>
#include "client.h"
#include "journal.h"

/* maple_journal - one line, about @client or nobody */
void maple_journal(int priority, const struct maple_client *client,
		   const char *fmt, ...)
{
	struct timespec now;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!getenv("JOURNAL_STREAM")) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		fprintf(stderr, "[%5lld.%06ld] mapled: ", (long long)now.tv_sec,
			now.tv_nsec / 1000);
		maple_report_clean(stderr, text);
		putc('\n', stderr);
		return;
	}
	if (client)
		sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", priority,
				"MAPLE_CLIENT_PID=%d", (int)client->peer.pid,
				"MAPLE_CLIENT_UID=%d", (int)client->peer.uid,
				"MAPLE_CAMPAIGN=%lld",
				(long long)client->campaign, "MAPLE_CPU=%d",
				client->lease.cpu, NULL);
	else
		sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", priority,
				NULL);
}
