#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: reclaim.py    in a directory on the mount; prints TAP

A session is lost, and what was open in it is opened again though nobody uses it.
"""

import fcntl
import os
import signal
import threading

import opens
from guest import (attempt, counters, have_points, point_arm, point_count, point_release,
                   point_wait, proc_of, read_text, tap_done, tap_skip, write_text)
from opens import Second, counter, end_session, limit, made, run, same, settings, until

OPEN = 6
AT_A_TIME = 8
PORT = "/proc/fs/rdmafs/port-20060/limits"
BREAK = "/proc/sys/fs/lease-break-time"


def make(prefix, count):
    """Open files, and their names."""
    return [made(f"{prefix}{n}", 0o644) for n in range(count)]


def opened():
    """Those that the server has open; the count of opens has those that it waits for, too."""
    now = counters(PORT)
    return now["opens"] - now["left_opens"]


def drop(files):
    for _, fd in files:
        os.close(fd)
    until("all are closed", lambda: not limit("opens"))


def busy():
    """a file that somebody else has leased keeps no other waiting"""
    before = read_text(BREAK)
    files = make("busy", 20)
    path, fd = files[0]
    os.fsync(fd)
    resets = counter("session_resets")
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    write_text(BREAK, 600)
    try:
        for _, other in files:
            os.fsync(other)
        run("rdmafsctl", "stop")
        back = path.replace(os.environ["RDMAFS_MNT"], "/backing/export", 1)
        with open(back, "rb") as lease:
            fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            run("rdmafsctl", "start")
            until("a new session", lambda: counter("session_resets") > resets)
            until("all others are open again", lambda: opened() == len(files) - 1)
            same(opened(), len(files) - 1)
        until("so is that one, when it has been given up", lambda: opened() == len(files))
    finally:
        write_text(BREAK, before)
    drop(files)
    for name, _ in files:
        os.unlink(name)


def in_flight():
    """several are asked for at a time"""
    files = make("flight", 20)
    for _, fd in files:
        os.fsync(fd)
    point_arm("op_begin", 100, OPEN)
    try:
        end_session()
        same(point_wait("op_begin", AT_A_TIME), True)
        same(point_count("op_begin", "held"), AT_A_TIME)
    finally:
        point_release("op_begin")
    until("all are open again", lambda: opened() == len(files))
    drop(files)
    for name, _ in files:
        os.unlink(name)


def nameless_first():
    """those without a name come first, whenever they were opened"""
    named = make("named", 200)
    nameless = make("nameless", AT_A_TIME)
    for name, fd in named + nameless:
        os.fsync(fd)
    for name, _ in nameless:
        os.unlink(name)
    point_arm("reclaim_named", 0)
    point_arm("reclaim_nameless", 100)
    before = point_count("reclaim_named", "arrived")
    try:
        end_session()
        same(point_wait("reclaim_nameless", AT_A_TIME), True)
        same(point_count("reclaim_named", "arrived"), before)
    finally:
        point_release("reclaim_nameless")
    until("all are open again", lambda: opened() == len(named) + len(nameless))
    drop(named + nameless)
    for name, _ in named:
        os.unlink(name)


class Waiting:
    """Somebody who waits for the export: what he asks tells how long that lasts."""

    def __enter__(self):
        self.thread = threading.Thread(target=os.statvfs, args=(opens.DIR,))
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.thread.join()


def asked(what):
    return point_count("op_begin", what)


def others(times):
    """Until so many have been answered who do not open; how often was asked to open meanwhile."""
    replies, begun = counter("replies"), asked("arrived")
    until("the export is asked for", lambda: counter("replies") - replies -
          (asked("arrived") - begun) >= times)
    return asked("arrived") - begun


def offline():
    """while the export is not served one is asked for, with pauses, then all"""
    files = make("offline", 200)
    for _, fd in files:
        os.fsync(fd)
    # To count, not to hold.
    point_arm("op_begin", 0, OPEN)
    settings("export", enable="0")
    try:
        end_session()
        with Waiting():
            try:
                # Each of them asks first, and one after that, as often as who waits besides.
                have = others(10)
                if have > 4 * (AT_A_TIME + 10):
                    raise AssertionError(f"asked to open {have} times while others asked 10 times")
                same(opened(), 0)
            finally:
                settings("export", enable="1")
        until("all are open again", lambda: opened() == len(files))
        same(asked("overdue"), 0)
    finally:
        settings("export", enable="1")
        point_release("op_begin")
    drop(files)
    for name, _ in files:
        os.unlink(name)


def offline_end():
    """and none any more when the mount has ended"""
    with Second() as second:
        names = [os.path.join(opens.DIR, f"end{n}") for n in range(AT_A_TIME)]
        fds = [os.open(second.path(name), os.O_CREAT | os.O_RDWR) for name in names]
        point_arm("op_begin", 0, OPEN)
        settings("export", enable="0")
        try:
            begun = asked("arrived")
            end_session()
            until("they are asked for", lambda: asked("arrived") > begun)
            for fd in fds:
                os.close(fd)
            run("umount", "-f", second.mnt)
            with Waiting():
                try:
                    same(others(10), 0)
                finally:
                    settings("export", enable="1")
        finally:
            settings("export", enable="1")
            point_release("op_begin")
        run("mount", "-t", "rdmafs", "-o", opens.OPTS, "10.9.0.1:/export", second.mnt)
    for name in names:
        os.unlink(name)


def main():
    opens.DIR = os.getcwd()
    opens.STATS = proc_of(os.environ["RDMAFS_MNT"]) + "/stats"
    os.chmod(opens.DIR, 0o777)
    # Nothing here must wait for what it is about to mend.
    os.chdir("/")
    for test in busy, in_flight, nameless_first, offline, offline_end:
        if test != busy and not have_points():
            tap_skip(test.__doc__, "no test points")
        else:
            attempt(test)
    tap_done()


main()
