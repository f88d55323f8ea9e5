// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What an input is called that the user has given no name: by the command,
 * since a program with other arguments is another program to be tested. The
 * program is in it by the last part of its name: a launcher, a script's
 * interpreter and a program with several names do something else under each,
 * and a place says nothing. A database keeps these names, so they stay as they
 * are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <xxhash.h>
#include <maple/memo.h>
#include <maple/report.h>
#include "base/bytes.h"
#include "memo/sql.h"

#define MARK	"$ " /* no option takes it for a name by chance */
#define MOST	240  /* bytes; of a longer one the hash tells the rest */
#define READING 200

static void shorten(char *text)
{
	XXH64_hash_t hash = XXH64(text, strlen(text), 0);
	size_t n = READING;

	while (n && (text[n] & 0xc0) == 0x80) /* no character is cut in two */
		n--;
	sprintf(text + n, "... %016llx", (unsigned long long)hash);
}

/* maple_memo_input - see maple/memo.h */
char *maple_memo_input(char *const *argv, const char *requests)
{
	const char *slash = *argv ? strrchr(*argv, '/') : NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs(MARK, out);
	if (*argv)
		maple_report_word(out, slash ? slash + 1 : *argv);
	for (size_t i = 1; *argv && argv[i]; i++) {
		putc(' ', out);
		maple_report_word(out, argv[i]);
	}
	if (requests)
		fprintf(out, " & %s", requests);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	if (size > MOST)
		shorten(text);
	return text;
}

/* maple_memo_command - see maple/memo.h */
const char *maple_memo_command(const char *input)
{
	return input && !strncmp(input, MARK, strlen(MARK))
		       ? input + strlen(MARK)
		       : NULL;
}

static void free_words(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}

/* The strings of a JSON array; NULL: it is none. */
static char **decode_words(const json_t *array)
{
	size_t n = json_array_size(array);
	char **words = n ? calloc(n + 1, sizeof(*words)) : NULL;

	for (size_t i = 0; words && i < n; i++) {
		words[i] = maple_bytes_decode(json_array_get(array, i));
		if (words[i])
			continue;
		free_words(words);
		return NULL;
	}
	return words;
}

/*
 * maple_sql_input_of - maple_memo_input() of a campaign's argv, or of a
 * finding, as JSON
 *
 * To be freed; NULL where @text does not say. What brings an older database up
 * to date asks it.
 */
char *maple_sql_input_of(const char *text, const char *requests)
{
	json_t *root = text ? json_loads(text, 0, NULL) : NULL;
	const json_t *argv = json_object_get(root, "argv");
	char **words = decode_words(argv ? argv : root);
	char *input = words ? maple_memo_input(words, requests) : NULL;

	free_words(words);
	json_decref(root);
	return input;
}
