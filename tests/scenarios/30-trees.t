#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Real trees on a mount: the kernel's headers (over 10,000 files, with symbolic
# links) copied, compared, compared again without caches and after a new mount,
# and removed; git's clone, commit, repack and fsck; a module built.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

parts=(copy git)
# minutes of compiling on a slow kernel, and little of it the file system's
[ "${RDMAFS_SCALE:-1}" != 1 ] || parts+=(module)
scenario ext4 --backing ext4 --size 700M -- trees "${parts[@]}"
tap_done
