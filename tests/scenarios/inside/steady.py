#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: steady.py FILE COUNT [MS]

Writes and reads FILE, directly, small and large, one I/O at a time, until there is
/tmp/enough; what is read is what was written. The file COUNT has the number of I/Os so
far. After each that was read back it sleeps for MS milliseconds, or not at all. Prints how
many there were and how long the longest of them took.
"""
import mmap
import os
import sys
import time

SIZES = (4096, 65536, 262144)


def main():
    path, count = sys.argv[1:3]
    pause = float(sys.argv[3]) / 1000 if len(sys.argv) > 3 else 0
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o644)
    told = os.open(count, os.O_WRONLY)
    bufs = [mmap.mmap(-1, size) for size in SIZES]
    got = [mmap.mmap(-1, size) for size in SIZES]
    n, longest = 0, 0.0

    def timed(io, *args):
        nonlocal n, longest
        begin = time.monotonic()
        done = io(*args)
        longest = max(longest, time.monotonic() - begin)
        n += 1
        os.pwrite(told, b"%d\n" % n, 0)
        return done

    while not os.path.exists("/tmp/enough"):
        for buf, back, size in zip(bufs, got, SIZES):
            buf.seek(0)
            buf.write(b"%15d\n" % n * (size // 16))
            if timed(os.pwritev, fd, [buf], size) != size:
                sys.exit("a short write")
            if timed(os.preadv, fd, [back], size) != size:
                sys.exit("a short read")
            if back[:] != buf[:]:
                sys.exit(f"not what was written: {size} bytes")
            time.sleep(pause)
    print(f"{n} I/Os, the longest {longest:.3f} s")


main()
