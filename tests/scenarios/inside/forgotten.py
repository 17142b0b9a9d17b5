#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: forgotten.py DIRECTORY TEST...

The server forgets all that is open, as its machine does that loses its power, and files lose
their names before their owners are back.  As opens.py; run by tests/scenarios/inside/opens.
"""

import os
import sys

import opens
from opens import (ORPHANS, USER, As, Second, Twin, counter, end_session, export_set, limit, made,
                   nameless, no_orphans, orphans, reclaim_s, run, same, settled, until)
from points import point_arm, point_release, point_wait

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
    path2, fd2 = made("left")
    forget()
    before = room()
    os.unlink(path)
    same(len(orphans()), 1)
    old = reclaim_s(1)
    try:
        # What is left now has the server look whose time is over.
        end_session()
        no_orphans()
        until("its room is free", lambda: room() >= before + size * 3 // 4)
        removed("over")
        no_orphans()
    finally:
        reclaim_s(old)
    removed("over")
    no_orphans()
    os.close(fd2)
    os.unlink(path2)
    no_orphans()


def bounded():
    """no more are kept than there may be opens, the others are removed as ever"""
    files = [made(f"bounded{n}") for n in range(5)]
    for _, fd in files:
        os.close(fd)
    forget()
    old = limit("max_opens", 3)
    try:
        for path, _ in files:
            os.unlink(path)
        same(len(orphans()), 3)
    finally:
        limit("max_opens", old)
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
    sys.exit(opens.main(globals()))
