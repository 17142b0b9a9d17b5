#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: frozen.py write FILE STOP THREADS [SIZE]
       frozen.py verify FILE THREADS [SIZE]
       frozen.py count DIR SECONDS
       frozen.py hold FILE

write: THREADS writers, direct, each its own part of FILE: by turns a block that
travels in a message and one that does not, or blocks of SIZE alone, until there is
STOP; then it prints how many blocks they wrote.  verify: what FILE holds is what they
wrote.  count: how many direct writes and reads end in a file in DIR; prints that.
hold: has FILE open until its stdin ends.
"""
import mmap
import os
import struct
import sys
import threading
import time

SIZES = (4096, 65536)


def block(size, thread, turn):
    return struct.pack("<QQ", thread, turn) * (size // 16)


class Writer(threading.Thread):
    def __init__(self, fd, number, stop, sizes):
        super().__init__()
        self.fd, self.number, self.stop, self.sizes = fd, number, stop, sizes
        self.turns = 0

    def run(self):
        data = mmap.mmap(-1, max(self.sizes))
        while not os.path.exists(self.stop):
            at = self.number * sum(self.sizes)
            for size in self.sizes:
                data[:size] = block(size, self.number, self.turns)
                if os.pwritev(self.fd, [memoryview(data)[:size]], at) != size:
                    raise OSError("a short write")
                at += size
            self.turns += 1


def write(path, stop, threads, *size):
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    sizes = tuple(map(int, size)) or SIZES
    writers = [Writer(fd, i, stop, sizes) for i in range(int(threads))]
    for w in writers:
        w.start()
    for w in writers:
        w.join()
    with open(path + ".turns", "w", encoding="ascii") as f:
        f.write(" ".join(str(w.turns) for w in writers))
    print(sum(w.turns for w in writers))
    return 0


def verify(path, threads, *size):
    sizes = tuple(map(int, size)) or SIZES
    with open(path + ".turns", encoding="ascii") as f:
        turns = [int(t) for t in f.read().split()]
    if len(turns) != int(threads) or not all(turns):
        return f"turns {turns}"
    with open(path, "rb") as f:
        for number, turn in enumerate(turns):
            for each in sizes:
                if f.read(each) != block(each, number, turn - 1):
                    return f"block of {each} of writer {number}"
    return 0


def count(where, seconds):
    fd = os.open(f"{where}/counted", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    data = mmap.mmap(-1, max(SIZES))
    end = time.monotonic() + float(seconds)
    done = 0
    while time.monotonic() < end:
        for size in SIZES:
            at = done % 16 * max(SIZES)
            data[:size] = block(size, 0, done)
            view = memoryview(data)[:size]
            os.pwritev(fd, [view], at)
            data[:16] = bytes(16)
            if os.preadv(fd, [view], at) != size or data[:size] != block(size, 0, done):
                return "what was read is not what was written"
            done += 1
    print(done)
    return 0


def hold(path):
    with open(path, "rb"):
        print("held", flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit({"write": write, "verify": verify, "count": count,
              "hold": hold}[sys.argv[1]](*sys.argv[2:]))
