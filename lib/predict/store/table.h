/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * uthash as this library needs it: an allocation that fails leaves the
 * element out (its hh.tbl is NULL) instead of ending the process.
 */
#ifndef MAPLE_PREDICT_TABLE_H
#define MAPLE_PREDICT_TABLE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
