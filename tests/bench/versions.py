#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Versions of rdmafs in one boot: the part in the guest of tests/bench/against.

In each round every one is loaded, serves, is mounted, does every kind of I/O and is
unloaded again, in an order of its own. A version is set up by its own checkout's
tests/guest/inside/lib.sh, with its own modules and user programs.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import time

import ios
import report

WHERE = "/mnt/against"

UP = f"""
. "$top/tests/guest/inside/lib.sh"
ln -sf "$utils"/*mount.rdmafs /sbin/
rdmafs_server
rdmafs_client
guest_mount rdmafs export {WHERE}
"""

DOWN = f"""
. "$top/tests/guest/inside/lib.sh"
umount {WHERE}
rdmafs_stop_server
for ((i = ${{#GUEST_RDMAFS_MODULES[@]}} - 1; i >= 0; i--)); do
    [ ! -d "/sys/module/${{GUEST_RDMAFS_MODULES[i]}}" ] || rmmod "${{GUEST_RDMAFS_MODULES[i]}}"
done
"""


class Version:
    """NAME:TOP of a checkout, whose modules are in TOP/ko."""

    def __init__(self, word):
        self.name, self.top = word.rsplit(":", 1)

    def shell(self, script):
        utils = f"{self.top}/utils"
        env = dict(os.environ, top=self.top, utils=utils, RDMAFS_MODULES=f"{self.top}/ko",
                   PATH=f"{utils}:{os.environ['PATH']}")
        subprocess.run(["bash", "-euo", "pipefail", "-c", script], check=True, env=env,
                       stdout=sys.stderr)

    def measure(self, kinds, mib, seconds):
        """I/Os a second by kind of I/O."""
        self.shell(UP)
        file = f"{WHERE}/bench"
        if not os.path.exists(file):
            with open(file, "wb") as f:
                for _ in range(mib):
                    f.write(os.urandom(1 << 20))
        found = {}
        for name, rw, args in kinds:
            limit = [] if "buffered" in name else ["--time_based",
                                                   f"--runtime={int(seconds * 1000)}ms"]
            found[name] = ios.run_fio(file, rw, args, mib, limit)["iops"]
        self.shell(DOWN)
        return found


def table(names, rounds):
    """What the first version needs for an I/O, in parts of what each other one does."""
    lines = [f"| | other | its I/Os a second | {names[0]} | time of an I/O, {names[0]} to other"
             " | 95 % interval |", "| --- | --- | --- | --- | --- | --- |"]
    for kind in rounds[0][names[0]]:
        def iops(name):
            return [r[name][kind] for r in rounds]
        for name in names[1:]:
            ratio = report.interval([old / new for old, new in zip(iops(name), iops(names[0]))])
            between = f"{ratio['low']:.3f} to {ratio['high']:.3f}" if "low" in ratio else "–"
            lines.append(f"| {kind} | {name} | {statistics.median(iops(name)):.0f} |"
                         f" {statistics.median(iops(names[0])):.0f} | {ratio['median']:.3f} |"
                         f" {between} |")
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, required=True)
    p.add_argument("--seconds", type=float, required=True)
    p.add_argument("--kinds", required=True)
    p.add_argument("versions", nargs="+", type=Version)
    options = p.parse_args()
    options.quick = False
    kinds = ios.cells(options)
    if not kinds:
        sys.exit(f"against: no kind of I/O matches {options.kinds}")
    versions = {v.name: v for v in options.versions}
    if len(versions) < len(options.versions):
        sys.exit("against: the same version twice")
    names, shuffle, start, rounds = list(versions), random.Random(1), time.monotonic(), []
    for number in range(1, options.rounds + 1):
        rounds.append({name: versions[name].measure(kinds, 64, options.seconds)
                       for name in shuffle.sample(names, len(names))})
        print(f"against: round {number} of {options.rounds} done after"
              f" {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        if number % 10 == 0 and number < options.rounds:
            print(table(names, rounds), file=sys.stderr, flush=True)
    print(table(names, rounds))


if __name__ == "__main__":
    main()
