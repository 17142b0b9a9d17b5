#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Soft mounts give up what a server does not answer, hard mounts wait; and mounting is
# tried again, in the foreground or in the background, while there is no server.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario soft --backing ext4 -- soft
tap_done
