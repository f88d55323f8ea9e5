// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * HashSet: whether it contains all of another set.
 *
 * Bug: the other set is gone through without its lock; it may be changed
 * meanwhile. So it may where its elements are added, or removed.
 */
#include <unordered_set>

#include "collection.h"

int main()
{
	bulk_test<std::unordered_set<int>>([](auto &mine, auto &yours) {
		mine.contains_all(yours);
		mine.add_all(yours);
		mine.remove_all(yours);
	});
	return 0;
}
