// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memo as everybody calls it: a database of ours, or mapled's. What needs
 * a binary as well as the database is put together here from both.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "host/host.h"
#include "memo/sql.h"
#include "memo/store.h"

#define OLDER_BUILDS 8 /* that are looked at in a campaign */

/* maple_host_memo - see maple/host.h */
int maple_host_memo(struct maple_host *host, struct maple_memo **memo,
		    struct maple_error *err)
{
	struct maple_memo *m = calloc(1, sizeof(*m));

	if (!m)
		return maple_error_set(err, ENOMEM, "out of memory");
	m->host = host;
	*memo = m;
	return 0;
}

/* maple_memo_full - see maple/memo.h */
const char *maple_memo_full(const struct maple_memo *memo)
{
	return memo->host && *memo->host->full.text ? memo->host->full.text
						    : NULL;
}

#define MEMO_CALL(name, arguments, names)                                     \
	int maple_memo_##name(struct maple_memo *memo,                        \
			      MAPLE_MEMO_ARGUMENTS arguments)                 \
	{                                                                     \
		if (memo->host)                                               \
			return maple_host_##name(memo->host,                  \
						 MAPLE_MEMO_ARGUMENTS names); \
		return maple_store_##name(memo, MAPLE_MEMO_ARGUMENTS names);  \
	}
MAPLE_MEMO_CALLS(MEMO_CALL)

int maple_memo_findings(struct maple_memo *memo, int64_t program,
			struct maple_finding ***findings, size_t *n,
			struct maple_error *err)
{
	if (memo->host)
		return maple_host_findings(memo->host, program, false, findings,
					   n, err);
	return maple_store_findings(memo, program, false, findings, n, err);
}

int maple_memo_known(struct maple_memo *memo, int64_t program,
		     struct maple_finding ***findings, size_t *n,
		     struct maple_error *err)
{
	if (memo->host)
		return maple_host_findings(memo->host, program, true, findings,
					   n, err);
	return maple_store_findings(memo, program, true, findings, n, err);
}

int maple_memo_merge(struct maple_memo *memo, const char *path,
		     struct maple_error *err)
{
	/* mapled reads no files of its clients'. */
	if (memo->host)
		return maple_error_set(err, EPERM,
				       "mapled's memo database takes in another "
				       "one for root only: sudo mapletest memo "
				       "merge --db FILE, with the file that "
				       "'mapletest doctor' names");
	return maple_store_merge(memo, path, err);
}

/* ---- older builds ---- */

/* What was found, with copies of what find() gives only for a moment. */
struct findings {
	size_t n;
	int64_t *site;
	struct maple_memo_event *event;
};

static void findings_deinit(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free((char *)f->event[i].function);
		free((char *)f->event[i].file);
		free((char *)f->event[i].fingerprint);
	}
	free(f->site);
	free(f->event);
}

static bool copy(const char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

static int keep(struct findings *f, const struct maple_memo_build *build,
		int64_t site, const struct maple_memo_event *now)
{
	struct maple_memo_event *e = &f->event[f->n];
	bool all;

	*e = *now;
	e->build_id = build->build_id;
	e->image = build->path;
	all = copy(&e->function, now->function);
	all &= copy(&e->file, now->file);
	all &= copy(&e->fingerprint, now->fingerprint);
	f->site[f->n++] = site;
	return all ? 0 : -ENOMEM;
}

static int find_sites(const struct maple_memo_old *old,
		      const struct maple_memo_build *build, struct findings *f)
{
	int e = 0;

	f->site = calloc(old->n + 1, sizeof(*f->site));
	f->event = calloc(old->n + 1, sizeof(*f->event));
	if (!f->site || !f->event)
		return -ENOMEM;
	for (size_t i = 0; i < old->n && !e; i++) {
		const struct maple_memo_print *p = &old->prints[i];
		struct maple_memo_event now = { .call = p->call };

		e = build->find(build->ctx, p->fingerprint, p->call, &now);
		if (!e)
			e = keep(f, build, p->site, &now);
		else if (e != -ENOMEM)
			e = 0;
	}
	return e;
}

static int carry_one(struct maple_memo *memo,
		     const struct maple_memo_build *build,
		     const struct maple_memo_old *old, unsigned int *carried,
		     struct maple_error *err)
{
	struct findings f = { 0 };
	struct maple_memo_carried c = { .image = old->image,
					.by_name = old->by_name,
					.of = old->n };
	unsigned int count = 0;
	int e = build->find ? find_sites(old, build, &f) : 0;

	if (e) {
		maple_error_set(err, ENOMEM, "out of memory");
	} else {
		c.n = f.n;
		c.site = f.site;
		c.found = f.event;
		e = maple_memo_carried(memo, build->build_id, build->path, &c,
				       &count, err);
	}
	*carried += count;
	findings_deinit(&f);
	return e;
}

/*
 * Each round takes the newest build that is left. A few are enough: what they
 * know holds what was carried to them.
 */
int maple_memo_carry(struct maple_memo *memo,
		     const struct maple_memo_build *build,
		     unsigned int *carried, struct maple_error *err)
{
	struct maple_memo_old old = { .image = 1 };
	int e = 0;

	*carried = 0;
	for (int i = 0; i < OLDER_BUILDS && !e && !old.by_name; i++) {
		maple_memo_old_deinit(&old);
		e = maple_memo_older(memo, build->build_id, build->path, &old,
				     err);
		if (e || !old.image)
			break;
		e = carry_one(memo, build, &old, carried, err);
	}
	maple_memo_old_deinit(&old);
	return e;
}
