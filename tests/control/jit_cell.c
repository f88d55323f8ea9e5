// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Code that is made at run time, as a JIT compiler's, counts in a variable that
 * C code resets: it loads, adds and stores, without a lock. A reset between its
 * load and its store is lost. No instruction of the file makes these accesses, so
 * there is no site in the program where its thread could be stopped.
 * With an argument both sides take a lock, which the clean twin is to show.
 *
 *	0.1 made code: load counter (1)
 *	0.2 reset(): counter = 0
 *	0.1 made code: store counter (2)	the reset is lost
 */
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static volatile long counter = 1;
static long locked;

/* long count(volatile long *at): *at += 1 in three instructions */
static const unsigned char code[] = {
	0x48, 0x8b, 0x07, /* mov (%rdi),%rax */
	0x48, 0xff, 0xc0, /* inc %rax */
	0x48, 0x89, 0x07, /* mov %rax,(%rdi) */
	0xc3,		  /* ret */
};

static long (*count)(volatile long *at);

static void *run_made(void *p)
{
	if (locked)
		pthread_mutex_lock(&l);
	count(&counter);
	if (locked)
		pthread_mutex_unlock(&l);
	return p;
}

static void *reset(void *p)
{
	if (locked)
		pthread_mutex_lock(&l);
	counter = 0;
	if (locked)
		pthread_mutex_unlock(&l);
	return p;
}

int main(int argc, char **argv)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t t[2];

	(void)argv;
	assert(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	count = (long (*)(volatile long *))page;
	locked = argc > 1;
	pthread_create(&t[0], 0, run_made, 0);
	pthread_create(&t[1], 0, reset, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	assert(counter == 0 || counter == 1);
	return 0;
}
