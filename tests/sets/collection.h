// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A collection behind a lock, as Java's Collections.synchronizedCollection()
 * documents it: each method holds the collection's own lock, bulk methods as
 * well; an iterator over it holds none, and fails fast. So a bulk method goes
 * through its argument without a lock.
 */
#ifndef MAPLE_TESTS_SETS_COLLECTION_H
#define MAPLE_TESTS_SETS_COLLECTION_H

#include <algorithm>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

struct concurrent_modification : std::exception {
	const char *what() const noexcept override
	{
		return "concurrent modification";
	}
};

struct no_such_element : std::exception {
	const char *what() const noexcept override
	{
		return "no such element";
	}
};

template <class C> class collection
{
	C items;
	unsigned changes = 0;
	std::recursive_mutex lock;
	using section = std::lock_guard<std::recursive_mutex>;

	bool has(int x)
	{
		return std::find(items.begin(), items.end(), x) != items.end();
	}

	void put(int x)
	{
		items.insert(items.end(), x);
		changes++;
	}

	void drop(int x)
	{
		auto at = std::find(items.begin(), items.end(), x);

		if (at == items.end())
			return;
		items.erase(at);
		changes++;
	}

      public:
	class iterator
	{
		collection &of;
		unsigned expected;
		std::size_t returned = 0;
		typename C::iterator at;

	      public:
		explicit iterator(collection &c)
			: of(c), expected(c.changes), at(c.items.begin())
		{
		}

		bool has_next() const
		{
			return returned != of.items.size();
		}

		int next()
		{
			if (expected != of.changes)
				throw concurrent_modification();
			if (at == of.items.end())
				throw no_such_element();
			returned++;
			return *at++;
		}
	};

	collection() = default;

	collection(int from, int to)
	{
		for (int x = from; x < to; x++)
			put(x);
	}

	/* For callers that go through it: they are to hold it themselves. */
	std::recursive_mutex &guard()
	{
		return lock;
	}

	std::size_t size()
	{
		section s(lock);

		return items.size();
	}

	bool contains(int x)
	{
		section s(lock);

		return has(x);
	}

	void add(int x)
	{
		section s(lock);

		put(x);
	}

	void remove(int x)
	{
		section s(lock);

		drop(x);
	}

	/* Its elements into an array that the caller has made. */
	void to_array(std::vector<int> &array)
	{
		section s(lock);
		std::size_t n = 0;

		for (int x : items)
			array.at(n++) = x;
	}

	bool contains_all(collection &c)
	{
		section s(lock);

		for (iterator i(c); i.has_next();)
			if (!has(i.next()))
				return false;
		return true;
	}

	void add_all(collection &c)
	{
		section s(lock);

		for (iterator i(c); i.has_next();)
			put(i.next());
	}

	/* As AbstractSet's: the smaller of the two is gone through. */
	void remove_all(collection &c)
	{
		section s(lock);

		if (items.size() > c.size()) {
			for (iterator i(c); i.has_next();)
				drop(i.next());
			return;
		}
		for (int x : C(items))
			if (c.contains(x))
				drop(x);
	}
};

/* The other thread changes the argument, after something else. */
inline void something_else()
{
	volatile int think = 0;

	for (int i = 0; i < 4000000; i++)
		think = think + i;
}

template <class C> void change(collection<C> &c)
{
	something_else();
	c.remove(2);
	c.add(7);
}

template <class C>
void bulk_test(void (*bulk)(collection<C> &mine, collection<C> &yours),
	       void (*meanwhile)(collection<C> &yours) = change<C>)
{
	collection<C> mine(0, 5), yours(1, 4);
	std::thread other(meanwhile, std::ref(yours));

	bulk(mine, yours);
	other.join();
}

#endif
