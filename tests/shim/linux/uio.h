/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_UIO_H
#define SHIM_UIO_H

struct bio_vec;

/* No code here moves data: the type is needed only as a member of structs. */
struct iov_iter { int unused; };

#endif
