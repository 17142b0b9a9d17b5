#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: hang.py KIND DIRECTORY READY GO

Opens what KIND needs, makes the file READY, waits for the file GO, and then does what
waits for a server that is not there: prints "doing" before it, and what comes of it.
"""
import ctypes
import errno
import mmap
import os
import re
import signal
import sys
import threading
import time

import aio

PAGE = 4096
MIB = 1 << 20


def direct_buffer(size):
    buf = mmap.mmap(-1, size)
    buf.write(b"d" * size)
    return buf


def aio_pause(fd, buf, write):
    """A request that is not waited for."""
    aio.Request(fd, buf, len(buf), write)
    signal.pause()


def write_out(fd, offset, length):
    """Begin to, not waiting for it."""
    if ctypes.CDLL(None).sync_file_range(fd, ctypes.c_long(offset), ctypes.c_long(length), 2):
        raise OSError("sync_file_range")


class Kinds:
    """Each prepares while there is a server, and returns what is done without one."""

    def __init__(self, directory):
        self.dir = directory

    def path(self, name):
        return os.path.join(self.dir, name)

    def reader(self):
        os.open(self.path("data"), os.O_RDONLY)
        return signal.pause

    def unlinked(self):
        fd = os.open(self.path("unlinked"), os.O_RDWR | os.O_CREAT)
        os.write(fd, b"x" * PAGE)
        os.unlink(self.path("unlinked"))
        return signal.pause

    def _dirty(self, name):
        fd = os.open(self.path(name), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(fd, name.encode() * (MIB // len(name)))
        return fd

    def dirty(self):
        self._dirty("dirty")
        return signal.pause

    def dirty_mapped(self):
        fd = self._dirty("dirty_mapped")
        os.fsync(fd)
        view = mmap.mmap(fd, MIB // 2)
        view[0:3] = b"map"
        os.close(fd)
        return signal.pause

    def fsync(self):
        fd = self._dirty("fsync")
        return lambda: os.fsync(fd)

    def fdatasync_twice(self):
        """Two processes, of what is dirty then: what was before may have been written out."""
        fd = self._dirty("fdatasync_twice")
        os.fsync(fd)
        return lambda: (os.pwrite(fd, b"2" * PAGE, 0), os.fork(), os.fdatasync(fd))

    def close(self):
        fd = os.open(self.path("close"), os.O_WRONLY | os.O_CREAT, 0o644)
        return lambda: (os.write(fd, b"close" * (MIB // 5)), os.close(fd))

    def stat_dirty(self):
        fd = self._dirty("stat_dirty")
        return lambda: (os.pwrite(fd, b"s", 0), os.stat(self.path("stat_dirty")))

    def truncate_dirty(self):
        fd = self._dirty("truncate_dirty")
        return lambda: os.ftruncate(fd, 10)

    def chmod_dirty(self):
        fd = self._dirty("chmod_dirty")
        return lambda: os.fchmod(fd, 0o600)

    def append(self):
        self._dirty("append")
        fd = os.open(self.path("append"), os.O_WRONLY | os.O_APPEND)
        return lambda: os.write(fd, b"more")

    def stat(self):
        return lambda: os.stat(self.path("never-looked-at"))

    def stats(self):
        """So many that they have all the memory that is set aside for operations."""
        with open(os.environ["RDMAFS_TOP"] + "/fs/client/op_make.c", encoding="ascii") as f:
            set_aside = int(re.search(r"define RDMAFS_POOL_MIN\s+(\d+)", f.read())[1])
        for _ in range(set_aside - 1):
            if not os.fork():
                break
        return lambda: os.stat(self.path(f"never-looked-at-{os.getpid()}"))

    def open(self):
        return lambda: os.open(self.path("data"), os.O_RDONLY)

    def create(self):
        os.makedirs(self.path("created"), exist_ok=True)
        return lambda: os.open(self.path("created/new"), os.O_RDWR | os.O_CREAT)

    def list(self):
        return lambda: os.listdir(self.path("listed"))

    def read(self):
        fd = os.open(self.path("data"), os.O_RDONLY)
        return lambda: os.pread(fd, PAGE, 3 * MIB)

    def direct_read(self):
        fd = os.open(self.path("direct"), os.O_RDONLY | os.O_DIRECT)
        return lambda: os.preadv(fd, [direct_buffer(MIB)], 0)

    def direct_write(self):
        fd = os.open(self.path("direct_write"), os.O_RDWR | os.O_CREAT | os.O_DIRECT)
        return lambda: os.pwritev(fd, [direct_buffer(MIB)], 0)

    def direct_writes(self):
        """So many of one open that all but one wait for the one that opens it again."""
        fd = os.open(self.path("direct_writes"), os.O_RDWR | os.O_CREAT | os.O_DIRECT)
        os.ftruncate(fd, 20 * PAGE)
        buf = direct_buffer(PAGE)
        errors = []

        def write(i):
            try:
                os.pwritev(fd, [buf], i * PAGE)
            except OSError as e:
                errors.append(e)

        def step():
            threads = [threading.Thread(target=write, args=(i,)) for i in range(20)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            if len(errors) not in (0, len(threads)):
                print(len(errors), "have failed", flush=True)
            for e in errors:
                raise e
        return step

    def direct_dirty(self):
        self._dirty("direct_dirty")
        fd = os.open(self.path("direct_dirty"), os.O_RDWR | os.O_DIRECT)
        return lambda: os.preadv(fd, [direct_buffer(PAGE)], 0)

    def direct_writeback(self):
        fd = self._dirty("direct_writeback")
        direct = os.open(self.path("direct_writeback"), os.O_RDWR | os.O_DIRECT)
        return lambda: (write_out(fd, 0, MIB),
                        os.preadv(direct, [direct_buffer(PAGE)], 0))

    def aio_read(self):
        fd = os.open(self.path("data"), os.O_RDONLY | os.O_DIRECT)
        return lambda: aio_pause(fd, direct_buffer(PAGE), False)

    def aio_write(self):
        fd = os.open(self.path("aio_write"), os.O_RDWR | os.O_CREAT | os.O_DIRECT)
        return lambda: aio_pause(fd, direct_buffer(MIB), True)

    def partial(self):
        fd = os.open(self.path("partial"), os.O_RDWR)
        return lambda: (os.pwrite(fd, b"1", 5 * PAGE + 100),
                        os.pwrite(fd, b"2", 5 * PAGE + 1000))

    def rewrite(self):
        fd = self._dirty("rewrite")
        return lambda: (write_out(fd, MIB // 4, MIB // 2),
                        os.pwrite(fd, b"r" * MIB, 0))

    def late(self):
        fd = os.open(self.path("late"), os.O_WRONLY | os.O_CREAT, 0o644)
        return lambda: (os.write(fd, b"late"), signal.pause())

    def gaps(self):
        fd = os.open(self.path("gaps"), os.O_RDWR)
        os.pwrite(fd, b"1", 5 * PAGE + 100)
        return lambda: os.pread(fd, 1, 5 * PAGE)

    def fault(self):
        fd = os.open(self.path("mapped"), os.O_RDONLY)
        view = mmap.mmap(fd, MIB, prot=mmap.PROT_READ)
        return lambda: view[100]

    def fault_random(self):
        fd = os.open(self.path("mapped_random"), os.O_RDONLY)
        view = mmap.mmap(fd, MIB, prot=mmap.PROT_READ)
        view.madvise(mmap.MADV_RANDOM)
        return lambda: view[MIB // 2]


def main():
    kind, directory, ready, go = sys.argv[1:]
    if kind == "--list":
        print(*sorted(k for k in vars(Kinds) if not k.startswith("_") and k != "path"))
        return
    step = getattr(Kinds(directory), kind)()
    with open(ready, "w", encoding="ascii"):
        pass
    while not os.path.exists(go):
        time.sleep(0.02)
    try:
        print("doing", flush=True)
        step()
        print("ok", flush=True)
    except OSError as e:
        print(errno.errorcode[e.errno], flush=True)


main()
