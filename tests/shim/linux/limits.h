/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/kernel.h>

#ifndef INT_MAX
#define INT_MAX		__INT_MAX__
#endif
