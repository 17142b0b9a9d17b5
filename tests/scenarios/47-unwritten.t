#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a server says that it has written, and has not: it is no memory of this machine.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario unwritten -- unwritten
tap_done
