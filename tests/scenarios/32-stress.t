#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# stress-ng's file system class, verified, and dbench: many odd calls at once, of which none
# may fail or hang.  The long form lets each stressor run for seconds, and has a PostgreSQL
# that crashes besides, which "tests/guest/setup tools" installs.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

scenario btrfs --backing btrfs --size 900M --timeout 5400 -- stress stress_ng dbench
[ "$scenario_scale" = 1 ] || { tap_done; exit; }
scenario database --backing ext4 --size 700M --timeout 5400 -- database session crash
tap_done
