#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An RNIC is removed while a mount has just found it, and others look for it: it goes,
# and they go on when it is back.  And it is renamed: so is its directory in /proc.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario removal -- removal
tap_done
