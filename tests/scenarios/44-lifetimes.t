#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A server that is gone keeps nobody who is killed, no other mount, and nobody after
# umount -f, also if somebody looks at what is shown.  A shortage of memory loses nothing.
# What a mount shows of itself is so.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario killed -- lifetimes killed starved
scenario force -- lifetimes force late lease collected crowd others
scenario onlookers -- lifetimes onlookers
scenario shortage -- lifetimes shortage reserve options shows
tap_done
