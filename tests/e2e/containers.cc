// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * containers list|map|string|hash [exclusive]: two writers of one container
 * hold its lock, but only its shared side. What they break are links and
 * lengths that are written inside the C++ library. With 'exclusive' they hold
 * the other side, and nothing breaks.
 */
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>

enum { EACH = 4 };

static std::shared_mutex lock;
static bool exclusive;
static std::list<int> list;
static std::map<int, int> map;
static std::string text;
static std::unordered_map<int, int> hash;

static void to_list(int from)
{
	std::list<int> mine;

	for (int i = 0; i < EACH; i++)
		mine.push_back(from + i);
	list.splice(list.end(), mine);
}

static void to_map(int from)
{
	for (int i = 0; i < EACH; i++)
		map[from + i] = i;
}

static void to_text(int)
{
	for (int i = 0; i < EACH; i++)
		text += "five ";
}

static void to_hash(int from)
{
	for (int i = 0; i < EACH; i++)
		hash[from + i] = i;
}

/* How much is there; a broken one may have no end. */
template <typename T> static size_t length(const T &all)
{
	size_t n = 0;

	for (auto at = all.begin(); at != all.end() && n < 100; ++at)
		n++;
	return n;
}

static const struct {
	const char *name;
	void (*add)(int from);
	std::function<size_t()> length;
	size_t each;
} kinds[] = {
	{ "list", to_list, [] { return length(list); }, EACH },
	{ "map", to_map, [] { return length(map); }, EACH },
	{ "string", to_text, [] { return text.size(); }, 5 * EACH },
	{ "hash", to_hash, [] { return length(hash); }, EACH },
};

static void add(void (*how)(int from), int from)
{
	if (exclusive) {
		std::unique_lock<std::shared_mutex> guard(lock);
		how(from);
	} else {
		std::shared_lock<std::shared_mutex> guard(lock);
		how(from);
	}
}

int main(int argc, char **argv)
{
	exclusive = argc > 2 && !strcmp(argv[2], "exclusive");
	for (const auto &kind : kinds) {
		if (argc < 2 || strcmp(argv[1], kind.name))
			continue;
		std::thread first(add, kind.add, 0);
		std::thread second([&kind] {
			for (volatile int i = 0; i < 3000000; i = i + 1)
				; /* works for itself first */
			add(kind.add, 100);
		});
		first.join();
		second.join();
		if (kind.length() != 2 * kind.each)
			abort();
		return 0;
	}
	return 2;
}
