// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Signals that reach us while a campaign lasts. They are meant for the
 * program under test as much as for us: it gets each of them, and those that
 * ask to end also end the campaign, a second later, so that the program can
 * close what it has open.
 */
#include <assert.h>
#include <signal.h>
#include <string.h>
#include "base/clock.h"
#include "interrupt.h"

#define GRACE	 1.0 /* seconds that the program has to end by itself */

#define NSIGNALS MAPLE_INTERRUPTS

static const int signals[NSIGNALS] = { SIGINT,	SIGTERM, SIGHUP,  SIGQUIT,
				       SIGUSR1, SIGUSR2, SIGWINCH };

static struct sigaction before[NSIGNALS];
static unsigned int arrived[NSIGNALS], stop;
static double stop_at; /* written before stop */

static void on_signal(int signo)
{
	unsigned int i;

	for (i = 0; i < NSIGNALS; i++)
		if (signals[i] == signo)
			__atomic_fetch_add(&arrived[i], 1, __ATOMIC_RELAXED);
	if (signo != SIGINT && signo != SIGTERM && signo != SIGHUP &&
	    signo != SIGQUIT)
		return;
	if (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		stop_at = maple_clock_now() + GRACE;
	__atomic_fetch_add(&stop, 1, __ATOMIC_RELEASE);
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
		arrived[i] = 0;
		sigaction(signals[i], &action, &before[i]);
		if (before[i].sa_handler == SIG_IGN)
			sigaction(signals[i], &before[i], NULL);
	}
}

/* maple_interrupt_leave_keys - what is typed is for a debugger, as in system() */
void maple_interrupt_leave_keys(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

/* maple_interrupt_end - puts back what was there */
void maple_interrupt_end(void)
{
	unsigned int i;

	for (i = 0; i < NSIGNALS; i++)
		sigaction(signals[i], &before[i], NULL);
}

/* maple_interrupt_forward - passes on to @pid what has not been @passed yet */
void maple_interrupt_forward(struct maple_interrupts *passed, pid_t pid)
{
	unsigned int i, n;

	for (i = 0; i < NSIGNALS; i++) {
		n = __atomic_load_n(&arrived[i], __ATOMIC_RELAXED);
		assert(n >= passed->n[i]); /* none but ours was passed on */
		if (n != passed->n[i])
			kill(pid, signals[i]);
		passed->n[i] = n;
	}
}

/* maple_interrupt_asked - whether somebody wants us to end */
bool maple_interrupt_asked(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

/* maple_interrupt_stops - whether it is time to end: asked twice, or late */
bool maple_interrupt_stops(void)
{
	unsigned int n = __atomic_load_n(&stop, __ATOMIC_ACQUIRE);

	return n > 1 || (n && maple_clock_now() > stop_at);
}
