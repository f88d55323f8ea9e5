// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Progress: one live line on a terminal, cut to what fits; elsewhere a line
 * every ten seconds and at each change of phase's end.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include "cli.h"

#define EVERY	   10.0 /* seconds between lines where there is no terminal */
#define LIVE_EVERY 0.2

void maple_live_init(struct maple_live *live, FILE *out)
{
	*live = (struct maple_live){ .out = out,
				     .live = out && maple_out_live(out) };
}

/* Adds a field if all of it fits; fields come in order of importance. */
__attribute__((format(printf, 3, 4))) static void add(char *line, size_t room,
						      const char *fmt, ...)
{
	size_t used = strlen(line);
	char field[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(field, sizeof(field), fmt, ap);
	va_end(ap);
	if (used + (used ? 2 : 0) + strlen(field) < room)
		sprintf(line + used, "%s%s", used ? ", " : "", field);
}

static void add_time_left(char *line, size_t room, double seconds)
{
	unsigned int s = (unsigned int)seconds;

	if (seconds < 0)
		return;
	if (s >= 3600)
		add(line, room, "%uh%02um to go", s / 3600, s / 60 % 60);
	else if (s >= 60)
		add(line, room, "%um%02us to go", s / 60, s % 60);
	else
		add(line, room, "%us to go", s);
}

static void compose(char *line, size_t room, const char *about,
		    const struct maple_progress *p)
{
	struct maple_class_count all = maple_coverage_sum(&p->coverage);
	const struct maple_runs *r = &p->runs;
	unsigned int runs = r->baseline + maple_runs_made(r) + r->confirm;

	*line = 0;
	if (about)
		add(line, room, "%.60s", about);
	add(line, room, "%s", maple_phase_name(p->phase));
	add(line, room, "%u run%s", runs, runs == 1 ? "" : "s");
	add(line, room, "%u finding%s", p->findings,
	    p->findings == 1 ? "" : "s");
	add(line, room, "%" PRIu64 " left", p->candidates);
	add_time_left(line, room, p->seconds_left);
	if (runs && p->seconds > 0)
		add(line, room, "%.1f runs/s", runs / p->seconds);
	if (all.predicted || all.exposed)
		add(line, room, "%" PRIu64 " of %" PRIu64 " exposed",
		    all.exposed, all.predicted);
}

/* maple_live_about - a campaign on @about begins; not owned */
void maple_live_about(struct maple_live *live, const char *about)
{
	live->about = about;
	live->last = 0;
}

void maple_live_show(struct maple_live *live, const struct maple_progress *p)
{
	char line[256];
	size_t room = sizeof(line);

	if (!live->out || p->phase == MAPLE_PHASE_DONE)
		return;
	if (p->seconds - live->last < (live->live ? LIVE_EVERY : EVERY))
		return;
	live->last = p->seconds;
	if (live->live && maple_out_columns(live->out) < room)
		room = maple_out_columns(live->out);
	compose(line, room, live->about, p);
	fputs(live->live ? "\r" : "mapletest: ", live->out);
	maple_report_clean(live->out, line);
	fputs(live->live ? "\033[K" : "\n", live->out);
	fflush(live->out);
	live->shown = true;
}

/* maple_live_clear - makes room for something that stays */
void maple_live_clear(struct maple_live *live)
{
	if (live->out && live->live && live->shown)
		fputs("\r\033[K", live->out);
	live->shown = false;
}
