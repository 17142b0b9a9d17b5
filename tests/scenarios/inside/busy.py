#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: busy.py DIR THREADS READY STOP

Each of THREADS threads writes, reads back, and asks for attributes, one direct call
after the other, in a file of its own below DIR, until STOP exists.  Makes READY when
each has done so once.  Prints how many rounds the slowest thread made, and ends with 1
if a call failed or bytes were not as written.
"""
import mmap
import os
import sys
import threading
import time

SIZES = (4096, 65536, 16384, 262144)


class Busy(threading.Thread):
    """One thread and its file."""

    def __init__(self, where, number, stop):
        super().__init__()
        self.path = os.path.join(where, f"busy-{number}")
        self.number = number
        self.stop = stop
        self.rounds = 0
        self.error = None

    def turn(self, fd, room, size):
        """Write, read, look."""
        byte = bytes([(self.number + self.rounds) & 0xff])
        room.seek(0)
        room.write(byte * size)
        view = memoryview(room)[:size]
        if os.pwritev(fd, [view], 0) != size:
            raise OSError("a short write")
        room.seek(0)
        room.write(b"\0" * size)
        if os.preadv(fd, [view], 0) != size:
            raise OSError("a short read")
        if room[:size] != byte * size:
            raise OSError(f"other bytes than those of round {self.rounds}")
        if os.stat(self.path).st_size < size:
            raise OSError("the file is too short")

    def run(self):
        room = mmap.mmap(-1, max(SIZES))
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
        try:
            while not os.path.exists(self.stop):
                self.turn(fd, room, SIZES[self.rounds % len(SIZES)])
                self.rounds += 1
        except OSError as e:
            self.error = e
        os.close(fd)


def main():
    where, count, ready, stop = sys.argv[1:]
    threading.stack_size(256 << 10)
    threads = [Busy(where, n, stop) for n in range(int(count))]
    for t in threads:
        t.start()
    while not all(t.rounds or t.error for t in threads):
        time.sleep(0.02)
    with open(ready, "w", encoding="ascii"):
        pass
    for t in threads:
        t.join()
    for t in threads:
        if t.error:
            print(f"{t.path}: round {t.rounds}: {t.error}")
    print(min(t.rounds for t in threads))
    return any(t.error for t in threads)


if __name__ == "__main__":
    sys.exit(main())
