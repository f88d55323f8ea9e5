/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Pages over HTTP, for those who know a token; nothing can be changed by them.
 * The library that speaks HTTP is loaded when it is needed: what it is linked
 * with would cost each start of mapletest more than all else.
 *
 * Context: one thread, the caller's.
 */
#ifndef MAPLE_CLI_HTTP_H
#define MAPLE_CLI_HTTP_H

#include <stdbool.h>
#include <stdio.h>
#include <maple/error.h>

#define MAPLE_HTTP_ADDRESS "127.0.0.1:8070"

struct maple_http;

/* What is said to one request; zero but for @out, 200 and HTML before. */
struct maple_http_answer {
	FILE *out;
	const char *type; /* a literal */
	unsigned int status;
};

/* maple_http_tell - @answer is a page that says @text, and why it is no other */
void maple_http_tell(struct maple_http_answer *answer, unsigned int status,
		     const char *text);

/* @path begins with '/', and is a stranger's. */
typedef void (*maple_http_page)(void *ctx, const char *path,
				struct maple_http_answer *answer);

/*
 * maple_http_open - listens at @address: PORT, HOST:PORT or [HOST]:PORT
 * @token: what a reader has to know; NULL: one is made
 * @page: gives the pages
 *
 * Errors: -EINVAL it is no address; -ENOPKG the library is not there; -EACCES,
 * -EADDRINUSE, -EADDRNOTAVAIL.
 */
int maple_http_open(const char *address, const char *token,
		    maple_http_page page, void *ctx, struct maple_http **http,
		    struct maple_error *err);
void maple_http_close(struct maple_http *http);

/* maple_http_url - where it is, with the token */
const char *maple_http_url(const struct maple_http *http);

/* maple_http_is_local - whether this machine alone can come there */
bool maple_http_is_local(const struct maple_http *http);

/* maple_http_run - answers until SIGINT or SIGTERM */
int maple_http_run(struct maple_http *http, struct maple_error *err);

#endif
