// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * C++: std::thread, mutex, condition_variable with and without a time limit,
 * call_once, a function's static, shared_ptr, and an exception in each thread.
 */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::condition_variable changed;
static std::deque<std::shared_ptr<std::string>> queue;
static std::once_flag once;
static std::atomic<int> caught;
static bool closed;
static size_t total;

static const std::string &prefix()
{
	static const std::string text("number ");
	return text;
}

static void consume()
{
	std::call_once(once, [] { total = 0; });
	std::unique_lock<std::mutex> guard(lock);
	for (;;) {
		changed.wait_for(guard, std::chrono::milliseconds(2),
				 [] { return closed || !queue.empty(); });
		if (queue.empty() && closed)
			break;
		if (queue.empty())
			continue;
		std::shared_ptr<std::string> item = queue.front();
		queue.pop_front();
		guard.unlock();
		size_t length = item->size();
		try {
			throw std::runtime_error(*item);
		} catch (const std::exception &error) {
			caught++;
		}
		guard.lock();
		total += length;
	}
}

int main()
{
	std::vector<std::thread> threads;

	std::call_once(once, [] { total = 0; });
	for (int i = 0; i < 3; i++)
		threads.emplace_back(consume);
	for (int i = 0; i < 30; i++) {
		std::lock_guard<std::mutex> guard(lock);
		queue.push_back(std::make_shared<std::string>(
			prefix() + std::to_string(10 + i)));
		changed.notify_one();
	}
	{
		std::lock_guard<std::mutex> guard(lock);
		closed = true;
		changed.notify_all();
	}
	for (auto &thread : threads)
		thread.join();
	std::printf("total %zu, caught %d\n", total, caught.load());
	return total != 30 * 9 || caught != 30;
}
