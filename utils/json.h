/* SPDX-License-Identifier: GPL-2.0 */
/* Writing JSON. */
#ifndef RDMAFS_JSON_H
#define RDMAFS_JSON_H

#include <stdio.h>

void json_string(FILE *f, const char *s);
void json_value(FILE *f, const char *s);

#endif
