#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What others measure file systems with, for what it finds wrong: eight clients of dbench, fs_mark
# and bonnie++, each for some seconds.  The long form has ten minutes of dbench, ten of stress-ng's
# file system class all at once, and a PostgreSQL ("tests/guest/setup tools") whose file server
# loses its power.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"

seconds=5
[ "$scenario_scale" -gt 1 ] || seconds=600
scenario suites --backing ext4 --size 900M --timeout 5400 -- \
	stress "dbench:8:$seconds" fs_mark bonnie
[ "$scenario_scale" = 1 ] || { tap_done; exit; }
# An inode for each 16 KiB: one stressor makes as many files as it can in six minutes.
scenario class --backing ext4 --size 1800M --mem 3000M --timeout 5400 -- stress together:600
case $scenario_fs in
rdmafs | nfs-*)
	scenario database --nodes 2 --disks file --backing ext4 --size 700M --timeout 5400 -- \
		database power:3
	;;
esac
tap_done
