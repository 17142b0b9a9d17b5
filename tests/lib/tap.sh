# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The few lines that make a shell script speak TAP. Sourced after cache.sh or
# alone. A test that fails says why in "# " lines; the script ends with tap_done,
# whose status tells whether all passed.

tap_count=0
tap_failed=0

# Without a process more, as in all that is called often: in a guest each costs 50 ms.
diag() {
	local said=$*
	printf '# %s\n' "${said//$'\n'/$'\n# '}"
}

# tap RESULT NAME [WHY]...: RESULT 0 is a pass.
tap() {
	local result=$1 name=$2
	shift 2
	tap_count=$((tap_count + 1))
	if [ "$result" -eq 0 ]; then
		echo "ok $tap_count - $name"
		return
	fi
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $name"
	if [ $# -gt 0 ]; then
		diag "$*"
	fi
}

tap_skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# is HAVE WANT NAME
is() {
	if [ "$1" = "$2" ]; then
		tap 0 "$3"
	else
		tap 1 "$3" "have: $1" $'\n'"want: $2"
	fi
}

# like HAVE REGEX NAME
like() {
	if [[ $1 =~ $2 ]]; then
		tap 0 "$3"
	else
		tap 1 "$3" "have: $1" $'\n'"want something like: $2"
	fi
}

# Who has run no test has not passed.
tap_done() {
	[ "$tap_count" -gt 0 ] || tap 1 "there are tests"
	echo "1..$tap_count"
	[ "$tap_failed" -eq 0 ]
}
