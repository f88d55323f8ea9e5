/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The service as a whole: what all clients share. */
#ifndef MAPLE_DAEMON_SERVER_H
#define MAPLE_DAEMON_SERVER_H

#include <stdint.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <maple/memo.h>
#include "settings.h"
#include "limits/talk.h"

struct maple_client;
struct maple_leftover;
struct maple_account;

struct maple_server {
	struct maple_daemon_settings settings;
	sd_event *event;
	struct maple_memo *memo;
	struct maple_client *clients; /* in order of coming, newest first */
	unsigned int nclients;
	struct maple_account *accounts;			/* of their users */
	struct maple_account *first_ready, *last_ready; /* turns.c */
	sd_event_source *turn, *pause;
	sd_event_source *aside;		   /* what was done aside comes back */
	struct maple_client *first, *last; /* who waits for a CPU */
	unsigned int waiting, leased;
	int leases;		/* their folder */
	uint64_t since;		/* that we are there, seconds since boot */
	sd_event_source *retry; /* while somebody waits */
	struct maple_leftover *leftovers;
	struct maple_parting *partings;
	struct maple_talk talk;	  /* journal.c */
	sd_event_source *missing; /* what it did not say is to be told */
	bool closing;	  /* what is lent is for the next of us to take back */
	struct stat made; /* the socket's file, if we have made it; else 0 */
};

int maple_server_cpus(struct maple_daemon_settings *settings,
		      struct maple_error *err);
int maple_server_open(struct maple_server *server, struct maple_error *err);
int maple_server_run(struct maple_server *server, struct maple_error *err);
void maple_server_close(struct maple_server *server);

#endif
