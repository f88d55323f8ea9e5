// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * LinkedList: the elements of another list are appended.
 *
 * Bug: the other list is gone through without its lock; it may be changed
 * meanwhile.
 */
#include <list>

#include "collection.h"

int main()
{
	bulk_test<std::list<int>>([](auto &mine, auto &yours) {
		mine.add_all(yours);
		mine.contains_all(yours);
	});
	return 0;
}
