#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Memory runs short where the server begins an operation, where the client maps data for
# its device, and where it makes operations.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario nomem -- nomem
scenario pools -- pools
tap_done
