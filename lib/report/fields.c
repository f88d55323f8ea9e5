// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Structs as JSON objects by a table of their fields: the same table writes
 * and reads, so that the two cannot drift apart. Addresses are hex strings:
 * many readers of JSON keep 53 bits of a number. Unset strings are left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "report/fields.h"

/*
 * maple_fields_number - a 64-bit number, as a hex string where JSON's integers
 * end
 */
json_t *maple_fields_number(uint64_t number)
{
	if (number > INT64_MAX)
		return json_sprintf("0x%" PRIx64, number);
	return json_integer((json_int_t)number);
}

static json_t *encode_struct(const struct maple_field *fields, const void *base)
{
	json_t *object = json_object();

	if (!maple_fields_encode(object, fields, base))
		return object;
	json_decref(object);
	return NULL;
}

/* maple_fields_encode_all - an array of @n structs of @size; NULL: no memory */
json_t *maple_fields_encode_all(const struct maple_field *fields,
				const void *structs, size_t size, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(
			    array, encode_struct(fields, (const char *)structs +
								 i * size))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *encode_array(const struct maple_field *field, const void *base)
{
	const char *at = (const char *)base;

	return maple_fields_encode_all(
		field->of, *(void *const *)(at + field->offset), field->size,
		*(const unsigned int *)(at + field->count));
}

static json_t *encode_field(const struct maple_field *field, const void *base)
{
	const void *p = (const char *)base + field->offset;

	switch (field->type) {
	case MAPLE_FIELD_STRING:
		return maple_bytes_encode(*(char *const *)p);
	case MAPLE_FIELD_HEX:
		return json_sprintf("0x%" PRIx64, *(const uint64_t *)p);
	case MAPLE_FIELD_NUMBER:
		return maple_fields_number(*(const uint64_t *)p);
	case MAPLE_FIELD_UNSIGNED:
		return json_integer(*(const unsigned int *)p);
	case MAPLE_FIELD_INTEGER:
	case MAPLE_FIELD_INDEX:
		return json_integer(*(const int *)p);
	case MAPLE_FIELD_FLAG:
		return json_boolean(*(const bool *)p);
	case MAPLE_FIELD_LETTER:
		return json_stringn(p, *(const char *)p ? 1 : 0);
	case MAPLE_FIELD_OBJECT:
		return encode_struct(field->of, p);
	case MAPLE_FIELD_ARRAY:
		return encode_array(field, base);
	case MAPLE_FIELD_HERE:
		break; /* has no value of its own */
	}
	return NULL;
}

/*
 * maple_fields_encode - adds the fields of the struct at @base to @object
 *
 * Returns -1 when out of memory.
 */
int maple_fields_encode(json_t *object, const struct maple_field *fields,
			const void *base)
{
	for (; fields->name; fields++) {
		json_t *value;

		if (fields->type == MAPLE_FIELD_HERE) {
			if (maple_fields_encode(object, fields->of,
						(const char *)base +
							fields->offset))
				return -1;
			continue;
		}
		value = encode_field(fields, base);
		if (json_is_null(value))
			continue;
		if (json_object_set_new(object, fields->name, value))
			return -1;
	}
	return 0;
}

static int decode_u64(const json_t *value, uint64_t *number)
{
	const char *s = json_string_value(value);
	char *end;

	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*number = (uint64_t)json_integer_value(value);
		return 0;
	}
	if (!s || strncmp(s, "0x", 2) != 0 || !s[2])
		return -EBADMSG;
	errno = 0;
	*number = strtoull(s, &end, 16);
	return *end || errno ? -EBADMSG : 0;
}

static int decode_integer(const json_t *value, int64_t low, int64_t high,
			  int64_t *number)
{
	if (!json_is_integer(value))
		return -EBADMSG;
	*number = json_integer_value(value);
	return *number < low || *number > high ? -EBADMSG : 0;
}

/* What is there when it fails is as long as its count says. */
static int decode_array(const struct maple_field *field, const json_t *array,
			void *base)
{
	size_t n = json_array_size(array);
	char *at = calloc(n + 1, field->size);
	int ret = 0;

	if (!json_is_array(array) || !at) {
		free(at);
		return at ? -EBADMSG : -ENOMEM;
	}
	*(char **)((char *)base + field->offset) = at;
	*(unsigned int *)((char *)base + field->count) = (unsigned int)n;
	for (size_t i = 0; i < n && !ret; i++)
		ret = maple_fields_decode(json_array_get(array, i), field->of,
					  at + i * field->size);
	return ret;
}

static int decode_field(const struct maple_field *field, const json_t *value,
			void *base)
{
	void *p = (char *)base + field->offset;
	int64_t number = 0;
	int ret;

	switch (field->type) {
	case MAPLE_FIELD_STRING:
		if (!json_is_string(value))
			return -EBADMSG;
		*(char **)p = maple_bytes_decode(value);
		return *(char **)p ? 0 : -ENOMEM;
	case MAPLE_FIELD_HEX:
	case MAPLE_FIELD_NUMBER:
		return decode_u64(value, p);
	case MAPLE_FIELD_UNSIGNED:
		ret = decode_integer(value, 0, UINT32_MAX, &number);
		*(unsigned int *)p = (unsigned int)number;
		return ret;
	case MAPLE_FIELD_INTEGER:
	case MAPLE_FIELD_INDEX:
		ret = decode_integer(value, INT32_MIN, INT32_MAX, &number);
		*(int *)p = (int)number;
		return ret;
	case MAPLE_FIELD_FLAG:
		*(bool *)p = json_is_true(value);
		return json_is_boolean(value) ? 0 : -EBADMSG;
	case MAPLE_FIELD_LETTER:
		if (json_string_length(value) > 1 || !json_is_string(value))
			return -EBADMSG;
		*(char *)p = *json_string_value(value);
		return 0;
	case MAPLE_FIELD_HERE:
	case MAPLE_FIELD_OBJECT:
		return maple_fields_decode(value, field->of, p);
	case MAPLE_FIELD_ARRAY:
		return decode_array(field, value, base);
	}
	return -EBADMSG;
}

/*
 * maple_fields_decode - fills the struct at @base from @object
 *
 * What is missing keeps its value, unless it is an index. Returns 0, -EBADMSG
 * or -ENOMEM.
 */
int maple_fields_decode(const json_t *object, const struct maple_field *fields,
			void *base)
{
	int ret = 0;

	if (!json_is_object(object))
		return -EBADMSG;
	for (; fields->name && !ret; fields++) {
		const json_t *value =
			fields->type == MAPLE_FIELD_HERE
				? object
				: json_object_get(object, fields->name);

		if (value && !json_is_null(value))
			ret = decode_field(fields, value, base);
		else if (fields->type == MAPLE_FIELD_INDEX)
			*(int *)((char *)base + fields->offset) = -1;
	}
	return ret;
}
