#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Pages that are dirtied when nobody has their file open any more are written.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario ext4 --backing ext4 -- late.py
tap_done
