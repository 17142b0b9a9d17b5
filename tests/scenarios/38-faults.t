#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What breaks under load is mended without anyone noticing: sessions ended,
# servers restarted, devices and links gone; translations and memory that run
# short; and umount -f where nothing can be mended.  Where our modules get no memory
# errors are allowed, and nothing else.
set -uo pipefail
. "$(dirname "$0")/../lib/scenario.sh"

only_on rdmafs
# What TCP holds for siw comes on top of what the debug kernel takes for itself.
little=400M
[ "$scenario_kernel $scenario_rdma" != 'uml-debug siw' ] || little=480M
scenario one --backing ext4 --size 500M -- faults abort restart rmmod capacity force
# In UML make check has no more than this, which takes about 55 s by its loads and pauses.
if [ "$scenario_kernel" = uml ] && [ "$scenario_scale" -gt 1 ]; then
	tap_done
	exit
fi
scenario device -- faults device
scenario memory --mem $little --backing tmpfs --size 160M -- faults memory:100
scenario starved --backing ext4 --size 500M -- starved.py once "work:$((60 / scenario_scale + 5))"
if [[ $scenario_kernel = *-debug ]]; then
	scenario inject -- faults inject
fi
scenario two --nodes 2 -- faults abort restart link silence
scenario two-memory --nodes 2 --mem $little -- faults memory:110
tap_done
