#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Memory runs short where the server begins an operation, where the client maps data for
# its device, and where it makes operations; and wherever our modules ask for any: each
# place once, and one call of a hundred (the long form of that is in 38-faults).
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario nomem -- nomem
scenario pools -- pools
scenario once --backing ext4 --size 400M -- starved.py once
scenario work --backing ext4 --size 400M -- starved.py work:8
tap_done
