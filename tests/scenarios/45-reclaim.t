#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What was open in a lost session is opened again: several at a time, those without a name
# first, and a busy one keeps no other waiting.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario ext4 --backing ext4 -- reclaim.py
tap_done
