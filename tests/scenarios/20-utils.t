#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The user tools as far as they need no kernel of ours: what becomes of mount
# options and sources, the server's settings in a directory that stands for
# configfs, the settings file with all that can be wrong in it, and rdmafs-stat
# on a directory that stands for /proc/fs/rdmafs.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd -P)
. "$top/tests/lib/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

if ! utils=$("$top/tests/guest/modules" utils 2>"$tmp/build.log"); then
	tap 1 "the tools build" "$(cat "$tmp/build.log")"
	tap_done
	exit 1
fi
tap 0 "the tools build"
export LC_ALL=C

# run COMMAND...: its output in $out, its messages in $err, its status in $rc.
run() {
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	rc=$?
	out=$(cat "$tmp/out")
	err=$(cat "$tmp/err")
}

# ------------------------------------------------------------- mount.rdmafs

m() { run "$utils/mount.rdmafs" -f -v "$@"; }

m '[::1]:/a/b' "$tmp" -o 'ro,nosuid,_netdev,x-systemd.automount,port=1234,slots=9,noauto,comment=x,nofail'
is "$rc $out" "0 host=::1 export=a/b port=1234
kernel option ro
kernel option port=1234
kernel option slots=9
mount attributes 0x3
kept in user space: _netdev,x-systemd.automount
addr=::1" "options are sorted: attributes, the kernel's, user space's"

m 127.0.0.1:export "$tmp" -o noatime,nodev -o relatime,noexec,dev,sync,dirsync,nodiratime
is "$out" "host=127.0.0.1 export=export port=20060
kernel option sync
kernel option dirsync
mount attributes 0x88
addr=127.0.0.1" "the last of contradicting options counts; -o may be repeated"

m 127.0.0.1:/x "$tmp" -o user,exec
like "$out" 'attributes 0x6'$'\n' "user means nosuid,nodev,noexec unless said otherwise"

m 127.0.0.1:/x "$tmp" -o 'context="system_u:object_r:tmp_t:s0:c1,c2",rw'
like "$out" 'kernel option context=system_u:object_r:tmp_t:s0:c1,c2'$'\n''kernel option rw' \
	"a quoted value keeps its comma"

m 127.0.0.1:/x "$tmp" -o bg,retry=5,soft,timeo=7
is "$rc $out" "0 host=127.0.0.1 export=x port=20060
kernel option soft
kernel option timeo=7
mount attributes 0x0
in the background if the server is not there
addr=127.0.0.1" "bg and retry= are the helper's, soft and timeo= the kernel's"
m 127.0.0.1:/x "$tmp" -o bg,fg
is "$out" "host=127.0.0.1 export=x port=20060
mount attributes 0x0
addr=127.0.0.1" "the last of bg and fg counts"
for value in -1 1000001 '' x 3x 99999999999999999999; do
	m 127.0.0.1:/x "$tmp" -o "retry=$value"
	is "$rc $err" "1 mount.rdmafs: 127.0.0.1:/x: option retry=$value: not a number of minutes, 0 to 1000000" \
		"refused: retry=$value"
done

m no.such.host.invalid:/x "$tmp" -o addr=fe80::1%lo
like "$out" 'addr=fe80::1%(lo|1)$' "addr= takes the place of the host's name"

m no.such.host.invalid:/x "$tmp"
is $rc 32 "a host that is not known"
like "$err" '^mount\.rdmafs: no\.such\.host\.invalid:/x: host no\.such\.host\.invalid: ' "and says so"

while IFS='|' read -r source what; do
	m "$source" "$tmp"
	is "$rc" 1 "refused: $what"
	like "$err" "^mount.rdmafs: $(printf '%q' "$source" | sed 's/[][]/\\&/g; s/\\\\/\\/g').*(HOST|ADDRESS).:/EXPORT|HOST:/EXPORT" \
		"with a message"
done <<'END'
server|no colon
:/x|no host
server:|no export
server:///|no export but slashes
::1:/x|IPv6 without brackets
[::1|a bracket that is not closed
[::1]/x|no colon after the bracket
/dev/sda:x|a device
END

m 127.0.0.1:/x "$tmp" -o 'rw,slots="4'
is "$rc" 1 "an unbalanced quote"
like "$err" 'slots="4' "is named"
m 127.0.0.1:/x "$tmp/none"
is "$rc $err" "32 mount.rdmafs: 127.0.0.1:/x: mount point $tmp/none: No such file or directory" \
	"a mount point that is not there"
m 127.0.0.1:/x /dev/null
is "$rc" 32 "a mount point that is no directory"
m 127.0.0.1:/x
is "$rc" 1 "too few arguments"
m 127.0.0.1:/x "$tmp" -t nfs
is "$rc" 1 "another type"
run "$utils/mount.rdmafs" --help
like "$rc $out" "^0 Usage" "--help"

# ----------------------------------------------------------------- rdmafsctl

cfs=$tmp/configfs
c() { run "$utils/rdmafsctl" --configfs "$cfs" "$@"; }
# A directory is made without the values that the kernel would put into it.
kernel_defaults() {
	local d=$cfs/exports/$1
	[ -e "$d/id" ] || echo 4711 >"$d/id"
	[ -e "$d/secret" ] || printf '%064d\n' 7 >"$d/secret"
}

c status
is "$rc" 3 "no server"
mkdir -p "$cfs/exports" "$cfs/ports"
c status
is "$rc $out" "0 no port: rdmafsctl start
exports: 0, of which enabled: 0" "an empty server"

c export add /data/a.b%c/ /srv/data -o ro,no_root_squash,anonuid=99,id=17
is "$rc$err" 0 "export add"
label=data%2Fa.b%25c
is "$(ls "$cfs/exports")" "$label" "its label"
kernel_defaults "$label"
is "$(cd "$cfs/exports/$label" && cat name path id read_only squash anonuid anongid enable | xargs)" \
	"data/a.b%c /srv/data 17 1 none 99 65534 1" "its values"
c export add data/a.b%c /srv/other
is "$rc $err" "2 rdmafsctl: export data/a.b%c: there is one already" "a second one of that name"
c export add .hidden '/srv/with blank' -o all_squash,mountpoint,crossmnt,grace_s=0,security_label
kernel_defaults %2Ehidden
is "$rc $(cat "$cfs/exports/%2Ehidden/"{name,path,squash,mountpoint,crossmnt,grace_s,security_label} | tr '\n' ' ')" "0 .hidden /srv/with blank all 1 1 0 1 " \
	"a name with a dot, a path with a blank"

while IFS='|' read -r name path options what; do
	c export add "$name" "$path" ${options:+-o "$options"}
	is "$rc" 1 "refused: $what"
	like "$err" "^rdmafsctl: (export|option) .*: " "with a message"
done <<'END'
/|/srv||an empty name
x|srv||a relative path
x|/srv|id=0|id 0
x|/srv|id=010|an id with a leading zero
x|/srv|anonuid=4294967295|uid -1
x|/srv|anongid=-1|gid -1
x|/srv|grace_s=3601|too long a grace period
x|/srv|rw,squash_all|an option that is none
x|/srv|id|an option without its value
END
c export add "$(printf 'n%.0s' {1..256})" /srv
is "$rc" 1 "refused: a name of 256 bytes"
c export add $'x\ny' /srv
is "$rc" 1 "refused: a newline in the name"
c export add x $'/srv\n'
is "$rc" 1 "refused: a newline in the path"
c export add "$(printf '/%.0s' {1..90})$(printf 'a/%.0s' {1..90})z" /srv
is "$rc $(find "$cfs/exports" -mindepth 1 -maxdepth 1 | wc -l)" "2 2" "refused: a label that is too long"

c export list
is "$out" ".hidden              /srv/with blank (rw,all_squash,mountpoint,crossmnt,security_label,grace_s=0,id=4711)
data/a.b%c           /srv/data (ro,no_root_squash,anonuid=99,id=17)" "export list"
c export list --json
is "$(echo "$out" | python3 -c 'import json, sys
for e in json.load(sys.stdin): print(e["name"], e["path"], e["id"], e["read_only"], e["squash"], e["enable"], "secret" in e)')" \
	".hidden /srv/with blank 4711 False all True False
data/a.b%c /srv/data 17 True none True False" "as JSON, without secrets"

c start
is "$rc $(cat "$cfs/ports/20060/enable")" "0 1" "start: the default port"
c start --port 999
is "$rc $(cat "$cfs/ports/999/enable")" "0 1" "start: another port"
c status
is "$out" "port 999: listening
port 20060: listening
exports: 2, of which enabled: 2" "status"
c status --json
is "$(echo "$out" | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["ports"][1]["port"], d["enabled"])')" \
	"20060 2" "status as JSON"
for p in 0 65536 080 x ''; do
	c start --port "$p"
	is "$rc" 1 "refused: port '$p'"
done

umask 022
c save "$tmp/saved.conf"
is "$rc $(stat -c %a "$tmp/saved.conf") $(find "$tmp" -name 'saved.conf*' | wc -l)" "0 600 1" \
	"save: for root's eyes, and no temporary file is left"
c save "$tmp/no/such/dir/file"
is "$rc $err" "2 rdmafsctl: $tmp/no/such/dir/file: No such file or directory" "save: nowhere"

tree() { (cd "$cfs" && find . -type f | sort | xargs -d '\n' grep -H .); }
before=$(tree)
c load "$tmp/saved.conf"
is "$rc$err" 0 "load of what is there already"
is "$(tree)" "$before" "changes nothing"

c stop --port 4242
is "$rc $err" "2 rdmafsctl: port 4242: the server does not listen there" "stop: a port that is not there"
c stop --port 999
is "$rc $(ls "$cfs/ports")" "0 20060" "stop: one port"
c stop
is "$rc $(ls "$cfs/ports")" "0 " "stop: all"
c export remove nothing
is "$rc $err" "2 rdmafsctl: export nothing: there is no such export" "export remove: no such export"
c export remove /data/a.b%c
is "$rc $(ls "$cfs/exports")" "0 %2Ehidden" "export remove"
c export remove
is "$rc" 1 "export remove: which?"
c export remove --all
is "$rc $(ls "$cfs/exports")" "0 " "export remove --all"

c load "$tmp/saved.conf"
is "$rc$err" 0 "load into an empty server"
is "$(tree)" "$before" "brings back everything, secrets too"

sed -e 's/^path = .srv.data$/path = \/srv\/moved/; s/^secret = .*/\U&/; s/SECRET/secret/' \
	-e '/^\[export .hidden/,/^$/ { /^squash/d }' "$tmp/saved.conf" >"$tmp/changed.conf"
printf '[export new]\npath=/srv/new\n\n[port 999]\nenable = 0\n' >>"$tmp/changed.conf"
sed -i '0,/^\[port 999\]/ { /^\[port 999\]/d }' "$tmp/changed.conf"
c load "$tmp/changed.conf"
is "$rc$err" 0 "load of a changed file"
is "$(diff <(echo "$before") <(tree) | grep '^[<>]' | grep -v exports/new)" \
	"< ./exports/%2Ehidden/squash:all
> ./exports/%2Ehidden/squash:root
< ./exports/data%2Fa.b%25c/path:/srv/data
> ./exports/data%2Fa.b%25c/path:/srv/moved
< ./ports/999/enable:1" "changes what differs"
is "$(cat "$cfs/exports/new/"{path,squash,enable} | xargs)" "/srv/new root 1" "and adds what is missing"
kernel_defaults new
printf '[export new]\npath = /srv/new\n' >"$tmp/fewer.conf"
c load "$tmp/fewer.conf"
is "$rc $(ls "$cfs/exports") $(ls "$cfs/ports")" "0 new 20060" \
	"load of a file with fewer exports, and no port: exports go, ports stay"
printf '[port 999]\nmax_connections = 12\n' >>"$tmp/fewer.conf"
c load "$tmp/fewer.conf"
is "$rc $(ls "$cfs/ports") $(cat "$cfs/ports/999/"{max_connections,enable} | xargs)" "0 999 12 1" \
	"with one port: it has that one, and its limit"
c save "$tmp/limits.conf"
is "$(sed -n '/^.port/,$p' "$tmp/limits.conf" | xargs)" "[port 999] max_connections = 12" "limits are saved"

# Limits of the server and of a port, as "limits" shows, changes, saves and loads them.
printf '%s\n' 1000 >"$cfs/max_opens"
printf '%s\n' 250 >"$cfs/max_opens_client"
c limits
is "$rc $(xargs <<<"$out")" "0 max_opens = 1000 max_opens_client = 250" "limits of the server are shown"
c limits --port 999
is "$rc $out" "0 max_connections = 12" "and those of a port"
c limits max_opens=2000 max_opens_client=300
is "$rc $(cat "$cfs"/max_opens "$cfs"/max_opens_client | xargs)" "0 2000 300" "they are changed"
c limits --port 999 max_connections=13
is "$rc $(cat "$cfs/ports/999/max_connections") $(cat "$cfs/max_opens")" "0 13 2000" "a port's, too"
c save "$tmp/limits.conf"
is "$(sed -n '/^.port/,$p' "$tmp/limits.conf" | xargs)" \
	"[port 999] max_connections = 13 [server] max_opens = 2000 max_opens_client = 300" "all are saved"
c limits max_opens=5
c load "$tmp/limits.conf"
is "$rc $(cat "$cfs/max_opens")" "0 2000" "and loaded"
for bad in max_opens max_opens=many opens=3 max_opens=; do
	c limits $bad
	is "$rc" 1 "'limits $bad' is bad usage"
done
c limits max_opens=1 max_nothing=1
is "$rc $(cat "$cfs/max_opens") $err" "2 2000 rdmafsctl: there is no limit max_nothing of the server; --port?" \
	"with a limit that there is not nothing is changed"
c limits --port 998
is "$rc" 2 "nor is there a port that there is not"
printf '[server]\nmax_opens = 7\n[server]\nenable = 1\nmax_opens = x\n' >"$tmp/server.conf"
c load "$tmp/server.conf"
is "$rc $(cat "$cfs/max_opens")" "1 2000" "a file with a bad server section is not used"
rm "$cfs/max_opens" "$cfs/max_opens_client"
c limits --port 999 max_connections=12

# Every line that is wrong is named; nothing is changed.
before=$(tree)
cat >"$tmp/bad.conf" <<'END'
path = /srv/nowhere
[export a]
path = relative
squash = sometimes
colour = blue
[export b]
read_only = 2
read_only = 1
[export a]
path = /x
[port 0]
[port 1
[share x]
enable = 1
[port 77]
max_connections = many
[port 77]
nonsense
[export c]
path = /c
id = 5
[export d]
path = /d
id = 5
secret = 1234
enable = yes
[export /]
END
c load "$tmp/bad.conf"
is $rc 1 "load of a bad file"
is "$(echo "$err" | sed -n 's/.*: line \([0-9]*\): .*/\1/p' | xargs)" "1 3 4 5 7 8 6 9 11 12 13 16 17 18 25 26 27 22" \
	"every bad line is named" "$err"
is "$(tree)" "$before" "and nothing is changed"
printf '[export a]\npath = /x\0y\n' >"$tmp/nul.conf"
c load "$tmp/nul.conf"
like "$rc $err" "^1 .*line 2: a NUL byte" "a NUL byte"
c load "$tmp"
is "$rc" 2 "load of a directory"
c load "$tmp/none"
is "$rc" 2 "load of nothing"
printf '# only\n; comments\n\n' >"$tmp/empty.conf"
c load "$tmp/empty.conf"
is "$rc" 0 "load of a file without settings"
printf '[export dos]\r\npath = /srv/dos\r\n[port 1]' >"$tmp/dos.conf"
c load "$tmp/dos.conf"
is "$rc $(cat "$cfs/exports/dos/path" "$cfs/ports/1/enable" | xargs)" "0 /srv/dos 1" \
	"ends of line as on other systems, and none at the end"

for words in '' 'export' 'export frob' 'frob' 'status x' 'save a b' 'export list x' 'start x' '--frob'; do
	# shellcheck disable=SC2086
	c $words
	is "$rc" 1 "wrong usage: '$words'"
done
run "$utils/rdmafsctl" --help
like "$rc $out" "^0 Usage" "--help"

# --------------------------------------------------------------- rdmafs-stat

proc=$tmp/proc
s() { run "$utils/rdmafs-stat" --proc "$proc" "$@"; }
s
is "$rc" 2 "no module"
mkdir -p "$proc/rxe0" "$proc/0:41" "$proc/empty"
echo 65536 >"$proc/rxe0/capacity"
echo 65000 >"$proc/rxe0/free"
printf 'capacity 65536\nmembers 1\n' >"$proc/rxe0/stats"
echo "server:/export on 10.9.0.1:20060" >"$proc/0:41/mount"
printf 'min 0\nmax none\nweight 100\n' >"$proc/0:41/quota"
printf 'charged 257\nin_use 33\nwindow none\n' >"$proc/0:41/window"
printf 'calls 10\nreplies 10\nrpc_us 2500\nbytes_read 1048576\nunknown_key 7\n' >"$proc/0:41/stats"
s
is "$rc $(echo "$out" | tr -s " ")" "0 rxe0: capacity 65536 entries, free 65000
in all share entitled window in_use waiting rpc/s rd_MB/s wr_MB/s rpc_us revoked waits wait_ms mount
0:41 257 - - 33 - 10 1.0 - 250 - - - server:/export on 10.9.0.1:20060" "the table, with what is there"
s --all
like "$out" "0:41 stats.unknown_key 7" "--all shows what is not known too"
s --json
is "$(echo "$out" | python3 -c 'import json, sys
d = json.load(sys.stdin)
m = d["members"]["0:41"]
print(d["devices"]["rxe0"]["capacity"], m["quota"]["max"], m["stats"]["unknown_key"], m["mount"], len(d["members"]))')" \
	"65536 none 7 server:/export on 10.9.0.1:20060 1" "--json"
s 0.1 2
is "$(echo "$out" | grep -c 0:41) $(echo "$out" | grep -c 'per second')" "2 1" "an interval and a count"
s 0
is "$rc" 1 "an interval of nothing"

# -------------------------------------------------------------- rdmafs-trace

t() { run "$utils/rdmafs-trace" "$@"; }
cat >"$tmp/trace" <<'END'
# tracer: nop
          fio-77      [000] ...1.   100.000010: rdmafs_call_sent: session=00c0ffee slot=3 seq=9 len=65536
  kworker/0:1-8       [000] ...1.   100.000050: rdmafs_req_arrived: session=00c0ffee slot=3 seq=9 len=65536
          fio-77      [000] ...1.   100.000030: rdmafs_call_stcrw_sent: session=00c0ffee slot=3 seq=9 len=65536
          fio-77      [000] ...1.   100.000020: rdmafs_call_sent: session=00c0ffee slot=4 seq=2 len=0
          fio-77      [000] ..s1.   100.000090: rdmafs_call_replied: session=00c0ffee slot=5 seq=1 len=8
          fio-77      [000] ..s1.   100.000095: rdmafs_call_replied: session=00c0ffee slot=4
          fio-77      [000] ..s1.   100.000110: sched_switch: prev_comm=rdmafs_
END
t -l 1 "$tmp/trace"
is "$rc $(echo "$out" | tr -s ' .')" "0 session 00c0ffee slot 3 seq 9: 65536 bytes, 40.0 us
 0.0 client sent *
 20.0 client stcrw sent .*
 40.0 server arrived .#" "a timeline, in the order of time, of what began in the trace"
t "$tmp/trace"
is "$rc $(echo "$out" | grep -c session)" "0 2" "both of them"
t -n 1 -s "$tmp/trace"
is "$rc $(echo "$out" | grep session)" "0 session 00c0ffee slot 3 seq 9: 65536 bytes, 40.0 us" "the slowest"
cat >>"$tmp/trace" <<'END'
  kworker/0:1-8       [000] ...1.   100.000070: rdmafs_grant_made: session=00c0ffee key=00001234 len=65536 conn=1 slot=3 seq=9
          fio-77      [000] ...1.   100.000060: rdmafs_policy_window: session=00c0ffee member=2 window=257 was=-1 in_use=514 why=entitlement
          fio-77      [000] ...1.   100.000065: rdmafs_cache: dev=0:41 ino=12 pos=0 len=0 size=7: pages are valid: those that are cached may be used
          fio-77      [000] ...1.   100.000066: rdmafs_mr: mr=001234 posted: idle -> registering
          fio-77      [000] ...1.   100.000068: rdmafs_call_state: session=00c0ffee slot=4 seq=2 free send -> sent
          fio-77      [000] ...1.   100.000069: rdmafs_unknown: session=00c0ffee
  kworker/0:1-8       [000] ...1.   100.000072: rdmafs_claim: export=7 ino=12 claim=00c0ffee00001234 open -> left
END
t -e grants,policy,pages "$tmp/trace"
is "$rc $(echo "$out" | tr -s ' ')" "0  100.000060 session 00c0ffee policy window member=2 window=257 was=-1 in_use=514 why=entitlement
 100.000065 mount 0:41 client cache ino=12 pos=0 len=0 size=7: pages are valid: those that are cached may be used
 100.000070 session 00c0ffee server grant made key=00001234 len=65536 conn=1 slot=3 seq=9" \
	"events in a line each, in the order of time"
t -e states -e calls -n 1 "$tmp/trace"
is "$rc $(echo "$out" | tr -s ' ' | head -n 4)" "0  100.000066 MR mr=001234 posted: idle -> registering
 100.000068 session 00c0ffee client call slot=4 seq=2 free send -> sent

session 00c0ffee slot 3 seq 9: 65536 bytes, 40.0 us" "and the timelines behind them"
t -e claims "$tmp/trace"
is "$rc $(echo "$out" | tr -s ' ')" \
	"0  100.000072 server claim export=7 ino=12 claim=00c0ffee00001234 open -> left" \
	"an event without a session or a mount"
t -e all "$tmp/trace"
is "$rc $(echo "$out" | grep -c '^ *100\.') $(echo "$out" | grep -c '^session')" "0 6 2" "all that is known"
t "$tmp/trace"
is "$rc $(echo "$out" | grep -c '^ *100\.') $(echo "$out" | grep -c '^session')" "0 0 2" "without being asked, only the timelines"
t -e policy /dev/null
is "$rc" 2 "no such event"
t -l 70000 "$tmp/trace"
is "$rc" 2 "nothing to draw"
t "$tmp/nothing"
is "$rc" 2 "no such file"
for words in "-e frob" "-e calls,frob" "-e ," --events= "-n x" "-l -1" "-t 0" "-t 1e9" "-t 1 $tmp/trace" --unknown; do
	# shellcheck disable=SC2086 # words
	t $words
	is "$rc" 1 "wrong usage: '$words'"
done

tap_done
