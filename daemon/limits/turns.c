// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who is served next. A turn is one request of one connection, and users have
 * their turns in a circle, whatever number of connections each has: who sends
 * many requests makes another user wait for one of them.
 *
 * That one may be long. Whoever comes while a request of length t is served
 * waits for t/2 on average, so that request stands for t * t / 2 of others'
 * waiting. Each user is debited with that, and pays it off in time such that
 * somebody who comes at any moment waits DELAY_US for him on average. A user
 * may owe CREDIT_US before he has to pause; ordinary campaigns never do. Who
 * is alone owes nothing.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "turns.h"

#define DELAY_US  100
#define CREDIT_US 10000000
#define AROUND_US 2000000 /* who was served in this time is there */

static uint64_t clock_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- the circle ---- */

static void join_circle(struct maple_server *s, struct maple_account *a)
{
	a->next_ready = NULL;
	*(s->last_ready ? &s->last_ready->next_ready : &s->first_ready) = a;
	s->last_ready = a;
}

static void leave_circle(struct maple_server *s, struct maple_account *a)
{
	struct maple_account **at, *last = NULL;

	for (at = &s->first_ready; *at != a; at = &(*at)->next_ready)
		last = *at;
	*at = a->next_ready;
	if (s->last_ready == a)
		s->last_ready = last;
}

/* maple_turns_ask - @client has something to do, when it is its turn */
void maple_turns_ask(struct maple_client *client)
{
	struct maple_account *a = client->account;

	if (client->ready)
		return;
	client->ready = true;
	client->next_ready = NULL;
	if (!a->first)
		join_circle(client->server, a);
	*(a->first ? &a->last->next_ready : &a->first) = client;
	a->last = client;
	sd_event_source_set_enabled(client->server->turn, SD_EVENT_ON);
}

/* maple_turns_leave - @client has nothing to do any more */
void maple_turns_leave(struct maple_client *client)
{
	struct maple_account *a = client->account;
	struct maple_client **at, *last = NULL;

	if (!client->ready)
		return;
	for (at = &a->first; *at != client; at = &(*at)->next_ready)
		last = *at;
	*at = client->next_ready;
	if (a->last == client)
		a->last = last;
	client->ready = false;
	if (!a->first)
		leave_circle(client->server, a);
}

/* ---- what long requests cost ---- */

static void pay(struct maple_account *a, uint64_t now)
{
	uint64_t paid = now - a->paid_at;

	a->owed = a->owed > paid ? a->owed - paid : 0;
	a->paid_at = now;
}

/* maple_turns_settled - whether the user of @account owes nothing */
bool maple_turns_settled(struct maple_account *account)
{
	pay(account, clock_us(CLOCK_MONOTONIC));
	return !account->owed;
}

static bool is_alone(const struct maple_server *s,
		     const struct maple_account *but, uint64_t now)
{
	for (const struct maple_account *a = s->accounts; a; a = a->next)
		if (a != but && now - a->served_at < AROUND_US)
			return false;
	return true;
}

static void charge(const struct maple_server *s, struct maple_account *a,
		   uint64_t us, uint64_t now)
{
	uint64_t cost = us < 1000000 ? us * us / (2 * DELAY_US) : CREDIT_US;

	a->served_at = now;
	pay(a, now);
	if (a->uid && !is_alone(s, a, now))
		a->owed += cost < CREDIT_US ? cost : CREDIT_US;
}

/* The next in the circle who need not pause; else for how long, in @us. */
static struct maple_account *next(struct maple_server *s, uint64_t now,
				  uint64_t *us)
{
	struct maple_account *a;

	*us = CREDIT_US;
	for (a = s->first_ready; a; a = a->next_ready) {
		pay(a, now);
		if (a->owed <= CREDIT_US || is_alone(s, a, now))
			return a;
		if (a->owed - CREDIT_US < *us)
			*us = a->owed - CREDIT_US;
	}
	return NULL;
}

/* ---- turns ---- */

static void take_turn(struct maple_server *s, struct maple_account *a)
{
	uint64_t began = clock_us(CLOCK_THREAD_CPUTIME_ID);
	struct maple_client *client = a->first;
	bool more = client->next_ready;

	maple_turns_leave(client);
	/* Behind the others. */
	if (more) {
		leave_circle(s, a);
		join_circle(s, a);
	}
	maple_client_turn(client);
	charge(s, a, clock_us(CLOCK_THREAD_CPUTIME_ID) - began,
	       clock_us(CLOCK_MONOTONIC));
}

static int on_turn(sd_event_source *source, void *ctx)
{
	struct maple_server *s = ctx;
	uint64_t us, now = clock_us(CLOCK_MONOTONIC);
	struct maple_account *a = next(s, now, &us);

	if (a) {
		take_turn(s, a);
		return 0;
	}
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	if (s->first_ready) {
		sd_event_source_set_time_relative(s->pause, us);
		sd_event_source_set_enabled(s->pause, SD_EVENT_ONESHOT);
	}
	return 0;
}

static int on_pause(sd_event_source *source, uint64_t usec, void *ctx)
{
	const struct maple_server *s = ctx;

	return sd_event_source_set_enabled(s->turn, SD_EVENT_ON);
}

/* maple_turns_init - before the first client */
int maple_turns_init(struct maple_server *server, struct maple_error *err)
{
	int e = sd_event_add_defer(server->event, &server->turn, on_turn,
				   server);

	if (e >= 0)
		e = sd_event_source_set_enabled(server->turn, SD_EVENT_OFF);
	/* Who has come is heard of before the next turn. */
	if (e >= 0)
		e = sd_event_source_set_priority(server->turn,
						 SD_EVENT_PRIORITY_NORMAL + 10);
	if (e >= 0)
		e = sd_event_add_time(server->event, &server->pause,
				      CLOCK_MONOTONIC, 0, 0, on_pause, server);
	if (e >= 0)
		e = sd_event_source_set_enabled(server->pause, SD_EVENT_OFF);
	return e < 0 ? maple_error_set(err, -e, "no turns: %s", strerror(-e))
		     : 0;
}
