// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What the runs of a program have executed: texts that nobody looks into here. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "memo/sql.h"
#include "memo/store.h"

void maple_memo_texts_destroy(char **texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	free(texts);
}

int maple_store_reached(struct maple_memo *memo, int64_t program, char ***texts,
			size_t *n, struct maple_error *err)
{
	struct maple_query *statement;
	char **text = NULL;
	size_t room = 0;
	int ret = maple_sql_get(memo, MAPLE_SQL_REACHED, &statement, err, "isi",
				program, MAPLE_MEMO_REACHED,
				(int64_t)MAPLE_MEMO_CORPUS_TEXT);

	*n = 0;
	while (!ret && (ret = maple_sql_step(memo, statement, err)) > 0) {
		ret = -ENOMEM;
		if (maple_array_reserve(text, *n, room))
			text[*n] = maple_sql_string(statement, 0);
		if (*n < room && text[*n]) {
			++*n;
			ret = 0;
		}
		if (ret)
			maple_error_set(err, ENOMEM, "out of memory");
	}
	if (ret < 0) {
		maple_sql_reset(statement);
		maple_memo_texts_destroy(text, *n);
		text = NULL;
		*n = 0;
	}
	*texts = text;
	return ret < 0 ? ret : 0;
}
