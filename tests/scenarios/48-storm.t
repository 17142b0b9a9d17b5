#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The session is ended fifty times while a user works with git, SQLite, trees, objects of
# mode 0444 and temporary files without a name.  RDMAFS_STORM says how often; a thousand
# times take a quarter of an hour.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

ends=${RDMAFS_STORM:-50}
scenario ext4 --backing ext4 --size 700M --timeout $((900 + 3 * ends)) -- opens "storm:$ends"
tap_done
