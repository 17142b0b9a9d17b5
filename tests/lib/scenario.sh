# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the scenarios on a mount share on the host's side. A scenario boots a
# guest or a few; the programs in tests/scenarios/inside do the work there and
# print TAP, which comes through with new numbers; and each guest adds a test of
# its own: that its kernel had nothing to report.
#
# Environment:
#   RDMAFS_KERNEL   uml (default) or another one of tests/guest/run
#   RDMAFS_SCALE    1 (default) is the whole test; by 20 sizes, counts and times
#                   are divided for the slow kernels
#   RDMAFS_FS       what is mounted (default rdmafs); the scenarios that are about
#                   files only pass on nfs-rdma or local as well, which is how to
#                   find out whether a test or the file system is wrong
#   RDMAFS_RDMA     rxe (default) or siw; scenarios that name a device keep theirs
#   RDMAFS_ONLY     a regular expression: only guests whose label matches it boot, and one has to

. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"

scenario_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
scenario_fs=${RDMAFS_FS:-rdmafs}
scenario_kernel=${RDMAFS_KERNEL:-uml}
scenario_rdma=${RDMAFS_RDMA:-rxe}
scenario_scale=${RDMAFS_SCALE:-1}

# with_checkers: the kernel has some, and is slow.
with_checkers() { [[ $scenario_kernel = *-* ]]; }

# only_on FS...: leave, all skipped, when another file system is asked for.
only_on() {
	case " $* " in
	*" $scenario_fs "*) ;;
	*)
		echo "1..0 # SKIP not about $scenario_fs"
		exit 0
		;;
	esac
}

# asked_for LABEL: by RDMAFS_ONLY.
asked_for() {
	[[ ! $1 =~ ${RDMAFS_ONLY:-} ]] || return 0
	diag "$1: not asked for"
	return 1
}

# leave_out LABEL REASON: this kernel or device has no such guest, which tests/check/skips has to
# foresee.  What is not there because this is the short form (RDMAFS_SCALE) is no skip: nobody
# takes that for all of it, and Documentation/testing.rst says what it lacks.
leave_out() { ! asked_for "$1" || tap_skip "$1" "$2"; }

# scenario_line LINE: one line of a guest's TAP, renumbered. Anything else that
# a program says is kept as a comment.
scenario_line() {
	case $1 in
	'ok '* | 'not ok '*)
		scenario_seen=$((scenario_seen + 1))
		tap_count=$((tap_count + 1))
		if [ "${1%% *}" = ok ]; then
			printf 'ok %d - %s%s\n' "$tap_count" "$scenario_prefix" "${1#*- }"
		else
			tap_failed=$((tap_failed + 1))
			printf 'not ok %d - %s%s\n' "$tap_count" "$scenario_prefix" "${1#*- }"
		fi
		;;
	'1..0 # SKIP'*)
		scenario_plan=0
		tap_skip "$scenario_label" "${1#*SKIP }"
		;;
	'1..'*) scenario_plan=${1#1..} ;;
	'#'*) printf '%s\n' "$1" ;;
	*) printf '# %s\n' "$1" ;;
	esac
}

# scenario LABEL [RUN-OPTION]... -- PROGRAM [ARGUMENT]...
# PROGRAM is below tests/scenarios/inside and prints TAP with a plan at its end.
scenario() {
	local label=$1 options=() err status='' line before=$tap_count failed=$tap_failed limit=1800
	shift
	asked_for "$label" || return 0
	while [ "$1" != -- ]; do
		if [ "$1" = --timeout ]; then
			limit=$2
			shift
		else
			options+=("$1")
		fi
		shift
	done
	shift
	# Emulated, and with checkers, the long form takes hours.
	[[ "$scenario_scale $scenario_kernel" != '1 smp-'* ]] || limit=$((limit * 8))
	err=$(mktemp)
	scenario_label=$label scenario_seen=0 scenario_plan='' scenario_prefix="$label: "
	while IFS= read -r line; do
		case $line in
		'status: '*) status=${line#status: } ;;
		*) scenario_line "$line" ;;
		esac
	done < <(
		"$scenario_top/tests/guest/run" --kernel "$scenario_kernel" --fs "$scenario_fs" \
			--rdma "$scenario_rdma" --timeout $limit "${options[@]}" -- env "RDMAFS_SCALE=$scenario_scale" \
			"$scenario_top/tests/scenarios/inside/$1" "${@:2}" 2>"$err"
		echo "status: $?"
	)
	if [ "${status:-125}" -gt 1 ]; then
		tap 1 "$label: the guest ends without a report" "status ${status:-unknown}" \
			"$(tail -n 60 "$err")"
	elif [ "$scenario_plan" != "$scenario_seen" ]; then
		tap 1 "$label: the guest's program comes to its end" \
			"planned ${scenario_plan:-nothing}, seen $scenario_seen, status $status" \
			"$(tail -n 30 "$err")"
	elif [ "$status" != 0 ] && [ "$tap_failed" = "$failed" ]; then
		tap 1 "$label: who fails says in which test" "status $status" "$(tail -n 30 "$err")"
	elif [ "$tap_count" = "$before" ]; then
		tap 1 "$label: the guest's program has tests, or says that it skips them"
	else
		tap 0 "$label: the guest ends without a report"
	fi
	rm -f "$err"
}
