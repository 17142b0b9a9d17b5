#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Hundreds of mounts that end at once, each of whose ends takes its time: nobody else
# waits for them.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario unmounts --mem 1536M -- unmounts
tap_done
