// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Without optimisation load() of std::atomic is a function, and one site makes
 * all reads of this program's title. Who logs it bears that it goes away in
 * between, and comes first; who shows it does not.
 *
 * Bug: show() uses what its second load() returns unlooked at.
 */
#include <atomic>
#include <thread>

static const char text[] = "maple";
static std::atomic<const char *> title(text);
static int logged, shown;

static void log_title()
{
	if (title.load())
		logged += title.load() != nullptr;
}

static void show()
{
	if (title.load())
		shown = *title.load();
}

static void read()
{
	log_title();
	show();
}

static void reset()
{
	title.store(nullptr, std::memory_order_release);
	title.store(text, std::memory_order_release);
}

int main()
{
	std::thread a(read), b(reset);

	a.join();
	b.join();
	return 0;
}
