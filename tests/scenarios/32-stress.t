#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# stress-ng's file system class for a minute, verified, and dbench: many odd
# calls at once, of which none may fail or hang.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

scenario btrfs --backing btrfs --size 900M -- stress stress_ng dbench
tap_done
