#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: leases.py    in a directory on the mount; prints TAP
#
# A local process of the server has leases on 64 files, and takes its time. Who
# opens them waits, and nobody else does.
import fcntl
import os
import signal
import subprocess
import sys

from guest import tap, tap_done, until, write_text

FILES = 64
LIMIT = 60 * int(os.environ.get("RDMAFS_SCALE", "1"))
there = os.path.join(os.environ["RDMAFS_BACKING"], os.path.relpath(".", os.environ["RDMAFS_MNT"]))


def child(code, *args):
    return subprocess.Popen([sys.executable, "-c", code, *args], stdin=subprocess.DEVNULL)


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


openers = [child("import os, sys; os.read(os.open(sys.argv[1], os.O_RDWR), 8) == b'contents' or sys.exit(3)",
                 f"leased{i}") for i in range(FILES - 1)]
truncater = child("import os, sys; os.truncate(sys.argv[1], 3)", f"leased{FILES - 1}")
tap(until(lambda: all(map(breaking, held)), LIMIT), "64 leases are asked back at a time",
    f"{sum(map(breaking, held))} are")

other = child("import os\nfor i in range(50): os.close(os.open(f'other{i}', os.O_CREAT | os.O_RDWR))")
tap(until(lambda: other.poll() is not None, LIMIT) and other.returncode == 0,
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
    if p.poll() is None:
        p.kill()
tap_done()
