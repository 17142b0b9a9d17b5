#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: atonce.py DIRECTORY [SAME-DIRECTORY-ON-THE-SERVER]
#
# DIRECTORY is on a mount with noac. What fstat() and small reads of an open file
# ask for is served where it arrives, and large reads from the page cache's own pages,
# by the server's own counters where it is this kernel; and what changes on the server
# is seen all the same.
import glob
import os
import sys

from guest import counters

COUNT = 200
directory = sys.argv[1]
behind = sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] else None


def counted(key):
    return sum(counters(name).get(key, 0) for name in glob.glob("/proc/fs/rdmafs/*/stats"))


def served_now():
    return counted("served_now")


def expect(what, holds):
    if not holds:
        sys.exit(f"not so: {what}")


path = os.path.join(directory, "atonce")
fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
os.write(fd, b"x" * 4096)
os.fsync(fd)
for _ in range(3):
    os.fstat(fd)
before = served_now()
for _ in range(COUNT):
    expect("its size", os.fstat(fd).st_size == 4096)
got = served_now() - before
print("fstat: served at once", got)
expect("nearly all were served at once", not behind or got >= COUNT * 9 // 10)

os.fchmod(fd, 0o640)
expect("the new mode is seen", os.fstat(fd).st_mode & 0o777 == 0o640)
if behind:
    local = os.path.join(behind, "atonce")
    for i in range(20):
        os.truncate(local, 5000 + i)
        expect("the server's own change is seen", os.fstat(fd).st_size == 5000 + i)
        os.setxattr(local, f"user.n{i}", b"v")
        expect("so is an xattr", f"user.n{i}" in os.listxattr(fd))
        os.removexattr(local, f"user.n{i}")
        expect("and that it is gone", f"user.n{i}" not in os.listxattr(fd))
os.close(fd)
direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
# until the clock has moved on since the last change, each read has an atime to set
before = served_now()
for _ in range(100000):
    os.pread(direct, 4096, 0)
    if not behind or served_now() > before:
        break
before = served_now()
for _ in range(COUNT):
    expect("a read", len(os.pread(direct, 4096, 0)) == 4096)
got = served_now() - before
print("read: served at once", got)
expect("nearly all were served at once", not behind or got >= COUNT * 9 // 10)
os.close(direct)

# What drop_caches can't drop, as it is dirty, is read from where it is as before.
size = 1 << 20
fd = os.open(path, os.O_RDWR)
expect("all is written at once", os.write(fd, b"y" * size) == size)
os.fsync(fd)
buffer = bytearray(size)
for _ in range(100000):
    before = counted("read_in_place")
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.preadv(fd, [buffer], 0)
    if not behind or counted("read_in_place") > before:
        break
with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
    f.write("3")
before = counted("read_in_place")
buffer[:] = bytes(size)
length = os.preadv(fd, [buffer], 0)
wrong = [at for at in range(0, size, 4096) if buffer[at:at + 4096] != b"y" * 4096]
expect(f"a large read: {length} bytes of {size}, wrong pages at {wrong[:8]}", length == size and not wrong)
got = counted("read_in_place") - before
print("large read after drop_caches: in place", got)
expect("it came from where it is", not behind or got > 0)
os.close(fd)
os.unlink(path)
