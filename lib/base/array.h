/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Arrays that grow: a pointer and a count, which the caller has. Each is true
 * if there is memory; else nothing has changed.
 */
#ifndef MAPLE_BASE_ARRAY_H
#define MAPLE_BASE_ARRAY_H

#include <stdlib.h>
#include <string.h>

/* maple_array_resize - room for @count elements in all */
#define maple_array_resize(array, count)                                  \
	({                                                                \
		__typeof__(array) moved_ =                                \
			reallocarray((array), (count), sizeof(*(array))); \
		if (moved_)                                               \
			(array) = moved_;                                 \
		moved_ != NULL;                                           \
	})

/* maple_array_extend - @count elements instead of @n, the new ones zero */
#define maple_array_extend(array, n, count)  \
	(maple_array_resize(array, count) && \
	 memset((array) + (n), 0, ((count) - (n)) * sizeof(*(array))))

/* maple_array_reserve - room for one more than @n; @room is what there is */
#define maple_array_reserve(array, n, room)                                     \
	((n) < (room) || (maple_array_resize(array, (room) ? 2 * (room) : 4) && \
			  ((room) = (room) ? 2 * (room) : 4)))

/*
 * maple_array_lead - of @n elements, how many stand before the first of which
 * @holds is false; @i is its index there, and it is false of all behind
 */
#define maple_array_lead(n, i, holds)               \
	({                                          \
		size_t lo_ = 0, hi_ = (n);          \
		while (lo_ < hi_) {                 \
			size_t i = (lo_ + hi_) / 2; \
			if (holds)                  \
				lo_ = i + 1;        \
			else                        \
				hi_ = i;            \
		}                                   \
		lo_;                                \
	})

#endif
