#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Sequence numbers wrap: sessions that begin just before go on behind it, also
# over a connection that is lost there.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario wrap -- sequence
tap_done
