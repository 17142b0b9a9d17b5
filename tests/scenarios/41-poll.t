#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# poll_us: a caller polls before it sleeps, and no more where that does not pay,
# as with one CPU, on which the server can't answer while somebody spins.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario poll -- poll
tap_done
