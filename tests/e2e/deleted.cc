// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A listener is deleted while an event is told to it. What it is told by lies
// where the allocator leaves it as it was.
#include <pthread.h>
#include <cstddef>

struct listener {
	virtual ~listener() = default;
	virtual void tell(int event)
	{
		last = event;
	}
	int last = 0;
};

struct desk {
	char papers[40] = {};
	listener *who = new listener;
	~desk()
	{
		delete who;
	}
};

static desk *office = new desk;
static bool closed;

static void *event(void *)
{
	if (closed)
		return nullptr;
	for (volatile int i = 0; i < 1000; i = i + 1)
		;
	office->who->tell(7); // use
	return nullptr;
}

static void *leave(void *)
{
	for (volatile int i = 0; i < 1000000; i = i + 1)
		;
	closed = true;
	delete office; // end
	return nullptr;
}

int main()
{
	pthread_t a, b;

	pthread_create(&a, nullptr, event, nullptr);
	pthread_create(&b, nullptr, leave, nullptr);
	pthread_join(a, nullptr);
	pthread_join(b, nullptr);
	return 0;
}
