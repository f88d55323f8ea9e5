// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * C++: a cache under a std::shared_mutex whose readers number their hits, and
 * so write under the shared lock. Two hits get one number: the check in main
 * fails. Threads run lambdas, and a std::future brings what one has got.
 */
#include <cstdio>
#include <future>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

namespace store
{

template <typename Key, typename Value> class Cache
{
      public:
	void put(const Key &key, const Value &value)
	{
		std::unique_lock<std::shared_mutex> guard(lock);
		values[key] = value;
	}

	/* The value, and which hit it was. */
	std::pair<Value, long> get(const Key &key)
	{
		std::shared_lock<std::shared_mutex> guard(lock);
		long number = hits; /* readers keep out no readers */
		hits = number + 1;
		return { values.at(key), number };
	}

	long hits = 0;

      private:
	std::shared_mutex lock;
	std::map<Key, Value> values;
};

} // namespace store

/* With an argument its status is 0, and who reads its output is the judge. */
int main(int argc, char **)
{
	store::Cache<std::string, long> cache;

	cache.put("one", 1);
	std::future<long> last = std::async(std::launch::async, [&cache] {
		cache.get("one");
		return cache.get("one").second;
	});
	std::thread reader([&cache] { cache.get("one"); });
	reader.join();
	last.get();
	if (cache.hits == 3)
		return 0;
	std::printf("3 hits, of which %ld are counted\n", cache.hits);
	return argc < 2;
}
