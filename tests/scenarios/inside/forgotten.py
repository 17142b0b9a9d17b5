#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: forgotten.py DIRECTORY TEST...

The server forgets all that is open, as its machine does that loses its power, and files lose
their names before their owners are back.  As opens.py; run by tests/scenarios/inside/opens.
"""

import contextlib
import errno
import os
import subprocess
import sys
import threading

import opens
from guest import point_arm, point_fail, point_release, point_wait
from opens import (ORPHANS, USER, As, Second, Twin, counter, export_set, limit, made, nameless,
                   no_orphans, nothing_kept, orphans, reclaim_s, run, same, settled, until)

SIZE = 70000


def forget():
    """Nothing of what is open is known to the server any more, and clients are back."""
    before = counter("session_resets")
    run("rdmafsctl", "save", "/tmp/forgotten.conf")
    run("rdmafsctl", "stop")
    old = reclaim_s(1)
    run("rdmafsctl", "export", "remove", "--all")
    until("all is forgotten", lambda: not limit("opens"))
    reclaim_s(old)
    run("rdmafsctl", "load", "/tmp/forgotten.conf")
    until("a new session", lambda: counter("session_resets") > before)


def late(fd, remove):
    point_arm("reclaim_named", 1, os.fstat(fd).st_ino)
    try:
        forget()
        same(point_wait("reclaim_named"), True)
        remove()
    finally:
        point_release("reclaim_named")
    with As(USER):
        os.fsync(fd)
    until("its name's loss is known", lambda: os.fstat(fd).st_nlink == 0)
    nameless(fd, SIZE)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    same(os.pread(fd, SIZE + 1, 0) == b"x" * SIZE, True)
    same(len(orphans()), 1)
    with open(f"{ORPHANS}/{orphans()[0]}", "rb") as f:
        same(f.read() == b"x" * SIZE, True)


def owner_late(fd, remove):
    """A file that is open and dirty loses its last name before its owner has it open again."""
    try:
        late(fd, remove)
    finally:
        # Else the next one, that may have its inode's number, would be taken for it.
        os.close(fd)
    settled()


def by_another():
    """the server forgot what is open, and another client removes a file before its owner is back"""
    with Second() as second:
        path, fd = made("another")
        os.link(path, path + ".2")

        def remove():
            os.unlink(second.path(path))
            same(orphans(), [])
            os.unlink(second.path(path + ".2"))

        owner_late(fd, remove)


def replaced_by_another():
    """likewise one that another was moved over, after the export was started once more"""
    with Second() as second:
        path, fd = made("replaced")
        other, fd2 = made("other")
        os.close(fd2)

        def remove():
            export_set()
            os.rename(second.path(other), second.path(path))

        owner_late(fd, remove)
        os.unlink(path)


def by_itself():
    """and one that its own client removes"""
    path, fd = made("itself")
    owner_late(fd, lambda: os.unlink(path))


def room():
    os.sync()
    st = os.statvfs("/backing/export")
    return st.f_bfree * st.f_frsize


def removed(name):
    path, fd = made(name)
    os.close(fd)
    os.unlink(path)


def nobodys():
    """one that nobody comes back for goes when the time is over, and then none is kept any more"""
    size = 8 << 20
    path, fd = made("nobodys")
    with As(USER):
        os.pwrite(fd, b"y" * size, 0)
    os.close(fd)
    forget()
    before = room()
    os.unlink(path)
    same(len(orphans()), 1)
    old = reclaim_s(1)
    try:
        no_orphans()
        until("its room is free", lambda: room() >= before + size * 3 // 4)
        until("nothing is kept", nothing_kept)
        no_orphans()
    finally:
        reclaim_s(old)
    same(nothing_kept(), True)
    no_orphans()


def lowered():
    """and when a shorter time is over that is set meanwhile, though nothing else happens"""
    path, fd = made("lowered")
    os.close(fd)
    forget()
    # Longer than anybody here waits, however slow the machine is.
    old = reclaim_s(3600)
    try:
        os.unlink(path)
        same(len(orphans()), 1)
        reclaim_s(1)
        no_orphans()
        until("nothing is kept", nothing_kept)
        no_orphans()
    finally:
        reclaim_s(old)


def filesystem():
    """What the export is on."""
    with open("/proc/mounts") as f:
        return [line.split()[2] for line in f if line.split()[1] == "/backing/export"][-1]


def behind(path):
    return path.replace(os.environ["RDMAFS_MNT"], "/backing/export", 1)


def dirty():
    """Bytes that the server's file systems, in the same machine, have not begun to write."""
    with open("/proc/meminfo") as f:
        return sum(int(line.split()[1]) << 10 for line in f if line.startswith("Dirty:"))


def not_written():
    """the removal of one that is kept does not wait until its data is written"""
    size = 8 << 20
    # What it has written is not there as dirty pages.
    if filesystem() == "tmpfs":
        return
    path, fd = made("dirty")
    os.close(fd)
    forget()
    os.sync()
    with open(behind(path), "r+b") as f:
        f.write(b"y" * size)
    same(dirty() >= size, True)
    os.unlink(path)
    same(dirty() >= size, True)
    same(len(orphans()), 1)
    settled()


def bounded():
    """no more are kept than there may be opens, and of one client's removals a quarter of that"""
    files = [made(f"bounded{n}") for n in range(5)]
    for _, fd in files:
        os.close(fd)
    forget()
    old = limit("max_opens", 8)
    try:
        for path, _ in files:
            os.unlink(path)
        same(len(orphans()), 2)
    finally:
        limit("max_opens", old)
    settled()


def made_since():
    """a file made after the start can't be open for anybody who is not known, and is not kept"""
    path, fd = made("before")
    os.close(fd)
    forget()
    removed("since")
    # It may have come before the CLOSE.
    no_orphans()
    os.unlink(path)
    same(len(orphans()), 1)
    settled()


@contextlib.contextmanager
def disk_full(folder):
    """Meanwhile a file of the server's has all of the room that was left."""
    path = behind(f"{folder}/filler")
    step, size = 64 << 20, 0
    with open(path, "wb") as f:
        try:
            while step >= 1 << 16:
                try:
                    os.posix_fallocate(f.fileno(), size, step)
                    size += step
                except OSError as err:
                    same(err.errno, errno.ENOSPC)
                    step //= 2
            yield f
        finally:
            os.unlink(path)


def full():
    """when the file system is full what is kept for nobody who is known goes, and nothing else"""
    path, fd = made("big")
    os.close(fd)
    with open(behind(path), "r+b") as f:
        os.posix_fallocate(f.fileno(), 0, 32 << 20)
    path2, fd2 = made("writer", 0o600)
    forget()
    os.unlink(path)
    same(len(orphans()), 1)
    with disk_full(os.path.dirname(path)):
        same(len(orphans()), 1)
        with As(USER):
            os.pwrite(fd2, b"z" * (8 << 20), 0)
            os.fsync(fd2)
        no_orphans()
    os.close(fd2)
    os.unlink(path2)
    settled()


def full_told():
    """who writes is told that the disk is full, also while a file without a name is just going"""
    path, fd = made("told", 0o666)
    os.close(fd)
    gone, fd = made("gone")
    os.unlink(gone)
    point_arm("orphan_remove", 1, os.fstat(fd).st_ino)
    closer = threading.Thread(target=os.close, args=(fd,))
    closer.start()
    try:
        same(point_wait("orphan_remove"), True)
        with disk_full(os.path.dirname(path)):
            done = subprocess.run(["dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=16",
                                   "conv=notrunc,fsync"], user=USER, timeout=20,
                                  stderr=subprocess.PIPE, check=False)
        same(b"No space left" in done.stderr, True)
    finally:
        point_release("orphan_remove")
        closer.join()
    no_orphans()
    os.unlink(path)
    settled()


def appended_full():
    """what was appended, and finds no room when it is to be made stable, is not appended again"""
    record = b"once".ljust(64, b".")
    path, fd = made("given")
    os.close(fd)
    log = os.path.dirname(path) + "/log"
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    forget()
    os.unlink(path)
    same(len(orphans()), 1)
    with disk_full(os.path.dirname(path)) as filler:
        os.truncate(filler.fileno(), os.fstat(filler.fileno()).st_size - (1 << 20))
        point_fail("append_full", 1, os.stat(behind(log)).st_ino)
        try:
            os.write(fd, record)
            same("it was written", "no room")
        except OSError as err:
            same(err.errno, errno.ENOSPC)
        finally:
            point_release("append_full")
        with open(behind(log), "rb") as f:
            same(f.read() == record, True)
    os.close(fd)
    os.unlink(log)
    settled()


def attribute_large():
    """an attribute that is too large has nobody's file thrown away"""
    # Others have room for it, or say so in another way.
    if filesystem() != "ext4":
        return
    path, fd = made("attribute")
    os.close(fd)
    other, fd = made("other")
    os.close(fd)
    forget()
    os.unlink(path)
    same(len(orphans()), 1)
    try:
        os.setxattr(other, "user.large", b"x" * 8192)
        same("it was set", "no room")
    except OSError as err:
        same(err.errno, errno.ENOSPC)
    same(len(orphans()), 1)
    os.unlink(other)
    settled()


def new_export():
    """nobody can have had anything open in an export that is new: nothing is kept"""
    with Twin() as twin:
        name = twin.mnt + "/new"
        os.close(os.open(name, os.O_CREAT | os.O_RDWR, 0o600))
        os.unlink(name)
        # It may have come before the CLOSE.
        no_orphans()


if __name__ == "__main__":
    opens.main(globals())
