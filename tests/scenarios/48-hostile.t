#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An honest mount beside clients and servers that break the protocol, in bare verbs, on
# both devices: it goes on, they get nothing, and nothing of theirs is left.  With
# RDMAFS_FAULTS=1 (make check-faults) its server is told a million messages, and a client a hundred
# thousand.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

times=()
[ -z "${RDMAFS_FAULTS:-}" ] || times=(5)
for rdma in rxe siw; do
	if [ "$scenario_kernel" = debian ]; then
		leave_out $rdma "Debian's kernel has no KUnit"
	else
		scenario $rdma --rdma $rdma -- hostile "${times[@]}"
	fi
done
tap_done
