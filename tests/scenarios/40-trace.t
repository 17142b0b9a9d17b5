#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tracepoints: each step of an RPC's life is there, in the order in which
# the protocol has them, and rdmafs-trace draws it.  It lists what becomes of grants,
# what the policy decides, what is done with cached pages, and what the server keeps for
# clients that may come back.  What states go through is one chain for each object.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario steps -- trace
scenario states -- transitions
tap_done
