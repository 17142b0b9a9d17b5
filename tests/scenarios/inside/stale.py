#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: stale.py MOUNT-POINT STEM
#
# Holds files open while their export goes: makes STEM.ready when it has them,
# waits for STEM.go, and writes what each kind of call says then to STEM.done.
import errno
import os
import sys
import time

mount, stem = sys.argv[1:]
fd = os.open(mount + "/f", os.O_RDWR | os.O_DIRECT)
dirty = os.open(mount + "/dirty", os.O_RDWR | os.O_CREAT, 0o600)
os.fsync(dirty)
os.write(dirty, b"d" * 100000)
with open(stem + ".ready", "w", encoding="ascii"):
    pass
while not os.path.exists(stem + ".go"):
    time.sleep(0.05)


def answer(call, *args):
    try:
        call(*args)
    except OSError as e:
        return errno.errorcode[e.errno]
    return "ok"


def fsync():
    # the error of writeback may come as it is, or as EIO
    result = answer(os.fsync, dirty)
    return "ESTALE" if result == "EIO" else result


page = bytearray(4096)
said = [
    "read", answer(os.preadv, fd, [page], 0),
    "write", answer(os.pwritev, fd, [page], 0),
    # of a name that is not known yet: others are believed for some seconds
    "stat", answer(os.stat, mount + "/unknown"),
    "create", answer(os.open, mount + "/new", os.O_CREAT | os.O_WRONLY, 0o600),
    "list", answer(os.listdir, mount + "/d"),
    "fsync", fsync(),
]
with open(stem + ".tmp", "w", encoding="ascii") as f:
    print(*said, file=f)
os.rename(stem + ".tmp", stem + ".done")
