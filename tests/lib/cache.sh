# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Where the test scripts keep what they build, and the few habits that they
# share. Sourced, never run.
#
# The cache is outside the checkout, so that a fresh clone finds the kernels of
# the last one. Everything in it may be deleted at any time; what is in use by a
# running guest is protected by a shared lock (cache_lock_shared).
#
#   src/linux-source-6.12       unpacked kernel source
#   kernel/<name>-<key>/        a built test kernel with its headers
#   build/<name>-<key>/         the same while it is being built
#   build/xstate-<key>.so       what UML is loaded with (tests/guest/xstate.c)
#   modules/<name>-<key>-<tree> our modules for that kernel, per checkout
#   utils/<tree>                our user programs, per checkout
#   faults/<sources>            what guests of make check-faults have printed, a file for each
#   style/<options>             files that checkpatch has no word about (tests/check/style)
#   bench/tree-<files>-<key>.tar  what make bench-trees unpacks

RDMAFS_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
CACHE=${RDMAFS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rdmafs}
ME=${0##*/}

say() { printf '%s: %s\n' "$ME" "$*" >&2; }

die() {
	say "$*"
	exit 1
}

# Bad usage of a script: the message, then status 2.
die_usage() {
	say "$*"
	say "try --help"
	exit 2
}

# The path of this checkout as a short word that is fit for a file name.
tree_key() { printf '%s' "$RDMAFS_TOP" | sha256sum | cut -c1-12; }

# cache_lock NAME: hold NAME alone until this shell exits, on fd 9.
cache_lock() {
	mkdir -p "$CACHE/lock"
	exec 9>"$CACHE/lock/$1"
	if ! flock -n 9; then
		say "waiting for another run that holds $1"
		flock 9
	fi
}

cache_unlock() { exec 9>&-; }

# The release of the newest installed 6.12 headers of Debian, e.g.
# 6.12.95+deb12-amd64; empty if there are none.
debian_release() {
	local d best=
	for d in /lib/modules/6.12.*-amd64; do
		[ -e "$d/build/Makefile" ] || continue
		case $d in *-rt-* | *-cloud-*) continue ;; esac
		best=$(printf '%s\n%s\n' "$best" "${d##*/}" | sort -V | tail -n 1)
	done
	echo "$best"
}

# A number of jobs that leaves the machine usable.
jobs_default() { echo "$(($(nproc) + 1))"; }
