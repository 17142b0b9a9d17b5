/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_ERRNO_H
#define SHIM_ERRNO_H

#include_next <linux/errno.h>

/* Errnos of the kernel that user programs never get. */
#define ERESTARTSYS		512
#define ERESTARTNOINTR		513
#define ERESTARTNOHAND		514
#define ENOIOCTLCMD		515
#define ERESTART_RESTARTBLOCK	516
#define EOPENSTALE		518
#define ENOTSUPP		524
#define EJUKEBOX		528

#endif
