// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Without optimisation load and store of std::atomic are functions, one of each
 * for all variables of a type: two sites make all accesses of this program.
 * Statistics are updated by load and store, which may lose one; nobody minds.
 *
 * Bug: a ticket is drawn by load and store as well; two may get the same. One
 * thread draws it early, one late.
 */
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> hits, bytes, last, tickets;
static int drawn[2];

static void count(int n)
{
	hits.store(hits.load() + 1);
	bytes.store(bytes.load() + n);
	last.store(n);
}

static void work(int me)
{
	int before = me ? 5 : 20, ticket;

	for (int i = 0; i < before; i++)
		count(i);
	ticket = tickets.load();
	tickets.store(ticket + 1);
	for (int i = before; i < 25; i++)
		count(i);
	drawn[me] = ticket;
}

int main()
{
	std::thread a(work, 0), b(work, 1);

	a.join();
	b.join();
	assert(drawn[0] != drawn[1]);
	return 0;
}
