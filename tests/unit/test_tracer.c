// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The guard as a tracer: programs of every kind stop at their entry point,
 * run on as if nobody had touched them, and stand when they crash.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "backend/backend.h"
#include "backend/guard/launch.h"
#include "backend/process.h"
#include "backend/stack.h"

static const char source[] =
	"#define _GNU_SOURCE\n"
	"#include <sched.h>\n"
	"#include <dirent.h>\n"
	"#include <pthread.h>\n"
	"#include <setjmp.h>\n"
	"#include <signal.h>\n"
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"#include <string.h>\n"
	"#include <sys/time.h>\n"
	"#include <sys/wait.h>\n"
	"#include <unistd.h>\n"
	"static sigjmp_buf out;\n"
	"static volatile int ticks;\n"
	"static void *nothing(void *p) { return p; }\n"
	"static void *forever(void *p) { for (;;) pause(); }\n"
	"void *fault(void *p) { *(volatile int *)16 = 1; return p; }\n"
	"static void escape(int s) { siglongjmp(out, 1); }\n"
	"static void tick(int s) { ticks++; }\n"
	"static int threads(int n) {\n"
	"	pthread_t t;\n"
	"	for (int i = 0; i < n; i++)\n"
	"		if (pthread_create(&t, NULL, nothing, NULL) ||\n"
	"		    pthread_join(t, NULL))\n"
	"			return 1;\n"
	"	return 8;\n"
	"}\n"
	"static void *tell(void *p) { ticks++; return p; }\n"
	"static int order(int cpu) {\n"
	"	struct sched_param above = { 20 }, below = { 10 };\n"
	"	pthread_attr_t attr;\n"
	"	pthread_t t[30];\n"
	"	cpu_set_t set;\n"
	"	CPU_ZERO(&set);\n"
	"	CPU_SET(cpu, &set);\n"
	"	pthread_attr_init(&attr);\n"
	"	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);\n"
	"	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);\n"
	"	pthread_attr_setschedparam(&attr, &below);\n"
	"	if (sched_setaffinity(0, sizeof(set), &set) ||\n"
	"	    sched_setscheduler(0, SCHED_FIFO, &above))\n"
	"		return 1;\n"
	"	for (int i = 0; i < 30; i++)\n"
	"		if (pthread_create(&t[i], &attr, tell, NULL) || ticks)\n"
	"			return 2;\n"
	"	for (int i = 0; i < 30; i++)\n"
	"		pthread_join(t[i], NULL);\n"
	"	return ticks == 30 ? 11 : 3;\n"
	"}\n"
	/* All but the caller: where they are going to stay. */
	"static int asleep(void) {\n"
	"	char path[300], state;\n"
	"	struct dirent *d;\n"
	"	int yes = 1;\n"
	"	DIR *dir = opendir(\"/proc/self/task\");\n"
	"	while ((d = readdir(dir))) {\n"
	"		if (d->d_name[0] == '.' || atoi(d->d_name) == gettid())\n"
	"			continue;\n"
	"		snprintf(path, sizeof(path), \"/proc/self/task/%s/stat\",\n"
	"			 d->d_name);\n"
	"		FILE *f = fopen(path, \"r\");\n"
	"		yes &= f && fscanf(f, \"%*d %*s %c\", &state) == 1 &&\n"
	"		       state == 'S';\n"
	"		if (f)\n"
	"			fclose(f);\n"
	"	}\n"
	"	closedir(dir);\n"
	"	return yes;\n"
	"}\n"
	"static void *fault_last(void *p) {\n"
	"	while (!asleep())\n"
	"		usleep(1000);\n"
	"	return fault(p);\n"
	"}\n"
	"static int crash(void) {\n"
	"	pthread_t t[4];\n"
	"	for (int i = 0; i < 3; i++)\n"
	"		pthread_create(&t[i], NULL, forever, NULL);\n"
	"	pthread_create(&t[3], NULL, fault_last, NULL);\n"
	"	return pthread_join(t[3], NULL);\n"
	"}\n"
	"static int children(void) {\n"
	"	int status;\n"
	"	pid_t pid = fork();\n"
	"	if (!pid)\n"
	"		_exit(3);\n"
	"	waitpid(pid, &status, 0);\n"
	"	if (WEXITSTATUS(status) != 3)\n"
	"		return 1;\n"
	"	pid = vfork();\n"
	"	if (!pid) {\n"
	"		execl(\"/bin/true\", \"true\", NULL);\n"
	"		_exit(1);\n"
	"	}\n"
	"	waitpid(pid, &status, 0);\n"
	"	if (status)\n"
	"		return 1;\n"
	"	pid = fork();\n"
	"	if (!pid)\n"
	"		fault(NULL);\n"
	"	waitpid(pid, &status, 0);\n"
	"	return WTERMSIG(status) == SIGSEGV ? 9 : 1;\n"
	"}\n"
	"static int signals(void) {\n"
	"	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };\n"
	"	signal(SIGALRM, tick);\n"
	"	setitimer(ITIMER_REAL, &every, NULL);\n"
	"	while (ticks < 50)\n"
	"		pause();\n"
	"	return 6;\n"
	"}\n"
	"static int caught(void) {\n"
	"	signal(SIGSEGV, escape);\n"
	"	signal(SIGFPE, SIG_IGN);\n"
	"	raise(SIGFPE);\n"
	"	if (sigsetjmp(out, 1))\n"
	"		return 5;\n"
	"	fault(NULL);\n"
	"	return 1;\n"
	"}\n"
	"int main(int argc, char **argv) {\n"
	"	const char *what = argc > 1 ? argv[1] : \"\";\n"
	"	if (!strcmp(what, \"threads\"))\n"
	"		return threads(200);\n"
	"	if (!strcmp(what, \"order\"))\n"
	"		return order(atoi(argv[2]));\n"
	"	if (!strcmp(what, \"crash\"))\n"
	"		return crash();\n"
	"	if (!strcmp(what, \"children\"))\n"
	"		return children();\n"
	"	if (!strcmp(what, \"signals\"))\n"
	"		return signals();\n"
	"	if (!strcmp(what, \"caught\"))\n"
	"		return caught();\n"
	"	if (!strcmp(what, \"abort\"))\n"
	"		abort();\n"
	"	if (!strcmp(what, \"stop\"))\n"
	"		return raise(SIGSTOP) ? 1 : 4;\n"
	"	if (!strcmp(what, \"euid\"))\n"
	"		return geteuid() & 0x7f;\n"
	"	if (!strcmp(what, \"loop\"))\n"
	"		for (;;)\n"
	"			pause();\n"
	"	return 7;\n"
	"}\n";

static char dir[] = "/tmp/maple-tracer-XXXXXX";

/* One program, linked in every way that there is. */
static const struct {
	const char *name, *flags;
	bool dynamic;
} kinds[] = {
	{ "pie", "-pie -fPIE", true },
	{ "nopie", "-no-pie", true },
	{ "static", "-static", false },
	{ "staticpie", "-static-pie -fPIE", false },
};

static const char *program(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int build(void **state)
{
	char command[512];
	FILE *file;

	if (!mkdtemp(dir) || chmod(dir, 0755))
		return -1;
	file = fopen(program("p.c"), "w");
	if (!file || fputs(source, file) < 0 || fclose(file))
		return -1;
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		snprintf(command, sizeof(command),
			 "cc -O0 -g -pthread %s -o %s/%s %s/p.c",
			 kinds[i].flags, dir, kinds[i].name, dir);
		if (system(command))
			return -1;
	}
	/* One that does not match, and one whose library is gone. */
	snprintf(command, sizeof(command),
		 "cd %s && cp static other && "
		 "echo 'int gone(void) { return 0; }' >gone.c && "
		 "cc -shared -fPIC -o libgone.so gone.c && "
		 "echo 'int gone(void); int main(void) { return gone(); }' "
		 ">lost.c && cc -o lost lost.c -L. -lgone && rm libgone.so",
		 dir);
	return system(command) ? -1 : 0;
}

static int clean(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static struct maple_launch launch;

static void start_argv(char **argv, const char *exe, bool keep)
{
	struct maple_launch_order order = {
		.path = argv[0],
		.argv = argv,
		.envp = environ,
		.in = 0,
		.out = 1,
		.err = 2,
		.own_group = true,
		.stop_at_entry = true,
		.exe = exe,
		.keep_crashed = keep,
		.cpu = -1,
	};
	struct maple_error err = { "" };

	if (maple_launch_start(&launch, &order, &err))
		fail_msg("%s", err.text);
}

static void start(const char *name, const char *what, bool keep)
{
	char path[128];
	char *argv[] = { path, (char *)what, NULL };

	snprintf(path, sizeof(path), "%s", program(name));
	start_argv(argv, NULL, keep);
}

static void wait_for(bool (*what)(void))
{
	struct pollfd pfd = { .fd = launch.news, .events = POLLIN };
	int i;

	for (i = 0; i < 2000 && !what(); i++)
		poll(&pfd, 1, 10);
	assert_true(what());
}

static bool has_stopped(void)
{
	return maple_launch_stopped(&launch);
}

static bool has_ended(void)
{
	return maple_launch_ended(&launch);
}

static bool has_crashed(void)
{
	struct maple_crash crash;

	return maple_launch_crashed(&launch, &crash);
}

static void ends_with(int status)
{
	wait_for(has_ended);
	assert_true(WIFEXITED(launch.status));
	assert_int_equal(WEXITSTATUS(launch.status), status);
	maple_launch_finish(&launch);
}

static uint64_t entry_point(pid_t pid)
{
	Elf64_auxv_t aux;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	do
		assert_int_equal(fread(&aux, sizeof(aux), 1, file), 1);
	while (aux.a_type != AT_ENTRY);
	fclose(file);
	return aux.a_un.a_val;
}

static uint64_t pc(pid_t pid)
{
	unsigned long long at = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "-1 %*x %llx", &at), 1);
	fclose(file);
	return at;
}

static bool maps(pid_t pid, const char *what)
{
	char path[64], line[512];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		found |= strstr(line, what) != NULL;
	fclose(file);
	return found;
}

/* The bytes at the entry point are those of the file. */
static void text_is_whole(pid_t pid)
{
	unsigned char text[4];
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, text, 4, entry_point(pid)), 4);
	close(fd);
	/* _start: xor %ebp,%ebp, behind an endbr64 where there is one */
	assert_true(!memcmp(text, "\x31\xed", 2) ||
		    !memcmp(text, "\xf3\x0f\x1e\xfa", 4));
}

static void every_kind_stops_at_its_entry(void **state)
{
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		pid_t pid;

		start(kinds[i].name, NULL, false);
		wait_for(has_stopped);
		pid = maple_launch_stopped(&launch);
		assert_int_equal(pid, launch.pid);
		assert_int_equal(pc(pid), entry_point(pid));
		assert_true(maps(pid, kinds[i].name));
		assert_int_equal(maps(pid, "libc.so.6"), kinds[i].dynamic);
		text_is_whole(pid);
		maple_launch_go(&launch);
		assert_int_equal(maple_launch_stopped(&launch), 0);
		ends_with(7);
	}
}

/* Kept or not, nothing of what a program does turns out differently. */
static void it_runs_as_if_alone(void **state)
{
	static const struct {
		const char *what;
		int status;
	} runs[] = { { "threads", 8 },
		     { "children", 9 },
		     { "signals", 6 },
		     { "caught", 5 } };

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (unsigned int k = 0; k < sizeof(runs) / sizeof(*runs); k++)
			for (int keep = 0; keep < 2; keep++) {
				start(kinds[i].name, runs[k].what, keep);
				wait_for(has_stopped);
				maple_launch_go(&launch);
				ends_with(runs[k].status);
			}
}

static void job_control_still_works(void **state)
{
	char name[64], letter = 0;
	int i;

	for (int keep = 0; keep < 2; keep++) {
		start("pie", "stop", keep);
		wait_for(has_stopped);
		maple_launch_go(&launch);
		for (i = 0; i < 1000 && letter != 'T' && letter != 't'; i++) {
			FILE *file;

			usleep(5000);
			snprintf(name, sizeof(name), "/proc/%d/stat",
				 launch.pid);
			file = fopen(name, "r");
			assert_non_null(file);
			assert_int_equal(
				fscanf(file, "%*d (%*[^)]) %c", &letter), 1);
			fclose(file);
		}
		assert_true(letter == 'T' || letter == 't');
		assert_false(maple_launch_ended(&launch));
		kill(launch.pid, SIGCONT);
		ends_with(4);
		letter = 0;
	}
}

/* Whether some stack, of the thread @tid unless 0, has function @name. */
static bool on_stack(const struct maple_stack *stacks, unsigned int n, int tid,
		     const char *name)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < stacks[i].nframes; k++)
			if ((!tid || stacks[i].tid == tid) &&
			    stacks[i].frames[k].place.function &&
			    !strcmp(stacks[i].frames[k].place.function, name))
				return true;
	return false;
}

static void crashed_thread_is_kept(void **state)
{
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct maple_stack *stacks;
		struct maple_crash crash;
		unsigned int n;
		pid_t tids[16];

		start(kinds[i].name, "crash", true);
		wait_for(has_stopped);
		maple_launch_go(&launch);
		wait_for(has_crashed);
		assert_true(maple_launch_crashed(&launch, &crash));
		assert_int_equal(crash.signo, SIGSEGV);
		assert_int_equal(crash.address, 16);
		assert_int_equal(crash.pid, launch.pid);
		assert_int_not_equal(crash.tid, crash.pid);
		assert_int_equal(maple_process_threads(crash.pid, tids, 16), 5);
		assert_int_equal(
			maple_stack_collect(crash.pid, NULL, &stacks, &n, NULL),
			0);
		assert_int_equal(n, 5);
		assert_true(on_stack(stacks, n, crash.tid, "fault"));
		assert_true(on_stack(stacks, n, crash.pid, "main"));
		assert_true(on_stack(stacks, n, 0, "forever"));
		maple_stack_destroy(stacks, n);
		assert_false(maple_launch_ended(&launch));
		maple_launch_let_die(&launch);
		assert_false(maple_launch_crashed(&launch, &crash));
		wait_for(has_ended);
		assert_true(WIFSIGNALED(launch.status));
		assert_int_equal(WTERMSIG(launch.status), SIGSEGV);
		maple_launch_finish(&launch);
	}
}

static void abort_is_kept(void **state)
{
	struct maple_crash crash;

	start("static", "abort", true);
	wait_for(has_stopped);
	maple_launch_go(&launch);
	wait_for(has_crashed);
	maple_launch_crashed(&launch, &crash);
	assert_int_equal(crash.signo, SIGABRT);
	assert_int_equal(crash.tid, launch.pid);
	assert_int_equal(crash.address, 0);
	maple_launch_let_die(&launch);
	wait_for(has_ended);
	assert_int_equal(WTERMSIG(launch.status), SIGABRT);
	maple_launch_finish(&launch);
}

/* The script's shell, and what else it starts, is left alone. */
static void script_starts_the_program(void **state)
{
	char script[512];
	char *argv[] = { "/bin/sh", "-c", script, NULL };

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (int keep = 0; keep < 2; keep++) {
			pid_t pid;

			snprintf(script, sizeof(script),
				 "ls / >/dev/null; (%s/other children) "
				 "|| [ $? = 9 ] || exit 1; "
				 "%s/other threads | cat; %s/%s threads; "
				 "s=$?; ls / >/dev/null; exit $s",
				 dir, dir, dir, kinds[i].name);
			start_argv(argv, kinds[i].name, keep);
			wait_for(has_stopped);
			pid = maple_launch_stopped(&launch);
			assert_int_not_equal(pid, launch.pid);
			assert_int_equal(pc(pid), entry_point(pid));
			assert_true(maps(pid, kinds[i].name));
			maple_launch_go(&launch);
			ends_with(8);
		}
}

static void a_crash_under_a_script_is_kept(void **state)
{
	char script[256];
	char *argv[] = { "/bin/sh", "-c", script, NULL };
	struct maple_crash crash;

	snprintf(script, sizeof(script), "%s crash 2>/dev/null; exit 12",
		 program("pie"));
	start_argv(argv, "*/pie", true);
	wait_for(has_stopped);
	maple_launch_go(&launch);
	wait_for(has_crashed);
	maple_launch_crashed(&launch, &crash);
	assert_int_not_equal(crash.pid, launch.pid);
	maple_launch_let_die(&launch);
	ends_with(12);
}

static void nothing_matches(void **state)
{
	char *argv[] = { "/bin/sh", "-c", "ls / >/dev/null; exit 3", NULL };

	start_argv(argv, "no-such-program", true);
	ends_with(3);
	assert_false(has_stopped());
}

static void notice(void *ctx, const char *text)
{
	print_message("%s\n", text);
}

static void what_cannot_be_loaded_never_stops(void **state)
{
	start("lost", NULL, true);
	wait_for(has_ended);
	assert_int_equal(maple_launch_stopped(&launch), 0);
	ends_with(127);
}

/* Where threads are created, nobody below gets ahead. */
static void schedule_is_left_alone(void **state)
{
	char path[128], number[16];
	char *argv[] = { path, "order", number, NULL };
	struct maple_launch_order order = {
		.path = path,
		.argv = argv,
		.envp = environ,
		.in = 0,
		.out = 1,
		.err = 2,
		.own_group = true,
		.realtime = true,
		.stop_at_entry = true,
		.keep_crashed = true,
	};
	struct maple_error err = { "" };
	struct maple_cpu cpu;

	if (maple_realtime_probe(NULL, &err))
		skip();
	assert_int_equal(maple_cpu_take(&cpu, 60, notice, NULL), 0);
	order.cpus = &cpu.before;
	order.cpu = cpu.number;
	snprintf(path, sizeof(path), "%s", program("pie"));
	snprintf(number, sizeof(number), "%d", cpu.number);
	assert_int_equal(maple_launch_start(&launch, &order, &err), 0);
	wait_for(has_stopped);
	maple_launch_go(&launch);
	ends_with(11);
	maple_cpu_give_back(&cpu);
}

static void exec_failure_is_told(void **state)
{
	char *argv[] = { "/nonexistent/program", NULL };
	struct maple_launch_order order = { .path = argv[0],
					    .argv = argv,
					    .envp = environ,
					    .in = 0,
					    .out = 1,
					    .err = 2,
					    .stop_at_entry = true };
	struct maple_error err = { "" };
	struct maple_launch l;

	assert_int_equal(maple_launch_start(&l, &order, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/program"));
}

/* Set-user-id programs keep their rights: root traces them. */
static void set_user_id_of_another(void **state)
{
	char command[256];

	if (geteuid())
		skip();
	snprintf(command, sizeof(command),
		 "cp %s/nopie %s/suid && chown 77:77 %s/suid && "
		 "chmod 4755 %s/suid",
		 dir, dir, dir, dir);
	assert_int_equal(system(command), 0);
	for (int keep = 0; keep < 2; keep++) {
		start("suid", "euid", keep);
		wait_for(has_stopped);
		maple_launch_go(&launch);
		ends_with(77);
	}
}

static bool gone(pid_t pid)
{
	for (int i = 0; i < 500; i++) {
		char path[64], state = 'X';
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		file = fopen(path, "r");
		if (!file)
			return true;
		if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 'X';
		fclose(file);
		if (state == 'Z' || state == 'X')
			return true;
		usleep(10000);
	}
	return false;
}

/* At its entry, running, crashed: whoever is killed, nothing stays. */
static pid_t bring_to(int stage)
{
	start("pie", stage == 2 ? "crash" : "loop", true);
	wait_for(has_stopped);
	if (stage)
		maple_launch_go(&launch);
	if (stage == 2)
		wait_for(has_crashed);
	return launch.pid;
}

static void killed_guard_takes_it_down(void **state)
{
	for (int stage = 0; stage < 3; stage++) {
		pid_t pid = bring_to(stage);

		kill(launch.guard, SIGKILL);
		wait_for(has_ended);
		maple_launch_let_die(&launch);
		maple_launch_finish(&launch);
		assert_true(gone(pid));
	}
}

static void killed_maker_takes_it_down(void **state)
{
	for (int stage = 0; stage < 3; stage++) {
		int fds[2];
		pid_t maker, pid;

		assert_int_equal(pipe(fds), 0);
		maker = fork();
		if (maker == 0) {
			pid = bring_to(stage);
			if (write(fds[1], &pid, sizeof(pid)) != sizeof(pid))
				_exit(1);
			pause();
			_exit(0);
		}
		assert_int_equal(read(fds[0], &pid, sizeof(pid)), sizeof(pid));
		assert_false(kill(pid, 0));
		kill(maker, SIGKILL);
		waitpid(maker, NULL, 0);
		assert_true(gone(pid));
		close(fds[0]);
		close(fds[1]);
	}
}

static void finish_takes_it_down(void **state)
{
	for (int stage = 0; stage < 3; stage++) {
		pid_t pid = bring_to(stage);

		maple_launch_finish(&launch);
		assert_true(gone(pid));
	}
}

/* What a test that failed has left. */
static int take_down(void **state)
{
	if (launch.guard > 0)
		maple_launch_finish(&launch);
	return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, take_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_kind_stops_at_its_entry),
		TEST(it_runs_as_if_alone),
		TEST(job_control_still_works),
		TEST(crashed_thread_is_kept),
		TEST(abort_is_kept),
		TEST(script_starts_the_program),
		TEST(a_crash_under_a_script_is_kept),
		TEST(nothing_matches),
		TEST(what_cannot_be_loaded_never_stops),
		TEST(schedule_is_left_alone),
		TEST(exec_failure_is_told),
		TEST(set_user_id_of_another),
		TEST(killed_guard_takes_it_down),
		TEST(killed_maker_takes_it_down),
		TEST(finish_takes_it_down),
	};

	return cmocka_run_group_tests(tests, build, clean);
}
