// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Probes where none can be, or should be, and files that become others while
 * there are probes in them:  misplaced DIR SEED VICTIM
 * DIR: a folder for copies of the victim
 */
#include <sys/sendfile.h>
#include <sys/stat.h>
#include "victims.h"

static const char *folder;

static int try_probe(struct maple_control *c, const char *path,
		     const struct maple_uapi_probe *probe,
		     struct maple_error *err)
{
	int fd = open(path, O_RDONLY);
	int e = maple_control_probes(c, fd, probe, 1, err);

	close(fd);
	return e;
}

static struct maple_counters counters_of(struct maple_control *c)
{
	struct maple_counters counters;

	session_look(c, &counters);
	return counters;
}

static void copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out;
	struct stat st;

	unlink(to);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	if (in < 0 || out < 0 || fstat(in, &st) ||
	    sendfile(out, in, NULL, (size_t)st.st_size) != st.st_size)
		fail("copying to %s: %s", to, strerror(errno));
	close(in);
	close(out);
}

/* Probed, the session sees accesses; then all is over, and it runs on. */
static void works_and_ends(struct maple_control *c, struct victim *v)
{
	unsigned long long was = counters_of(c).hits;
	int ms;

	for (ms = 0; ms < PATIENCE && counters_of(c).hits == was; ms++)
		nap(1000);
	if (ms == PATIENCE)
		fail("no access was seen");
	maple_control_close(c);
	victim_check(v);
	victim_runs(v);
	victim_check(v);
	victim_end(v);
}

static void outside(const char *path)
{
	struct maple_uapi_probe probe;
	struct maple_control *c;
	struct maple_error err;
	struct victim v;
	struct stat st;

	victim_start(&v, path, NULL);
	c = session_on(&v, 0, LONG);
	if (stat(path, &st))
		fail("%s: %s", path, strerror(errno));
	victim_probe(&v, &probe, VICTIM_STORE);
	probe.offset = (uint64_t)st.st_size;
	if (try_probe(c, path, &probe, &err) != -EINVAL)
		fail("a probe at the file's end is not refused");
	victim_probe(&v, &probe, VICTIM_STORE);
	probe.next = UINT64_MAX;
	if (try_probe(c, path, &probe, &err) != -EINVAL)
		fail("a next instruction beyond all is not refused");
	/* Inside, but where no code is: nobody comes there. */
	victim_probe(&v, &probe, VICTIM_STORE);
	probe.offset = (uint64_t)st.st_size - 16;
	probe.next = 0;
	try_probe(c, path, &probe, &err);
	victim_go(&v);
	works_and_ends(c, &v);
	printf("outside\n");
}

static void on_lock(const char *path)
{
	struct maple_uapi_probe probe;
	struct maple_control *c;
	struct maple_error err;
	struct victim v;

	victim_start(&v, path, NULL);
	c = session_on(&v, 0, LONG);
	victim_probe(&v, &probe, VICTIM_LOCK);
	if (try_probe(c, path, &probe, &err))
		fail("a LOCK prefix fails the message: %s", err.text);
	if (counters_of(c).unreached != 1)
		fail("a LOCK prefix is not told of");
	victim_go(&v);
	works_and_ends(c, &v);
	printf("on a LOCK prefix\n");
}

/* What the target makes of it is its own affair. */
static void in_the_middle(const char *path)
{
	struct maple_uapi_probe probe;
	struct maple_control *c;
	struct maple_error err;
	struct victim v;

	for (unsigned int byte = 1; byte < 7; byte++) {
		victim_start(&v, path, NULL);
		c = session_open();
		if (session_start(c, &v, 3, 60000, &err))
			fail("%s", err.text);
		victim_probe(&v, &probe, VICTIM_STORE);
		probe.offset += byte;
		try_probe(c, path, &probe, &err);
		victim_go(&v);
		nap(20000);
		session_look(c, NULL);
		maple_control_close(c);
		victim_check(&v);
		victim_end(&v);
	}
	printf("in the middle of an instruction\n");
}

/* The probes are the old file's, which its processes still run. */
static void replaced(const char *path)
{
	char here[256], there[256];
	struct maple_control *c;
	struct victim v, other;

	snprintf(here, sizeof(here), "%s/victim", folder);
	snprintf(there, sizeof(there), "%s/new", folder);
	for (int round = 0; round < 4; round++) {
		copy(path, here);
		copy(path, there);
		victim_start(&v, here, NULL);
		c = session_on(&v, (unsigned int)round, LONG);
		if (round % 2)
			victim_go(&v);
		if (round / 2 ? rename(there, here) : unlink(here))
			fail("%s: %s", here, strerror(errno));
		if (round / 2) {
			victim_start(&other, here, NULL);
			victim_go(&other);
			victim_runs(&other);
			victim_check(&other);
			victim_end(&other);
		}
		victim_go(&v);
		works_and_ends(c, &v);
	}
	printf("unlinked, renamed over\n");
}

/* Calls what is mapped from @path, for ever. */
static void run_code(const char *path)
{
	int fd = open(path, O_RDONLY);
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	long value;

	raise(SIGSTOP);
	for (;;) {
		((void (*)(long *))(code + 16))(&value);
		nap(500);
	}
}

/* Code that is no program can be written to while it runs. */
static void overwritten(bool truncated)
{
	static const unsigned char code[] = {
		0x48, 0xc7, 0x07, 1, 0, 0, 0, 0xc3
	};
	static const unsigned char other[] = { 0x90, 0x90, 0x90, 0xc3 };
	struct maple_uapi_probe probe = { .offset = 16,
					  .next = 23,
					  .size = 8,
					  .base = 7,
					  .kind = MAPLE_EV_WRITE,
					  .flags = MAPLE_PROBE_WANTED,
					  .index = MAPLE_REG_ABSENT,
					  .aux = MAPLE_REG_ABSENT };
	struct maple_control *c = session_open();
	struct victim v = { 0 };
	struct maple_error err;
	char path[256];
	int fd, ms;

	snprintf(path, sizeof(path), "%s/code", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
	if (fd < 0 || ftruncate(fd, 4096) ||
	    pwrite(fd, code, sizeof(code), 16) != sizeof(code))
		fail("%s: %s", path, strerror(errno));
	v.pid = fork();
	if (!v.pid)
		run_code(path);
	victim_await_stop(&v);
	if (session_start(c, &v, 0, 60000, &err) ||
	    maple_control_probes(c, fd, &probe, 1, &err))
		fail("%s", err.text);
	victim_go(&v);
	for (ms = 0; ms < PATIENCE && counters_of(c).hits < 3; ms++)
		nap(1000);
	if (ms == PATIENCE)
		fail("the code's accesses are not seen");
	if (truncated ? ftruncate(fd, 0)
		      : pwrite(fd, other, sizeof(other), 16) != sizeof(other))
		fail("%s: %s", path, strerror(errno));
	nap(20000);
	session_look(c, NULL);
	maple_control_close(c);
	kill(v.pid, SIGKILL);
	waitpid(v.pid, NULL, 0);
	close(fd);
	printf("%s\n", truncated ? "truncated" : "overwritten");
}

int main(int argc, char **argv)
{
	if (argc != 4)
		fail("usage: misplaced DIR SEED VICTIM");
	folder = argv[1];
	seed = (unsigned int)atoi(argv[2]);
	outside(argv[3]);
	on_lock(argv[3]);
	in_the_middle(argv[3]);
	replaced(argv[3]);
	overwritten(false);
	overwritten(true);
	return 0;
}
