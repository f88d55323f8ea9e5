// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Loads a library while its threads work, calls it from all of them, unloads
 * it, and does so again: sites come and go while the program runs.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long (*add)(long);

static void *work(void *arg)
{
	long last = 0;

	for (int i = 0; i < 200; i++)
		last = add(1);
	*(long *)arg = last;
	return NULL;
}

int main(void)
{
	char path[4096 + 16];
	long last[2], total = 0;
	pthread_t threads[2];
	ssize_t len;
	void *lib;

	len = readlink("/proc/self/exe", path, 4096);
	if (len < 0)
		return 1;
	path[len] = '\0';
	strcpy(strrchr(path, '/'), "/plugin.so");
	for (int round = 0; round < 3; round++) {
		lib = dlopen(path, RTLD_NOW);
		if (!lib) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		add = (long (*)(long))dlsym(lib, "plugin_add");
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, work, &last[i]);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		total += last[0] > last[1] ? last[0] : last[1];
		dlclose(lib);
	}
	printf("total %ld\n", total);
	return total != 3 * 400;
}
