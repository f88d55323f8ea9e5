/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_VERSION_H
#define MAPLE_VERSION_H

#define MAPLE_VERSION "0.1"

#endif
