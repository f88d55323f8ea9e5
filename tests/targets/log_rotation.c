// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * After MySQL's log rotation: the log is closed and opened again under its
 * lock, but the writer asks without it whether there is a log to write to.
 *
 * Idiom: 1
 * iRoot: W:24 -> R:34
 * Native: 0 of 1000 runs fail
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

static struct {
	pthread_mutex_t lock;
	bool open;
	int entries;
	int archived;
} binlog = { .lock = PTHREAD_MUTEX_INITIALIZER, .open = true };

static void *rotate(void *arg)
{
	pthread_mutex_lock(&binlog.lock);
	binlog.open = false; /* e0 */
	binlog.archived += binlog.entries;
	binlog.entries = 0;
	binlog.open = true;
	pthread_mutex_unlock(&binlog.lock);
	return NULL;
}

static void *update(void *arg)
{
	if (binlog.open) { /* e1 */
		pthread_mutex_lock(&binlog.lock);
		binlog.entries++;
		pthread_mutex_unlock(&binlog.lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, update, NULL);
	pthread_create(&b, NULL, rotate, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	assert(binlog.archived + binlog.entries == 1);
	return 0;
}
