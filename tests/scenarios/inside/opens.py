#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: opens.py DIRECTORY TEST...

Each test opens files on the mount, has the session ended, and uses what it has open.
Prints TAP.  Run by tests/scenarios/inside/opens.
"""

import ctypes
import errno
import itertools
import mmap
import os
import subprocess
import sys
import threading
import time

import guest
from guest import (abort_sessions, attempt, counters, point_arm, point_count, point_fail,
                   point_release, point_wait, proc_of, read_text, tap_done, write_text)

USER = 1000
OPTS = os.environ["RDMAFS_MOUNT_OPTS"]
OP_CREATE = 7
OP_READ = 9
NO_DATA = 0
STATS = None
DIR = None
NUMBERS = itertools.count()


def run(*command):
    """A command on the server, which is this machine."""
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def counter(key):
    return counters(STATS)[key]


def until(what, condition, seconds=60):
    if not guest.until(condition, seconds):
        raise TimeoutError(what)


def end_session(meanwhile=lambda: None):
    """The server forgets the session; the client has noticed when this returns."""
    before = counter("session_resets")
    abort_sessions()
    meanwhile()
    until("a new session", lambda: counter("session_resets") > before)


class As:
    """As a user, by file system id, as open(2) looks at it."""

    def __init__(self, uid, gid=None):
        self.uid, self.gid = uid, uid if gid is None else gid

    def __enter__(self):
        os.setegid(self.gid)
        os.seteuid(self.uid)

    def __exit__(self, *exc):
        os.seteuid(0)
        os.setegid(0)


def fails(number, function, *args):
    try:
        function(*args)
    except OSError as e:
        if e.errno == number:
            return
        raise
    raise AssertionError(f"{function.__name__} succeeded, not {errno.errorcode[number]}")


def content(path):
    """What the server has, past every cache of the client."""
    with open(path.replace(os.environ["RDMAFS_MNT"], "/backing/export", 1), "rb") as f:
        return f.read()


def same(have, want):
    if have != want:
        raise AssertionError(f"have {have!r}, want {want!r}")


def created(name, mode=0o644, flags=os.O_RDWR, uid=USER):
    path = os.path.join(DIR, name)
    with As(uid):
        return path, os.open(path, os.O_CREAT | os.O_EXCL | flags, mode)


def written_after(path, fd, end=end_session):
    """Data written before and after the end of the session is all there."""
    with As(USER):
        os.write(fd, b"before ")
    end()
    with As(USER):
        os.write(fd, b"after")
        os.fsync(fd)
        same(os.fstat(fd).st_size, 12)
        os.close(fd)
    same(content(path), b"before after")
    os.unlink(path)


def created_readonly():
    """a file made with mode 0444 is written after the session's end"""
    written_after(*created("objects", 0o444, os.O_RDWR))


def mode_changed():
    """one whose mode has become 0 since"""
    path, fd = created("mode")
    with As(USER):
        os.chmod(path, 0)
    written_after(path, fd)


def owner_changed():
    """one that belongs to another user now"""
    path, fd = created("owner", 0o600)
    os.chown(path, 0, 0)
    written_after(path, fd)


def for_reading():
    """one open for reading that nobody but root may read any more"""
    path, fd = created("reading")
    with As(USER):
        os.write(fd, b"x" * 70000)
        os.close(fd)
        fd = os.open(path, os.O_RDONLY)
    os.chown(path, 0, 0)
    os.chmod(path, 0o600)
    end_session()
    with As(USER):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        same(os.pread(fd, 70000, 0), b"x" * 70000)
        fails(errno.EACCES, os.open, path, os.O_RDONLY)
        os.close(fd)
    os.unlink(path)


def restart(*between):
    before = counter("session_resets")
    run("rdmafsctl", "stop")
    for command in between:
        run(*command)
    run("rdmafsctl", "start")
    until("a new session", lambda: counter("session_resets") > before)


def reload_modules():
    # KASAN in UML takes what another module left in memory for the new one's.
    if os.environ["RDMAFS_KERNEL"].endswith("-debug"):
        restart()
        return
    before = counter("session_resets")
    run("rdmafsctl", "save", "/tmp/opens.conf")
    run("rdmafsctl", "stop")
    run("rdmafsctl", "export", "remove", "--all")
    run("rmmod", "rdmafsd")
    run("insmod", os.environ["RDMAFS_MODULES"] + "/rdmafsd.ko")
    run("rdmafsctl", "load", "/tmp/opens.conf")
    until("a new session", lambda: counter("session_resets") > before)


def server_restarted():
    """the server stopped and started"""
    path, fd = created("restarted", 0o444)
    written_after(path, fd, restart)


def modules_reloaded():
    """the server's module reloaded, its settings saved and loaded"""
    path, fd = created("reloaded", 0o444)
    written_after(path, fd, reload_modules)
    settled()


def none_ending():
    return not read_text("/sys/kernel/config/rdmafs/ending")


def settings(name, **values):
    for attribute, value in values.items():
        write_text(f"/sys/kernel/config/rdmafs/exports/{name}/{attribute}", value)
        if (attribute, value) == ("enable", "0"):
            until("the export has ended", none_ending)


def settings_back(name, **values):
    """What can only be written while the export is disabled."""
    settings(name, enable="0", **values)
    settings(name, enable="1")


def export_set(**values):
    """Settings of the export, which is disabled meanwhile."""
    old = {}
    for name in values:
        old[name] = read_text("/sys/kernel/config/rdmafs/exports/export/" + name).strip()
    settings_back("export", **values)
    return old


def other_caller():
    """a proof is of no use to whom the export takes for another one"""
    path, fd = created("other", 0o600)
    with As(USER):
        os.write(fd, b"data")
        os.fsync(fd)
    old = export_set(squash="all")
    with As(USER):
        # Not by the page cache, which may call any error EIO.
        fails(errno.EACCES, os.ftruncate, fd, 4)
    export_set(**old)
    with As(USER):
        same(os.pread(fd, 4, 0), b"data")
        os.close(fd)
    os.unlink(path)


def read_only_now():
    """nor where the export is read-only now"""
    path, fd = created("ro", 0o444)
    with As(USER):
        os.write(fd, b"data")
        os.fsync(fd)
    old = export_set(read_only="1")
    with As(USER):
        os.write(fd, b"more")
        fails(errno.EROFS, os.fsync, fd)
    export_set(**old)
    with As(USER):
        os.close(fd)
    os.unlink(path)


def create_again(name, between):
    """
    The answer of a CREATE is lost with its session, and the file's mode refuses when it is
    asked again; before it is asked for once more as the one who made it, between() is
    called.  The open's error, or 0.
    """
    path, result = os.path.join(DIR, name), []

    def make():
        libc = ctypes.CDLL(None)
        # Of this thread alone, as seteuid() is not.
        libc.setfsgid(USER)
        libc.setfsuid(USER)
        try:
            fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o444)
            result.append(0)
            os.close(fd)
        except OSError as e:
            result.append(e.errno)

    def lost():
        same(point_wait("conn_drained"), True)
        point_release("create_opened")
        until("it has answered", lambda: point_count("create_opened", "held") == 0)
        point_release("conn_drained")

    points = ("create_opened", "conn_drained", "create_again")
    overdue = {point: point_count(point, "overdue") for point in points}
    for point in points:
        point_arm(point)
    thread = threading.Thread(target=make)
    try:
        thread.start()
        same(point_wait("create_opened"), True)
        # A session waits for what it is at work with, and that may answer as long as there
        # is a connection.
        end_session(lost)
        same(point_wait("create_again"), True)
        between(path.replace(os.environ["RDMAFS_MNT"], "/backing/export", 1))
    finally:
        for point in overdue:
            point_release(point)
        thread.join()
    for point, count in overdue.items():
        same(point_count(point, "overdue"), count)
    return path, result[0]


def created_again():
    """a CREATE whose answer was lost opens what it has made, where it still may"""
    back = os.path.join(DIR, "again").replace(os.environ["RDMAFS_MNT"], "/backing/export", 1)
    old, seconds = {}, reclaim_s(0)
    try:
        path, result = create_again("again", lambda path: None)
        same(result, 0)
        os.unlink(path)
        for flag in "ia":
            path, result = create_again("again", lambda path, f=flag: run("chattr", "+" + f, path))
            run("chattr", "-" + flag, back)
            same(result, errno.EPERM)
            os.unlink(path)
        path, result = create_again("again", lambda path: old.update(export_set(read_only="1")))
        export_set(**old)
        old = {}
        same(result, errno.EROFS)
        os.unlink(path)
    finally:
        reclaim_s(seconds)
        if old:
            export_set(**old)


def secret_changed():
    """nor, as any handle, under another secret"""
    path, fd = created("secret", 0o444)
    with As(USER):
        os.write(fd, b"data")
        os.fsync(fd)
    old = export_set(secret="17" * 32)
    with As(USER):
        os.write(fd, b"more")
        fails(errno.ESTALE, os.fsync, fd)
    export_set(**old)
    with As(USER):
        os.close(fd)
    os.unlink(path)
    settled()


ORPHANS = "/backing/export/.rdmafs-orphans"
RECLAIM = "/sys/module/rdmafsd/parameters/reclaim_s"


def orphans():
    try:
        # The records of who has locks are there, too.
        return [name for name in os.listdir(ORPHANS) if not name.startswith("locks-")]
    except FileNotFoundError:
        return []


def no_orphans():
    until("the orphans' directory is empty", lambda: not orphans())


def reclaim_s(seconds):
    old = read_text(RECLAIM).strip()
    write_text(RECLAIM, seconds)
    return old


class Second:
    """The export once more, as another client has it: in a session of its own."""

    def __enter__(self):
        self.mnt = "/tmp/opens.second"
        os.makedirs(self.mnt, exist_ok=True)
        run("mount", "-t", "rdmafs", "-o", OPTS + ",actimeo=0", "10.9.0.1:/export", self.mnt)
        self.proc = proc_of(self.mnt)
        return self

    def path(self, path):
        return path.replace(os.environ["RDMAFS_MNT"], self.mnt, 1)

    def die(self):
        """It ends without a word: the server has a session left, and forgets it."""
        write_text(f"{self.proc}/abort", 1)

    def __exit__(self, *exc):
        run("umount", self.mnt)


def nameless(fd, size):
    """An open file without a name: all that can be done with it."""
    st = os.fstat(fd)
    same((st.st_nlink, st.st_size), (0, size))
    with As(USER):
        os.pwrite(fd, b"again", size)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        same(os.pread(fd, 5, size), b"again")
        os.ftruncate(fd, size)
        same(os.fstat(fd).st_size, size)


def made(name, mode=0o444):
    path, fd = created(name, mode)
    with As(USER):
        os.write(fd, b"x" * 70000)
    return path, fd


def unlinked(end=end_session):
    """an unlinked file goes on after the session's end, and goes with its last close"""
    path, fd = made("unlinked")
    os.unlink(path)
    same(os.fstat(fd).st_nlink, 0)
    fails(errno.ENOENT, os.stat, path)
    for _ in range(3):
        end()
        nameless(fd, 70000)
        same(len(orphans()), 1)
    os.close(fd)
    same(orphans(), [])


def replaced():
    """a file that another was moved over"""
    path, fd = made("replaced")
    other, fd2 = made("other")
    os.rename(other, path)
    same(os.fstat(fd2).st_nlink, 1)
    restart()
    nameless(fd, 70000)
    os.close(fd)
    same(orphans(), [])
    os.close(fd2)
    os.unlink(path)
    same(orphans(), [])


def unlinked_elsewhere():
    """a file that another client removed"""
    with Second() as second:
        path, fd = made("elsewhere")
        with As(USER):
            os.fsync(fd)
        os.unlink(second.path(path))
        restart()
        # We know when the file has been opened again, a moment after the session.
        until("the name's loss", lambda: os.fstat(fd).st_nlink == 0)
        nameless(fd, 70000)
        os.close(fd)
        same(orphans(), [])


def removed_directory():
    """a directory that is open and removed: fstat works, it is empty, nothing is made in it"""
    path = os.path.join(DIR, "directory")
    os.mkdir(path)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.rmdir(path)
    for _ in range(2):
        st = os.fstat(fd)
        same(st.st_nlink, 0)
        fails(errno.ENOENT, os.mkdir, f"/proc/self/fd/{fd}/x")
        try:
            same(os.listdir(fd), [])
        except FileNotFoundError:
            pass
        end_session()
    os.close(fd)


def replaced_directory():
    """a directory that is open and another is moved over it"""
    path, other = os.path.join(DIR, "below"), os.path.join(DIR, "above")
    os.mkdir(path)
    os.mkdir(other)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.rename(other, path)
    time.sleep(0.1)
    same(os.fstat(fd).st_nlink, 0)
    end_session()
    same(os.fstat(fd).st_nlink, 0)
    os.close(fd)
    os.rmdir(path)


def hard_links():
    """of two names one is removed: no orphan; then the other"""
    path, fd = made("first")
    os.link(path, path + ".2")
    os.unlink(path)
    same((os.fstat(fd).st_nlink, orphans()), (1, []))
    end_session()
    os.unlink(path + ".2")
    same(os.fstat(fd).st_nlink, 0)
    restart()
    nameless(fd, 70000)
    os.close(fd)
    same(orphans(), [])


def nothing_kept():
    """Not even what somebody might have open: for the server this client has not made it."""
    before = set(orphans())
    # A name that no program of ours has looked for before: it is not known here that it is there.
    path = os.path.join(DIR, f"kept{os.getpid()}.{next(NUMBERS)}")
    with open(path.replace(os.environ["RDMAFS_MNT"], "/backing/export", 1), "xb"):
        pass
    os.unlink(path)
    return not set(orphans()) - before


def settled():
    """
    Nothing is kept any more.  After its start the server keeps all that is removed, for those
    of whom it does not know.
    """
    old = reclaim_s(1)
    export_set()
    until("nothing is kept", nothing_kept)
    no_orphans()
    reclaim_s(old)


def idle():
    """one that is not used is asked for in time all the same"""
    # The client has to be back and to have asked within it, on a slow machine, too.
    old = reclaim_s(20)
    try:
        path, fd = made("idle")
        os.unlink(path)
        end_session()
        kept = orphans()
        # Another one that nobody comes back for shows that the time is over.
        with Second() as second:
            path2, fd2 = made("idle.2")
            with As(USER):
                os.fsync(fd2)
            fd3 = os.open(second.path(path2), os.O_RDONLY)
            os.unlink(path2)
            os.close(fd2)
            second.die()
            end_session()
            until("the time is over", lambda: orphans() == kept)
            os.close(fd3)
        nameless(fd, 70000)
        os.close(fd)
        same(orphans(), [])
    finally:
        reclaim_s(old)


def orphan_restarted():
    """an unlinked file goes on after restarts of the server and of its module"""
    path, fd = made("restarted")
    os.unlink(path)
    restart()
    nameless(fd, 70000)
    reload_modules()
    nameless(fd, 70000)
    same(len(orphans()), 1)
    os.close(fd)
    # The server does not know whether it was the only one who had it open.
    settled()


def two_opens():
    """two have it open: it stays until the second close"""
    path, fd = made("two")
    fd2 = os.open(path, os.O_RDWR)
    os.unlink(path)
    end_session()
    os.close(fd)
    nameless(fd2, 70000)
    same(len(orphans()), 1)
    end_session()
    nameless(fd2, 70000)
    os.close(fd2)
    same(orphans(), [])


def answer_failed():
    """an open whose answer can't be made is none: nobody is waited for"""
    path = os.path.join(DIR, "unanswered")
    point_fail("open_reply")
    try:
        fails(errno.EIO, os.open, path, os.O_CREAT | os.O_EXCL | os.O_RDWR)
    finally:
        point_release("open_reply")
    os.unlink(path)
    same(orphans(), [])


def not_removed():
    """who may not remove an open file changes nothing of it by trying"""
    # To the client root may do anything, to the server it is nobody.
    old = export_set(squash="root")
    try:
        with As(USER):
            os.mkdir(os.path.join(DIR, "sticky"))
            os.chmod(os.path.join(DIR, "sticky"), 0o1777)
        path, fd = made("sticky/file")
        other = path + ".other"
        os.close(os.open(other, os.O_CREAT | os.O_RDWR))
        with As(USER):
            os.fsync(fd)
        back = path.replace(os.environ["RDMAFS_MNT"], "/backing/export", 1)
        before = os.stat(back).st_ctime_ns
        time.sleep(0.05)
        fails(errno.EPERM, os.unlink, path)
        fails(errno.EPERM, os.rename, other, path)
        same(os.stat(back).st_ctime_ns, before)
        os.unlink(other)
        with As(USER):
            os.unlink(path)
        same(len(orphans()), 1)
        os.close(fd)
        same(orphans(), [])
        with As(USER):
            os.rmdir(os.path.join(DIR, "sticky"))
    finally:
        export_set(**old)


def orphans_directory_removed():
    """their directory is made anew when somebody has removed it"""
    path, fd = made("first")
    os.unlink(path)
    os.close(fd)
    same(orphans(), [])
    os.rmdir(ORPHANS)
    path, fd = made("second")
    os.unlink(path)
    same(len(orphans()), 1)
    end_session()
    nameless(fd, 70000)
    os.close(fd)
    same(orphans(), [])


def mount_read_only():
    """one that is closed while the server's mount is read-only goes when it can be written again"""
    path, fd = made("read_only")
    with As(USER):
        reader = os.open(path, os.O_RDONLY)
    os.close(fd)
    os.unlink(path)
    same(len(orphans()), 1)
    where = run("findmnt", "-no", "TARGET", "-T", ORPHANS).strip()

    def mounted(how):
        return not subprocess.run(["mount", "-o", f"remount,bind,{how}", where], check=False,
                                  stderr=subprocess.DEVNULL).returncode
    until("nobody writes there", lambda: mounted("ro"))
    try:
        os.close(reader)
        # It is tried each second.
        time.sleep(3)
        same(len(orphans()), 1)
    finally:
        same(mounted("rw"), True)
    no_orphans()


class Twin:
    """Another export of the same directory, mounted, too."""

    def __enter__(self):
        self.mnt = "/tmp/opens.twin"
        os.makedirs(self.mnt, exist_ok=True)
        run("rdmafsctl", "export", "add", "twin", "/backing/export", "-o", "no_root_squash")
        run("mount", "-t", "rdmafs", "-o", OPTS, "10.9.0.1:/twin", self.mnt)
        return self

    def __exit__(self, *exc):
        run("umount", self.mnt)
        run("rdmafsctl", "export", "remove", "twin")


def two_exports():
    """exports of one directory take nothing from one another"""
    path, fd = made("ours")
    os.unlink(path)
    ours = orphans()
    old = reclaim_s(90)
    try:
        with Twin() as twin:
            fd2 = os.open(twin.mnt + "/theirs", os.O_CREAT | os.O_RDWR)
            os.unlink(twin.mnt + "/theirs")
            same(len(orphans()), 2)
            settings("twin", enable="0")
            os.close(fd2)
            # What it finds it removes when that time is over.
            reclaim_s(1)
            settings("twin", enable="1")
            until("the time is over", lambda: len(orphans()) < 2)
            same(orphans(), ours)
            reclaim_s(90)
            end_session()
            nameless(fd, 70000)
    finally:
        reclaim_s(old)
    os.close(fd)
    same(orphans(), [])


def orphans_hidden():
    """clients do not see where it is, and can't use that name"""
    path, fd = made("hidden")
    os.unlink(path)
    same(len(orphans()), 1)
    with Second() as second:
        for mnt in second.mnt, os.environ["RDMAFS_MNT"]:
            name = mnt + "/.rdmafs-orphans"
            if ".rdmafs-orphans" in os.listdir(mnt):
                raise AssertionError("it is listed")
            fails(errno.EACCES, os.stat, name)
            fails(errno.EACCES, os.listdir, name)
            fails(errno.EACCES, os.mkdir, name)
            fails(errno.EACCES, os.rmdir, name)
            fails(errno.EACCES, os.symlink, "x", name)
            fails(errno.EACCES, os.open, name, os.O_CREAT | os.O_RDWR)
            fails(errno.EACCES, os.open, name + "/" + orphans()[0], os.O_RDONLY)
    st = os.stat(ORPHANS)
    same((st.st_uid, st.st_mode & 0o777), (0, 0o700))
    os.close(fd)


def orphans_renamed():
    """nor by another name, if it got one"""
    path, fd = made("renamed")
    os.unlink(path)
    root = os.environ["RDMAFS_MNT"]
    name = root + "/.Rdmafs-Orphans"
    os.rename(ORPHANS, os.path.dirname(ORPHANS) + "/.Rdmafs-Orphans")
    try:
        same([n for n in os.listdir(root) if "rphans" in n], [])
        os.mkdir(root + "/beside")
        fails(errno.EACCES, os.stat, name)
        fails(errno.EACCES, os.mkdir, name)
        fails(errno.EACCES, os.rmdir, name)
        fails(errno.EACCES, os.rename, name, root + "/mine")
        fails(errno.EACCES, os.rename, root + "/beside", name)
        fails(errno.EACCES, os.open, name, os.O_RDONLY | os.O_DIRECTORY)
        os.rmdir(root + "/beside")
    finally:
        os.rename(os.path.dirname(ORPHANS) + "/.Rdmafs-Orphans", ORPHANS)
    os.close(fd)
    same(orphans(), [])


def linked(fd, path):
    """linkat(2) of an open file, which os.link() can't do."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.linkat(-100, f"/proc/self/fd/{fd}".encode(), -100, path.encode(), 0x400):
        raise OSError(ctypes.get_errno(), "linkat")


def not_linked_again():
    """it can't get a name again"""
    path, fd = made("again")
    os.unlink(path)
    fails(errno.ENOENT, linked, fd, path)
    fd2 = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    same(os.pread(fd2, 3, 0), b"xxx")
    os.close(fd)
    same(os.fstat(fd2).st_nlink, 0)
    os.close(fd2)
    same(orphans(), [])


def abandon(second):
    path, fd = made("abandoned")
    with As(USER):
        os.fsync(fd)
    fd2 = os.open(second.path(path), os.O_RDONLY)
    os.unlink(path)
    os.close(fd)
    same(len(orphans()), 1)
    second.die()
    return fd2


def abandoned():
    """one that its client never comes back for goes after a while"""
    old = reclaim_s(2)
    with Second() as second:
        fd = abandon(second)
        end_session()
        no_orphans()
        os.close(fd)
    reclaim_s(old)


def abandoned_restart():
    """likewise after the server's next start"""
    with Second() as second:
        fd = abandon(second)
        restart()
        same(len(orphans()), 1)
        reclaim_s(2)
        no_orphans()
        os.close(fd)
    reclaim_s(90)


def cut_off():
    """one whose export was disabled before the session ended, and that another removes then"""
    path, fd = made("cut")
    with As(USER):
        os.fsync(fd)
    with Second() as second:
        export_set()
        point_arm("reclaim_named")
        try:
            # A new session is made when the one before has ended.
            end_session()
            same(point_wait("reclaim_named"), True)
            os.unlink(second.path(path))
            same(len(orphans()), 1)
        finally:
            point_release("reclaim_named")
    until("it is opened again", lambda: os.fstat(fd).st_nlink == 0)
    nameless(fd, 70000)
    os.close(fd)
    # The server does not know whether it was the only one who had it open.
    old = reclaim_s(1)
    no_orphans()
    reclaim_s(old)


def cut_off_given_up():
    """likewise one that its client never comes back for, which counts until it goes"""
    # What other tests have left is waited for no more.
    export_set()
    until("nothing is open", lambda: not limit("opens"))
    path, fd = made("cut")
    os.close(fd)
    with Second() as second:
        fd = os.open(second.path(path), os.O_RDONLY)
        export_set()
        second.die()
        end_session()
        until("its session has ended", lambda: left() == 1)
        os.unlink(path)
        same(len(orphans()), 1)
        until("nothing else is open", lambda: limit("opens") == 1)
        old = reclaim_s(1)
        no_orphans()
        until("it counts no more", lambda: not limit("opens"))
        same(left(), 0)
        reclaim_s(old)
        os.close(fd)


def cut_off_after():
    """likewise one whose session was lost before its export was disabled"""
    export_set()
    until("nothing is open", lambda: not limit("opens"))
    path, fd = made("cut")
    os.close(fd)
    with Second() as second:
        fd = os.open(second.path(path), os.O_RDONLY)
        second.die()
        end_session()
        until("its session has ended", lambda: left() == 1)
        export_set()
        same((left(), limit("opens")), (1, 1))
        os.unlink(path)
        same(len(orphans()), 1)
        old = reclaim_s(1)
        no_orphans()
        until("it counts no more", lambda: not limit("opens"))
        same(left(), 0)
        reclaim_s(old)
        os.close(fd)


def looks():
    """How often the server has looked whether somebody's time is over."""
    return point_count("cuts_reap", "arrived")


def overdue():
    """Until it has looked, with a reclaim_s of 1, when that time was over."""
    # The first ones may come before.
    want = looks() + 4
    until("the server looks", lambda: not left() or looks() >= want)


class Off:
    """The export is off, a file of a mount's is noted, and that mount's session has ended."""

    def __init__(self, *paths):
        self.paths = paths

    def __enter__(self):
        self.old = reclaim_s(600)
        self.fds = []
        self.second = Second()
        export_set()
        until("nothing is open", lambda: not limit("opens"))
        # So that arrivals count.
        point_fail("cuts_reap")
        self.second.__enter__()
        try:
            self.fds += [os.open(self.second.path(path), os.O_RDONLY) for path in self.paths]
            settings("export", enable="0")
            self.second.die()
            end_session()
            until("its session has ended", lambda: left() == len(self.fds))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        point_release("cuts_reap")
        reclaim_s(1)
        settings("export", enable="1")
        for fd in self.fds:
            os.close(fd)
        self.second.__exit__()
        end_session()
        export_set()
        no_orphans()
        until("it counts no more", lambda: not left())
        reclaim_s(self.old)


def cut_off_long():
    """likewise one whose export is off for longer than its client has to come back in"""
    path, fd = made("cut")
    os.close(fd)
    with Off(path):
        reclaim_s(1)
        overdue()
        reclaim_s(600)
        settings("export", enable="1")
        os.unlink(path)
        same(len(orphans()), 1)


def cut_off_start():
    """and its client has all of its time after that"""
    path, fd = made("cut")
    os.close(fd)
    with Off(path):
        begin = time.monotonic()
        until("time goes by", lambda: time.monotonic() > begin + 30)
        settings("export", enable="1")
        before = looks()
        reclaim_s(30)
        until("the server looks", lambda: looks() > before)
        # It was there when its time was looked at: a machine may stand still before the rest.
        reclaim_s(600)
        os.unlink(path)
        same(len(orphans()), 1)


def cut_off_ending():
    """and its time does not go on while the export ends, which waits for somebody's request"""
    path, fd = made("cut")
    os.unlink(path)
    same(len(orphans()), 1)

    def make(path):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR))
        except OSError:
            pass

    old = reclaim_s(1)
    with Second() as second:
        point_arm("create_opened")
        thread = threading.Thread(target=make, args=[second.path(path) + ".held"])
        try:
            thread.start()
            same(point_wait("create_opened"), True)
            write_text("/sys/kernel/config/rdmafs/exports/export/enable", "0")
            same(none_ending(), False)
            end_session()
            same(guest.until(lambda: not orphans(), 5), False)
            same(none_ending(), False)
        finally:
            point_release("create_opened")
            until("the export has ended", none_ending)
            reclaim_s(90)
            settings("export", enable="1")
            thread.join()
        nameless(fd, 70000)
        os.close(fd)
    # That may have been made, or not.
    open(path + ".held", "wb").close()
    os.unlink(path + ".held")
    reclaim_s(1)
    no_orphans()
    until("nobody is waited for", lambda: not left())
    reclaim_s(old)


def cut_off_full():
    """but gives way to others when there is no room for them"""
    paths = []
    for i in range(10):
        path, fd = made(f"cut{i}")
        os.close(fd)
        paths.append(path)
    old = None
    with Off(*paths):
        with Twin() as twin:
            old = limit("max_opens_client", 12)
            try:
                name = twin.mnt + "/kept"
                kept = [os.open(name, os.O_CREAT | os.O_RDWR, 0o600) for _ in range(2)]
                fails(errno.ENFILE, os.open, name, os.O_RDONLY)
                reclaim_s(1)
                end_session()
                overdue()
                kept += [os.open(name, os.O_RDONLY) for _ in range(10)]
                same(left(), 0)
                for fd in kept:
                    os.close(fd)
                os.unlink(name)
            finally:
                limit("max_opens_client", old)
    for path in paths:
        os.unlink(path)


def cut_off_removed():
    """and nobody waits for one whose export is removed"""
    old = reclaim_s(600)
    point_fail("cuts_reap")
    try:
        with Twin() as twin:
            fd = os.open(twin.mnt + "/gone", os.O_CREAT | os.O_RDWR, 0o600)
            settings("twin", enable="0")
            end_session()
            until("its session has ended", lambda: left() == 1)
            os.close(fd)
        reclaim_s(1)
        until("nobody waits", lambda: not left())
    finally:
        point_release("cuts_reap")
        reclaim_s(old)
    os.unlink("/backing/export/gone")


def half_done():
    """the server died between the two names: the file keeps its own"""
    path, fd = made("half", 0o644)
    with As(USER):
        os.fsync(fd)
    os.unlink(path)
    name = orphans()[0]
    os.link(ORPHANS + "/" + name, "/backing/export/half")
    os.close(fd)
    same(orphans(), [])
    os.mkdir(ORPHANS, 0o700) if not os.path.exists(ORPHANS) else None
    os.link("/backing/export/half", ORPHANS + "/" + name)
    export_set()
    same(orphans(), [])
    same(os.stat("/backing/export/half").st_nlink, 1)
    same(os.path.exists(ORPHANS), True)
    os.unlink("/backing/export/half")


def name_taken():
    """where it can't be kept it is removed all the same, and works until the session ends"""
    os.mkdir("/tmp/opens.export")
    where = "/backing/export/inner"
    os.mkdir(where)
    with open(where + "/.rdmafs-orphans", "w", encoding="ascii") as f:
        f.write("a user's")
    run("rdmafsctl", "export", "add", "inner", where, "-o", "no_root_squash")
    run("mount", "-t", "rdmafs", "-o", OPTS, "10.9.0.1:/inner", "/tmp/opens.export")
    path = "/tmp/opens.export/taken"
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    os.write(fd, b"data")
    os.unlink(path)
    os.fsync(fd)
    same((os.fstat(fd).st_nlink, os.pread(fd, 4, 0)), (0, b"data"))
    os.close(fd)
    same(os.listdir(where), [".rdmafs-orphans"])
    run("umount", "/tmp/opens.export")
    run("rdmafsctl", "export", "remove", "inner")
    run("rm", "-r", where)
    os.rmdir("/tmp/opens.export")


def not_mounted():
    """a file system that is not mounted: nothing lands where it should be"""
    where = "/backing/export"
    path, fd = created("disk")
    with As(USER):
        os.write(fd, b"data")
        os.close(fd)
    settings("export", enable="0")
    run("umount", where)
    settings("export", mountpoint="1")
    fails(errno.ENODEV, lambda: settings("export", enable="1"))
    settings("export", mountpoint="0")
    settings("export", enable="1")
    root = os.environ["RDMAFS_MNT"]
    for name in path, os.path.join(DIR, "new"), os.path.join(root, "new"):
        fails(errno.ESTALE, os.open, name, os.O_CREAT | os.O_RDWR)
    fails(errno.ESTALE, os.mkdir, root + "/directory")
    fails(errno.ESTALE, os.listdir, root)
    same(os.listdir(where), [])
    settings("export", enable="0")
    run("mount", "/dev/ram0", where)
    settings("export", mountpoint="1")
    settings("export", enable="1")
    settings_back("export", mountpoint="0")
    with open(path, "rb") as f:
        same(f.read(), b"data")
    os.unlink(path)


LIMITS = "/sys/kernel/config/rdmafs/"


def left():
    """Opens that clients may come back for."""
    return counters("/proc/fs/rdmafs/port-20060/limits")["left_opens"]


def limit(name, value=None):
    """A bound as it was, set to another value if one is given."""
    old = int(read_text(LIMITS + name))
    if value is not None:
        write_text(LIMITS + name, value)
    return old


def opens_limits():
    """opens are bounded for a client, all its mounts together, and for all clients"""
    until("nothing is open", lambda: not limit("opens"))
    path = os.path.join(DIR, "limited")
    for name in "max_opens_client", "max_opens":
        old = limit(name, 30)
        with Second() as second:
            fds = [os.open(path, os.O_CREAT | os.O_RDWR) for _ in range(20)]
            fds += [os.open(second.path(path), os.O_RDONLY) for _ in range(10)]
            same(limit("opens"), 30)
            for where in path, second.path(path):
                fails(errno.ENFILE, os.open, where, os.O_RDONLY)
            fails(errno.ENFILE, os.open, path + ".new", os.O_CREAT | os.O_RDWR)
            same(os.path.exists(path + ".new"), False)
            os.close(fds.pop())
            until("one less", lambda: limit("opens") == 29)
            fds.append(os.open(path, os.O_RDONLY))
            # Those that there are stay when less are allowed.
            limit(name, 5)
            os.pwrite(fds[0], b"data", 0)
            os.fsync(fds[0])
            for fd in fds:
                os.close(fd)
        until("all are closed", lambda: not limit("opens"))
        limit(name, old)
    fails(errno.ERANGE, limit, "max_opens", 0)
    fails(errno.EINVAL, limit, "max_opens", "many")
    os.unlink(path)


def opens_limits_again():
    """what was open is opened again though less are allowed now; what is new is not"""
    until("nothing is open", lambda: not limit("opens"))
    for name in "max_opens_client", "max_opens":
        made_files = [created(f"again.{n}") for n in range(10)]
        with As(USER):
            for _, fd in made_files:
                os.write(fd, b"before ")
        old = limit(name, 5)
        try:
            end_session()
            with As(USER):
                for _, fd in made_files:
                    os.write(fd, b"after")
                    os.fsync(fd)
                fails(errno.ENFILE, os.open, made_files[0][0], os.O_RDONLY)
        finally:
            limit(name, old)
            for path, fd in made_files:
                os.close(fd)
                have = content(path)
                os.unlink(path)
                same(have, b"before after")
        until("all are closed", lambda: not limit("opens"))


def opening():
    """who is about to open a file when the session ends closes it in the next one"""
    path, fd = created("opening", uid=0)
    os.close(fd)
    os.stat(DIR)
    # Before it makes sure that the server knows who asks, and after that.
    for point, key in ("op_prepare", OP_CREATE), ("call_pool", NO_DATA):
        until("nothing is open", lambda: not limit("opens"))
        fds = []
        opener = threading.Thread(target=lambda: fds.append(os.open(path, os.O_RDONLY)))
        point_arm(point, 1, key)
        try:
            opener.start()
            same(point_wait(point), True)
            end_session()
            # From now on the server knows who asks.
            fails(errno.ENOENT, os.stat, f"{path}.{point}")
            same(limit("opens"), 0)
        finally:
            point_release(point)
        opener.join()
        same(limit("opens"), 1)
        os.close(fds[0])
        until("it is closed", lambda: not limit("opens"))
    os.unlink(path)


def not_waited():
    """a read that must not wait does not open its file again, if the session ends as it begins"""
    path, fd = created("not_waited", uid=0)
    os.close(fd)
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    page = mmap.mmap(-1, 4096)
    same(os.pwrite(fd, page, 0), 4096)
    got = []

    def read():
        try:
            got.append(os.preadv(fd, [page], 0, os.RWF_NOWAIT))
        except OSError as err:
            got.append(err.errno)

    reader = threading.Thread(target=read)
    point_arm("op_prepare", 1, OP_READ)
    point_arm("reclaim_named", 1, os.fstat(fd).st_ino)
    try:
        reader.start()
        same(point_wait("op_prepare"), True)
        end_session()
        # Nobody else opens it again meanwhile.
        same(point_wait("reclaim_named"), True)
        point_release("op_prepare")
        reader.join()
        same(got, [errno.EAGAIN])
    finally:
        point_release("op_prepare")
        point_release("reclaim_named")
    same(os.preadv(fd, [page], 0), 4096)
    os.close(fd)
    os.unlink(path)


WHERE = LIMITS + "exports/export/"
KEPT = (RECLAIM, LIMITS + "max_opens", LIMITS + "max_opens_client",
        WHERE + "squash", WHERE + "read_only", WHERE + "mountpoint", WHERE + "secret")


def kept():
    """What tests set, as it is now."""
    values = {}
    for name in KEPT:
        values[name] = read_text(name).strip()
    return values


def restore(before):
    """A test that has failed may have left it otherwise."""
    now = kept()
    changed = {name: value for name, value in before.items() if now[name] != value}
    of_export = {name.removeprefix(WHERE): changed.pop(name)
                 for name in list(changed) if name.startswith(WHERE)}
    for name, value in changed.items():
        write_text(name, value)
    if of_export:
        export_set(**of_export)


def main(tests):
    global DIR, STATS
    DIR = sys.argv[1]
    STATS = proc_of(os.environ["RDMAFS_MNT"]) + "/stats"
    os.chmod(DIR, 0o777)
    for name in sys.argv[2:]:
        before = kept()
        if not attempt(tests[name]):
            restore(before)
    tap_done()


if __name__ == "__main__":
    main(globals())
