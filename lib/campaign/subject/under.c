// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Replays under a debugger: what gdb is to do before anything that its user
 * has for it. It takes hold of the program before main(), and stops it in the
 * agent's two functions for that (agent/control/debugged.c), with the frame
 * selected that the user has written.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/bytes.h"
#include "campaign/internal.h"
#include "campaign/story/story.h"

/* "switches" is a list in JSON, which is Python as well: see write_switch(). */
static const char script[] =
	"import gdb, os, signal\n"
	"told = [at for at, switch in enumerate(switches) if switch]\n"
	"made = set()\n"
	"\n"
	"# Of the agent, or of the C library that called it or is called by it.\n"
	"def is_inner(frame):\n"
	"    library = os.path.basename(gdb.solib_name(frame.pc()) or '')\n"
	"    return frame.type() == gdb.SIGTRAMP_FRAME or library.startswith(\n"
	"        ('libmaple-agent.', 'libc.', 'ld-linux'))\n"
	"\n"
	"def select_frame():\n"
	"    frame = newest = gdb.newest_frame()\n"
	"    while frame and is_inner(frame):\n"
	"        frame = frame.older()\n"
	"    (frame or newest).select()\n"
	"\n"
	"# Selects the thread, and says where it is.\n"
	"def find(name, tid):\n"
	"    for thread in gdb.selected_inferior().threads():\n"
	"        if tid and thread.ptid[1] == tid:\n"
	"            thread.name = name\n"
	"            thread.switch()\n"
	"            select_frame()\n"
	"            frame = gdb.selected_frame()\n"
	"            at = frame.find_sal()\n"
	"            where = '%s:%d ' % (os.path.basename(at.symtab.filename),\n"
	"                                at.line) if at.symtab else ''\n"
	"            return '  %s is thread %d, at %s%s' % (\n"
	"                name, thread.num, where, frame.name() or 'somewhere')\n"
	"    return '  %s has ended' % name\n"
	"\n"
	"class Stop(gdb.Breakpoint):\n"
	"    def __init__(self, function, command):\n"
	"        super().__init__('*' + function, internal=True)\n"
	"        self.silent = True\n"
	"        self.commands = 'python ' + command\n"
	"\n"
	"def register(name):\n"
	"    return int(gdb.parse_and_eval('(int)$' + name))\n"
	"\n"
	"def at_switch():\n"
	"    at, leaves, goes_on = map(register, ('rdi', 'rsi', 'rdx'))\n"
	"    text, leaving, going = switches[at]\n"
	"    made.add(at)\n"
	"    # Who leaves comes last, so that it stays selected; unless it ended.\n"
	"    where = [find(going, goes_on)] if going != leaving else []\n"
	"    where.insert(0, find(leaving, leaves))\n"
	"    print('\\nswitch %d of %d: %s' % (told.index(at) + 1, len(told), text))\n"
	"    print('\\n'.join(where))\n"
	"    gdb.execute('frame')\n"
	"\n"
	"def at_failure():\n"
	"    number = register('rdi')\n"
	"    print('\\nthe program fails: signal %d (%s)' %\n"
	"          (number, signal.Signals(number).name))\n"
	"    for at in told:\n"
	"        if at not in made:\n"
	"            print('  switch %d was not come to: that threads stop at '\n"
	"                  'its place was enough' % (told.index(at) + 1))\n"
	"    select_frame()\n"
	"    gdb.execute('frame')\n"
	"\n"
	"# A fault may be the agent's own, or in moved code: that it tells apart.\n"
	"gdb.execute('handle SIGSEGV SIGBUS SIGFPE SIGILL SIGABRT SIGSYS '\n"
	"            'nostop noprint pass', to_string=True)\n"
	"gdb.execute('with suppress-cli-notifications on -- attach '\n"
	"            + os.environ['MAPLE_PID'])\n"
	"Stop('maple_debugged_switch', 'at_switch()')\n"
	"Stop('maple_debugged_failure', 'at_failure()')\n"
	"gdb.execute('continue')\n";

/* The sentence, who leaves, who goes on; of what is no choice, nothing. */
static json_t *write_switch(struct maple_campaign *c,
			    const struct maple_switches *list, uint32_t at)
{
	const struct maple_policy_switch *s = &list->entry[at];
	json_t *object = json_array();
	char *text;

	if (!maple_switches_chose(s))
		return object;
	text = maple_story_switch(c, list, at);
	json_array_append_new(object, maple_bytes_encode(text ? text : ""));
	json_array_append_new(object, json_string(list->name[s->thread].text));
	json_array_append_new(object, json_string(list->name[s->next].text));
	free(text);
	return object;
}

static int write_script(struct maple_campaign *c,
			const struct maple_switches *list)
{
	int fd = memfd_create("maple-gdb", MFD_CLOEXEC);
	json_t *switches = json_array();
	char *text;

	for (uint32_t i = 0; i < list->n; i++)
		json_array_append_new(switches, write_switch(c, list, i));
	text = json_dumps(switches, JSON_ENSURE_ASCII);
	if (fd >= 0 && (!text || dprintf(fd, "python\nswitches = %s\n%send\n",
					 text, script) < 0)) {
		close(fd);
		fd = -1;
	}
	free(text);
	json_decref(switches);
	return fd;
}

/*
 * maple_under_begin - the debugger of @trial's run, to be ended with
 * maple_under_end() if this returned 0
 */
int maple_under_begin(struct maple_campaign *c, const struct maple_trial *trial,
		      struct maple_run_debugger *debugger)
{
	*debugger = (struct maple_run_debugger){
		.command = c->options->under,
		.script = write_script(c, &trial->job.switches),
		.notice = maple_lane_notice,
		.ctx = c->lanes.turn,
	};
	return debugger->script < 0
		       ? maple_error_set(c->err, ENOMEM, "no file for gdb")
		       : 0;
}

/* maple_under_end - gives back what the debugger was given */
void maple_under_end(struct maple_run_debugger *debugger)
{
	close(debugger->script);
}

/* maple_under_check - whether @order can be replayed under a debugger */
int maple_under_check(struct maple_campaign *c, const struct maple_trial *order)
{
	if (order->job.kind != MAPLE_RUN_CONTROL)
		return maple_error_set(
			c->err, ENOTSUP,
			"this finding has no switches to stop at: it came up in "
			"%s run; to find it by switches, mapletest run "
			"--strategy pos",
			order->job.kind == MAPLE_RUN_ENFORCE ? "an enforced"
							     : "a profile");
	if (!order->job.switches.nnames)
		return maple_error_set(c->err, ENOTSUP,
				       "the schedule of this finding was too "
				       "long to be kept: it has no switches to "
				       "stop at");
	for (uint32_t i = 0; i < order->job.switches.n; i++) {
		if (maple_registry_is_variable(
			    c->registry, order->job.switches.entry[i].site))
			return maple_error_set(
				c->err, ENOTSUP,
				"this finding has a switch within code that "
				"has no sites, which a watchpoint of maple's "
				"stops, and a debugger takes its traps: "
				"replay it without --under");
	}
	return 0;
}
