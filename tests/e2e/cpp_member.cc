// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Two threads lose an update of a member of an object on the heap. */
#include <cassert>
#include <memory>
#include <thread>

enum class State { idle, busy };

class Account
{
      public:
	void deposit()
	{
		int was = balance;

		state = State::busy;
		balance = was + 1;
	}
	State state = State::idle;
	int balance = 0;
};

int main()
{
	auto account = std::make_unique<Account>();
	std::thread a([&] { account->deposit(); });
	std::thread b([&] { account->deposit(); });

	a.join();
	b.join();
	assert(account->balance == 2);
	return 0;
}
