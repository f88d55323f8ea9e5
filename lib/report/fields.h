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
	MAPLE_FIELD_INDEX,    /* int, -1 if it is missing */
	MAPLE_FIELD_HERE,     /* a struct; its fields are the object's own */
	MAPLE_FIELD_OBJECT,   /* a struct that is an object of its own */
	MAPLE_FIELD_ARRAY,    /* a pointer to structs, and how many */
};

struct maple_field {
	const char *name; /* NULL ends a table */
	enum maple_field_type type;
	size_t offset;
	const struct maple_field *of; /* the fields of the structs */
	size_t size, count;	      /* of one; where an unsigned int says how
					 many there are */
};

#define MAPLE_FIELD(s, member, kind)                         \
	{                                                    \
		.name = #member, .type = MAPLE_FIELD_##kind, \
		.offset = offsetof(struct s, member),        \
	}
#define MAPLE_FIELD_STRUCT(s, member, kind, fields)                 \
	{                                                           \
		.name = #member, .type = MAPLE_FIELD_##kind,        \
		.offset = offsetof(struct s, member), .of = fields, \
	}
#define MAPLE_FIELD_STRUCTS(s, title, member, fields)               \
	{                                                           \
		.name = title, .type = MAPLE_FIELD_ARRAY,           \
		.offset = offsetof(struct s, member), .of = fields, \
		.size = sizeof(*((struct s *)0)->member),           \
		.count = offsetof(struct s, n##member),             \
	}
#define MAPLE_FIELD_END      \
	{                    \
		.name = NULL \
	}

json_t *maple_fields_number(uint64_t number);
int maple_fields_encode(json_t *object, const struct maple_field *fields,
			const void *base);
json_t *maple_fields_encode_all(const struct maple_field *fields,
				const void *structs, size_t size, size_t n);
int maple_fields_decode(const json_t *object, const struct maple_field *fields,
			void *base);

#endif
