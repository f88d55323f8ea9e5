// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Back to the server, while the campaign that has lost it goes on.
 *
 * Between two transactions it is looked whether the server is there again, more
 * and more rarely, and without waiting for it. If so, the spool is delivered
 * but for the runs under way, and the server becomes the memo. Callers go on
 * with the numbers that they have: what these are at the server is asked for by
 * name, goal by goal (numbers.h); runs under way begin there once more.
 *
 * What was delivered is never written to again: whether a COMMIT without an
 * answer was done nobody knows, so the memo goes on in another spool before
 * anything else. That one has what is told of from then on, and goes when the
 * server is the memo.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "memo/spool/mirror.h"
#include "memo/spool/spool.h"

#define LATEST 30.0 /* seconds between two looks, at most */
#define CHUNK  64   /* goals that are asked for at a time */

/* What a spool begins with, that comes after one that was delivered. */
static const char renewed[] =
	"DELETE FROM marked; DELETE FROM forgotten; DELETE FROM samples;"
	"DELETE FROM findings; DELETE FROM corpus;"
	"DELETE FROM runs WHERE ended IS NOT NULL;"
	"DELETE FROM known WHERE run NOT IN (SELECT id FROM runs);"
	"UPDATE spool SET serial = 0";

/* ---- another spool ---- */

static int bind_text(struct maple_memo *memo, const char *sql, const char *text,
		     struct maple_error *err)
{
	struct maple_query *query = NULL;
	int ret = maple_sql_prepare(memo, sql, "s", &query, err);

	if (!ret)
		ret = maple_sql_bind(query, err, text);
	if (!ret)
		ret = maple_sql_step(memo, query, err);
	maple_sql_finish(query);
	return ret;
}

static void forget_statements(struct maple_memo *memo)
{
	for (int i = 0; i < MAPLE_SQL_MAX; i++)
		maple_sql_finish(memo->statement[i]);
	memset(memo->statement, 0, sizeof(memo->statement));
}

/* The spool that is the memo is closed; @drop: and is gone. */
static void close_spool(struct maple_memo *memo, bool drop)
{
	forget_statements(memo);
	maple_mirror_finish(memo->mirror);
	memo->driver->close(memo);
	memo->db = NULL;
	if (drop)
		maple_spool_drop(memo->path);
	free(memo->path);
	memo->path = NULL;
}

/* Like the memo's own, with the name of a client that there never was. */
static int make_next(struct maple_memo *memo, struct maple_memo **next,
		     int *lock, struct maple_error *err)
{
	struct maple_mirror *m = memo->mirror;
	struct maple_origin origin;
	char name[sizeof(origin.client) + 16], *path = NULL;
	int ret = m->former.driver->origin(&m->former, &origin, err);

	if (!ret) {
		snprintf(name, sizeof(name), "%s-%u", origin.client,
			 ++m->spools);
		ret = maple_spool_make(m->folder, name, &path, lock, err);
	}
	if (!ret)
		ret = bind_text(memo, "VACUUM INTO $1", path, err);
	if (!ret)
		ret = maple_memo_open(path, 0, next, err);
	if (!ret)
		ret = maple_sql_exec(*next, renewed, err);
	if (!ret)
		ret = bind_text(*next, "UPDATE spool SET client = $1", name,
				err);
	if (ret && path)
		maple_spool_drop(path);
	free(path);
	return ret;
}

/* The memo is another spool; @delivered: the former one is gone, else it stays. */
static int renew(struct maple_memo *memo, bool delivered,
		 struct maple_error *err)
{
	struct maple_mirror *m = memo->mirror;
	struct maple_memo *next = NULL;
	int lock = -1, ret = make_next(memo, &next, &lock, err);

	if (!ret) {
		close_spool(memo, delivered);
		close(m->lock);
		m->lock = lock;
		maple_memo_close(m->memo);
		m->memo = next;
		ret = maple_mirror_prepare(m, next, err);
		memo->db = next->db;
		memo->path = next->path;
		next->db = NULL;
		next->path = NULL;
		return ret;
	}
	maple_memo_close(next);
	if (lock >= 0)
		close(lock);
	return ret;
}

/* ---- what the server knows it by ---- */

struct returning {
	struct maple_memo *memo, *server;
	struct maple_error *err;
	struct maple_number *goals, *runs;
	size_t ngoals, nruns;
	int64_t program, campaign; /* the last ones; 0: none */
};

/* The rows of the last campaign are the server's too, under the same numbers. */
static const char last_campaign[] =
	"SELECT c.id, c.uid, p.id, p.build_id, p.input FROM campaigns c"
	" LEFT JOIN programs p ON p.id = c.program ORDER BY c.id DESC LIMIT 1";

static int is_there(struct returning *r, const char *sql, int64_t id,
		    const char *a, const char *b, bool *there)
{
	struct maple_query *query = NULL;
	int ret = maple_sql_prepare(r->server, sql, "iss", &query, r->err);

	if (!ret)
		ret = maple_sql_bind(query, r->err, id, a, b);
	if (!ret)
		ret = maple_sql_step(r->server, query, r->err);
	*there = ret > 0;
	maple_sql_finish(query);
	return ret < 0 ? ret : 0;
}

static int find_campaign(struct returning *r, bool *there)
{
	struct maple_query *query = NULL;
	int ret = maple_sql_prepare(r->memo, last_campaign, "", &query, r->err);

	*there = false;
	if (!ret)
		ret = maple_sql_step(r->memo, query, r->err);
	if (ret > 0) {
		r->campaign = maple_sql_number(query, 0);
		r->program = maple_sql_number(query, 2);
		ret = is_there(r,
			       "SELECT 1 FROM campaigns WHERE id = $1"
			       " AND uid = $2 AND $3 <> ''",
			       r->campaign, maple_sql_text_of(query, 1), "-",
			       there);
		if (!ret && *there && r->program)
			ret = is_there(r,
				       "SELECT 1 FROM programs WHERE id = $1"
				       " AND build_id = $2 AND input = $3",
				       r->program, maple_sql_text_of(query, 3),
				       maple_sql_text_of(query, 4), there);
	}
	maple_sql_finish(query);
	return ret;
}

/* The server's mirror has them, with all that they say. */
static int copy_campaign(struct returning *r)
{
	struct maple_memo *to = r->server->mirror->memo;
	char sql[512];
	int ret = bind_text(to, "ATTACH $1 AS away", r->memo->path, r->err);

	if (ret)
		return ret;
	snprintf(sql, sizeof(sql),
		 "INSERT INTO programs SELECT * FROM away.programs"
		 " WHERE id = %lld;"
		 "INSERT INTO campaigns SELECT * FROM away.campaigns"
		 " WHERE id = %lld; DETACH away",
		 (long long)r->program, (long long)r->campaign);
	return maple_sql_exec(to, sql, r->err);
}

static const char uses[] =
	"SELECT g.id, k.name, i.build_id, i.path, s.\"offset\", s.is_call,"
	" substr(g.kinds, u.key + 1, 1), s.function, s.file, s.line,"
	" s.fingerprint, CASE g.contexts WHEN '' THEN 0 ELSE"
	" json_extract(g.contexts, '$[' || u.key || ']') END"
	" FROM goals g JOIN classes k ON k.id = g.class, json_each(g.sites) u"
	" JOIN sites s ON s.id = u.value JOIN images i ON i.id = s.image"
	" ORDER BY g.id, u.key";

static void free_lessons(struct maple_memo_lesson *lessons, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct maple_memo_goal_key *key = &lessons[i].key;

		free((char *)key->class);
		for (unsigned int u = 0; u < key->n; u++) {
			free((char *)key->use[u].build_id);
			free((char *)key->use[u].image);
			free((char *)key->use[u].function);
			free((char *)key->use[u].file);
			free((char *)key->use[u].fingerprint);
		}
	}
}

static struct maple_memo_event read_use(struct maple_query *q)
{
	const char *kind = maple_sql_text_of(q, 6);

	return (struct maple_memo_event){
		.build_id = maple_sql_string(q, 2),
		.image = maple_sql_string(q, 3),
		.offset = (uint64_t)maple_sql_number(q, 4),
		.call = maple_sql_number(q, 5),
		.kind = kind ? *kind : 0,
		.function = maple_sql_string(q, 7),
		.file = maple_sql_string(q, 8),
		.line = (uint32_t)maple_sql_number(q, 9),
		.fingerprint = maple_sql_string(q, 10),
		.context = (uint64_t)maple_sql_number(q, 11),
	};
}

/* What the @n goals of @lessons, from the last ones on, are at the server. */
static int ask_goals(struct returning *r, struct maple_memo_lesson *lessons,
		     size_t n)
{
	struct maple_number *moved = r->goals + r->ngoals - n;
	int ret = maple_memo_learn(r->server, r->program, lessons, n, r->err);

	for (size_t i = 0; i < n && !ret; i++)
		moved[i].to = lessons[i].goal;
	free_lessons(lessons, n);
	return ret;
}

static int no_memory(struct returning *r)
{
	return maple_error_set(r->err, ENOMEM, "out of memory");
}

static int find_goals(struct returning *r)
{
	struct maple_memo_lesson lessons[CHUNK], *l;
	struct maple_query *q = NULL;
	size_t n = 0;
	int ret = maple_sql_prepare(r->memo, uses, "", &q, r->err);

	while (!ret && (ret = maple_sql_step(r->memo, q, r->err)) > 0) {
		int64_t id = maple_sql_number(q, 0);
		bool new = !n || r->goals[r->ngoals - 1].from != id;

		ret = 0;
		if (new &&n == CHUNK) {
			ret = ask_goals(r, lessons, n);
			n = 0;
		}
		if (!ret && new &&
		    !maple_array_extend(r->goals, r->ngoals, r->ngoals + 1))
			ret = no_memory(r);
		if (ret)
			break;
		if (new) {
			r->goals[r->ngoals++].from = id;
			lessons[n++] = (struct maple_memo_lesson){
				.key.class = maple_sql_string(q, 1),
			};
		}
		l = &lessons[n - 1];
		assert(l->key.n < MAPLE_GOAL_USES);
		l->key.use[l->key.n++] = read_use(q);
	}
	maple_sql_finish(q);
	if (!ret && n)
		return ask_goals(r, lessons, n);
	free_lessons(lessons, n);
	return ret;
}

static int64_t moved_to(const struct maple_number *pairs, size_t n, int64_t from)
{
	for (size_t i = 0; i < n; i++)
		if (pairs[i].from == from)
			return pairs[i].to;
	return from;
}

/* A run under way: what the server has of it is there for its end. */
static int begin_again(struct returning *r, struct maple_query *q)
{
	struct maple_memo_run run = {
		.kind = maple_sql_text_of(q, 2),
		.goal = moved_to(r->goals, r->ngoals, maple_sql_number(q, 3)),
		.plan = maple_sql_text_of(q, 4),
		.seed = (uint64_t)maple_sql_number(q, 5),
		.attempt = (unsigned int)maple_sql_number(q, 6),
		.flip = maple_sql_number(q, 7),
	};
	int64_t from = maple_sql_number(q, 0), to = from;
	bool there = false;
	int ret = 0;

	if (maple_sql_number(q, 8))
		ret = is_there(r,
			       "SELECT 1 FROM runs WHERE id = $1"
			       " AND campaign = CAST($2 AS BIGINT) AND $3 <> ''",
			       from, maple_sql_text_of(q, 1), "-", &there);
	if (!ret && there)
		ret = maple_sql_tell(r->server, MAPLE_SQL_RUN_BEGIN_AS, r->err,
				     "isisiuui", r->campaign, run.kind,
				     run.goal, run.plan, (int64_t)run.seed,
				     run.attempt, (unsigned int)run.flip, from);
	else if (!ret)
		ret = maple_memo_run_begin(r->server, r->campaign, &run, &to,
					   r->err);
	if (!ret && !maple_array_extend(r->runs, r->nruns, r->nruns + 1))
		ret = no_memory(r);
	if (!ret)
		r->runs[r->nruns++] = (struct maple_number){ from, to };
	return ret;
}

static int find_runs(struct returning *r)
{
	struct maple_query *q = NULL;
	int ret = maple_sql_prepare(
		r->memo,
		"SELECT id, campaign, kind, goal, plan, seed,"
		" attempt, flip, id IN (SELECT run FROM known)"
		" FROM runs WHERE ended IS NULL AND campaign = $1 ORDER BY id",
		"i", &q, r->err);

	if (!ret)
		ret = maple_sql_bind(q, r->err, r->campaign);
	if (!ret)
		ret = maple_sql_begin(r->server, MAPLE_BEGIN_SHARED, r->err);
	while (!ret && (ret = maple_sql_step(r->memo, q, r->err)) > 0)
		ret = begin_again(r, q);
	maple_sql_finish(q);
	if (ret) {
		if (r->server->driver->in_transaction(r->server))
			maple_sql_rollback(r->server);
		return ret;
	}
	return maple_sql_commit(r->server, r->err);
}

/* 1: it cannot be found out now, or is not what we know */
static int find_all(struct returning *r)
{
	bool there;
	int ret = find_campaign(r, &there);

	if (!ret && !there) {
		r->memo->mirror->strange = true;
		return 1;
	}
	if (!ret)
		ret = copy_campaign(r);
	if (!ret && r->program)
		ret = find_goals(r);
	if (!ret)
		ret = find_runs(r);
	if (ret == -ENOMEM)
		return ret;
	/* Whatever else it is, it is the server's. */
	return ret || !r->server->mirror || maple_mirror_is_left(r->server);
}

/* ---- the server is the memo ---- */

static void give_up(struct maple_memo *server)
{
	const char *left = maple_memo_spooled(server);
	char *path = left ? strdup(left) : NULL;

	maple_memo_close(server);
	if (path)
		maple_spool_drop(path);
	free(path);
}

static void take(struct maple_memo *memo, struct maple_memo *server)
{
	struct maple_mirror *m = memo->mirror;

	server->driver->adopt(memo, server, &m->former);
	server->mirror->strange = false;
	server->mirror->notice = m->notice;
	server->mirror->ctx = m->ctx;
	close_spool(memo, true);
	maple_mirror_close(m);
	memo->driver = server->driver;
	memo->db = server->db;
	memo->path = server->path;
	memo->mirror = server->mirror;
	memcpy(memo->statement, server->statement, sizeof(memo->statement));
	free(server);
}

static void say(struct maple_memo *memo, int64_t runs)
{
	struct maple_mirror *m = memo->mirror;
	char text[512];

	snprintf(text, sizeof(text),
		 "memo database '%.200s': the server is there again; what was "
		 "kept here is delivered, %lld runs of it, and the campaign "
		 "goes on with the server",
		 m->former.path, (long long)runs);
	if (m->notice)
		m->notice(m->ctx, text);
}

static int settle(struct maple_memo *memo, struct maple_memo *server,
		  bool fresh, int64_t runs, struct maple_error *err)
{
	struct maple_error why = { "" };
	struct returning r = { .memo = memo, .server = server, .err = &why };
	struct maple_mirror *m = memo->mirror;
	int ret = maple_memo_spool(server, m->folder, NULL, NULL, &why);

	/* If it is lost as well it is given up, and does not come back. */
	if (!ret)
		server->mirror->strange = true;
	if (ret != -ENOMEM)
		ret = ret ? 1 : fresh ? 0 : find_all(&r);
	if (!ret)
		ret = maple_numbers_move(&memo->goals, r.goals, r.ngoals);
	if (!ret)
		ret = maple_numbers_move(&memo->runs, r.runs, r.nruns);
	free(r.goals);
	free(r.runs);
	if (ret) {
		give_up(server);
		return ret > 0 ? 0
			       : maple_error_set(err, ENOMEM, "out of memory");
	}
	say(memo, runs);
	take(memo, server);
	return 0;
}

/* The server answers. */
static int come_back(struct maple_memo *memo, bool fresh,
		     struct maple_error *err)
{
	enum maple_spool_end what = MAPLE_SPOOL_OTHER;
	struct maple_mirror *m = memo->mirror;
	struct maple_error why = { "" };
	struct maple_memo *server;
	int64_t runs = 0;
	int ret = maple_memo_open(m->former.path, 0, &server, &why), e, others;

	if (ret)
		return 0;
	/* One that was left behind comes first: it is older. */
	others = maple_spool_deliver_others(server, m->folder, memo->path, &why);
	if (!others)
		ret = maple_spool_deliver(server, memo->path, !fresh, &what,
					  &runs, &why);
	/* Then nothing was done: it is tried again later. */
	if (others || (!ret && what == MAPLE_SPOOL_OTHER) ||
	    (ret && ret != -ENOTCONN)) {
		maple_memo_close(server);
		return 0;
	}
	e = renew(memo, !ret, err);
	if (!e && !ret)
		return settle(memo, server, fresh, runs, err);
	maple_memo_close(server);
	return e;
}

/* maple_return_try - see mirror.h */
int maple_return_try(struct maple_memo *memo, bool fresh,
		     struct maple_error *err)
{
	struct maple_mirror *m = memo->mirror;
	int ret;

	if (!maple_mirror_is_left(memo) || (m->strange && !fresh) ||
	    maple_clock_now() < m->next)
		return 0;
	assert(!memo->driver->in_transaction(memo));
	ret = m->former.driver->there(&m->former);
	if (!ret)
		return 0; /* it is not known yet */
	m->pause = 2 * m->pause < LATEST ? 2 * m->pause : LATEST;
	m->next = maple_clock_now() + m->pause;
	return ret > 0 ? come_back(memo, fresh, err) : 0;
}
