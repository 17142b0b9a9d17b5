/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_STDDEF_H
#define SHIM_STDDEF_H

#include <stddef.h>

#endif
