#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: seeds.py TARGET DIR    writes what a fuzz target begins with, a file each

Sound messages of every kind, by Documentation/protocol.rst, and some that are a little too
long: a fuzzer that starts from nothing
does not hit upon lengths that agree with each other.  Each file begins with the bytes by which
the target is told how to read the rest; see there.
"""

import os
import struct
import sys

CALL, REPLY, CONTROL, NOTIFY = 1, 2, 3, 4
READ, WRITE, RKEY = 1, 2, 4
GRANT = 1
BODY, DATA = b"body of 16 bytes", b"d" * 64


def header(kind, op=0, slot=0, seq=0, body=0, flags=0, data=0):
    return struct.pack("<BBHIHHI", kind, op, slot, seq, body, flags, data)


def call(flags=0, bulk=0, rkey=0, iova=0, data=b""):
    return (header(CALL, 0, 3, 7, len(BODY), flags, len(data)) +
            struct.pack("<IIQ", bulk, rkey, iova) + BODY + data)


def reply(status=0, body=BODY, bulk=0, data=b"", grant=b""):
    return (header(REPLY, 0, 3, 7, len(body), GRANT if grant else 0, len(data)) +
            struct.pack("<IIII", status, bulk, 120, 0) + body + grant + data)


def tag(length=4096, rkey=0x123, iova=0x5000):
    return struct.pack("<IIQ", length, rkey, iova)


def keys(*rkeys):
    return struct.pack(f"<HH{len(rkeys)}I", len(rkeys), 0, *rkeys)


def frame():
    # 128 slots, 4 MiB of data.
    client, server, cm = (bytes([0x0e | who, 10]) for who in (1, 0, 0x80))
    calls = [call(), call(data=DATA), call(READ, 4096), call(READ | RKEY, 65536, 0x100, 0x1000),
             call(WRITE, 65536), call(WRITE | RKEY, 65536, 0x200)]
    yield from (client + c for c in calls)
    yield client + b"".join(calls)
    replies = [reply(), reply(data=DATA), reply(bulk=65536), reply(grant=tag()),
               reply(grant=tag(), data=DATA), reply(1, b""), reply(2, b""), reply(3, b"")]
    yield from (server + r for r in replies)
    yield server + b"".join(replies)
    # The longest that may be, and one byte or key more.
    for n in (4096, 4097):
        yield client + call(data=b"d" * n)
        yield server + reply(data=b"d" * n)
    for op, body, rpc in ((1, bytes(24) + b"i" * 16, 0), (2, tag(iova=0), 7), (3, b"", 0),
                          (4, b"", 0), (5, tag(), 7), (6, b"", 7), (7, keys(1, 2, 3), 0),
                          (7, keys(*range(32)), 0), (7, keys(*range(33)), 0)):
        yield client + header(CONTROL, op, 0, rpc) + body
    for op, body, rpc in ((1, b"s" * 40, 0), (2, tag(), 7), (3, b"", 0), (4, keys(9), 0),
                          (5, b"", 7)):
        yield server + header(NOTIFY, op, 0, rpc) + body
    for index, incarnation, session in ((0, 0, bytes(16)), (1, 5, b"s" * 16)):
        yield cm + struct.pack("<IHBBIIIHHII", 0x53464452, 0x8006, index, 2, 8192, 4 << 20, 0, 64,
                               8, incarnation, 20000) + session


def counted(what):
    return struct.pack("<H", len(what)) + what


def entry(name, attr=b"", handle=b""):
    size = 24 + len(attr) + len(handle) + len(name)
    return (struct.pack("<QQHHHBB", 1, 2, (size + 7) & ~7, len(name), len(handle), 8, bool(attr)) +
            attr + handle + name + bytes(-size % 8))


def codec():
    # Steps: 0 so many bytes, 1 a handle, 2 a name, 6 a name that may be "..", 3 a string.
    fixed, handle, name, dotdot, text = 0, 1, 2, 6, 3
    yield bytes([3, fixed, 16, handle, 0, name, 0]) + BODY + counted(b"h" * 28) + counted(b"file")
    yield bytes([2, handle, 0, dotdot, 0]) + counted(b"h" * 8) + counted(b"..")
    yield bytes([2, text, 100, text, 255]) + counted(b"user.name") + counted(b"t" * 200)
    yield bytes([4, name, 0, name, 0, fixed, 8, handle, 0]) + counted(b"a") + counted(b"b" * 255) + \
        bytes(8) + counted(b"h" * 64)
    yield bytes([2, name, 0, handle, 0]) + counted(b"n" * 256) + counted(b"h" * 65)
    yield b"\x80" + entry(b"a") + entry(b"longer") + entry(b"n" * 255)
    yield b"\x80" + entry(b"file", bytes(136), b"h" * 28) + entry(b"other", bytes(136), b"h")
    for status in (0, 1, 2, 5, 11, 513, 0xffffffff):
        yield b"\xff" + struct.pack("<I", status)


def slots():
    # Steps as in slots.c: 0 take (0x20: at once), 3 give back, 5 kick or spread, 6 kill.
    yield bytes([15, 0]) + bytes([0x20] * 16) + bytes([3, 0] * 16)
    yield bytes([15, 3]) + bytes([0x08] * 20) + bytes([3, 0] * 20)
    yield bytes([31, 1]) + bytes([0, 0x10, 0x18] * 12) + bytes([3, 5, 13, 7, 2, 0, 5, 6] * 6)
    yield bytes([63, 7]) + bytes([0] * 70) + bytes([13, 10, 3]) + bytes([3, 1] * 30) + b"\xff\x00"


def main():
    target, where = sys.argv[1:]
    os.makedirs(where, exist_ok=True)
    for i, seed in enumerate({"frame": frame, "codec": codec, "slots": slots}[target]()):
        with open(f"{where}/seed-{i:02}", "wb") as f:
            f.write(seed)


main()
