#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Mounts that stand on others: overlayfs with the mount as lower and upper layer, id-mapped mounts,
# and exports of such, callers in user namespaces, mounts and ports in network namespaces.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario overlay --backing ext4 --size 400M -- overlays
# What depends on the kind of the backing.
[ "$scenario_scale" -gt 1 ] || for backing in xfs btrfs tmpfs; do
	scenario "overlay $backing" --backing $backing --size 400M -- overlays plain_upper handles_both
	scenario $backing --backing $backing --size 400M -- namespaces idmapped
	scenario "mapped $backing" --backing $backing --size 400M -- mapped
done
scenario mapped --backing ext4 --size 400M -- mapped
scenario ext4 --backing ext4 --size 400M -- namespaces idmapped users network
if [ "$scenario_kernel" = uml ]; then
	scenario siw --rdma siw --backing ext4 --size 200M -- namespaces network
else
	leave_out siw "iWARP is tested in UML"
fi
tap_done
