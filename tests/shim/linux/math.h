/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_MATH_H
#define SHIM_MATH_H

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define round_up(x, to)		((((x) - 1) | ((__typeof__(x))(to) - 1)) + 1)

#endif
