#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What I/O costs in messages and memory regions, and that what is idle holds none
# and what has ended leaves none.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario rxe -- mr
[ "$scenario_kernel" = debian ] || [ "$scenario_scale" != 1 ] || scenario recall -- recall
[ "$scenario_kernel" != uml ] || scenario siw --rdma siw -- mr cost large bursts
tap_done
