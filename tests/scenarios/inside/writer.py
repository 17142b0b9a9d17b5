#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: writer.py FILE STEM             until STEM.stop exists
#        writer.py --verify FILE STEM    what the last of it left
#
# Rounds of verified I/O on FILE: direct writes small and large, direct reads,
# buffered writes with fsync, a file made, renamed and removed. STEM.rounds has
# their number; any error, and any byte that is not what was written, ends it. But an answer
# about a name that was lost with the session is EIO: one for each time that the server was
# stopped, whose number STEM.stops has before it is; what became of the name is then looked at.
import json
import mmap
import os
import random
import sys

from unproven import unproven

SLOTS = 24
SIZES = (4096, 65536, 1 << 20)
PLACE = 1 << 20


def data(slot, generation, size):
    return random.Random(slot * 1000003 + generation).randbytes(size)


def check(fd, slot, generation, size, memory):
    view = memoryview(memory)[:size]
    if os.preadv(fd, [view], slot * PLACE) != size or bytes(view) != data(slot, generation, size):
        sys.exit(f"slot {slot} generation {generation} size {size} is not what was written")


class Names:
    """Names that are made, changed and removed. Only one of these calls is under way at a time."""

    def __init__(self, path, stem):
        self.path, self.stem, self.lost = path, stem, 0

    def excused(self, _):
        self.lost += 1
        try:
            with open(self.stem + ".stops", encoding="ascii") as f:
                return self.lost <= int(f.read())
        except FileNotFoundError:
            return False

    def unproven(self, function, done):
        return unproven(function, done, self.excused)

    def turn(self, i):
        name = f"{self.path}.name-{i}"
        other = name + "-2"
        f = self.unproven(lambda: os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600),
                          lambda: os.path.lexists(name))
        if f is None:
            f = os.open(name, os.O_WRONLY)
        os.write(f, b"name")
        os.close(f)
        self.unproven(lambda: os.rename(name, other), lambda: not os.path.lexists(name))
        self.unproven(lambda: os.unlink(other), lambda: not os.path.lexists(other))


def run(path, stem):
    rng = random.Random(1)
    memory = mmap.mmap(-1, PLACE)
    direct = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    buffered = os.open(path + ".buffered", os.O_RDWR | os.O_CREAT, 0o600)
    names = Names(path, stem)
    state = {}
    rounds = 0
    while not os.path.exists(stem + ".stop"):
        rounds += 1
        slot, size = rng.randrange(SLOTS), rng.choice(SIZES)
        memory[:size] = data(slot, rounds, size)
        if os.pwritev(direct, [memoryview(memory)[:size]], slot * PLACE) != size:
            sys.exit("a short write")
        state[slot] = (rounds, size)
        slot = rng.choice(list(state))
        check(direct, slot, *state[slot], memory)
        os.pwrite(buffered, data(99, rounds, 5000), (rounds % 100) * 5000)
        if rounds % 5 == 0:
            os.fsync(buffered)
            names.turn(rounds)
        with open(stem + ".tmp", "w", encoding="ascii") as f:
            print(rounds, file=f)
        os.rename(stem + ".tmp", stem + ".rounds")
        if rounds == 3:
            with open(stem + ".started", "w", encoding="ascii"):
                pass
    os.fsync(buffered)
    os.close(buffered)
    print(f"{names.lost} answers lost")
    with open(stem + ".state", "w", encoding="ascii") as f:
        json.dump([rounds, state], f)


def verify(path, stem):
    with open(stem + ".state", encoding="ascii") as f:
        rounds, state = json.load(f)
    memory = mmap.mmap(-1, PLACE)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    for slot, (generation, size) in state.items():
        check(fd, int(slot), generation, size, memory)
    fd = os.open(path + ".buffered", os.O_RDONLY)
    for generation in range(max(1, rounds - 99), rounds + 1):
        if os.pread(fd, 5000, generation % 100 * 5000) != data(99, generation, 5000):
            sys.exit(f"buffered generation {generation}")


if sys.argv[1] == "--verify":
    verify(sys.argv[2], sys.argv[3])
else:
    run(sys.argv[1], sys.argv[2])
