// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * C++: slots of a pool are counted by an atomic, but looked at and taken in
 * two steps: two threads take the last slot, and what is below zero is fatal.
 */
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

class Pool
{
      public:
	bool take()
	{
		if (left.load() == 0)
			return false;
		left.fetch_sub(1); /* the last one may be gone by now */
		if (left.load() < 0)
			std::abort();
		return true;
	}

      private:
	std::atomic<int> left{ 1 };
};

int main()
{
	Pool pool;
	std::vector<std::thread> takers;

	for (int i = 0; i < 2; i++)
		takers.emplace_back([&pool] { pool.take(); });
	for (auto &taker : takers)
		taker.join();
	return 0;
}
