#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: leases.py    in a directory on the mount; prints TAP
#
# A local process of the server has leases on 64 files, and takes its time. Who
# opens them waits, and nobody else does.
import fcntl
import functools
import os
import signal

from guest import start, tap, tap_done, until, write_text

FILES = 64
LIMIT = 60 * int(os.environ.get("RDMAFS_SCALE", "1"))
there = os.path.join(os.environ["RDMAFS_BACKING"], os.path.relpath(".", os.environ["RDMAFS_MNT"]))


class Child:
    """A process, and its status when it has ended: that of its end, or the negative of a signal."""

    def __init__(self, action):
        self.pid = start(action)
        self.status = None

    def poll(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status

    def kill(self):
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def read_leased(i):
    # Its parent's leases stay as long as anybody has those files open.
    for fd in held:
        os.close(fd)
    assert os.read(os.open(f"leased{i}", os.O_RDWR), 8) == b"contents"


def create_others():
    for i in range(50):
        os.close(os.open(f"other{i}", os.O_CREAT | os.O_RDWR))


signal.signal(signal.SIGIO, signal.SIG_IGN)
# Nobody's patience ends before the test does.
write_text("/proc/sys/fs/lease-break-time", 3600)
held = []
for i in range(FILES):
    fd = os.open(f"{there}/leased{i}", os.O_RDWR | os.O_CREAT, 0o644)
    os.write(fd, b"contents")
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    held.append(fd)


def breaking(fd):
    """A lease that is being broken is told as what it is to become."""
    return fcntl.fcntl(fd, fcntl.F_GETLEASE) != fcntl.F_WRLCK


openers = [Child(functools.partial(read_leased, i)) for i in range(FILES - 1)]
truncater = Child(lambda: os.truncate(f"leased{FILES - 1}", 3))
tap(until(lambda: all(map(breaking, held)), LIMIT), "64 leases are asked back at a time",
    f"{sum(map(breaking, held))} are")

other = Child(create_others)
tap(until(lambda: other.poll() is not None, LIMIT) and other.poll() == 0,
    "meanwhile others create 50 files", f"status {other.poll()}, {len(os.listdir(there)) - FILES} made")
tap(all(p.poll() is None for p in openers + [truncater]), "and whoever opened a leased one waits",
    str([p.poll() for p in openers]))

for p in openers[:8]:
    p.kill()
tap(until(lambda: all(p.poll() is not None for p in openers[:8]), LIMIT), "unless he is killed")

for fd in held:
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    os.close(fd)
tap(until(lambda: all(p.poll() is not None for p in openers + [truncater]), LIMIT),
    "with the leases given back all go on")
tap({p.poll() for p in openers[8:]} == {0}, "and read what is there", str([p.poll() for p in openers]))
tap(truncater.poll() == 0 and os.stat(f"{there}/leased{FILES - 1}").st_size == 3, "or truncate it")
for p in openers + [truncater, other]:
    p.kill()
tap_done()
