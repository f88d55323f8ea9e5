/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_CALLS_H
#define MAPLE_BACKEND_CALLS_H

const char *maple_call_name(unsigned int number);

#endif
