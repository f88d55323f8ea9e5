// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Messages to bytes and back, by the tables that the lists in maple/wire.h
 * make. What comes in is the other side's word: nothing in it is believed
 * before it is checked.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <maple/wire.h>

enum field_kind { U32, U64, I64, F64, FLAG, TEXT, LIST, BYTES, PARTS };

static const char *const kind_names[] = {
	[U32] = "u32",	 [U64] = "u64",	    [I64] = "i64",
	[F64] = "f64",	 [FLAG] = "flag",   [TEXT] = "text",
	[LIST] = "list", [BYTES] = "bytes", [PARTS] = "parts",
};

struct field {
	const char *name;
	enum field_kind kind;
	size_t offset, most;
};

struct form {
	const char *name, *text;
	enum maple_wire_kind kind;
	unsigned int fds;
	size_t size;
	const struct field *fields; /* ended by one without a name */
};

/* A function a message, because a field does not know whose it is. */
#define FIELD(KIND, member, length) \
	{ #member, KIND, offsetof(OF, member), length },
#define M(NAME, name, kind, fds, text)                                          \
	static const struct form *form_##name(void)                             \
	{                                                                       \
		typedef struct maple_wire_##name OF;                            \
		static const struct field fields[] = { MAPLE_WIRE_##name(       \
			FIELD){ NULL, U32, 0, 0 } };                            \
		static const struct form form = {                               \
			#NAME, text, MAPLE_WIRE_##kind, fds, sizeof(OF), fields \
		};                                                              \
		return &form;                                                   \
	}
MAPLE_WIRE_MESSAGES(M)
#undef M

static const struct form *(*const forms[MAPLE_WIRE_TYPES])(void) = {
#define M(NAME, name, kind, fds, text) [MAPLE_WIRE_##NAME] = form_##name,
	MAPLE_WIRE_MESSAGES(M)
#undef M
};

static const struct form *form_of(unsigned int type)
{
	return type > MAPLE_WIRE_NONE && type < MAPLE_WIRE_TYPES ? forms[type]()
								 : NULL;
}

const char *maple_wire_name(unsigned int type)
{
	const struct form *form = form_of(type);

	return form ? form->name : NULL;
}

enum maple_wire_kind maple_wire_kind(unsigned int type)
{
	assert(form_of(type));
	return form_of(type)->kind;
}

unsigned int maple_wire_fds(unsigned int type)
{
	assert(form_of(type));
	return form_of(type)->fds;
}

/* ---- out ---- */

int maple_wire_append(struct maple_wire_buffer *buffer, const void *data,
		      size_t size)
{
	size_t room = buffer->room ? buffer->room : 256;
	unsigned char *grown;

	while (room - buffer->size < size)
		room *= 2;
	if (room != buffer->room) {
		grown = realloc(buffer->data, room);
		if (!grown)
			return -ENOMEM;
		buffer->data = grown;
		buffer->room = room;
	}
	if (size)
		memcpy(buffer->data + buffer->size, data, size);
	buffer->size += size;
	return 0;
}

/* What of a number is sent. */
static size_t width(enum field_kind kind)
{
	return kind == FLAG ? 1 : kind == U32 ? 4 : 8;
}

static int too_long(const struct form *form, const struct field *field,
		    size_t size, struct maple_error *err)
{
	return maple_error_set(err, EMSGSIZE,
			       "%s: %s has %zu bytes, %zu are the most",
			       form->name, field->name, size, field->most);
}

static int put_run(struct maple_wire_buffer *buffer, const void *data,
		   size_t size)
{
	uint32_t n = (uint32_t)size;
	int e = maple_wire_append(buffer, &n, sizeof(n));

	return e ? e : maple_wire_append(buffer, data, size);
}

static int put_field(struct maple_wire_buffer *buffer, const struct form *form,
		     const struct field *field, const void *from,
		     struct maple_error *err)
{
	const struct maple_wire_bytes *bytes = from;
	const char *text;
	size_t size;

	switch (field->kind) {
	case TEXT:
		text = *(const char *const *)from;
		size = text ? strlen(text) + 1 : 0;
		break;
	case LIST:
	case BYTES:
	case PARTS:
		text = bytes->data;
		size = bytes->size;
		break;
	default:
		return maple_wire_append(buffer, from, width(field->kind));
	}
	if (size > field->most)
		return too_long(form, field, size, err);
	return put_run(buffer, text, size);
}

int maple_wire_put(struct maple_wire_buffer *buffer, unsigned int type,
		   const void *message, struct maple_error *err)
{
	const struct form *form = form_of(type);
	const struct field *field;
	size_t before = buffer->size;
	int e = 0;

	assert(form);
	for (field = form->fields; field->name && !e; field++)
		e = put_field(buffer, form, field,
			      (const char *)message + field->offset, err);
	if (!e && buffer->size - before > MAPLE_WIRE_MAX)
		e = maple_error_set(err, EMSGSIZE, "%s has %zu bytes",
				    form->name, buffer->size - before);
	if (e == -ENOMEM)
		maple_error_set(err, ENOMEM, "out of memory");
	if (e)
		buffer->size = before;
	return e;
}

int maple_wire_frame(struct maple_wire_buffer *buffer, unsigned int type,
		     const void *message, uint32_t serial, unsigned int fds,
		     struct maple_error *err)
{
	struct maple_wire_head head = { .type = (uint16_t)type,
					.fds = (uint16_t)fds,
					.serial = serial };
	size_t before = buffer->size;
	int e;

	assert(form_of(type) && fds <= form_of(type)->fds);
	e = maple_wire_append(buffer, &head, sizeof(head));
	if (e)
		return maple_error_set(err, ENOMEM, "out of memory");
	e = maple_wire_put(buffer, type, message, err);
	if (e) {
		buffer->size = before;
		return e;
	}
	head.size = (uint32_t)(buffer->size - before - sizeof(head));
	memcpy(buffer->data + before, &head, sizeof(head));
	return 0;
}

/* ---- in ---- */

int maple_wire_head_check(const struct maple_wire_head *head, bool from_client,
			  struct maple_error *err)
{
	const struct form *form = form_of(head->type);

	if (!form || form->kind == MAPLE_WIRE_PART ||
	    from_client == (form->kind == MAPLE_WIRE_SAY))
		return maple_error_set(err, EPROTO, "there is no message %u",
				       head->type);
	if (head->size > MAPLE_WIRE_MAX)
		return maple_error_set(err, EPROTO,
				       "%s of %u bytes, %u are the most",
				       form->name, head->size, MAPLE_WIRE_MAX);
	if (head->fds > form->fds || head->reserved)
		return maple_error_set(err, EPROTO,
				       "%s with %u file descriptors",
				       form->name, head->fds);
	return 0;
}

struct reader {
	const struct form *form;
	const unsigned char *at, *end;
};

static int bad(const struct reader *r, const struct field *field,
	       const char *what, struct maple_error *err)
{
	return maple_error_set(err, EPROTO, "%s: %s %s", r->form->name,
			       field->name, what);
}

static int get_run(struct reader *r, const struct field *field, void *to,
		   struct maple_error *err)
{
	const char *data;
	uint32_t n;

	if (r->end - r->at < (ptrdiff_t)sizeof(n))
		return bad(r, field, "is cut off", err);
	memcpy(&n, r->at, sizeof(n));
	r->at += sizeof(n);
	if (n > (size_t)(r->end - r->at))
		return bad(r, field, "is cut off", err);
	if (n > field->most)
		return bad(r, field, "is too long", err);
	data = (const char *)r->at;
	r->at += n;
	if (field->kind == TEXT) {
		if (n && memchr(data, 0, n) != data + n - 1)
			return bad(r, field, "is no string", err);
		*(const char **)to = n ? data : NULL;
		return 0;
	}
	if (field->kind == LIST && n && data[n - 1])
		return bad(r, field, "is no list", err);
	*(struct maple_wire_bytes *)to =
		(struct maple_wire_bytes){ n ? data : NULL, n };
	return 0;
}

static int get_field(struct reader *r, const struct field *field, void *to,
		     struct maple_error *err)
{
	size_t n = width(field->kind);

	if (field->kind >= TEXT)
		return get_run(r, field, to, err);
	if ((size_t)(r->end - r->at) < n)
		return bad(r, field, "is cut off", err);
	if (field->kind == FLAG && *r->at > 1)
		return bad(r, field, "is neither 0 nor 1", err);
	memcpy(to, r->at, n);
	r->at += n;
	return 0;
}

static int get(struct reader *r, void *message, struct maple_error *err)
{
	const struct field *field;
	int e = 0;

	memset(message, 0, r->form->size);
	for (field = r->form->fields; field->name && !e; field++)
		e = get_field(r, field, (char *)message + field->offset, err);
	return e;
}

int maple_wire_get(unsigned int type, const void *data, size_t size,
		   void *message, struct maple_error *err)
{
	struct reader r = { .form = form_of(type),
			    .at = data,
			    .end = (const unsigned char *)data + size };
	int e;

	assert(r.form);
	e = get(&r, message, err);
	if (!e && r.at != r.end)
		e = maple_error_set(err, EPROTO, "%s: %zu bytes too many",
				    r.form->name, (size_t)(r.end - r.at));
	return e;
}

int maple_wire_part(struct maple_wire_bytes *parts, unsigned int type,
		    void *message, struct maple_error *err)
{
	struct reader r = { .form = form_of(type), .at = parts->data };
	int e;

	assert(r.form && r.form->kind == MAPLE_WIRE_PART);
	if (!parts->size)
		return 0;
	r.end = r.at + parts->size;
	e = get(&r, message, err);
	if (e)
		return e;
	parts->data = r.at;
	parts->size = (uint32_t)(r.end - r.at);
	return 1;
}

/* ---- lists ---- */

char **maple_wire_words(const struct maple_wire_bytes *list)
{
	const char *text = list->data;
	size_t i, n = 0;
	char **words;

	for (i = 0; i < list->size; i++)
		n += !text[i];
	words = calloc(n + 1, sizeof(*words));
	for (i = n = 0; words && i < list->size; i += strlen(text + i) + 1)
		words[n++] = (char *)text + i;
	return words;
}

struct maple_wire_bytes maple_wire_list(char *const *words)
{
	struct maple_wire_buffer buffer = { 0 };

	/* An empty list has its bytes as well, so that NULL means no memory. */
	if (maple_wire_append(&buffer, NULL, 0))
		return (struct maple_wire_bytes){ NULL, 0 };
	for (; *words; words++)
		if (maple_wire_append(&buffer, *words, strlen(*words) + 1)) {
			free(buffer.data);
			return (struct maple_wire_bytes){ NULL, 0 };
		}
	return (struct maple_wire_bytes){ buffer.data, (uint32_t)buffer.size };
}

/* ---- words ---- */

void maple_wire_describe(FILE *out)
{
	static const char *const from[] = {
		[MAPLE_WIRE_ASK] = "anybody",	    [MAPLE_WIRE_USE] = "client",
		[MAPLE_WIRE_ONCE] = "client, once", [MAPLE_WIRE_ROOT] = "root",
		[MAPLE_WIRE_SAY] = "mapled",	    [MAPLE_WIRE_PART] = "part",
	};
	const struct field *field;
	const struct form *form;

	for (unsigned int type = 1; type < MAPLE_WIRE_TYPES; type++) {
		form = form_of(type);
		fprintf(out, "%u %s (%s", type, form->name, from[form->kind]);
		if (form->fds)
			fprintf(out, ", up to %u fd%s", form->fds,
				form->fds > 1 ? "s" : "");
		fprintf(out, "): %s\n ", form->text);
		for (field = form->fields; field->name; field++) {
			fprintf(out, " %s %s", kind_names[field->kind],
				field->name);
			if (field->most)
				fprintf(out, "[%zu]", field->most);
		}
		fputs(form->fields->name ? "\n" : " nothing\n", out);
	}
}
