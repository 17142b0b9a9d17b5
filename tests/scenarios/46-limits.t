#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a port's clients may take: as the administrator writes it, as mount(8) meets it
# and as /proc shows it. What a hostile client meets is in suites
# rdmafs_xprt_hostile_limits and rdmafs_xprt_hostile_pages.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario limits -- limits
tap_done
