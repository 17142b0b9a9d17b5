#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Bytes stay what they were: SQLite, fio's verification over block sizes, engines
# and caches, sparse files over 4 GiB, maps, appends from several writers.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

scenario tmpfs -- data sqlite sparse maps append fio
# a boot and a leak scan of a slow kernel cost more than they show here
[ "$scenario_scale" -gt 1 ] || scenario xfs --backing xfs --size 900M -- data fio sparse append
tap_done
