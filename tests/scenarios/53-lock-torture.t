#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Locks beside troubles: processes of several clients, and of the server's machine, count under
# locks of fcntl(2) and flock(2) while connections and sessions are lost, processes are killed, and
# machines lose their power.  The long form has eight processes on each of three clients' machines,
# 64 ranges of a file and eight files, for ten minutes and more.  The short form leaves the server's
# loss of power to 51-grace, which has two clients over one, and to 38-history, whose writers have
# locks.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario checker --fs local --backing ext4 --size 100M -- torture checker
on_disks=(--disks file --backing ext4 --size 400M --timeout 3600)
# Guests in QEMU are two at most.
if [[ $scenario_kernel != uml* ]]; then
	scenario two-mounts --nodes 2 "${on_disks[@]}" -- torture kept restarted lost
elif [ "$scenario_scale" -gt 1 ]; then
	scenario two-clients --nodes 3 --mem 1500M "${on_disks[@]}" -- torture kept lost
elif with_checkers; then
	scenario two-clients --nodes 3 --mem 1500M "${on_disks[@]}" -- torture kept restarted lost
else
	scenario three-clients --nodes 4 --mem 1200M "${on_disks[@]}" -- torture kept:300 restarted:300 lost:300
fi
tap_done
