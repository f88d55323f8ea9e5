// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A reader comes once with the token in the address, as it is printed, and has
 * it in a cookie from then on, so that it stands in no history and no link; a
 * program sends it as "Authorization: Bearer". Every user of the machine can
 * come to a port of the loopback, so it takes the token there as well.
 */
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include "http.h"

#define LIBRARY	    "libmicrohttpd.so.12"
#define MEND	    "apt install libmicrohttpd12"
#define TOKEN_BYTES 16
#define TOKEN_LEAST 16 /* characters of one that is given */
#define CONNECTIONS 32u
#define IDLE	    10u		/* seconds until a silent one is closed */
#define MEMORY	    (32u << 10) /* of each, for what it asks */
#define LOOK	    500		/* ms until a signal is seen, at the latest */

/* What we call of the library. */
static struct {
	__typeof__(&MHD_start_daemon) start;
	__typeof__(&MHD_stop_daemon) stop;
	__typeof__(&MHD_run_wait) run;
	__typeof__(&MHD_lookup_connection_value) value;
	__typeof__(&MHD_create_response_from_buffer) respond;
	__typeof__(&MHD_add_response_header) header;
	__typeof__(&MHD_queue_response) queue;
	__typeof__(&MHD_destroy_response) destroy;
} mhd;

struct maple_http {
	struct MHD_Daemon *daemon;
	maple_http_page page;
	void *ctx;
	bool local;
	char token[128];
	char cookie[32]; /* its name: browsers tell no ports apart */
	char url[1024];
};

static int load(struct maple_error *err)
{
	static const struct {
		const char *name;
		void *to;
	} calls[] = {
		{ "MHD_start_daemon", &mhd.start },
		{ "MHD_stop_daemon", &mhd.stop },
		{ "MHD_run_wait", &mhd.run },
		{ "MHD_lookup_connection_value", &mhd.value },
		{ "MHD_create_response_from_buffer", &mhd.respond },
		{ "MHD_add_response_header", &mhd.header },
		{ "MHD_queue_response", &mhd.queue },
		{ "MHD_destroy_response", &mhd.destroy },
	};
	void *library = dlopen(LIBRARY, RTLD_NOW);

	if (!library)
		return maple_error_set(err, ENOPKG,
				       "pages take " LIBRARY ": %s; " MEND,
				       dlerror());
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		void *call = dlsym(library, calls[i].name);

		if (!call)
			return maple_error_set(err, ENOPKG,
					       LIBRARY " has no %s; " MEND,
					       calls[i].name);
		memcpy(calls[i].to, &call, sizeof(call));
	}
	return 0;
}

/* ---- who may read ---- */

/* It takes as long for each wrong one. */
static bool is_token(const struct maple_http *http, const char *word)
{
	size_t n = strlen(http->token), said = word ? strlen(word) : 0;
	unsigned int differs = said != n;

	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(http->token[i] ^
					   (i < said ? word[i] : 0));
	return !differs;
}

static bool may_read(const struct maple_http *http,
		     struct MHD_Connection *connection)
{
	static const char bearer[] = "Bearer ";
	const char *said = mhd.value(connection, MHD_HEADER_KIND,
				     MHD_HTTP_HEADER_AUTHORIZATION);

	if (said && !strncmp(said, bearer, sizeof(bearer) - 1))
		return is_token(http, said + sizeof(bearer) - 1);
	return is_token(http,
			mhd.value(connection, MHD_COOKIE_KIND, http->cookie));
}

/* ---- answers ---- */

static enum MHD_Result send_answer(struct MHD_Connection *connection,
				   const struct maple_http_answer *answer,
				   char *text, size_t size, const char *cookie)
{
	struct MHD_Response *response =
		mhd.respond(size, text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result queued;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	mhd.header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
	/* What it shows is its readers' alone, and the token nobody else's. */
	mhd.header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	mhd.header(response, "Referrer-Policy", "no-referrer");
	mhd.header(response, "X-Content-Type-Options", "nosniff");
	mhd.header(response, "X-Frame-Options", "DENY");
	if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (cookie) {
		mhd.header(response, MHD_HTTP_HEADER_SET_COOKIE, cookie);
		mhd.header(response, MHD_HTTP_HEADER_LOCATION, "/");
	}
	queued = mhd.queue(connection, answer->status, response);
	mhd.destroy(response);
	return queued;
}

/* The token leaves the address. */
static enum MHD_Result welcome(const struct maple_http *http,
			       struct MHD_Connection *connection)
{
	struct maple_http_answer answer = { .type = "text/plain",
					    .status = MHD_HTTP_SEE_OTHER };
	char cookie[256];

	snprintf(cookie, sizeof(cookie), "%s=%s; Path=/; HttpOnly; SameSite=Lax",
		 http->cookie, http->token);
	return send_answer(connection, &answer, NULL, 0, cookie);
}

void maple_http_tell(struct maple_http_answer *answer, unsigned int status,
		     const char *text)
{
	answer->status = status;
	answer->type = "text/plain; charset=utf-8";
	fprintf(answer->out, "%s\n", text);
}

/* What @page, or we, have to say. */
static enum MHD_Result reply(struct maple_http *http,
			     struct MHD_Connection *connection, const char *url,
			     unsigned int refused, const char *why)
{
	struct maple_http_answer answer = { .type = "text/html; charset=utf-8",
					    .status = MHD_HTTP_OK };
	char *text = NULL;
	size_t length = 0;

	answer.out = open_memstream(&text, &length);
	if (!answer.out)
		return MHD_NO;
	if (refused)
		maple_http_tell(&answer, refused, why);
	else
		http->page(http->ctx, url, &answer);
	if (fclose(answer.out)) {
		free(text);
		return MHD_NO;
	}
	return send_answer(connection, &answer, text, length, NULL);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *size, void **seen)
{
	struct maple_http *http = ctx;

	/* Before what a request may bring along, which is not read. */
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return reply(http, connection, url, MHD_HTTP_METHOD_NOT_ALLOWED,
			     "these pages can only be read");
	if (!*seen || *size) {
		*seen = http;
		*size = 0;
		return MHD_YES;
	}
	if (is_token(http,
		     mhd.value(connection, MHD_GET_ARGUMENT_KIND, "token")))
		return welcome(http, connection);
	if (!may_read(http, connection))
		return reply(http, connection, url, MHD_HTTP_FORBIDDEN,
			     "It takes the token: open the address that "
			     "mapletest serve has printed.");
	return reply(http, connection, url, 0, "");
}

/* ---- where it listens ---- */

/* Cuts @text, "HOST:PORT", "[HOST]:PORT" or "PORT", in two. */
static int split(char *text, char **host, char **port)
{
	char *colon = strrchr(text, ':'), *end;

	*port = colon ? colon + 1 : text;
	*host = NULL;
	if (colon) {
		*colon = 0;
		*host = text;
		if (*text == '[' && colon[-1] == ']') {
			colon[-1] = 0;
			(*host)++;
		} else if (strchr(text, ':')) {
			return -EINVAL;
		}
	}
	if (strtoul(*port, &end, 10) > 65535 || end == *port || *end ||
	    (*host && !**host))
		return -EINVAL;
	return 0;
}

static bool is_loopback(const struct sockaddr_storage *at)
{
	struct sockaddr_in6 six;
	struct sockaddr_in four;

	memcpy(&six, at, sizeof(six));
	memcpy(&four, at, sizeof(four));
	if (at->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
	return ntohl(four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static int listen_at(const struct addrinfo *where)
{
	int on = 1,
	    fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, where->ai_addr, where->ai_addrlen) || listen(fd, 32)) {
		on = errno;
		close(fd);
		return -on;
	}
	return fd;
}

/* A socket at @address; what it is called is filled in. */
static int open_socket(struct maple_http *http, const char *address,
		       struct maple_error *err)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICSERV };
	struct sockaddr_storage at = { 0 };
	socklen_t length = sizeof(at);
	struct addrinfo *where;
	char text[256], *host, *port, name[INET6_ADDRSTRLEN], number[8];
	int e, fd;

	if (snprintf(text, sizeof(text), "%s", address) >= (int)sizeof(text) ||
	    split(text, &host, &port))
		return maple_error_set(err, EINVAL,
				       "'%.60s' is no address: PORT (0 to "
				       "65535), HOST:PORT or [HOST]:PORT",
				       address);
	e = getaddrinfo(host ? host : "127.0.0.1", port, &hints, &where);
	if (e)
		return maple_error_set(err, EINVAL, "'%.60s': %s", address,
				       gai_strerror(e));
	fd = listen_at(where);
	freeaddrinfo(where);
	if (fd < 0)
		return maple_error_set(err, -fd, "'%.60s': %s%s", address,
				       strerror(-fd),
				       fd == -EADDRINUSE ? "; another port, or "
							   "0 for any"
							 : "");
	if (getsockname(fd, (struct sockaddr *)&at, &length) ||
	    getnameinfo((struct sockaddr *)&at, length, name, sizeof(name),
			number, sizeof(number),
			NI_NUMERICHOST | NI_NUMERICSERV)) {
		close(fd);
		return maple_error_set(err, EIO, "'%.60s': no socket", address);
	}
	http->local = is_loopback(&at);
	snprintf(http->cookie, sizeof(http->cookie), "maple-%s", number);
	snprintf(http->url, sizeof(http->url),
		 at.ss_family == AF_INET6 ? "http://[%s]:%s/?token=%s"
					  : "http://%s:%s/?token=%s",
		 name, number, http->token);
	return fd;
}

static int set_token(struct maple_http *http, const char *token,
		     struct maple_error *err)
{
	unsigned char random[TOKEN_BYTES];

	if (!token) {
		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			return maple_error_set(err, EIO, "no random bytes: %m");
		for (size_t i = 0; i < sizeof(random); i++)
			sprintf(http->token + 2 * i, "%02x", random[i]);
		return 0;
	}
	if (strlen(token) < TOKEN_LEAST ||
	    strlen(token) >= sizeof(http->token) ||
	    token[strspn(token, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")])
		return maple_error_set(err, EINVAL,
				       "a token is %d to %zu letters, digits, "
				       "'-' and '_': openssl rand -hex 16",
				       TOKEN_LEAST, sizeof(http->token) - 1);
	strcpy(http->token, token);
	return 0;
}

int maple_http_open(const char *address, const char *token,
		    maple_http_page page, void *ctx, struct maple_http **http,
		    struct maple_error *err)
{
	struct maple_http *h = calloc(1, sizeof(*h));
	int fd = -1, e = h ? load(err) : -ENOMEM;

	if (!e)
		e = set_token(h, token, err);
	if (!e)
		fd = open_socket(h, address, err);
	if (e || fd < 0) {
		free(h);
		return e ? e : fd;
	}
	h->page = page;
	h->ctx = ctx;
	h->daemon = mhd.start(MHD_USE_EPOLL, 0, NULL, NULL, on_request, h,
			      MHD_OPTION_LISTEN_SOCKET, fd,
			      MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
			      MHD_OPTION_CONNECTION_TIMEOUT, IDLE,
			      MHD_OPTION_CONNECTION_MEMORY_LIMIT,
			      (size_t)MEMORY, MHD_OPTION_END);
	if (!h->daemon) {
		close(fd);
		free(h);
		return maple_error_set(err, EIO, LIBRARY " does not start");
	}
	*http = h;
	return 0;
}

void maple_http_close(struct maple_http *http)
{
	mhd.stop(http->daemon); /* and closes the socket */
	free(http);
}

const char *maple_http_url(const struct maple_http *http)
{
	return http->url;
}

bool maple_http_is_local(const struct maple_http *http)
{
	return http->local;
}

static volatile sig_atomic_t ended;

static void on_signal(int signo)
{
	ended = 1;
}

int maple_http_run(struct maple_http *http, struct maple_error *err)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (!ended)
		if (mhd.run(http->daemon, LOOK) != MHD_YES && !ended)
			return maple_error_set(err, EIO,
					       LIBRARY " cannot go on: %m");
	return 0;
}
