/* SPDX-License-Identifier: GPL-2.0 */
/* There is nothing to be defined: see linux/tracepoint.h. */
