#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: unanswered.py [TEST]...    in a directory on the mount; prints TAP

The session is lost with the answer to a call, after the call was executed or before, and
somebody else does something before the client asks what has become of it (fs/client/outcome.c).
The call's result, what is there then, and what was counted have to fit.  Somebody else is a
program on the server.
"""

import ctypes
import errno
import os
import stat
import struct
import sys
import threading

import opens
from guest import (attempt, counters, have_points, point_arm, point_count, point_fail,
                   point_release, point_wait, proc_of, skip_all, tap_done)
from opens import end_session, same, until

# Operations (fs/proto/rdmafs_proto.h)
SETATTR, CREATE, WRITE, MKDIR, MKNOD, SYMLINK, LINK, UNLINK = 5, 7, 10, 12, 13, 14, 15, 16
RMDIR, RENAME, SETXATTR, REMOVEXATTR, FALLOCATE, COPY = 17, 18, 23, 25, 26, 29

# fallocate(2)
KEEP_SIZE, PUNCH_HOLE = 1, 2

COUNTS = ("lost_done", "lost_again", "lost_unknown")
DONE, AGAIN, UNKNOWN = (1, 0, 0), (0, 1, 0), (0, 0, 1)

DIR = os.getcwd()
BACK = os.path.join(os.environ["RDMAFS_BACKING"], os.path.relpath(DIR, os.environ["RDMAFS_MNT"]))


def counted():
    now = counters(opens.STATS)
    return tuple(now[key] for key in COUNTS)


def here(name):
    return os.path.join(DIR, name)


def there(name):
    """As the server has it, past the client."""
    return os.path.join(BACK, name)


def ino(name):
    """Of what the server has there, or None."""
    try:
        return os.lstat(there(name)).st_ino
    except FileNotFoundError:
        return None


def put(path, data=b""):
    with open(path, "wb") as f:
        f.write(data)


def crowd():
    """Somebody makes a name in the directory, so that its cookie proves nothing."""
    put(there("crowd"))
    os.unlink(there("crowd"))


def answered():
    """
    The server goes on with the call when it can't answer any more: a session waits for what it is
    at work with, and that may answer as long as there is a connection.
    """
    same(point_wait("conn_drained"), True)
    point_release("op_begin")
    until("it is begun", lambda: point_count("op_begin", "held") == 0)
    point_release("conn_drained")


def lost(op, call, executed, between=lambda: None, asks=True):
    """
    Makes the call, whose answer is lost with its session, and has somebody else act before the
    client asks, if it does.  The errno, 0 if there was none, and what was counted.
    """
    points = ("op_begin", "op_undone", "conn_drained", "unanswered")
    overdue = {point: point_count(point, "overdue") for point in points}
    before, result = counted(), []

    def make():
        try:
            call()
            result.append(0)
        except OSError as e:
            result.append(e.errno)

    if not executed:
        point_fail("op_undone", 1, op)
    point_arm("op_begin", 1, op)
    point_arm("conn_drained")
    point_arm("unanswered", 1, op)
    maker = threading.Thread(target=make)
    try:
        maker.start()
        same(point_wait("op_begin"), True)
        end_session(answered)
        if asks:
            same(point_wait("unanswered"), True)
        between()
    finally:
        for point in points:
            point_release(point)
        maker.join()
    for point, count in overdue.items():
        same(point_count(point, "overdue"), count)
    return result[0], tuple(now - then for now, then in zip(counted(), before))


def exchange(a, b):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, a.encode(), -100, b.encode(), 2):
        raise OSError(ctypes.get_errno(), "renameat2")


def clean(*names):
    for name in names:
        path = here(name)
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.unlink(path)


def removed():
    """a file that was removed is not looked for once more, and one that was not is removed"""
    for executed, count in ((True, DONE), (False, AGAIN)):
        for others in (lambda: None, crowd):
            put(here("a"))
            same(lost(UNLINK, lambda: os.unlink(here("a")), executed, others), (0, count))
            same((ino("a"), os.path.exists(here("a"))), (None, False))


def removed_and_made():
    """what somebody has made under the name of a removed file stays"""
    put(here("a"))
    same(lost(UNLINK, lambda: os.unlink(here("a")), True, lambda: put(there("a"), b"new")), (0, DONE))
    with open(here("a"), "rb") as f:
        same(f.read(), b"new")
    clean("a")


def removed_and_linked():
    """nor is the same file's name removed that somebody has made again"""
    put(here("a"))
    os.link(here("a"), here("b"))
    same(lost(UNLINK, lambda: os.unlink(here("a")), True, lambda: os.link(there("b"), there("a"))),
         (errno.EIO, UNKNOWN))
    same(ino("a"), ino("b"))
    same(os.stat(here("a")).st_nlink, 2)
    clean("a", "b")


def removed_by_others():
    """a name that somebody else has removed is gone, and that is no error"""
    put(here("a"))
    same(lost(UNLINK, lambda: os.unlink(here("a")), False, lambda: os.unlink(there("a"))), (0, DONE))
    same(os.path.exists(here("a")), False)


def removed_open():
    """a file that is open keeps its data, whether its name was removed by the lost call or not"""
    for executed, count in ((True, DONE), (False, AGAIN)):
        fd = os.open(here("a"), os.O_RDWR | os.O_CREAT)
        os.write(fd, b"data")
        os.fsync(fd)
        same(lost(UNLINK, lambda: os.unlink(here("a")), executed), (0, count))
        same((os.fstat(fd).st_nlink, os.pread(fd, 4, 0), ino("a")), (0, b"data", None))
        os.close(fd)


def removed_directory():
    """directories are removed in the same way"""
    for executed, count in ((True, DONE), (False, AGAIN)):
        for others in (lambda: None, crowd):
            os.mkdir(here("d"))
            same(lost(RMDIR, lambda: os.rmdir(here("d")), executed, others), (0, count))
            same(ino("d"), None)
    os.mkdir(here("d"))
    same(lost(RMDIR, lambda: os.rmdir(here("d")), True, lambda: os.mkdir(there("d"))), (0, DONE))
    same(os.path.isdir(here("d")), True)
    clean("d")


def own_errors():
    """a call that was not executed gets the errors that are its own"""
    os.mkdir(here("d"))
    # Of a name that it knows the client says by itself that it exists.
    put(there("d/f"))
    put(here("a"))
    same(lost(RMDIR, lambda: os.rmdir(here("d")), False), (errno.ENOTEMPTY, AGAIN))
    same(lost(LINK, lambda: os.link(here("a"), here("d/f")), False), (errno.EEXIST, AGAIN))
    # One that was executed, and refused, may have moved the directory's cookie.
    for call, error in ((lambda: lost(RMDIR, lambda: os.rmdir(here("d")), True), errno.ENOTEMPTY),
                        (lambda: lost(LINK, lambda: os.link(here("a"), here("d/f")), True),
                         errno.EEXIST)):
        said = call()
        same(said in ((error, AGAIN), (errno.EIO, UNKNOWN)) or said, True)
    clean("d/f", "d", "a")


def linked():
    """a name that was given is not given once more, and one that was not is"""
    for executed, count in ((True, DONE), (False, AGAIN)):
        for others in (lambda: None, crowd):
            put(here("a"))
            same(lost(LINK, lambda: os.link(here("a"), here("b")), executed, others), (0, count))
            same((ino("b"), os.stat(here("b")).st_nlink), (ino("a"), 2))
            clean("a", "b")


def linked_and_removed():
    """nor is a name given once more that somebody has removed, or replaced"""
    for others in (lambda: os.unlink(there("b")),
                   lambda: (put(there("c")), os.rename(there("c"), there("b")))):
        put(here("a"))
        os.stat(here("a"))
        same(lost(LINK, lambda: os.link(here("a"), here("b")), True, others), (errno.EIO, UNKNOWN))
        same(os.stat(here("a")).st_nlink, 1)
        same(ino("b") == ino("a"), False)
        clean("a", "b")


def renamed():
    """a file that was moved is not looked for under its old name, and one that was not is moved"""
    os.mkdir(here("d"))
    for executed, count in ((True, DONE), (False, AGAIN)):
        for to in ("b", "d/b"):
            for replaced in (False, True):
                for others in (lambda: None, crowd):
                    put(here("a"), b"moved")
                    if replaced:
                        put(here(to), b"replaced")
                    number = ino("a")
                    same(lost(RENAME, lambda t=to: os.rename(here("a"), here(t)), executed, others),
                         (0, count))
                    same((ino("a"), ino(to), os.path.exists(here("a"))), (None, number, False))
                    with open(here(to), "rb") as f:
                        same(f.read(), b"moved")
                    clean(to)
    clean("d")


def renamed_and_back():
    """what somebody has moved back, or on, or away, is left where it is"""
    for others, a, b in ((lambda: os.rename(there("b"), there("a")), True, False),
                         (lambda: os.rename(there("b"), there("c")), False, False),
                         (lambda: os.link(there("b"), there("a")), True, True)):
        put(here("a"))
        number = ino("a")
        same(lost(RENAME, lambda: os.rename(here("a"), here("b")), True, others),
             (errno.EIO, UNKNOWN))
        same((ino("a") == number, ino("b") == number), (a, b))
        same((os.path.exists(here("a")), os.path.exists(here("b"))), (a, b))
        clean("a", "b", "c")


def renamed_and_made():
    """what somebody has made under the old name stays"""
    put(here("a"), b"moved")
    same(lost(RENAME, lambda: os.rename(here("a"), here("b")), True,
              lambda: put(there("a"), b"new")), (0, DONE))
    for name, data in (("a", b"new"), ("b", b"moved")):
        with open(here(name), "rb") as f:
            same(f.read(), data)
    clean("a", "b")


def renamed_directory():
    """directories are moved in the same way"""
    os.mkdir(here("e"))
    for executed, count in ((True, DONE), (False, AGAIN)):
        for to in ("b", "e/b"):
            os.mkdir(here("d"))
            put(here("d/f"))
            same(lost(RENAME, lambda t=to: os.rename(here("d"), here(t)), executed, crowd), (0, count))
            same((ino("d"), os.listdir(here(to))), (None, ["f"]))
            clean(f"{to}/f", to)
    clean("e")


def exchanged():
    """two names are exchanged once"""
    for executed, count in ((True, DONE), (False, AGAIN)):
        for others in (lambda: None, crowd):
            put(here("a"))
            put(here("b"))
            a, b = ino("a"), ino("b")
            same(lost(RENAME, lambda: exchange(here("a"), here("b")), executed, others),
                 (0, count))
            same((ino("a"), ino("b")), (b, a))
            same((os.stat(here("a")).st_ino, os.stat(here("b")).st_ino), (b, a))
            clean("a", "b")


MAKERS = (
    ("mkdir", MKDIR, os.mkdir, os.rmdir),
    ("symlink", SYMLINK, lambda path: os.symlink("target", path), os.unlink),
    ("mkfifo", MKNOD, os.mkfifo, os.unlink),
    ("O_EXCL", CREATE, lambda path: os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR)),
     os.unlink),
)


def made():
    """what was not made is made, if that is certain"""
    for what, op, make, remove in MAKERS:
        same((what, lost(op, lambda m=make: m(here("a")), False)), (what, (0, AGAIN)))
        same((what, stat.S_IFMT(os.lstat(here("a")).st_mode) == stat.S_IFMT(os.lstat(there("a")).st_mode)),
             (what, True))
        remove(here("a"))


def made_and_removed():
    """what somebody has removed is not made once more"""
    for what, op, make, remove in MAKERS:
        got = lost(op, lambda m=make: m(here("a")), True, lambda r=remove: r(there("a")))
        same((what, got, ino("a")), (what, (errno.EIO, UNKNOWN), None))
        same((what, os.path.lexists(here("a"))), (what, False))


def exclusively(result, mode=0o644):
    """Makes a file, and leaves its descriptor in result."""
    result.append(os.open(here("a"), os.O_CREAT | os.O_EXCL | os.O_RDWR, mode))


def made_exclusively():
    """a file that was made by the lost call is its maker's, who may write to it whatever its mode is"""
    for executed, count in ((True, DONE), (False, AGAIN)):
        for others in (lambda: None, crowd) if executed else (lambda: None,):
            made_here = []
            same(lost(CREATE, lambda m=made_here: exclusively(m, 0o444), executed, others), (0, count))
            fd, = made_here
            os.write(fd, b"mine")
            os.fsync(fd)
            same((os.fstat(fd).st_ino, read_there("a")), (ino("a"), b"mine"))
            os.close(fd)
            clean("a")


def made_by_others():
    """a file that somebody else has made, or has looked into, is not taken for one's own"""
    def replace():
        os.unlink(there("a"))
        put(there("a"))

    def write():
        with open(there("a"), "ab") as f:
            f.write(b"theirs")

    # Who has an empty file of the same name may have made it just then.
    for executed, others, data in ((False, lambda: put(there("a")), b""), (True, replace, b""),
                                   (True, write, b"theirs")):
        made_here = []
        same(lost(CREATE, lambda m=made_here: exclusively(m), executed, others), (errno.EIO, UNKNOWN))
        same((made_here, read_there("a")), ([], data))
        clean("a")


def not_known():
    """if the server could not note whose it is, nobody knows"""
    point_fail("verifier_keep")
    try:
        same(lost(CREATE, lambda: exclusively([]), True), (errno.EIO, UNKNOWN))
    finally:
        point_release("verifier_keep")
    same(read_there("a"), b"")
    clean("a")


def read_there(name):
    with open(there(name), "rb") as f:
        return f.read()


def touch(name):
    """Somebody changes a file, and neither its size nor its data."""
    os.chmod(there(name), 0o640)


def opened(data=b"0123456789" * 1000, flags=os.O_RDWR):
    """A file with data that is on the server, open."""
    fd = os.open(here("a"), flags | os.O_CREAT | os.O_TRUNC)
    os.write(fd, data)
    os.fsync(fd)
    return fd


def resized():
    """a file is cut, or made longer, once"""
    for size in 4321, 23456:
        for executed, others, count in ((True, lambda: None, DONE), (False, lambda: None, AGAIN),
                                        (True, lambda: touch("a"), DONE)):
            fd = opened()
            same(lost(SETATTR, lambda f=fd, s=size: os.ftruncate(f, s), executed, others), (0, count))
            same((os.fstat(fd).st_size, os.stat(there("a")).st_size), (size, size))
            want = (b"0123456789" * 1000)[:size].ljust(size, b"\0")
            same(os.pread(fd, 30000, 0) == want and read_there("a") == want, True)
            os.close(fd)
            clean("a")


def resized_and_written():
    """what somebody has written behind a new end is not cut off"""
    fd = opened()

    def append():
        with open(there("a"), "ab") as f:
            f.write(b"written since")

    same(lost(SETATTR, lambda: os.ftruncate(fd, 100), True, append), (errno.EIO, UNKNOWN))
    want = b"0123456789" * 10 + b"written since"
    same((read_there("a"), os.fstat(fd).st_size, os.pread(fd, 200, 0)), (want, len(want), want))
    os.ftruncate(fd, 50)
    same((read_there("a"), os.pread(fd, 200, 0)), (want[:50], want[:50]))
    os.close(fd)
    clean("a")


def resized_by_others():
    """nor is a file cut whose size somebody has changed, though it was not cut before"""
    fd = opened()
    same(lost(SETATTR, lambda: os.ftruncate(fd, 100), False, lambda: os.truncate(there("a"), 5000)),
         (errno.EIO, UNKNOWN))
    same(os.stat(there("a")).st_size, 5000)
    os.close(fd)
    clean("a")


def allocated():
    """space is had, and the size is right, whether it was asked for once or twice"""
    for executed in True, False:
        fd = opened()
        same(lost(FALLOCATE, lambda f=fd: os.posix_fallocate(f, 0, 50000), executed), (0, AGAIN))
        same((os.fstat(fd).st_size, os.stat(there("a")).st_size), (50000, 50000))
        os.close(fd)
        clean("a")
    fd = opened()
    same(lost(FALLOCATE, lambda: os.posix_fallocate(fd, 0, 50000), True,
              lambda: os.truncate(there("a"), 20000)), (errno.EIO, UNKNOWN))
    same((os.fstat(fd).st_size, os.stat(there("a")).st_size), (20000, 20000))
    os.close(fd)
    clean("a")


def punched():
    """a range is cleared once, and what somebody has written into a hole stays"""
    def punch(fd, mode=KEEP_SIZE | PUNCH_HOLE, at=0, length=4096):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.fallocate(fd, mode, ctypes.c_long(at), ctypes.c_long(length)):
            raise OSError(ctypes.get_errno(), "fallocate")

    def write():
        with open(there("a"), "r+b") as f:
            f.write(b"written since")

    fd = opened()
    same(lost(FALLOCATE, lambda: punch(fd), False), (0, AGAIN))
    same((read_there("a")[:4096], os.pread(fd, 4096, 0)), (bytes(4096), bytes(4096)))
    # To the end of the file, behind which there is nothing, and not along the borders of blocks.
    same(lost(FALLOCATE, lambda: punch(fd, at=5000, length=9000), True), (0, DONE))
    same((read_there("a")[4990:] == b"0123456789" + bytes(5000), os.fstat(fd).st_size), (True, 10000))
    same(lost(FALLOCATE, lambda: punch(fd), True, write), (errno.EIO, UNKNOWN))
    want = b"written since".ljust(4096, b"\0")
    same((read_there("a")[:4096], os.pread(fd, 4096, 0)), (want, want))
    os.close(fd)
    clean("a")


def copied():
    """a copy is made once, and not over what somebody has written since"""
    put(here("b"), b"source" * 1000)

    def write():
        with open(there("a"), "r+b") as f:
            f.write(b"written since")

    source, fd = os.open(here("b"), os.O_RDONLY), opened()
    same(lost(COPY, lambda: os.copy_file_range(source, fd, 6000, 0, 0), False), (0, AGAIN))
    same(read_there("a")[:6000] == b"source" * 1000, True)
    same(lost(COPY, lambda: os.copy_file_range(source, fd, 6000, 0, 7000), True), (0, DONE))
    same((read_there("a")[7000:] == b"source" * 1000, os.fstat(fd).st_size), (True, 13000))
    same(lost(COPY, lambda: os.copy_file_range(source, fd, 6000, 0, 0), True, write),
         (errno.EIO, UNKNOWN))
    want = b"written since" + (b"source" * 1000)[13:]
    same(read_there("a")[:6000] == want and os.pread(fd, 6000, 0) == want, True)
    for one in fd, source:
        os.close(one)
    clean("a", "b")


def appended():
    """a record that was appended is there once, and one that was not is appended"""
    fd = opened(b"first\n", os.O_WRONLY | os.O_APPEND)
    same(lost(WRITE, lambda: os.write(fd, b"second\n"), False), (0, AGAIN))
    same(read_there("a"), b"first\nsecond\n")
    same(lost(WRITE, lambda: os.write(fd, b"third\n"), True), (errno.EIO, UNKNOWN))
    same(read_there("a"), b"first\nsecond\nthird\n")
    os.write(fd, b"fourth\n")
    same(read_there("a"), b"first\nsecond\nthird\nfourth\n")
    os.close(fd)
    with open(here("a"), "rb") as f:
        same(f.read(), b"first\nsecond\nthird\nfourth\n")
    clean("a")


def attributes():
    """extended attributes are set, replaced and removed once"""
    put(here("a"))
    # One that may be there is sent again by transport, unasked.
    os.setxattr(here("a"), "user.a", b"old")
    for executed, count in ((True, DONE), (False, AGAIN)):
        same(lost(SETXATTR, lambda e=executed: os.setxattr(here("a"), "user.a", str(e).encode(),
                                                           os.XATTR_REPLACE), executed), (0, count))
        same(os.getxattr(there("a"), "user.a"), str(executed).encode())
    for executed, count in ((True, DONE), (False, AGAIN)):
        os.setxattr(here("a"), "user.a", b"old")
        same(lost(REMOVEXATTR, lambda: os.removexattr(here("a"), "user.a"), executed), (0, count))
        same(os.listxattr(there("a")), [])
    same(lost(SETXATTR, lambda: os.setxattr(here("a"), "user.b", b"1", os.XATTR_CREATE), False),
         (0, AGAIN))
    same(lost(SETXATTR, lambda: os.setxattr(here("a"), "user.c", b"1", os.XATTR_CREATE), True),
         (errno.EIO, UNKNOWN))
    clean("a")


def plain_attribute():
    """one that may be there or not is set in any case, and so is an ACL"""
    put(here("a"))
    for executed in True, False:
        value = str(executed).encode()
        got = lost(SETXATTR, lambda v=value: os.setxattr(here("a"), "user.a", v), executed, asks=False)
        same((got, os.getxattr(there("a"), "user.a")), ((0, (0, 0, 0)), value))
    for executed in True, False:
        # user::rw- user:1:r-- group::r-- mask::r-- other::r--
        acl = struct.pack("<I" + "HHI" * 5, 2, 1, 6, 2**32 - 1, 2, 4, 1, 4, 4, 2**32 - 1,
                          16, 4, 2**32 - 1, 32, 4 * executed, 2**32 - 1)
        same(lost(SETXATTR, lambda a=acl: os.setxattr(here("a"), "system.posix_acl_access", a), executed,
                  asks=False), (0, (0, 0, 0)))
        same(os.stat(there("a")).st_mode & 0o777, 0o644 if executed else 0o640)
    clean("a")


def lost_twice():
    """the second try may be lost, too"""
    points = ("op_begin", "op_undone", "conn_drained", "unanswered")
    before, result = counted(), []

    def remove():
        try:
            os.unlink(here("a"))
            result.append(0)
        except OSError as e:
            result.append(e.errno)

    put(here("a"))
    point_fail("op_undone", 2, UNLINK)
    remover = None
    try:
        for _ in range(2):
            point_arm("op_begin", 1, UNLINK)
            point_arm("conn_drained")
            # Who is held there because of the first loss goes on.
            point_release("unanswered")
            point_arm("unanswered", 1, UNLINK)
            if not remover:
                remover = threading.Thread(target=remove)
                remover.start()
            same(point_wait("op_begin"), True)
            end_session(answered)
            same(point_wait("unanswered"), True)
    finally:
        for point in points:
            point_release(point)
        if remover:
            remover.join()
    same((result, ino("a")), ([0], None))
    same(tuple(now - then for now, then in zip(counted(), before)), (0, 2, 0))


TESTS = (removed, removed_and_made, removed_and_linked, removed_by_others, removed_open,
         removed_directory, own_errors, linked, linked_and_removed, renamed, renamed_and_back,
         renamed_and_made, renamed_directory, exchanged, made, made_and_removed, made_exclusively,
         made_by_others, not_known, resized, resized_and_written, resized_by_others, allocated,
         punched, copied, appended, attributes, plain_attribute, lost_twice)


def main():
    if not have_points():
        skip_all("not a test kernel")
    # Nothing here may wait for what is about to be mended.
    os.chdir("/")
    opens.DIR = DIR
    opens.STATS = proc_of(os.environ["RDMAFS_MNT"]) + "/stats"
    for test in [globals()[name] for name in sys.argv[1:]] or TESTS:
        attempt(test)
    tap_done()


if __name__ == "__main__":
    main()
