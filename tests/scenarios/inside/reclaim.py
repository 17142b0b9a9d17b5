#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: reclaim.py    in a directory on the mount; prints TAP

A session is lost, and what was open in it is opened again though nobody uses it.
"""

import fcntl
import os
import signal
import sys
import traceback

import opens
from opens import counter, end_session, limit, made, run, same, until
from points import have_points, point_arm, point_count, point_release, point_wait

OPEN = 6
AT_A_TIME = 8
PORT = "/proc/fs/rdmafs/port-20060/limits"
BREAK = "/proc/sys/fs/lease-break-time"


def make(prefix, count):
    """Open files, and their names."""
    return [made(f"{prefix}{n}", 0o644) for n in range(count)]


def opened():
    """Those that the server has open; the count of opens has those that it waits for, too."""
    with open(PORT, encoding="ascii") as f:
        now = {key: int(value) for key, value in (line.split()[:2] for line in f)
               if value.isdigit()}
    return now["opens"] - now["left_opens"]


def drop(files):
    for _, fd in files:
        os.close(fd)
    until("all are closed", lambda: not limit("opens"))


def busy():
    """a file that somebody else has leased keeps no other waiting"""
    with open(BREAK, encoding="ascii") as f:
        before = f.read()
    files = make("busy", 20)
    path, fd = files[0]
    os.fsync(fd)
    resets = counter("session_resets")
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    with open(BREAK, "w", encoding="ascii") as f:
        f.write("600")
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
        with open(BREAK, "w", encoding="ascii") as f:
            f.write(before)
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


def main():
    opens.DIR = os.getcwd()
    device = os.stat(os.environ["RDMAFS_MNT"]).st_dev
    opens.STATS = f"/proc/fs/rdmafs/{os.major(device)}:{os.minor(device)}/stats"
    os.chmod(opens.DIR, 0o777)
    # Nothing here must wait for what it is about to mend.
    os.chdir("/")
    tests = [busy] + ([in_flight, nameless_first] if have_points() else [])
    failed = 0
    for number, test in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {test.__doc__}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print("# " + traceback.format_exc().replace("\n", "\n# "))
            print(f"not ok {number} - {test.__doc__}", flush=True)
    print(f"1..{len(tests)}")
    return failed > 0


sys.exit(main())
