#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: late.py    in a directory on the mount; prints TAP

A direct read puts data into a mapping of another file, which is unmapped and closed before
the read is over: the data is in that file all the same.
"""

import ctypes
import mmap
import os
import subprocess
import threading

from guest import have_points, point_arm, point_release, point_wait, report, skip_all, tap_done

READ = 9
SIZE = 64 << 10
USER = 1000
BACK = os.path.join(os.environ["RDMAFS_BACKING"], os.path.relpath(os.getcwd(), os.environ["RDMAFS_MNT"]))
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.pread.restype = ctypes.c_ssize_t


def content(name):
    with open(os.path.join(BACK, name), "rb") as f:
        return f.read()


def read_into(source, target, between, then):
    """
    A direct read of source into a mapping of target, which is held by the server until
    target is closed and between() has been called; then() writes back.  What is wrong.
    """
    data = os.urandom(SIZE)
    with open(source, "wb") as f:
        f.write(data)
    fd = os.open(source, os.O_RDONLY | os.O_DIRECT)
    into = os.open(target, os.O_RDWR | os.O_CREAT, 0o600)
    os.fchown(into, USER, USER)
    os.pwrite(into, bytes(SIZE), 0)
    os.fsync(into)
    at = libc.mmap(None, ctypes.c_size_t(SIZE), mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED,
                   into, ctypes.c_long(0))
    # All pages are there: the one READ to come is that of the other file.
    ctypes.memset(at, 1, SIZE)
    got = []
    point_arm("op_begin", 1, READ)
    reader = threading.Thread(target=lambda: got.append(
        libc.pread(fd, ctypes.c_void_p(at), ctypes.c_size_t(SIZE), ctypes.c_long(0))))
    reader.start()
    problem = "" if point_wait("op_begin") else "no READ came to the server"
    libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(SIZE))
    os.close(into)
    between()
    point_release("op_begin")
    reader.join()
    os.close(fd)
    if got != [SIZE]:
        return problem or f"the read: {got}"
    then()
    if content(target) != data:
        return problem or "other contents"
    return problem


def remount():
    mnt, here = os.environ["RDMAFS_MNT"], os.getcwd()
    os.chdir("/")
    subprocess.run(["umount", mnt], check=True)
    subprocess.run(["mount", mnt], check=True)
    os.chdir(here)


def main():
    if not have_points():
        skip_all("not a test kernel")
    report("what a direct read puts into pages of a closed file is written",
           read_into("source", "target", lambda: None, os.sync))
    report("though nobody may open that file any more",
           read_into("source", "forbidden", lambda: os.chmod("forbidden", 0), os.sync))
    report("and when it is unmounted", read_into("source", "unmounted", lambda: None, remount))
    tap_done()


main()
