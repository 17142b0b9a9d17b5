#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Locks by fcntl(2) and flock(2): between two mounts, which are two clients, and processes on the
# server's own file system; over lost connections and sessions; of processes that are killed.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario ext4 --backing ext4 --size 400M -- locks
tap_done
