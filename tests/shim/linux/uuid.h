/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_UUID_H
#define SHIM_UUID_H

typedef struct { unsigned char b[16]; } uuid_t;

#endif
