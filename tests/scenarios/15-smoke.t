#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Does it work at all, on this kernel? A file copied and read back without
# caches, fio with verification, and an unload that leaves nothing.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd -P)
. "$top/tests/lib/tap.sh"

"$top/tests/guest/run" --kernel "${RDMAFS_KERNEL:-uml}" --timeout 600 -- bash -ec '
	dd if=/dev/urandom of=/tmp/data bs=1M count=16 status=none
	cp /tmp/data copy
	echo 3 >/proc/sys/vm/drop_caches
	cmp copy /tmp/data
	fio --name=v --rw=randwrite --bs=4k --size=4m --direct=1 --verify=crc32c \
		--ioengine=libaio --iodepth=8 >/dev/null' >&2
tap $? "a copy and fio with verification; nothing is left, nothing reported"
tap_done
