// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * sqlite_threads [ROWS]: threads on SQLite, as tests/bench/success tests it
 * with few rows: two that write to and read from one connection, in SQLite's
 * serialised mode, and each to a database of its own besides, so that what all
 * connections share (its allocator, its page cache, its random numbers) meets
 * as well.
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 2

static int rows = 3;
static sqlite3 *shared;

static void run(sqlite3 *db, const char *sql)
{
	char *message = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK)
		return;
	fprintf(stderr, "%s: %s\n", sql, message ? message : "out of memory");
	exit(1);
}

static sqlite3 *opened(void)
{
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		exit(1);
	run(db, "CREATE TABLE rows(id INTEGER PRIMARY KEY, key INTEGER)");
	return db;
}

static int count(sqlite3 *db)
{
	sqlite3_stmt *s;
	int n;

	if (sqlite3_prepare_v2(db, "SELECT count(*) FROM rows", -1, &s, NULL) !=
		    SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		exit(1);
	n = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return n;
}

static void *work(void *arg)
{
	sqlite3 *own = opened();

	for (int i = 0; i < rows; i++) {
		run(shared, "INSERT INTO rows(key) VALUES(random())");
		run(own, "INSERT INTO rows(key) VALUES(random())");
		count(shared);
	}
	if (count(own) != rows)
		exit(1);
	sqlite3_close(own);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	if (argc > 1)
		rows = atoi(argv[1]);
	if (!sqlite3_threadsafe())
		return 1;
	shared = opened();
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	if (count(shared) != THREADS * rows)
		return 1;
	sqlite3_close(shared);
	return 0;
}
