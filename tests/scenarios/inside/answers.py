#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: answers.py    in a directory on the mount; prints TAP

Answers for which something has happened that the server could not foresee: the connection
is gone and there again, what was appended can't be made stable, somebody has a lease on a file
that was made just now, a directory can't be read any further, what a name stands for is
another file each time that it is looked at, and the file system says that it will do it later.
"""

import errno
import fcntl
import glob
import os
import signal
import threading

from guest import (counters, have_points, point_arm, point_count, point_fail, point_release,
                   point_wait, proc_of, report, skip_all, tap_done, until, write_text)

READ = 9
UNLINK = 16
SIZE = 64 << 10
BACK = os.path.join(os.environ["RDMAFS_BACKING"], os.path.relpath(os.getcwd(), os.environ["RDMAFS_MNT"]))


class Task(threading.Thread):
    """A call whose result, or error, is in .got when it has ended."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self.call, self.got = call, None
        self.start()

    def run(self):
        try:
            self.got = self.call()
        except OSError as e:
            self.got = e

    def ended(self):
        self.join(60)
        return not self.is_alive()


def counter(key):
    return counters(f"{proc_of('.')}/stats")[key]


def connections():
    """Of all sessions, as the server has them."""
    return sum(counters(path)["connections"] for path in glob.glob("/proc/fs/rdmafs/client-*/window"))


def unconnected():
    """A READ finds no connection for its data, and its CALL comes again before it is answered."""
    data = os.urandom(SIZE)
    with open("read", "wb") as f:
        f.write(data)
    fd = os.open("read", os.O_RDONLY | os.O_DIRECT)
    before = counter("replays"), counter("reconnects")
    point_arm("op_begin", 1, READ)
    point_arm("req_unconnected")
    point_arm("client_device")
    reader = Task(lambda: os.pread(fd, SIZE, 0))
    problems = [] if point_wait("op_begin") else ["no READ came to the server"]
    point_fail("client_beat", 1, 0)
    if not point_wait("client_device") or not until(lambda: not connections()):
        problems.append("the connection has not been lost")
    point_release("op_begin")
    if not point_wait("req_unconnected"):
        problems.append("there was a connection")
    point_release("client_device")
    if not until(lambda: counter("replays") > before[0] and counter("reconnects") > before[1]):
        problems.append("the CALL has not come again")
    # What comes behind it on the connection is answered: it has been seen.
    os.path.exists("nothing")
    point_release("req_unconnected")
    if not reader.ended() or reader.got != data:
        problems.append(f"the read: {reader.got if isinstance(reader.got, OSError) else 'other data'}")
    os.close(fd)
    return problems


def appended():
    """What was appended, and could not be made stable for want of memory, is not appended again."""
    record = b"once".ljust(64, b".")
    fd = os.open("append", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    point_fail("append_sync", 1, os.stat(f"{BACK}/append").st_ino)
    writer = Task(lambda: os.write(fd, record))
    problems = [] if writer.ended() else ["the write does not end"]
    os.close(fd)
    point_release("append_sync")
    if not isinstance(writer.got, OSError):
        problems.append(f"the write: {writer.got}")
    with open(f"{BACK}/append", "rb") as f:
        found = f.read()
    if found != record:
        problems.append(f"there is {found}")
    return problems


def leased():
    """Who makes a file exclusively has it, though somebody got a lease on it before it was opened."""
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    point_arm("create_made", 1, os.stat(BACK).st_ino)
    maker = Task(lambda: os.open("leased", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    problems = [] if point_wait("create_made") else ["no file is made"]
    fd = os.open(f"{BACK}/leased", os.O_RDONLY)
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    point_release("create_made")
    # The lease is to be given back when it is asked for.
    if not until(lambda: fcntl.fcntl(fd, fcntl.F_GETLEASE) != fcntl.F_RDLCK):
        problems.append("nobody asks for the lease")
    os.close(fd)
    if not maker.ended() or not isinstance(maker.got, int):
        problems.append(f"the file: {maker.got}")
    else:
        os.close(maker.got)
    return problems


def drop_caches():
    write_text("/proc/sys/vm/drop_caches", 3)


def listing(directory):
    """The names that come, and the error after them, or None, or that there is no end of them."""
    names = set()
    try:
        with os.scandir(directory) as entries:
            for number, entry in enumerate(entries):
                names.add(entry.name)
                if number > 1000:
                    return names, "no end"
    except OSError as e:
        return names, e.errno
    return names, None


def listed():
    """Names that were read before an error are given; that comes behind them, if it is there still."""
    os.mkdir("listed")
    # With an index ext4 begins with "." and "..", else one of them may be the last that it reads.
    indexed = {f"{i:0200}" for i in range(30)}
    for name in indexed:
        os.close(os.open(f"listed/{name}", os.O_CREAT | os.O_WRONLY, 0o600))
    for name in indexed:
        os.unlink(f"listed/{name}")
    names = {f"{i:03}" for i in range(100)}
    for name in names:
        os.close(os.open(f"listed/{name}", os.O_CREAT | os.O_WRONLY, 0o600))
    ino = os.stat(f"{BACK}/listed").st_ino
    problems = []
    for times, missing, want in ((1, 0, None), (1000, 1, errno.EIO)):
        drop_caches()
        point_fail("readdir_last", times, ino)
        got, error = listing("listed")
        point_release("readdir_last")
        if len(names - got) != missing or error != want:
            problems.append(f"an error {times} times: {len(got)} names of {len(names)}, then {error}")
    # None is behind another one.
    drop_caches()
    point_fail("readdir_alike", 1000000, ino)
    point_fail("readdir_last", 1000, ino)
    got, error = listing("listed")
    point_release("readdir_last")
    point_release("readdir_alike")
    if got or error != errno.EIO:
        problems.append(f"with one position for all: {len(got)} names, then {error}")
    drop_caches()
    if listing("listed") != (names, None):
        problems.append("something else is there when it can be read")
    return problems


def moved():
    """A name that stands for something else as often as the server looks is asked for again."""
    with open("moved", "w") as f:
        point_fail("name_moved", 50, os.stat(BACK).st_ino)
        remover = Task(lambda: os.unlink("moved"))
        problems = [] if remover.ended() else ["unlink does not end"]
        point_release("name_moved")
        if isinstance(remover.got, OSError):
            problems.append(f"unlink: {remover.got}")
        if os.fstat(f.fileno()).st_nlink:
            problems.append("the file has a name")
    return problems


def later():
    """What a file system says to do later is asked for again by the client, and not done at once."""
    with open("later", "w"):
        point_fail("op_begin", 0, UNLINK)
        before = point_count("op_begin", "arrived")
        point_fail("remove_later", 3, os.stat(f"{BACK}/later").st_ino)
        remover = Task(lambda: os.unlink("later"))
        problems = [] if remover.ended() else ["unlink does not end"]
        asked = point_count("op_begin", "arrived") - before
        for point in ("remove_later", "op_begin"):
            point_release(point)
        if isinstance(remover.got, OSError):
            problems.append(f"unlink: {remover.got}")
        if asked != 4:
            problems.append(f"the server was asked {asked} times")
    return problems


def main():
    if not have_points():
        skip_all("not a test kernel")
    report("a read whose connection was lost before its data had a place is answered", unconnected())
    report("a record that was appended and could not be made stable is there once", appended())
    report("a file that was made is opened, though somebody has a lease on it", leased())
    report("names come that were read before an error", listed())
    report("a name is removed, though it is another's as often as one looks", moved())
    report("a name is asked for again that the file system will remove later", later())
    for name in ("read", "append", "leased"):
        os.unlink(name)
    tap_done()


if __name__ == "__main__":
    main()
