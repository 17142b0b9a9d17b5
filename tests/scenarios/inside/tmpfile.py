#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: tmpfile.py DIRECTORY TEST...

Files that are made without a name (O_TMPFILE), while sessions end and servers are restarted.  As
opens.py; run by tests/scenarios/inside/opens.
"""

import errno
import itertools
import os
import threading

import opens
from guest import have_points, point_arm, point_count, point_fail, point_release, point_wait
from opens import (OPTS, ORPHANS, USER, As, Second, content, end_session, export_set, fails, limit,
                   linked, nameless, no_orphans, orphans, reclaim_s, reload_modules, restart, run,
                   same, settled, until)

SIZE = 70000
NUMBERS = itertools.count()


def tmpfile(where=None, excl=False, mode=0o444):
    """A file without a name, with data."""
    flags = os.O_RDWR | os.O_TMPFILE | (os.O_EXCL if excl else 0)
    with As(USER):
        fd = os.open(where or opens.DIR, flags, mode)
        same(os.write(fd, b"x" * SIZE), SIZE)
    return fd


def new_path():
    return os.path.join(opens.DIR, f"tmpfile{next(NUMBERS)}")


def on_server(path):
    return path.replace(os.environ["RDMAFS_MNT"], "/backing/export", 1)


def named(fd, path):
    """It gets its first name, and the server needs no other any more."""
    linked(fd, path)
    same((os.fstat(fd).st_nlink, os.stat(path).st_nlink), (1, 1))
    same(os.stat(on_server(path)).st_nlink, 1)
    os.fsync(fd)
    same(content(path) == b"x" * SIZE, True)


def kept_over(end, over):
    """
    Through all of its life the server is gone now and then; over() is called when it is closed,
    and checks that nothing is left.
    """
    path = new_path()
    fd, never = tmpfile(), tmpfile(excl=True)
    kept = sorted(orphans())
    same(len(kept), 2)
    for _ in range(2):
        end()
        nameless(fd, SIZE)
        nameless(never, SIZE)
        same(sorted(orphans()), kept)
    fails(errno.ENOENT, linked, never, path)
    named(fd, path)
    same(len(orphans()), 1)
    end()
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    same((os.fstat(fd).st_nlink, os.pread(fd, 3, 0)), (1, b"xxx"))
    os.unlink(path)
    same(os.fstat(fd).st_nlink, 0)
    end()
    nameless(fd, SIZE)
    nameless(never, SIZE)
    fails(errno.ENOENT, linked, fd, path)
    same(len(orphans()), 2)
    os.close(fd)
    os.close(never)
    over()


def session_lost():
    """a file made without a name outlives its session, gets a name, loses it, and goes"""
    kept_over(end_session, lambda: same(orphans(), []))


def server_restarted():
    """likewise the server stopped and started"""
    kept_over(restart, lambda: same(orphans(), []))


def export_restarted():
    """likewise its export ended and started: what may get a name is known by the directory"""
    # The server does not know whether this client was the only one who had it open.
    kept_over(export_set, settled)


def modules_reloaded():
    """likewise the server's module reloaded"""
    kept_over(reload_modules, settled)


def abandoned():
    """one that its client never comes back for goes after a while, named or not"""
    old = reclaim_s(2)
    path = new_path()
    with Second() as second:
        fd, fd2 = tmpfile(second.path(opens.DIR)), tmpfile(second.path(opens.DIR))
        # What is dirty when it dies is lost, and close(2) would say so.
        os.fsync(fd)
        os.fsync(fd2)
        linked(fd2, second.path(path))
        same(len(orphans()), 1)
        second.die()
        end_session()
        no_orphans()
        os.close(fd)
        os.close(fd2)
    same(os.stat(on_server(path)).st_nlink, 1)
    os.unlink(path)
    no_orphans()
    reclaim_s(old)


def half_linked():
    """the server died between the first name and the end of its own: the first one stays"""
    path = new_path()
    fd = tmpfile()
    name = orphans()[0]
    named(fd, path)
    same(orphans(), [])
    os.link(on_server(path), f"{ORPHANS}/{name}")
    export_set()
    until("the server's name is gone", lambda: not orphans())
    same((os.stat(on_server(path)).st_nlink, os.fstat(fd).st_nlink), (1, 1))
    os.close(fd)
    os.unlink(path)
    settled()


def not_kept():
    """where the server can't keep it none is made: EOPNOTSUPP"""
    where, mnt = "/backing/export/inner", "/tmp/tmpfile.export"
    os.mkdir(mnt)
    os.mkdir(where)
    with open(where + "/.rdmafs-orphans", "w", encoding="ascii") as f:
        f.write("a user's")
    run("rdmafsctl", "export", "add", "inner", where, "-o", "no_root_squash")
    run("mount", "-t", "rdmafs", "-o", OPTS, "10.9.0.1:/inner", mnt)
    fails(errno.EOPNOTSUPP, os.open, mnt, os.O_RDWR | os.O_TMPFILE, 0o600)
    os.unlink(where + "/.rdmafs-orphans")
    fd = os.open(mnt, os.O_RDWR | os.O_TMPFILE, 0o600)
    same(len(os.listdir(where + "/.rdmafs-orphans")), 1)
    os.close(fd)
    same(os.listdir(where + "/.rdmafs-orphans"), [])
    run("umount", mnt)
    run("rdmafsctl", "export", "remove", "inner")
    run("rm", "-r", where)
    os.rmdir(mnt)
    if run("findmnt", "-no", "FSTYPE", "-T", "/backing/export").strip() != "btrfs":
        return
    path = new_path()
    run("btrfs", "-q", "subvolume", "create", on_server(path))
    fails(errno.EOPNOTSUPP, os.open, path, os.O_RDWR | os.O_TMPFILE, 0o600)
    same((os.listdir(path), orphans()), ([], []))
    run("btrfs", "-q", "subvolume", "delete", on_server(path))


def read_only():
    """a read-only export has none"""
    old = export_set(read_only="1")
    try:
        fails(errno.EROFS, os.open, opens.DIR, os.O_RDWR | os.O_TMPFILE, 0o600)
    finally:
        export_set(**old)
    os.close(tmpfile())
    settled()


def answer_lost():
    """one whose answer is lost with the session is made again; the first goes after a while"""
    points = ("tmpfile_opened", "conn_drained")
    overdue = {point: point_count(point, "overdue") for point in points}
    result = []
    # What was removed after the last start of the export is kept for a while.
    settled()

    def make():
        try:
            result.append(os.open(opens.DIR, os.O_RDWR | os.O_TMPFILE, 0o600))
        except OSError as err:
            result.append(err)

    def lost():
        same(point_wait("conn_drained"), True)
        point_release("tmpfile_opened")
        until("it has answered", lambda: point_count("tmpfile_opened", "held") == 0)
        point_release("conn_drained")

    for point in points:
        point_arm(point)
    maker = threading.Thread(target=make)
    try:
        maker.start()
        same(point_wait("tmpfile_opened"), True)
        same(len(orphans()), 1)
        # A session waits for what it is at work with, and that may answer as long as there is a
        # connection.
        end_session(lost)
    finally:
        for point in points:
            point_release(point)
        maker.join()
    for point, count in overdue.items():
        same(point_count(point, "overdue"), count)
    fd = result[0]
    if isinstance(fd, OSError):
        raise fd
    same(len(orphans()), 2)
    old = reclaim_s(1)
    until("the first one is gone", lambda: len(orphans()) == 1)
    reclaim_s(old)
    os.write(fd, b"data")
    same((os.fstat(fd).st_nlink, os.pread(fd, 4, 0)), (0, b"data"))
    os.close(fd)
    same(orphans(), [])


def not_hidden():
    """its own name can't be removed when it gets its first: link counts are right, none follows"""
    path = new_path()
    settled()
    fd = tmpfile()
    point_fail("orphan_undo")
    try:
        linked(fd, path)
    finally:
        point_release("orphan_undo")
    same((os.fstat(fd).st_nlink, os.stat(path).st_nlink), (1, 1))
    same((os.stat(on_server(path)).st_nlink, len(orphans())), (2, 1))
    end_session()
    os.link(path, path + ".2")
    same(os.fstat(fd).st_nlink, 2)
    os.unlink(path + ".2")
    os.unlink(path)
    same((os.fstat(fd).st_nlink, len(orphans())), (0, 1))
    nameless(fd, SIZE)
    fails(errno.ENOENT, linked, fd, path)
    os.close(fd)
    same(orphans(), [])


def overlay():
    """an overlayfs above copies up by such files, and goes on with what it has made"""
    lower, merged = "/tmp/tmpfile.lower", "/tmp/tmpfile.merged"
    upper = new_path()
    for path in lower, merged, upper, upper + "/upper", upper + "/work":
        os.mkdir(path)
    for name in "kept", "longer", "gone":
        with open(f"{lower}/{name}", "wb") as f:
            f.write(b"lower " * 10000)
    dirs = f"lowerdir={lower},upperdir={upper}/upper,workdir={upper}/work"
    run("mount", "-t", "overlay", "-o", "userxattr," + dirs, "overlay", merged)
    try:
        # Counted, and nobody is held.
        if have_points():
            point_arm("tmpfile_opened", 0)
            before = point_count("tmpfile_opened", "arrived")
        for name in "longer", "gone":
            with open(f"{merged}/{name}", "ab") as f:
                f.write(b"more")
        if have_points():
            same(point_count("tmpfile_opened", "arrived"), before + 2)
        for _ in range(2):
            same(os.stat(f"{merged}/longer").st_size, 60004)
            with open(f"{merged}/longer", "rb") as f:
                same(f.read()[-8:], b"wer more")
            end_session()
        os.chmod(f"{merged}/longer", 0o600)
        os.rename(f"{merged}/longer", f"{merged}/moved")
        os.unlink(f"{merged}/gone")
        same(sorted(os.listdir(merged)), ["kept", "moved"])
        same(content(f"{upper}/upper/moved")[-8:], b"wer more")
        same(orphans(), [])
    finally:
        run("umount", merged)
    run("rm", "-r", lower, merged, upper)


def answer_failed():
    """one whose answer can't be made leaves nothing behind"""
    settled()
    before = limit("opens")
    point_fail("open_reply")
    try:
        fails(errno.EIO, os.open, opens.DIR, os.O_RDWR | os.O_TMPFILE, 0o600)
    finally:
        point_release("open_reply")
    same((orphans(), limit("opens")), ([], before))


if __name__ == "__main__":
    opens.main(globals())
