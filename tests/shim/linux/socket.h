/* SPDX-License-Identifier: GPL-2.0 */
#include <sys/socket.h>
