#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a killed task has asked for is done before what others ask for after it.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario ext4 --backing ext4 -- fence
tap_done
