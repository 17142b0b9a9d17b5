#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An honest mount beside clients and servers that break the protocol, in bare verbs, on
# both devices: it goes on, they get nothing, and nothing of theirs is left.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

scenario rxe --rdma rxe -- hostile
scenario siw --rdma siw -- hostile
tap_done
