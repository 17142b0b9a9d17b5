#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Answers for which something has happened that the server could not foresee.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario ext4 --backing ext4 -- answers.py
tap_done
