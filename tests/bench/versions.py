#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Two versions of rdmafs in one boot: the part in the guest of tests/bench/against.

In each round either is loaded, serves, is mounted, does every kind of I/O and is
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

import guest
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
    """TOP:MODULES:UTILS of a checkout."""

    def __init__(self, word):
        self.top, self.modules, self.utils = word.split(":")

    def shell(self, script):
        env = dict(os.environ, top=self.top, utils=self.utils, RDMAFS_MODULES=self.modules,
                   PATH=f"{self.utils}:{os.environ['PATH']}")
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
            found[name] = guest.run_fio(file, rw, args, mib, limit)["iops"]
        self.shell(DOWN)
        return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, required=True)
    p.add_argument("--seconds", type=float, required=True)
    p.add_argument("--kinds", required=True)
    p.add_argument("old")
    p.add_argument("new")
    options = p.parse_args()
    options.quick = False
    kinds = guest.cells(options)
    if not kinds:
        sys.exit(f"against: no kind of I/O matches {options.kinds}")
    versions = {"old": Version(options.old), "new": Version(options.new)}
    shuffle, start, rounds = random.Random(1), time.monotonic(), []
    for number in range(options.rounds):
        rounds.append({name: versions[name].measure(kinds, 64, options.seconds)
                       for name in shuffle.sample(list(versions), 2)})
        print(f"against: round {number + 1} of {options.rounds} done after"
              f" {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    print("| | old, I/Os a second | new | time of an I/O, new to old | 95 % interval |")
    print("| --- | --- | --- | --- | --- |")
    for name, _, _ in kinds:
        ratio = report.interval([r["old"][name] / r["new"][name] for r in rounds],
                                random.Random(1))
        old, new = (statistics.median(r[v][name] for r in rounds) for v in ("old", "new"))
        print(f"| {name} | {old:.0f} | {new:.0f} | {ratio['median']:.3f} |"
              f" {ratio['low']:.3f} to {ratio['high']:.3f} |")


if __name__ == "__main__":
    main()
