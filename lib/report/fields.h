/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_FIELDS_H
#define MAPLE_REPORT_FIELDS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum maple_field_type {
	MAPLE_FIELD_STRING,   /* char * */
	MAPLE_FIELD_HEX,      /* uint64_t, shown as 0x... */
	MAPLE_FIELD_NUMBER,   /* uint64_t */
	MAPLE_FIELD_UNSIGNED, /* unsigned int */
	MAPLE_FIELD_INTEGER,  /* int */
	MAPLE_FIELD_FLAG,     /* bool */
	MAPLE_FIELD_LETTER,   /* char */
};

struct maple_field {
	const char *name; /* NULL ends a table */
	enum maple_field_type type;
	size_t offset;
};

#define MAPLE_FIELD(s, member, type)                                    \
	{                                                               \
#member, MAPLE_FIELD_##type, offsetof(struct s, member) \
	}
#define MAPLE_FIELD_END                     \
	{                                   \
		NULL, MAPLE_FIELD_STRING, 0 \
	}

json_t *maple_fields_number(uint64_t number);
int maple_fields_encode(json_t *object, const struct maple_field *fields,
			const void *base);
int maple_fields_decode(const json_t *object, const struct maple_field *fields,
			void *base);

#endif
