// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * TreeSet: the elements of another set are removed. Which of the two is gone
 * through depends on their sizes.
 *
 * Bug: the other set's size is read under its lock, and then it is gone through
 * without; it may be changed meanwhile.
 */
#include <set>

#include "collection.h"

int main()
{
	bulk_test<std::set<int>>([](auto &mine, auto &yours) {
		mine.remove_all(yours);
		mine.add_all(yours);
	});
	return 0;
}
