// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a call means by the name of what is called: locks, threads, and what
 * never comes back. The guards of C++'s standard library are known by their
 * mangled names, since without optimisation they are functions of the program.
 */
#include <string.h>
#include "static.h"

struct row {
	const char *begins, *ends; /* of the name; without ends, all of it */
	uint8_t kind, arg;
};

static const struct row rows[] = {
	{ "pthread_mutex_lock", NULL, MAPLE_CALL_LOCK, MAPLE_RDI },
	{ "pthread_mutex_timedlock", NULL, MAPLE_CALL_LOCK, MAPLE_RDI },
	{ "pthread_mutex_clocklock", NULL, MAPLE_CALL_LOCK, MAPLE_RDI },
	{ "pthread_rwlock_rdlock", NULL, MAPLE_CALL_LOCK, MAPLE_RDI },
	{ "pthread_rwlock_wrlock", NULL, MAPLE_CALL_LOCK, MAPLE_RDI },
	{ "pthread_spin_lock", NULL, MAPLE_CALL_LOCK, MAPLE_RDI },
	{ "mtx_lock", NULL, MAPLE_CALL_LOCK, MAPLE_RDI },
	{ "pthread_mutex_unlock", NULL, MAPLE_CALL_UNLOCK, MAPLE_RDI },
	{ "pthread_rwlock_unlock", NULL, MAPLE_CALL_UNLOCK, MAPLE_RDI },
	{ "pthread_spin_unlock", NULL, MAPLE_CALL_UNLOCK, MAPLE_RDI },
	{ "mtx_unlock", NULL, MAPLE_CALL_UNLOCK, MAPLE_RDI },
	{ "pthread_cond_wait", NULL, MAPLE_CALL_WAIT, MAPLE_RSI },
	{ "pthread_cond_timedwait", NULL, MAPLE_CALL_WAIT, MAPLE_RSI },
	{ "pthread_cond_clockwait", NULL, MAPLE_CALL_WAIT, MAPLE_RSI },
	{ "cnd_wait", NULL, MAPLE_CALL_WAIT, MAPLE_RSI },
	{ "cnd_timedwait", NULL, MAPLE_CALL_WAIT, MAPLE_RSI },
	{ "pthread_create", NULL, MAPLE_CALL_CREATE, MAPLE_RDX },
	{ "thrd_create", NULL, MAPLE_CALL_CREATE, MAPLE_RSI },
	{ "pthread_join", NULL, MAPLE_CALL_JOIN, 0 },
	{ "thrd_join", NULL, MAPLE_CALL_JOIN, 0 },
	{ "pthread_detach", NULL, MAPLE_CALL_DETACH, 0 },
	{ "pthread_attr_setdetachstate", NULL, MAPLE_CALL_DETACH, 0 },
	{ "thrd_detach", NULL, MAPLE_CALL_DETACH, 0 },
	{ "__libc_start_main", NULL, MAPLE_CALL_MAIN, MAPLE_RDI },
	/* std::mutex, libstdc++'s and libc++'s */
	{ "_ZNSt5mutex4lockEv", NULL, MAPLE_CALL_LOCK, MAPLE_RDI },
	{ "_ZNSt5mutex6unlockEv", NULL, MAPLE_CALL_UNLOCK, MAPLE_RDI },
	{ "_ZNSt3__15mutex4lockEv", NULL, MAPLE_CALL_LOCK, MAPLE_RDI },
	{ "_ZNSt3__15mutex6unlockEv", NULL, MAPLE_CALL_UNLOCK, MAPLE_RDI },
	/* its guards, which lets go of what it has locked last */
	{ "_ZNSt10lock_guardI", "EC1ERS0_", MAPLE_CALL_LOCK, MAPLE_RSI },
	{ "_ZNSt10lock_guardI", "EC2ERS0_", MAPLE_CALL_LOCK, MAPLE_RSI },
	{ "_ZNSt10lock_guardI", "ED1Ev", MAPLE_CALL_UNLOCK, 0xff },
	{ "_ZNSt10lock_guardI", "ED2Ev", MAPLE_CALL_UNLOCK, 0xff },
	{ "_ZNSt11unique_lockI", "EC1ERS0_", MAPLE_CALL_LOCK, MAPLE_RSI },
	{ "_ZNSt11unique_lockI", "EC2ERS0_", MAPLE_CALL_LOCK, MAPLE_RSI },
	{ "_ZNSt11unique_lockI", "E6unlockEv", MAPLE_CALL_UNLOCK, 0xff },
	{ "_ZNSt11unique_lockI", "ED1Ev", MAPLE_CALL_UNLOCK, 0xff },
	{ "_ZNSt11unique_lockI", "ED2Ev", MAPLE_CALL_UNLOCK, 0xff },
	{ "_ZNSt11scoped_lockI", "EC1ERS1_", MAPLE_CALL_LOCK, MAPLE_RSI },
	{ "_ZNSt11scoped_lockI", "EC2ERS1_", MAPLE_CALL_LOCK, MAPLE_RSI },
	{ "_ZNSt11scoped_lockI", "ED1Ev", MAPLE_CALL_UNLOCK, 0xff },
	{ "_ZNSt11scoped_lockI", "ED2Ev", MAPLE_CALL_UNLOCK, 0xff },
	{ "_ZNSt3__110lock_guardI", "EC1ERS1_", MAPLE_CALL_LOCK, MAPLE_RSI },
	{ "_ZNSt3__110lock_guardI", "EC2ERS1_", MAPLE_CALL_LOCK, MAPLE_RSI },
	{ "_ZNSt3__110lock_guardI", "ED1Ev", MAPLE_CALL_UNLOCK, 0xff },
	{ "_ZNSt3__110lock_guardI", "ED2Ev", MAPLE_CALL_UNLOCK, 0xff },
	/* std::thread: what it runs stands in memory by then */
	{ "_ZNSt6thread15_M_start_thread", "", MAPLE_CALL_CREATE_OBJECT, 0 },
	{ "_ZNSt6thread4joinEv", NULL, MAPLE_CALL_JOIN, 0 },
	{ "_ZNSt6thread6detachEv", NULL, MAPLE_CALL_DETACH, 0 },
	{ "_ZNSt3__16thread4joinEv", NULL, MAPLE_CALL_JOIN, 0 },
	{ "_ZNSt3__16thread6detachEv", NULL, MAPLE_CALL_DETACH, 0 },
};

static const char *const never[] = {
	"abort",
	"exit",
	"_exit",
	"quick_exit",
	"__assert_fail",
	"__stack_chk_fail",
	"pthread_exit",
	"thrd_exit",
	"__cxa_throw",
	"__cxa_rethrow",
	"_ZSt9terminatev",
	"_Unwind_Resume",
	"__libc_start_main",
};

static bool is(const struct row *row, const char *name, size_t n)
{
	size_t begins = strlen(row->begins), ends;

	if (!row->ends)
		return !strcmp(name, row->begins);
	ends = strlen(row->ends);
	return n >= begins + ends && !strncmp(name, row->begins, begins) &&
	       !strcmp(name + n - ends, row->ends);
}

/* maple_static_called - what a call of @name means; NULL: it has no name */
struct maple_static_called maple_static_called(const char *name)
{
	struct maple_static_called called = { MAPLE_CALL_PLAIN, 0xff, true,
					      false };
	size_t n = name ? strlen(name) : 0;

	for (size_t i = 0; name && i < sizeof(never) / sizeof(*never); i++)
		called.deaf |= !strcmp(name, never[i]);
	for (size_t i = 0; name && i < sizeof(rows) / sizeof(*rows); i++) {
		if (!is(&rows[i], name, n))
			continue;
		called.kind = rows[i].kind;
		called.arg = rows[i].arg;
		called.inside = false;
		break;
	}
	return called;
}

/* maple_static_called_at - the same of the function at @addr, by all its names */
struct maple_static_called maple_static_called_at(const struct maple_static *s,
						  uint64_t addr)
{
	struct maple_static_called all = maple_static_called(NULL), one;
	const struct maple_name *name;
	size_t n;

	name = maple_names_all(s->names, addr, &n);
	for (size_t i = 0; i < n; i++) {
		one = maple_static_called(name[i].name);
		one.deaf |= all.deaf;
		if (one.kind != MAPLE_CALL_PLAIN || all.kind == MAPLE_CALL_PLAIN)
			all = one;
	}
	return all;
}
