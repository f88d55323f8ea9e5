// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * LinkedHashSet: a hash table of its elements, and a list of them as they came.
 * The elements of another one are added.
 *
 * Bug: the other one is gone through without its lock; it may be changed
 * meanwhile.
 */
#include <list>
#include <unordered_map>

#include "collection.h"

class linked_set
{
	std::list<int> order;
	std::unordered_map<int, std::list<int>::iterator> table;

      public:
	using iterator = std::list<int>::iterator;

	iterator begin()
	{
		return order.begin();
	}

	iterator end()
	{
		return order.end();
	}

	std::size_t size() const
	{
		return table.size();
	}

	iterator insert(iterator at, int x)
	{
		auto known = table.find(x);

		if (known != table.end())
			return known->second;
		return table[x] = order.insert(at, x);
	}

	void erase(iterator at)
	{
		table.erase(*at);
		order.erase(at);
	}
};

int main()
{
	bulk_test<linked_set>([](auto &mine, auto &yours) {
		mine.add_all(yours);
		mine.contains_all(yours);
	});
	return 0;
}
