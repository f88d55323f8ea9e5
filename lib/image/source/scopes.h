/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_IMAGE_SCOPES_H
#define MAPLE_IMAGE_SCOPES_H

#include <stdbool.h>
#include <elfutils/libdwfl.h>

#define MAPLE_SCOPES 64

/* A function of the source that has an address, and at which of its lines. */
struct maple_scope {
	char *function;	  /* or NULL */
	char *signature;  /* with its parameters, if there is more to say */
	const char *file; /* libdwfl's; or NULL */
	unsigned int line;
};

/* Code of a unit of the debug information: [lo, hi). */
struct maple_unit {
	Dwarf_Addr lo, hi, bias;
	Dwarf_Die *die; /* owned by libdwfl */
};

/* What was found out of modules and their units; zeroed at first. */
struct maple_scopes {
	struct maple_unit_module *modules;
	struct unit *units;
};

/* units.c */
void maple_scopes_units_forget(struct maple_scopes *scopes);
Dwarf_Die *maple_scopes_unit(struct maple_scopes *scopes, Dwfl_Module *module,
			     Dwarf_Addr addr, Dwarf_Addr *bias);

unsigned int maple_scopes_find(struct maple_scopes *scopes, Dwarf_Die *unit,
			       Dwarf_Addr addr,
			       struct maple_scope scope[MAPLE_SCOPES]);
void maple_scopes_name(struct maple_scope *scope, const char *symbol);
unsigned int maple_scopes_users(const struct maple_scope *scope, unsigned int n);
void maple_scopes_forget(struct maple_scopes *scopes);
void maple_scopes_deinit(struct maple_scope *scope, unsigned int n);
bool maple_scopes_library(const char *file);

#endif
