#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: sparse.py write|verify FILE
#
# A file of 5 GiB and a bit with a few islands of data: at its start, across
# 2 and 4 GiB (where signed and unsigned 32-bit offsets end), and at its end.
import hashlib
import os
import sys

GIB = 1 << 30
SIZE = 5 * GIB + 4097
ISLANDS = [(0, 5000), (2 * GIB - 3000, 70001), (4 * GIB - 65536, 131072 + 17), (5 * GIB, 4097)]
SCALE = int(os.environ.get("RDMAFS_SCALE", "1"))
AROUND = max((8 << 20) // SCALE, 1 << 20)


def pattern(offset, length):
    out = bytearray()
    block = offset // 32
    while len(out) < length + 32:
        out += hashlib.sha256(b"%d" % block).digest()
        block += 1
    return bytes(out[offset % 32:offset % 32 + length])


def expected(offset, length):
    out = bytearray(length)
    for start, size in ISLANDS:
        a, b = max(start, offset), min(start + size, offset + length)
        if a < b:
            out[a - offset:b - offset] = pattern(a, b - a)
    return bytes(out)


def write(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    for start, size in reversed(ISLANDS):
        data = pattern(start, size)
        while data:
            n = os.pwrite(fd, data, start)
            data, start = data[n:], start + n
    os.fsync(fd)
    os.close(fd)


def verify(path):
    fd = os.open(path, os.O_RDONLY)
    if os.fstat(fd).st_size != SIZE:
        sys.exit(f"size is {os.fstat(fd).st_size}")
    # around every island, and in the middle of every hole
    places = [start - AROUND // 2 for start, _ in ISLANDS]
    places += [GIB, 3 * GIB + 12345, 9 * GIB // 2]
    for place in places:
        place = max(place, 0)
        end = min(place + AROUND, SIZE)
        while place < end:
            data = os.pread(fd, min(1 << 20, end - place), place)
            want = expected(place, min(1 << 20, end - place))
            if data != want:
                at = next((i for i, (a, b) in enumerate(zip(data, want)) if a != b), len(data))
                sys.exit(f"at {place + at}: {data[at:at + 16].hex()} instead of"
                         f" {want[at:at + 16].hex()}, {len(data)} bytes of {len(want)}")
            place += len(want)
    if os.pread(fd, 100, SIZE) != b"":
        sys.exit("there is something after the end")
    # holes and data must lie as written, however coarse the file system's blocks
    try:
        hole = os.lseek(fd, 0, os.SEEK_HOLE)
        data = os.lseek(fd, GIB, os.SEEK_DATA)
    except OSError as e:
        sys.exit(f"SEEK_HOLE, SEEK_DATA: {e}")
    if not (5000 <= hole <= SIZE and GIB <= data <= 2 * GIB - 3000):
        sys.exit(f"hole at {hole}, data at {data}")


{"write": write, "verify": verify}[sys.argv[1]](sys.argv[2])
