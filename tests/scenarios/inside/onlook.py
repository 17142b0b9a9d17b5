#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: onlook.py SHOWN FILE PAGE READY GO

Reads SHOWN, a file below /proc, into a page of a mapping of FILE.  Makes READY, begins
when there is GO, prints "doing", and then what it read, and what it reads after that.
"""
import errno
import mmap
import os
import sys
import time

PAGE = 4096


def outcome(read):
    """What a read comes to."""
    try:
        return "shown" if read() else "nothing"
    except OSError as e:
        return errno.errorcode[e.errno]


def main():
    shown, path, page, ready, go = sys.argv[1:]
    fd = os.open(shown, os.O_RDONLY)
    view = mmap.mmap(os.open(path, os.O_RDWR), PAGE, offset=int(page) * PAGE)
    with open(ready, "w", encoding="ascii"):
        pass
    while not os.path.exists(go):
        time.sleep(0.02)
    print("doing", flush=True)
    first = outcome(lambda: os.readv(fd, [view]))
    os.lseek(fd, 0, os.SEEK_SET)
    print(first, outcome(lambda: os.read(fd, PAGE)), flush=True)


main()
