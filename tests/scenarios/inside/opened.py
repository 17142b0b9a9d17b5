#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: opened.py DIRECTORY READY GO    status 0: all of it could be used to the end

Opens files on the mount as a user, which he could not open again: their modes say no, or
their names are gone.  Makes the file READY when all are open and half written, waits for GO,
takes the names of some, and goes on to use them.  Run by tests/scenarios/inside/history,
which takes the server's power meanwhile.
"""

import os
import sys
import time

USER = 1000
BEFORE, AFTER = b"before " * 10000, b"after"
WHERE = sys.argv[1]


def path(name):
    return os.path.join(WHERE, name)


def made(name, mode=0o444):
    fd = os.open(path(name), os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
    os.write(fd, BEFORE)
    return fd


def main():
    os.mkdir(WHERE)
    os.chown(WHERE, USER, USER)
    os.setegid(USER)
    os.seteuid(USER)
    fds = {name: made(name) for name in ("readonly", "mode", "unlinked", "replaced", "synced",
                                         "late", "overlaid")}
    os.chmod(path("mode"), 0)
    os.fsync(fds["mode"])
    os.unlink(path("unlinked"))
    os.close(made("new"))
    os.rename(path("new"), path("replaced"))
    links = {"readonly": 1, "mode": 1, "unlinked": 0, "replaced": 0, "synced": 0,
             "late": 0, "overlaid": 0}
    os.close(made("newer"))
    os.unlink(path("synced"))
    os.fsync(fds["synced"])
    with open(sys.argv[2], "w", encoding="ascii"):
        pass
    while not os.path.exists(sys.argv[3]):
        time.sleep(0.05)
    os.unlink(path("late"))
    os.rename(path("newer"), path("overlaid"))
    for name, fd in fds.items():
        os.write(fd, AFTER)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        st = os.fstat(fd)
        have = (st.st_size, st.st_nlink, os.pread(fd, 1 << 20, 0) == BEFORE + AFTER)
        if have != (len(BEFORE + AFTER), links[name], True):
            sys.exit(f"{name}: size, links, right data: {have}")
        os.close(fd)


main()
