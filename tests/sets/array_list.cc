// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * ArrayList: a copy of another list is an array as long as the other one, and
 * then the other one's elements in it.
 *
 * Bug: the other list may grow in between. So it may while a bulk method goes
 * through it.
 */
#include "collection.h"

using list = collection<std::vector<int>>;

static void copy(list &mine, list &yours)
{
	std::vector<int> array(yours.size());

	yours.to_array(array);
	mine.contains_all(yours);
	mine.add_all(yours);
}

static void grow(list &yours)
{
	something_else();
	yours.add(7);
}

int main()
{
	bulk_test<std::vector<int>>(copy, grow);
	return 0;
}
