/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A run that a test makes up, and what is predicted from it. */
#ifndef PREDICT_RIG_H
#define PREDICT_RIG_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "predict/predict.h"

#define X    0x10000ull
#define M    0x20000ull
#define CALL MAPLE_SITE_CALL
#define MANY 128

static struct maple_predict *p;
static struct maple_predict_stats stats;
static struct maple_iroot obs[MANY], pred[MANY];
static struct maple_predict_facts facts[MANY];
static unsigned int nobs, npred;
static uint32_t clocks[MAPLE_THREADS];

static void observed(void *ctx, const struct maple_iroot *iroot)
{
	assert_ptr_equal(ctx, obs);
	assert_true(nobs < MANY);
	obs[nobs++] = *iroot;
}

static void predicted(void *ctx, const struct maple_iroot *iroot,
		      const struct maple_predict_facts *f)
{
	assert_true(npred < MANY);
	pred[npred] = *iroot;
	facts[npred++] = *f;
}

static void begin(const struct maple_predict_options *options)
{
	struct maple_predict_sink sink = { observed, predicted, obs };
	struct maple_predict_options o = { 0 };

	if (options)
		o = *options;
	if (!o.idioms)
		o.idioms = 1u << MAPLE_IDIOM_1;
	nobs = npred = 0;
	memset(clocks, 0, sizeof(clocks));
	assert_int_equal(maple_predict_create(&o, &sink, &p), 0);
}

static void raw(struct maple_event e)
{
	e.clock = e.thread < MAPLE_THREADS ? ++clocks[e.thread] : 0;
	assert_int_equal(maple_predict_event(p, &e), 0);
}

static void data(unsigned int t, uint8_t kind, uint32_t site, uint64_t addr,
		 uint32_t size)
{
	raw((struct maple_event){ .thread = (uint16_t)t,
				  .kind = kind,
				  .site = site,
				  .addr = addr,
				  .size = size });
}

static void sync(unsigned int t, uint8_t kind, uint32_t site, uint64_t addr,
		 uint32_t aux)
{
	raw((struct maple_event){ .thread = (uint16_t)t,
				  .kind = kind,
				  .site = site,
				  .addr = addr,
				  .aux = aux });
}

static void create(unsigned int child)
{
	sync(0, MAPLE_EV_CREATE, CALL | 100, 0, child);
}

static void finish(void)
{
	assert_int_equal(maple_predict_finish(p), 0);
	maple_predict_stats(p, &stats);
	assert_int_equal(stats.observed, nobs);
	assert_int_equal(stats.predicted, npred);
	assert_int_equal(stats.no_memory, 0);
}

static void end(void)
{
	finish();
	maple_predict_destroy(p);
}

/* Index of e0 => e1 in @list, or -1. */
static int find(const struct maple_iroot *list, unsigned int n, uint8_t kind0,
		uint32_t site0, uint8_t kind1, uint32_t site1)
{
	for (unsigned int i = 0; i < n; i++)
		if (list[i].idiom == MAPLE_IDIOM_1 &&
		    list[i].e[0].site == site0 && list[i].e[0].kind == kind0 &&
		    list[i].e[1].site == site1 && list[i].e[1].kind == kind1)
			return (int)i;
	return -1;
}

#define R MAPLE_EV_READ
#define W MAPLE_EV_WRITE

static const struct maple_predict_facts *facts_of(uint8_t kind0, uint32_t site0,
						  uint8_t kind1, uint32_t site1)
{
	int at = find(pred, npred, kind0, site0, kind1, site1);

	assert_true(at >= 0);
	return &facts[at];
}

#endif
