// SPDX-License-Identifier: GPL-2.0-only
#include "kmod.h"
int maple_selftest(void)
{
	return 0;
}
