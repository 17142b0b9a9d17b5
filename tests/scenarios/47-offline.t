#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An export that is disabled for a moment is waited for, as a server is; one that is
# removed is gone.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario offline --backing ext4 -- offline
tap_done
