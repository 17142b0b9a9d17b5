#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: seeds.py TARGET DIR    writes what a fuzz target begins with, a file each

Messages of every kind, by Documentation/protocol.rst, and what lies just within its bounds and
just behind them: a fuzzer that starts from nothing does not hit upon lengths that agree with
each other.  Each file begins with the bytes by which the target is told how to read the rest;
see there.  DIR/0 has those that are sound, DIR/-74 those that have to be refused with errno
74, and so on: run alone, each must have that verdict.  DIR/any is for the target to judge.
"""

import errno
import itertools
import os
import struct
import sys

CALL, REPLY, CONTROL, NOTIFY = 1, 2, 3, 4
READ, WRITE, RKEY = 1, 2, 4
GRANT = 1
BODY, DATA = b"body of 16 bytes", b"d" * 64
MIB = 1 << 20
SOUND, BAD = 0, -errno.EBADMSG


def header(kind, op=0, slot=0, seq=0, body=0, flags=0, data=0):
    return struct.pack("<BBHIHHI", kind, op, slot, seq, body, flags, data)


def call(flags=0, bulk=0, rkey=0, iova=0, data=b"", body=BODY, slot=3):
    return (header(CALL, 0, slot, 7, len(body), flags, len(data)) +
            struct.pack("<IIQ", bulk, rkey, iova) + body + data)


def reply(status=0, body=BODY, bulk=0, data=b"", grant=b"", pad=0):
    return (header(REPLY, 0, 3, 7, len(body), GRANT if grant else 0, len(data)) +
            struct.pack("<IIII", status, bulk, 120, pad) + body + grant + data)


def tag(length=4096, rkey=0x123, iova=0x5000):
    return struct.pack("<IIQ", length, rkey, iova)


def keys(*rkeys, pad=0):
    return struct.pack(f"<HH{len(rkeys)}I", len(rkeys), pad, *rkeys)


def cm(magic=0x53464452, version=0x800a, index=0, count=2, recv_size=8192, data_max=4 * MIB,
       features=0, slots=64, reserve=8, incarnation=0, session=bytes(16)):
    return struct.pack("<IHBBIIIHHII", magic, version, index, count, recv_size, data_max,
                       features, slots, reserve, incarnation, 20000) + session


def full(frame, size):
    """As many of these as fit, and one that makes up the size."""
    n = size // len(frame) - 1
    return frame * n + call(data=b"d" * (size - n * len(frame) - len(call())))


def frames():
    """What clients and servers say in 128 slots with data of 4 MiB at most."""
    client, server = b"\x0f\x0a", b"\x0e\x0a"
    calls = [call(), call(data=DATA), call(READ, 4096), call(READ | RKEY, 65536, 0x100, 0x1000),
             call(WRITE, 65536), call(WRITE | RKEY, 65536, 0x200), call(READ | RKEY, 1)]
    replies = [reply(), reply(data=DATA), reply(bulk=65536), reply(grant=tag()),
               reply(grant=tag(), data=DATA), reply(1, b""), reply(2, b""), reply(3, b"")]
    for who, sound in (client, calls), (server, replies):
        yield from ((SOUND, who + frame) for frame in sound)
        yield SOUND, who + b"".join(sound)
        # A part of one; one with a byte more; the other side's.
        yield from ((BAD, who + frame[:-1]) for frame in sound)
        yield from ((BAD, who + frame + b"\0") for frame in sound)
        yield from ((BAD, (client if who == server else server) + frame) for frame in sound)
    # The longest that may be, and one byte more.
    for verdict, data, body, bulk in (SOUND, 4096, 960, 4 * MIB), (BAD, 4097, 961, 4 * MIB + 1):
        yield verdict, client + call(data=b"d" * data)
        yield verdict, server + reply(data=b"d" * data)
        yield verdict, client + call(body=b"b" * body)
        yield verdict, server + reply(body=b"b" * body)
        for flags in READ, READ | RKEY, WRITE, WRITE | RKEY:
            yield verdict, client + call(flags, bulk)
        yield verdict, server + reply(bulk=bulk)
        yield verdict, server + reply(grant=tag(bulk))
    most = call(data=b"d" * 2000)
    yield SOUND, client + full(most, 32768)
    yield BAD, client + full(most, 32769)
    yield SOUND, client + call(slot=127)
    yield BAD, client + call(slot=128)
    # Which fields belong together.
    for flags, data, bulk, rkey, iova in itertools.product(range(9), (b"", DATA), (0, 4096),
                                                           (0, 1), (0, 1 << 63)):
        yield None, client + call(flags, bulk, rkey, iova, data)
    for status, body, bulk, data, grant in itertools.product(range(5), (b"", BODY), (0, 8192),
                                                             (b"", DATA), (b"", tag())):
        yield None, server + reply(status, body, bulk, data, grant)
    yield SOUND, client + call(READ | RKEY, 4096, 1, (1 << 64) - 1 - 4096)
    yield BAD, client + call(READ | RKEY, 4096, 1, (1 << 64) - 4096)
    yield SOUND, server + reply(grant=tag(4096, 1, (1 << 64) - 1 - 4096))
    for grant in tag(4096, 1, (1 << 64) - 4096), tag(0), tag(rkey=0):
        yield BAD, server + reply(grant=grant)
    yield BAD, client + call(body=b"")
    yield BAD, server + reply(pad=1)


def controls():
    """CONTROLs and NOTIFYs: alone, with what belongs to them and no more."""
    client, server = b"\x0f\x0a", b"\x0e\x0a"
    for who, kind, op, body, rpc in (
            (client, CONTROL, 1, bytes(24) + b"i" * 16, 0), (client, CONTROL, 2, tag(iova=0), 7),
            (client, CONTROL, 3, b"", 0), (client, CONTROL, 4, b"", 0),
            (client, CONTROL, 5, tag(), 7), (client, CONTROL, 6, b"", 7),
            (client, CONTROL, 7, keys(1, 2, 3), 0), (client, CONTROL, 7, keys(*range(32)), 0),
            (server, NOTIFY, 1, b"s" * 36 + bytes(4), 0), (server, NOTIFY, 2, tag(), 7),
            (server, NOTIFY, 3, b"", 0), (server, NOTIFY, 4, keys(9), 0),
            (server, NOTIFY, 5, b"", 7), (server, NOTIFY, 6, b"", 0)):
        sound = header(kind, op, 0, rpc) + body
        yield SOUND, who + sound
        yield BAD, who + sound + b"\0"
        yield BAD, who + sound[:-1]
        yield BAD, who + sound + (call() if who == client else reply())
        yield BAD, who + (call() if who == client else reply()) + sound
        yield BAD, (server if who == client else client) + sound
        for wrong in (header(kind, op, 0, rpc, body=1), header(kind, op, 0, rpc, flags=1),
                      header(kind, op, 0, rpc, data=1), header(kind, op, 128, rpc)):
            yield BAD, who + wrong + body
        if not rpc:
            yield BAD, who + header(kind, op, 0, 1) + body
            yield BAD, who + header(kind, op, 1, 0) + body
    yield BAD, client + header(CONTROL, 2, 0, 7) + tag(iova=1)
    yield BAD, server + header(NOTIFY, 1) + b"s" * 40
    for wrong in keys(), keys(*range(33)), keys(1, pad=1), keys(1, 2)[:-4], b"\1":
        yield BAD, client + header(CONTROL, 7) + wrong
    yield BAD, client + header(CONTROL, 0)
    yield BAD, client + header(CONTROL, 8)
    yield BAD, server + header(NOTIFY, 0)
    yield BAD, server + header(NOTIFY, 7)
    yield BAD, client + header(5)


def private_data():
    """What connections are asked for with: 4 MiB of data may be named."""
    joins = {"index": 1, "incarnation": 5, "session": b"s" * 16}
    for sound in ({}, joins, {"index": 15, "count": 16, "incarnation": 1, "session": joins["session"]},
                  {"recv_size": 5120}, {"data_max": 4096}, {"slots": 16}, {"slots": 1024},
                  {"reserve": 65535}, {"count": 1}):
        yield SOUND, b"\x80\x0a" + cm(**sound)
        yield SOUND, b"\x80\x0a" + cm(**sound) + bytes(8)
    for wrong in ({"count": 17}, {"count": 0}, {"index": 2, "incarnation": 5, "session": b"s" * 16},
                  {"recv_size": 5119}, {"data_max": 4095}, {"data_max": 4 * MIB + 1},
                  {"features": 1}, {"slots": 15}, {"slots": 1025}, {"reserve": 7},
                  {"incarnation": 1}, {"session": bytes(15) + b"s"}, {**joins, "incarnation": 0},
                  {**joins, "session": bytes(16)}):
        yield -errno.EINVAL, b"\x80\x0a" + cm(**wrong)
    yield -errno.EPROTONOSUPPORT, b"\x80\x0a" + cm(version=0x8005, slots=0)
    for wrong in cm(magic=0x53464453, version=0), cm()[:47], b"":
        yield -errno.EPROTO, b"\x80\x0a" + wrong


def frame():
    yield from frames()
    yield from controls()
    yield from private_data()


def counted(what):
    return struct.pack("<H", len(what)) + what


def entry(name, attr=b"", handle=b"", kind=8, flags=None, rec_len=None, fill=0):
    size = 24 + len(attr) + len(handle) + len(name)
    return (struct.pack("<QQHHHBB", 1, 2, rec_len or (size + 7) & ~7, len(name), len(handle), kind,
                        bool(attr) if flags is None else flags) +
            attr + handle + name + bytes([fill]) * (-size % 8))


def program(*steps):
    """(what to decode, an argument) each: the argument of a string is its longest less one."""
    return bytes([len(steps)]) + b"".join(bytes(step) for step in steps)


def bodies():
    fixed, padded, handle, name, dotdot, text = 0, 4, 1, 2, 6, 3
    yield SOUND, program((fixed, 16), (handle, 0), (name, 0)) + BODY + counted(b"h" * 28) + counted(b"file")
    yield SOUND, program((text, 100), (text, 255)) + counted(b"user.name") + counted(b"t" * 200)
    yield SOUND, program((name, 0), (name, 0), (fixed, 8), (handle, 0)) + \
        counted(b"a") + counted(b"b" * 255) + bytes(8) + counted(b"h" * 128)
    # A quarter of it, from its middle on, is 0.
    yield SOUND, program((padded, 16)) + b"abcdefgh\0\0\0\0ijkl"
    for at in range(8, 12):
        yield BAD, program((padded, 16)) + b"abcdefgh" + bytes(at - 8) + b"x" + bytes(15 - at)
    label, told, none = 11, 15, b"\xff\xff"
    for what in label, told:
        for it in b"", b"l" * 512, b"\0":
            yield SOUND, program((what, 0)) + counted(it)
        yield BAD, program((what, 0)) + counted(b"l" * 513)
    yield SOUND, program((told, 0)) + none
    yield BAD, program((told, 0)) + none + b"l"
    yield BAD, program((label, 0)) + none
    yield SOUND, program()
    yield BAD, program() + b"a"
    for what, sound, wrong in (
            ((name, 0), (b"n" * 255, b".n", b"...", b"..n", b"\xff"),
             (b"", b"n" * 256, b".", b"..", b"a/b", b"a\0b", b"/", b"\0", b"ab/", b"ab\0")),
            ((dotdot, 0), (b"..", b"n"), (b".", b"../", b"..\0")),
            ((handle, 0), (b"h", b"h" * 128, bytes(5), b"/"), (b"", b"h" * 129)),
            ((text, 9), (b"t" * 10, b"a/b", b"."), (b"", b"t" * 11, b"\0", b"t\0"))):
        for it in sound:
            yield SOUND, program(what) + counted(it)
            yield BAD, program(what) + counted(it)[:-1]
            yield BAD, program(what) + counted(it) + b"\0"
            yield BAD, program(what, (fixed, 1)) + counted(it)
            yield BAD, program(what, what) + counted(it) + b"\1"
        for it in wrong:
            yield BAD, program(what) + counted(it)
            yield BAD, program(what, (fixed, 1), (name, 0)) + counted(it) + b"b" + counted(b"n")


def listings():
    attr, handle = bytes(136), b"h" * 28
    for sound in (b"", entry(b"a"), entry(b"a") + entry(b"longer") + entry(b"n" * 255),
                  entry(b"file", attr, handle) + entry(b"other", attr, b"h"),
                  entry(b"file", attr, b"h" * 128), entry(b"12345678"), entry(b"..a"),
                  *(entry(b"n", kind=kind) for kind in (0, 1, 2, 4, 6, 8, 10, 12, 14))):
        yield SOUND, b"\x80" + sound
        if sound:
            yield BAD, b"\x80" + sound[:-1]
            yield BAD, b"\x80" + sound + b"\0"
    for wrong in (*(entry(b"n", kind=kind) for kind in (3, 5, 7, 9, 11, 13, 15, 16, 255)),
                  entry(b""), entry(b"n" * 256), entry(b"."), entry(b".."), entry(b"a/b"),
                  entry(b"a\0"), entry(b"n", flags=2), entry(b"n", flags=1),
                  entry(b"n", attr, b"h" * 129), entry(b"n", attr, handle, flags=0),
                  entry(b"n", attr, b""), entry(b"n", b"", handle), entry(b"n", rec_len=40) + bytes(8),
                  entry(b"n", rec_len=24), entry(b"n", rec_len=25), entry(b"n", fill=1)):
        yield BAD, b"\x80" + wrong
        yield BAD, b"\x80" + entry(b"a") + wrong + entry(b"b")


def codec():
    yield from bodies()
    yield from listings()
    for status in (0, 1, 2, 5, 11, 34, 35, 36, 513, 0xffffffff):
        yield None, b"\xff" + struct.pack("<I", status)


def slots():
    # Steps as in slots.c: 0 take (0x20: at once, 0xc0: and others have been dismissed since,
    # 0x08 and on: which kind), 3 give back, 5 dismiss all (8: spread), 6 kill, 0xff the end,
    # 0x0f stand in line without sleeping, or take what that has brought, 7 no longer.
    for seed in (
            [15, 0] + [0x20] * 16 + [3, 0] * 16,
            [15, 3] + [0x08] * 20 + [3, 0] * 20,
            [31, 1] + [0, 0x10, 0x18] * 12 + [3, 5, 13, 7, 2, 0, 5, 6] * 6,
            [63, 7] + [0] * 70 + [13, 10, 3] + [3, 1] * 8 + [0xff, 0],
            # Who comes too late to be dismissed does not wait.
            [15, 0] + [0] * 14 + [0, 0xc0, 5, 0xc0, 0, 3, 0, 3, 0, 3, 0],
            # All kinds wait, the least urgent first, and then there is room for all.
            [31, 0] + [8] * 32 + [13, 20, 0] + [0x18, 0x18, 0x10, 0x10, 8, 8] + [13, 31, 3] +
            [3, 0] * 30,
            # Who does not sleep is served between two who do, takes the slot, or does not want it.
            [15, 0] + [0] * 14 + [0, 0x0f, 0x18, 3, 0, 3, 1, 0x0f, 0x0f, 3, 2, 3, 3, 7, 3, 4],
            [15, 0] + [0x18] * 6 + [0x0f, 0x1f, 7, 0x0f, 3, 0, 13, 3, 0, 7, 0x0f, 5, 0xff, 7],
            # Retired ones come back, a kill meets a slot that is handed out, all are dismissed.
            [63, 3] + [8] * 60 + [13, 10, 1] + [8, 0x10, 0x18] + [3, 40, 3, 3, 6, 3, 3, 2] + [5, 3, 1] +
            [13, 63, 15] + [3, 0] * 8 + [0xff, 8, 3, 3]):
        yield SOUND, bytes(seed)


def steps(first, *what):
    """What calls.c and requests.c read: (what happens, how) each, or with the slot behind it."""
    return bytes([first]) + b"".join(bytes([step | sum(slot) << 4, how]) for step, how, *slot in what)


SMALL = 0


def calls():
    begin, submitter, device, server, revoke, end, recover, lose, session = range(9)
    stcrw, revoked, cancelled, reply = range(4)
    opened, granted = 4, 8          # of begin
    believed, deaf = 4, 8           # of what the server says
    unmappable = 1
    umount_f, close, abort = 0, 1, 0xff
    over = [(submitter, 0), *((device, i) for i in range(3)), (end, 0)]
    answered = [(server, reply), *over]
    tales = [
        [(begin, SMALL), *answered],
        [(begin, SMALL), (server, reply | deaf), (server, reply), (lose, 0)],
        [(begin, READ), *answered],
        [(begin, READ), (server, reply | believed), *over],
        [(begin, WRITE | granted), *answered],
        [(begin, WRITE), (server, stcrw), (device, 1), *answered],
        [(begin, WRITE), (server, reply), *over],
        # Either is first; or neither can be had.
        [(begin, WRITE | opened), (submitter, 0), (server, stcrw), (device, 1), *answered],
        [(begin, WRITE | opened), (server, stcrw), (submitter, 0), (server, reply), *over],
        [(begin, WRITE | opened), (submitter, unmappable), (server, stcrw), (server, cancelled), *over],
        [(begin, READ | opened), (submitter, 0), (device, 1), *answered],
        [(begin, READ | opened), (submitter, unmappable), (device, 1), (server, cancelled), *over],
        [(begin, READ | opened), (server, reply), (submitter, 0), *over],
        # Its translations are needed elsewhere; the answer may have crossed the CANCEL.
        [(begin, READ), (revoke, 0), (server, revoked), (device, 1), (device, 2), (server, cancelled), *over],
        [(begin, READ), (revoke, 0), (server, revoked | believed), *answered],
        [(begin, READ), (revoke, 0), *answered],
        # What the server can't say.
        *([(begin, kind), (server, what)] for kind in (SMALL, READ, WRITE, WRITE | granted, READ | opened)
          for what in (stcrw, revoked, cancelled | deaf)),
        [(server, reply)],
        [(begin, SMALL), (server, reply), (server, reply)],
    ]
    for first in 0x03, 0x83:
        for tale in tales:
            yield SOUND, steps(first, *tale)
            # Its connection goes at each step, and comes again.
            for i in range(1, len(tale)):
                yield SOUND, steps(first, *tale[:i], (lose, i & 1), *[(recover, 0)] * 5, *answered)
        # Recovery waits for who maps his pages, and for nobody else.
        for unmapped in 0, 1:
            yield SOUND, steps(first, (begin, READ | opened), (begin, SMALL, 1), (begin, WRITE | opened, 2),
                               (lose, 1), *[(recover, 0)] * 3, (submitter, unmapped), (recover, 0),
                               (server, reply, 1), (submitter, unmapped, 2), *[(recover, 0)] * 3,
                               *answered)
        # Nothing to map them with: a READ is void, a WRITE left; and once more.
        yield SOUND, steps(first, (begin, READ), (begin, WRITE, 1), (lose, 0), *[(recover, 8)] * 5,
                           (server, cancelled), (server, stcrw, 1), (recover, 0), *[(recover, 8)] * 5,
                           (recover, 0), (server, stcrw, 1), (device, 1, 1))
        # A new session, in which half of them fail; attempts that fail, and break at once.
        yield SOUND, steps(first, *((begin, kind, i) for i, kind in enumerate((SMALL, READ, WRITE, SMALL))),
                           (lose, 0), *[(recover, 0)] * 3, (recover, 1), (recover, 0x56), *[(recover, 0)] * 6)
        for how in umount_f, close, abort:
            yield SOUND, steps(first, (begin, READ), (begin, SMALL, 1), (session, how), *[(recover, 0)] * 3,
                               (end, 0, 1), *[(recover, 0)] * 3)
            yield SOUND, steps(first, (session, how), (begin, SMALL), *[(recover, 0)] * 5)
            # While it is about to be connected again.
            yield SOUND, steps(first, (begin, SMALL), (lose, 0), *[(recover, 0)] * 4, (session, how),
                               (server, reply), *[(recover, 0)] * 6)
            # mount(8) has not connected yet.
            yield SOUND, steps(first | 0x40, (session, how), (recover, 1), (recover, 0), (recover, 0))


def requests():
    call, thread, sink, turn, data, stcrw, cancel, device, service, unbind, bind = range(11)
    keyed, now, granted, invalid = 4, 8, 12, 16     # of call
    none, claim, ask = range(3)                     # of sink, once it has looked
    look = (sink, 0)
    served = [(thread, 0), (service, 1)]
    tales = [
        [(call, SMALL | now)],
        [(call, SMALL), *served],
        [(call, READ | keyed), *served],
        [(call, READ), *served, (stcrw, 0)],
        [(call, READ), (stcrw, 0), *served],
        [(call, WRITE), (thread, 0), look, (sink, ask), (data, 1), *served],
        [(call, WRITE), (thread, 0), look, (sink, ask), (data, 0), (device, 0), *served],
        [(call, WRITE), (thread, 0), look, (sink, ask), (data, 0), (device, 1)],
        [(call, WRITE), (thread, 0), look, (sink, none), (sink, none)],
        [(call, WRITE), (thread, 0), look, (sink, claim), (turn, 0), look, (sink, claim), (turn, 0),
         look, (sink, ask), (data, 1), *served],
        [(call, WRITE), (thread, 0), look, (sink, claim), (turn, 0), look, (sink, none), (sink, none)],
        [(call, WRITE | granted | invalid), *served],
        [(call, WRITE | granted), (device, 0), *served],
        [(call, WRITE | granted), (device, 1)],
        [(call, WRITE | keyed)],
    ]
    # On one connection, and on two, when that of slot 1 is the other one.
    for first in 0x03, 0x83, 0x07, 0x87:
        for tale in tales:
            begin = tale[0]
            yield SOUND, steps(first, *tale, *tale)
            for i in range(1, len(tale) + 1):
                yield SOUND, steps(first, *tale[:i], (cancel, 0), *tale[i:], (device, 0), *served)
                yield SOUND, steps(first, (*begin, 1), (*begin, 2), *tale[:i], (unbind, 0), *tale[i:],
                                   (unbind, 1), (bind, 0), (bind, 1), begin, (*begin, 1), *tale[1:])
                # It comes again before who is at work with it goes on; taken back, or not, before.
                for back, on in itertools.product([[], [(cancel, 0)]], [[(sink, claim)], [(sink, ask)] * 3]):
                    yield SOUND, steps(first, *tale[:i], *back, (unbind, 0), (unbind, 1), (bind, 0),
                                       (bind, 1), begin, *on, *tale[i:], begin)


def main():
    target, where = sys.argv[1:]
    targets = {"frame": frame, "codec": codec, "slots": slots, "calls": calls, "requests": requests}
    for i, (verdict, seed) in enumerate(targets[target]()):
        directory = f"{where}/{'any' if verdict is None else verdict}"
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/{i:04}", "wb") as f:
            f.write(seed)


main()
