// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What the watch knows, for people. */
#include <inttypes.h>
#include <maple/report.h>
#include "state.h"

static void print_processes(FILE *out, const struct maple_watch_entry *e,
			    int64_t now)
{
	fprintf(out, "  %u process%s match%s", e->matching,
		e->matching == 1 ? "" : "es", e->matching == 1 ? "es" : "");
	if (e->matching > e->n)
		fprintf(out, ", of which the %u oldest are watched (processes=)",
			e->n);
	if (e->single)
		fprintf(out, "; %u with one thread, which no order can be of",
			e->single);
	if (e->replaced)
		fprintf(out,
			"; %u whose executable was replaced: start it again",
			e->replaced);
	putc('\n', out);
	for (unsigned int i = 0; i < e->n; i++) {
		const struct maple_watch_process *p = &e->process[i];

		fprintf(out, "  process %d: %u stretches", (int)p->is.pid,
			p->stretches);
		if (*p->note) {
			fputs(", the last one failed: ", out);
			maple_report_clean(out, p->note);
			if (p->until > now)
				fprintf(out, "; tried again in %" PRId64 " s",
					p->until - now);
		}
		putc('\n', out);
	}
}

static void print_entry(FILE *out, const struct maple_watch_entry *e,
			int64_t now)
{
	double lived = now > e->since ? (double)(now - e->since) : 1;

	fprintf(out, "watched: %s of %s, %g %% of a CPU, %s\n", e->line.glob,
		e->line.user, e->line.share * 100,
		e->line.force ? "orders are forced" : "observed only");
	fprintf(out,
		"  cost: %.2f s of CPU in %.0f s, %.2f %%; %u stretches, %u of "
		"which failed\n",
		e->spent, lived, e->spent / lived * 100, e->stretches,
		e->failed);
	fprintf(out,
		"  learned: %u runs, %" PRIu64 " iRoots predicted, %" PRIu64
		" exposed, %u finding%s\n",
		e->runs, e->predicted, e->exposed, e->findings,
		e->findings == 1 ? "" : "s");
	print_processes(out, e, now);
	if (e->job.number)
		fprintf(out, "  now: job %" PRIu64 " of %s, process %d\n",
			e->job.number, e->line.user, (int)e->job.process.pid);
	else
		fprintf(out, "  next: in %.0f s\n",
			e->due > (double)now ? e->due - (double)now : 0);
}

void maple_watch_state_print(FILE *out, const struct maple_watch_state *s,
			     int64_t now)
{
	for (unsigned int i = 0; i < s->n; i++)
		print_entry(out, &s->entry[i], now);
}
