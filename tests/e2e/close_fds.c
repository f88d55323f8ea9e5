// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Closes every file descriptor but its output, those it did not open among
 * them, as daemons do; then its threads work, and open files of their own
 * under the numbers that have become free.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROUNDS = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int opened, strange;

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

		pthread_mutex_lock(&lock);
		opened += fd >= 0;
		/* Nobody else may write to, or close, what is ours. */
		strange += write(fd, "x", 1) != 1;
		pthread_mutex_unlock(&lock);
		strange += close(fd) != 0;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur > 65536)
		limit.rlim_cur = 65536;
	for (int fd = 0; fd < (int)limit.rlim_cur; fd++)
		if (fd != STDOUT_FILENO)
			close(fd);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("opened %d, strange %d\n", opened, strange);
	return opened != 2 * ROUNDS || strange != 0;
}
