/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test points as KUnit suites use them; user programs write the same commands to a parameter.
 * The functions that begin with points_ are for the files of this directory only.
 */
#ifndef RDMAFS_TESTS_POINTS_H
#define RDMAFS_TESTS_POINTS_H

#include <linux/types.h>

int rdmafs_points_command(const char *command);
bool rdmafs_point_wait(const char *name, u32 held, unsigned int seconds);
u32 rdmafs_points_spoiled(u32 *given);
void points_free_kept(void);
void points_add_nomem(void);
void points_remove_nomem(void);

#endif
