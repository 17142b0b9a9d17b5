#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Security labels that the server keeps (security_label): with SELinux on Debian's own kernel and a
# policy that the test loads; and what the options do where no kernel has a security module.
set -uo pipefail
# shellcheck source=tests/lib/scenario.sh
. "$(dirname "$0")/../lib/scenario.sh"
only_on rdmafs

# audit=0: the policy leaves out most of what the kernel would audit.
if [ "$scenario_kernel" = debian ]; then
	scenario selinux --backing ext4 --size 300M \
		--append "security=selinux enforcing=0 audit=0" -- labels selinux
else
	scenario plain --backing ext4 --size 300M -- labels plain
	[ "$scenario_scale" -gt 1 ] || scenario "plain tmpfs" --size 100M -- labels plain
	leave_out selinux "this kernel has no SELinux"
fi
tap_done
