// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The waiter looks at the flag before it takes the lock. That the flag is set
 * in between does no harm yet: only a signal that comes before the wait does.
 * With an argument it looks again under the lock, as is right.
 */
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable changed;
static bool ready;

static void announce()
{
	for (volatile int i = 0; i < 1000000; i = i + 1)
		; /* what it announces */
	{
		std::lock_guard<std::mutex> guard(lock);
		ready = true;
	}
	changed.notify_one();
}

static void await(bool again)
{
	if (ready)
		return;
	std::unique_lock<std::mutex> guard(lock);
	while (!again || !ready) {
		changed.wait(guard);
		if (!again)
			break;
	}
}

int main(int argc, char **)
{
	std::thread waiter(await, argc > 1);
	std::thread other(announce);

	waiter.join();
	other.join();
	return 0;
}
