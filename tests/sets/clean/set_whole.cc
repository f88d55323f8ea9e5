// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The twin of hash_set and tree_set: who goes through another set holds its
 * lock, as the documentation asks.
 */
#include <set>
#include <unordered_set>

#include "../collection.h"

template <class C> void whole(collection<C> &mine, collection<C> &yours)
{
	std::lock_guard<std::recursive_mutex> s(yours.guard());

	mine.contains_all(yours);
	mine.add_all(yours);
	mine.remove_all(yours);
}

int main()
{
	bulk_test<std::unordered_set<int>>(whole);
	bulk_test<std::set<int>>(whole);
	return 0;
}
