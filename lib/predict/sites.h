/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_SITES_H
#define MAPLE_PREDICT_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "predict/cells/location.h"
#include "predict.h"

/* An array over site numbers, made in chunks as sites turn up. */
struct maple_sitemap {
	uint32_t nchunks;
	size_t element;
	void **chunk;
};

struct maple_site_gates {
	uint32_t gate[MAPLE_PREDICT_GATES];
	uint8_t n;
	bool cut;
};

/* How a thread executed a site. */
struct maple_executions {
	uint32_t n;
	uint16_t nclasses;
	uint8_t fruitless; /* walks in a row that brought no local pair */
	uint8_t skip;	   /* accesses from which not to walk */
	bool frees;
	bool served; /* at least once between SERVE and STOP */
	bool handed; /* on memory that goes round, */
	bool loose;  /* ... and that somebody came to who knew nothing of it */
	uint32_t class_site[MAPLE_PREDICT_CLASSES];
	uint32_t class_occurrence[MAPLE_PREDICT_CLASSES];
};

struct maple_siteset;

/* What profiling learns of sites, for plans. */
struct maple_sites {
	struct maple_sitemap gates;
	struct maple_sitemap ends; /* of a gate: what unlocked it */
	struct maple_siteset *sets;
	struct maple_sitemap quiet; /* uint64_t: since which event; 0: never */
	uint64_t kept;		    /* sites in all sets */
	struct maple_sitemap in;    /* struct maple_setlist: those of a site */
	uint32_t *scratch;
	size_t room;
	struct maple_predict_stats *stats;
};

void *maple_sitemap_find(const struct maple_sitemap *map, uint32_t site);
void *maple_sitemap_at(struct maple_sitemap *map, uint32_t site);
void maple_sitemap_deinit(struct maple_sitemap *map);

void maple_sites_init(struct maple_sites *sites,
		      struct maple_predict_stats *stats);
bool maple_sites_shared(const struct maple_sites *sites, uint32_t site);
void maple_sites_deinit(struct maple_sites *sites);
int maple_sites_gate(struct maple_sites *sites, uint32_t site, uint32_t gate);
int maple_sites_end(struct maple_sites *sites, uint32_t gate, uint32_t end);
bool maple_executions_class(struct maple_executions *executions, uint32_t next);
int maple_sites_quiet(struct maple_sites *sites, uint32_t site, uint64_t when);
bool maple_sites_certain(const struct maple_sites *sites,
			 const struct maple_iroot *iroot, uint64_t when);
int maple_sites_index(struct maple_sites *sites);
int maple_sites_cell(struct maple_sites *sites, const struct maple_cell *cell);
unsigned int maple_sites_guards(const struct maple_sites *sites,
				const struct maple_iroot *iroot, uint32_t *out,
				unsigned int max);
unsigned int maple_sites_covers(const struct maple_sites *sites,
				const struct maple_iroot *iroot, uint32_t *out,
				unsigned int max);

#endif
