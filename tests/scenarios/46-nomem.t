#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Memory runs short where the server begins an operation, and where the client maps
# data for its device.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario nomem -- nomem
tap_done
