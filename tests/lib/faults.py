#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What came of faults, by the TAP of the guests that had them.

Usage: tests/lib/faults.py [--whole] FILE...

Prints how often each trouble came, and what became of the work beside it, added up over all
FILEs.  With --whole these are all guests of tests/check/faults: then no trouble may have come less
often than it has to, else the status is 1.

A trouble is a test whose name ends with a number, as it has in each guest.  The figures are in
comments of the programs (figures() of tests/scenarios/inside/history.py):

    # figures: TROUBLE: KEY=NUMBER...

came          how often, where no test is numbered
acknowledged  changes of which it was said that they are stable
lost          of these, those that were not there; each time that one looked, and so may others be
twice         what was there more often than it was done
wrong         whatever else was wrong, locks and reads among it
failed        changes whose call failed: some were made, and some were not
EIO           of these, those that said EIO
hung          waits for writers that got no further, or guests whose time was over
"""

import collections
import re
import sys

KEYS = ("came", "acknowledged", "lost", "twice", "wrong", "failed", "EIO", "hung")

FIGURES = re.compile(r"# figures: (.+): ((?:\w+=\d+ ?)+)$")
NUMBERED = re.compile(r"ok \d+ - [^:]*: (.*) \(\d+\)$")
STUCK = re.compile(r"not ok \d+ - .*(?:all writers work|all writers go on|the writers of client \d+ end|"
                   r"it goes on|: \w+ goes on through)|# .*was ended after \d+ s")
# What is asked of the writers each time.
NO_TROUBLE = "all writers work"

# Numbered tests, and after them others, which are counted as often as they have passed.
AT_LEAST = {
    "the connection is lost, and made again": 1000,
    "the server ends the session, and makes a new one": 100,
    "the server's machine loses its power, and boots": 100,
    "an RNIC is removed, and is there again": 100,
    "the disk fails, and is mended": 100,
    "the disk is full, and has room again": 100,
    "the file system is frozen, and thaws": 100,
    "a user is over quota, and no longer": 50,
    "packets are lost, spoilt, doubled, late, slow": 10,
    # Of a hundred thousand messages each.
    "a client that says anything is endured by the mount's server": 10,
    # Of ten thousand.
    "a server that says anything is endured by a client": 10,

    "what it had is found to be lost, and written again": 3,
    "parts of a direct write are found to be lost, and written again": 3,
    "the session was ended 1000 times": 1,
    "5000 operations are acknowledged": 4,
    "whenever its machine stops the disk has what was acknowledged": 6,
    "memory was missing often, and in many places": 1,
    "sessions ended by the server under load": 2,
    "server stopped and started under load": 2,
    "RDMA device removed and added under load": 1,
    "no packet from the server for 9 s under load": 1,
    "allocations fail, seed 3": 1,
}


class Sums:
    def __init__(self):
        self.troubles = collections.defaultdict(collections.Counter)
        self.passed = collections.Counter()

    def add(self, lines):
        """Of one guest."""
        last = "guests without a trouble of that kind"
        for line in lines:
            numbered, figures = NUMBERED.match(line), FIGURES.match(line)
            if numbered and numbered[1] != NO_TROUBLE:
                last = numbered[1]
                self.troubles[last]["came"] += 1
            elif figures:
                last = figures[1]
                for word in figures[2].split():
                    key, n = word.split("=")
                    self.troubles[last][key] += int(n)
            elif STUCK.match(line):
                self.troubles[last]["hung"] += 1
            passed = re.match(r"ok \d+ - (?:[^:]*: )?(.*?)(?: \(\d+\))?$", line)
            if passed:
                self.passed[passed[1]] += 1

    def show(self):
        width = max(map(len, self.troubles), default=0)
        print(" " * width, *(f"{key:>12}" for key in KEYS))
        for name, counts in sorted(self.troubles.items()):
            print(f"{name:<{width}}", *(f"{counts[key] if key in counts or key in known(counts) else '-':>12}"
                                        for key in KEYS))
        total = sum(self.troubles.values(), collections.Counter())
        print(f"{'all':<{width}}", *(f"{total[key]:>12}" for key in KEYS))

    def missing(self):
        return [f"NOT {least} times, but {self.passed[name]}: {name}"
                for name, least in AT_LEAST.items() if self.passed[name] < least]


def known(counts):
    """What none has said of itself was not looked for, but that somebody hung."""
    return KEYS if "acknowledged" in counts else ("came", "hung")


def main(args):
    whole = args[:1] == ["--whole"]
    if not args[whole:] or args[0] == "--help":
        print(__doc__.strip())
        return 0 if args[:1] == ["--help"] else 2
    sums = Sums()
    for path in args[whole:]:
        with open(path, encoding="utf-8", errors="replace") as f:
            sums.add(f.read().splitlines())
    sums.show()
    missing = sums.missing() if whole else []
    print(*missing, sep="\n", end="\n" if missing else "")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
