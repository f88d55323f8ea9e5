// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which probes the kernel halves want, and where: sites and functions.
 *
 * beside: guests
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "backend/backend.h"
#include "backend/kernel/kernel.h"
#include "plan/step.h"

/* Code with LOCK prefixes in every neighbourhood; never called. */
__asm__(".pushsection .text\n"
	".type rig_code, @function\n"
	"rig_code:\n"
	"	mov	$7, %ecx\n"
	".Lrig_ahead:\n" /* the one before leaves rdi alone */
	"	lock incl (%rdi)\n"
	"	mov	%rsi, %rdi\n"
	".Lrig_behind:\n" /* the one before sets rdi, the one behind does not */
	"	lock incl 4(%rdi)\n"
	"	mov	$1, %edx\n"
	"	mov	(%rax), %rax\n"
	".Lrig_neither:\n" /* sets its own base, and so does the one before */
	"	lock xadd %rax, 8(%rax)\n"
	"	mov	$2, %edx\n"
	"	jmp	1f\n"
	"1:\n" /* a branch target */
	".Lrig_target:\n"
	"	lock incl rig_data(%rip)\n"
	"	nop\n"
	".Lrig_xchg:\n" /* locks without a prefix */
	"	xchg	%eax, (%rdi)\n"
	".Lrig_moves:\n"
	"	movsl\n"
	"	ret\n"
	".size rig_code, . - rig_code\n"
	".popsection\n"
	".pushsection .rodata\n"
	"rig_at: .short .Lrig_ahead - rig_code, .Lrig_behind - rig_code\n"
	"	.short .Lrig_neither - rig_code, .Lrig_target - rig_code\n"
	"	.short .Lrig_xchg - rig_code, .Lrig_moves - rig_code\n"
	".popsection\n"
	".pushsection .data\n"
	"rig_data:	.long 0\n"
	".popsection\n");

extern char rig_code[], rig_data[];
extern const uint16_t rig_at[];

/*
 * By their distance: to take the address of an instruction would make it one
 * that control may be sent to.
 */
#define rig_ahead   (rig_code + rig_at[0])
#define rig_behind  (rig_code + rig_at[1])
#define rig_neither (rig_code + rig_at[2])
#define rig_target  (rig_code + rig_at[3])
#define rig_xchg    (rig_code + rig_at[4])
#define rig_moves   (rig_code + rig_at[5])

static struct maple_image *image;
static struct maple_probe_maker *maker;
static struct maple_mappings mappings;
static const struct maple_mapped *self;

static int start(void **state)
{
	struct maple_error err;

	if (maple_image_open("/proc/self/exe", &image, &err) ||
	    maple_probe_maker_create(image, &maker, &err) ||
	    maple_mappings_read(getpid(), &mappings, &err))
		return -1;
	self = maple_mappings_find(&mappings, (uint64_t)rig_code);
	return 0;
}

static int stop(void **state)
{
	maple_mappings_deinit(&mappings);
	maple_probe_maker_destroy(maker);
	maple_image_destroy(image);
	return 0;
}

static uint64_t elf_address(const void *at)
{
	return (uint64_t)at - self->bias;
}

static int make(const void *at, bool second, struct maple_uapi_probe *probe)
{
	int64_t site = maple_image_find(image, elf_address(at), second);

	assert_true(site >= 0);
	return maple_probe_make(maker, site, 77, probe);
}

/* What the file has at @offset is what stands in memory at @at. */
static void stands_for(uint64_t offset, const void *at)
{
	unsigned char bytes[8];
	int fd = open("/proc/self/exe", O_RDONLY);

	assert_int_equal(pread(fd, bytes, sizeof(bytes), offset), 8);
	close(fd);
	assert_memory_equal(bytes, at, sizeof(bytes));
}

static void test_mappings(void **state)
{
	const struct maple_mapped *libc =
		maple_mappings_find(&mappings, (uint64_t)dlsym(NULL, "getpid"));
	unsigned int mains = 0;

	assert_non_null(self);
	assert_true(self->is_main);
	assert_false(self->is_runtime);
	assert_non_null(libc);
	assert_true(libc->is_runtime);
	assert_false(mappings.is_static);
	assert_null(maple_mappings_find(&mappings, 8));
	for (unsigned int i = 0; i < mappings.n; i++)
		mains += mappings.image[i].is_main;
	assert_int_equal(mains, 1);
}

static void test_ahead(void **state)
{
	struct maple_uapi_probe probe;

	assert_int_equal(make(rig_ahead, false, &probe), 0);
	assert_int_equal(probe.number, 77);
	assert_int_equal(probe.kind, MAPLE_EV_UPDATE);
	assert_int_equal(probe.flags, MAPLE_PROBE_AHEAD | MAPLE_PROBE_ATOMIC);
	stands_for(probe.offset, rig_code);
	assert_int_equal(probe.base, 7);
	assert_int_equal(probe.size, 4);
}

static void test_behind(void **state)
{
	struct maple_uapi_probe probe;

	assert_int_equal(make(rig_behind, false, &probe), 0);
	assert_int_equal(probe.flags, MAPLE_PROBE_BEHIND | MAPLE_PROBE_ATOMIC);
	assert_int_equal(probe.offset, probe.next);
	assert_int_equal(probe.disp, 4);
}

static void test_no_neighbour(void **state)
{
	struct maple_uapi_probe probe;

	assert_int_equal(make(rig_neither, false, &probe), -EOPNOTSUPP);
}

/* Behind, and still at the right address. */
static void test_target(void **state)
{
	struct maple_uapi_probe probe;

	assert_int_equal(make(rig_target, false, &probe), 0);
	assert_int_equal(probe.flags, MAPLE_PROBE_BEHIND | MAPLE_PROBE_ATOMIC |
					      MAPLE_PROBE_RIP);
	/* 7 bytes of lock incl, so the probe is at rig_target + 7 */
	stands_for(probe.offset, rig_target + (probe.next - probe.offset) + 7);
	assert_ptr_equal(rig_target + 7 + probe.disp, rig_data);
}

static void test_xchg(void **state)
{
	struct maple_uapi_probe probe;

	assert_int_equal(make(rig_xchg, false, &probe), 0);
	assert_int_equal(probe.flags, MAPLE_PROBE_ATOMIC);
	stands_for(probe.offset, rig_xchg);
	stands_for(probe.next, rig_moves);
}

static void test_two_operands(void **state)
{
	struct maple_uapi_probe read, write;

	assert_int_equal(make(rig_moves, false, &read), 0);
	assert_int_equal(make(rig_moves, true, &write), 0);
	assert_int_equal(read.kind, MAPLE_EV_READ);
	assert_int_equal(read.base, 6);
	assert_int_equal(write.kind, MAPLE_EV_WRITE);
	assert_int_equal(write.base, 7);
	assert_int_equal(read.offset, write.offset);
}

static void test_no_site(void **state)
{
	struct maple_uapi_probe probe;
	uint64_t offset;

	assert_int_equal(maple_probe_make(maker, 1u << 30, 0, &probe), -ENOENT);
	assert_false(maple_probe_offset(maker, 1ull << 40, &offset));
	/* Data is no place for a probe. */
	assert_false(maple_probe_offset(maker, elf_address(rig_data), &offset));
}

/* What is behind the prefix counts, and only there. */
static void test_step(void **state)
{
	static const uint8_t breaks[][MAPLE_STEP_BYTES] = {
		{ 0xc5, 0xfe, 0x7f, 0x07 },		/* vmovdqu */
		{ 0x67, 0xc5, 0xfe, 0x7f, 0x07 },	/* ... by edi */
		{ 0xc5, 0xfd, 0xeb, 0x06 },		/* vpor */
		{ 0xc5, 0xfc, 0xc2, 0x06, 0x0f },	/* vcmpps */
		{ 0xc4, 0xe2, 0x7d, 0x9a, 0x06 },	/* vfmsub132ps */
		{ 0x62, 0xe1, 0xfe, 0x28, 0x7f, 0x07 }, /* vmovdqu64 */
		{ 0x62, 0xe2, 0x7d, 0x48, 0x7a, 0xc6 }, /* vpbroadcastb */
	};
	static const uint8_t works[][MAPLE_STEP_BYTES] = {
		{ 0xc5, 0xfc, 0x11, 0x07 }, /* vmovups */
		{ 0xf3, 0x0f, 0x7f, 0x07 }, /* movdqu */
		{ 0x66, 0x0f, 0xeb, 0x06 }, /* por */
		{ 0x7f, 0x07 },		    /* jg */
		{ 0x48, 0x89, 0x07 },	    /* mov */
	};

	for (unsigned int i = 0; i < sizeof(breaks) / sizeof(*breaks); i++)
		assert_true(maple_step_breaks(breaks[i]));
	for (unsigned int i = 0; i < sizeof(works) / sizeof(*works); i++)
		assert_false(maple_step_breaks(works[i]));
}

/* Functions. */
static const struct maple_function_at *find(const struct maple_function_at *at,
					    unsigned int n, const char *name)
{
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(at[i].function->name, name))
			return &at[i];
	return NULL;
}

/* All that this libc has is found where the dynamic linker finds it. */
static void test_libc(void **state)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	struct maple_function_at *at;
	const struct maple_function *f;
	unsigned int n, rows, seen = 0;
	struct maple_error err;
	struct link_map *map;
	bool there;

	assert_int_equal(dlinfo(libc, RTLD_DI_LINKMAP, &map), 0);
	assert_int_equal(maple_functions_find(map->l_name, &at, &n, &err), 0);
	f = maple_functions(&rows);
	for (unsigned int i = 0; i < rows; i++) {
		void *chosen = dlsym(libc, f[i].name);

		there = !chosen;
		for (unsigned int k = 0; k < n; k++)
			there |= at[k].address == (uint64_t)chosen - map->l_addr;
		if (!there)
			fail_msg("%s is not found", f[i].name);
		seen += chosen != NULL;
	}
	assert_true(seen > 100);
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(at[i].offset, at[k].offset);
	assert_non_null(find(at, n, "pthread_mutex_lock"));
	assert_non_null(find(at, n, "memcpy"));
	free(at);
	dlclose(libc);
}

static void test_program(void **state)
{
	struct maple_function_at *at;
	struct maple_error err;
	unsigned int n;

	assert_int_equal(maple_functions_find("/proc/self/exe", &at, &n, &err),
			 0);
	assert_null(find(at, n, "pthread_mutex_lock"));
	free(at);
	assert_int_equal(maple_functions_find("/etc/passwd", &at, &n, &err),
			 -ENOEXEC);
	assert_int_equal(maple_functions_find("/nowhere", &at, &n, &err),
			 -ENOENT);
}

static const struct maple_function *row(const char *name)
{
	unsigned int n;
	const struct maple_function *f = maple_functions(&n);

	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(f[i].name, name))
			return &f[i];
	fail_msg("no row for %s", name);
	return NULL;
}

static void test_lock_probe(void **state)
{
	struct maple_uapi_probe probe[2];

	assert_int_equal(maple_function_probes(row("pthread_mutex_trylock"),
					       0x1234, probe),
			 1);
	assert_int_equal(probe[0].offset, 0x1234);
	assert_int_equal(probe[0].kind, MAPLE_EV_LOCK);
	assert_int_equal(probe[0].after, MAPLE_EV_LOCK);
	assert_int_equal(probe[0].flags, MAPLE_PROBE_CALL | MAPLE_PROBE_RETURN |
						 MAPLE_PROBE_ZERO |
						 MAPLE_PROBE_MAYFAIL);
	assert_int_equal(probe[0].base, 7);
	assert_int_equal(probe[0].number, MAPLE_SITE_NONE);
}

static void test_wait_probes(void **state)
{
	struct maple_uapi_probe probe[2];

	assert_int_equal(maple_function_probes(row("cnd_timedwait"), 1, probe),
			 2);
	assert_int_equal(probe[0].kind, MAPLE_EV_UNLOCK);
	assert_int_equal(probe[0].after, MAPLE_EV_LOCK);
	assert_int_equal(probe[0].base, 6);
	assert_int_equal(probe[1].kind, MAPLE_EV_WAIT);
	assert_int_equal(probe[1].after, MAPLE_EV_WAKE);
	assert_int_equal(probe[1].base, 7);
	assert_true(probe[1].flags & MAPLE_PROBE_MAYWAIT);
}

static void test_memory_probes(void **state)
{
	struct maple_uapi_probe probe[2];

	assert_int_equal(maple_function_probes(row("memcpy"), 1, probe), 2);
	assert_int_equal(probe[0].kind, MAPLE_EV_READ);
	assert_int_equal(probe[0].base, 6);
	assert_int_equal(probe[0].aux, 2);
	assert_int_equal(probe[1].kind, MAPLE_EV_WRITE);
	assert_int_equal(probe[1].base, 7);
	assert_int_equal(maple_function_probes(row("strlen"), 1, probe), 0);
	assert_int_equal(maple_function_probes(row("dlopen"), 1, probe), 0);
}

static void put(const char *root, const char *folder, const char *file,
		const char *line)
{
	char command[256];

	snprintf(command, sizeof(command), "mkdir -p %s%s && echo %s >>%s%s/%s",
		 root, folder, line, root, folder, file);
	assert_int_equal(system(command), 0);
}

static void mends(const char *root, const char *how)
{
	char mend[256], command[64];

	maple_module_mend("9.9-x", root, mend, sizeof(mend));
	assert_non_null(strstr(mend, how));
	assert_true(!strstr(mend, "linux-headers") ==
		    !strstr(how, "linux-headers"));
	snprintf(command, sizeof(command), "rm -rf %s*", root);
	assert_int_equal(system(command), 0);
}

/* No package is named that is not there. */
static void test_mend(void **state)
{
	char dir[] = "/tmp/maple-mend-XXXXXX", root[64];

	assert_non_null(mkdtemp(dir));
	snprintf(root, sizeof(root), "%s/", dir);
	mends(root, "make module KDIR=");
	put(root, "var/lib/dpkg/info", "linux-image-9.9-x.list", "/boot");
	mends(root, "apt install maple-dkms linux-headers-9.9-x &&");
	put(root, "lib/modules/9.9-x/build", "Makefile", "all:");
	mends(root, "apt install maple-dkms && sudo modprobe maple");
	put(root, "lib/modules/9.9-x", "modules.dep", "updates/maple.ko:");
	mends(root, "sudo modprobe maple");
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_no_neighbour),
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_xchg),
		cmocka_unit_test(test_two_operands),
		cmocka_unit_test(test_no_site),
		cmocka_unit_test(test_step),
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_mend),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_lock_probe),
		cmocka_unit_test(test_wait_probes),
		cmocka_unit_test(test_memory_probes),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
