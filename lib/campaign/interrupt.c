// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Signals that reach us while a campaign lasts. They are meant for the
 * program under test as much as for us: it gets each of them, and those that
 * ask to end also end the campaign, a second later, so that the program can
 * close what it has open.
 */
#include <signal.h>
#include <string.h>
#include "../clock.h"
#include "interrupt.h"

#define GRACE 1.0 /* seconds that the program has to end by itself */

static const int signals[] = { SIGINT,	SIGTERM, SIGHUP,  SIGQUIT,
			       SIGUSR1, SIGUSR2, SIGWINCH };
#define NSIGNALS (sizeof(signals) / sizeof(signals[0]))

static struct sigaction before[NSIGNALS];
static volatile sig_atomic_t pending[NSIGNALS], stop;
static double stop_at;

static void on_signal(int signo)
{
	unsigned int i;

	for (i = 0; i < NSIGNALS; i++)
		if (signals[i] == signo)
			pending[i] = 1;
	if (signo == SIGINT || signo == SIGTERM || signo == SIGHUP ||
	    signo == SIGQUIT)
		stop++;
}

/* maple_interrupt_begin - from here on signals are ours */
void maple_interrupt_begin(void)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_RESTART };
	unsigned int i;

	stop = 0;
	stop_at = 0;
	for (i = 0; i < NSIGNALS; i++) {
		pending[i] = 0;
		sigaction(signals[i], &action, &before[i]);
		if (before[i].sa_handler == SIG_IGN)
			sigaction(signals[i], &before[i], NULL);
	}
}

/* maple_interrupt_end - puts back what was there */
void maple_interrupt_end(void)
{
	unsigned int i;

	for (i = 0; i < NSIGNALS; i++)
		sigaction(signals[i], &before[i], NULL);
}

/* maple_interrupt_forward - passes what has arrived on to @pid */
void maple_interrupt_forward(pid_t pid)
{
	unsigned int i;

	for (i = 0; i < NSIGNALS; i++)
		if (pending[i]) {
			pending[i] = 0;
			kill(pid, signals[i]);
		}
}

/* maple_interrupt_asked - whether somebody wants us to end */
bool maple_interrupt_asked(void)
{
	return stop;
}

/* maple_interrupt_stops - whether it is time to end: asked twice, or late */
bool maple_interrupt_stops(void)
{
	if (!stop)
		return false;
	if (stop_at == 0)
		stop_at = maple_clock_now() + GRACE;
	return stop > 1 || maple_clock_now() > stop_at;
}
