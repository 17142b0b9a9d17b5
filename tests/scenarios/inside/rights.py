#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: rights.py           in a directory on the mount, as an ordinary user; prints what
#                            went wrong, and exits with 1 then
#        rights.py writer    the same, as root: for a writer who is not the owner
#
# What an owner and a writer may do whatever the mode says.
import os
import sys

bad = 0


def see(have, want, what):
    global bad
    if have != want:
        bad = 1
        print(f"{what}: have {have!r}, want {want!r}")


def tried(what, call, *args):
    global bad
    try:
        return call(*args)
    except OSError as e:
        bad = 1
        print(f"{what}: {e}")


def writes(ready, go):
    """An ordinary user has opened it before root has made it set-uid and read-only."""
    os.setgroups([])
    os.setgid(1000)
    os.setuid(1000)
    fd = os.open("f", os.O_RDWR)
    os.write(ready, b"x")
    os.read(go, 1)
    tried("write by somebody else", os.write, fd, b"data")
    see(os.fstat(fd).st_mode & 0o7777, 0o555, "mode after it")


def writer():
    fd = os.open("f", os.O_RDWR | os.O_CREAT)
    os.fchmod(fd, 0o666)
    opened, ready = os.pipe()
    go, told = os.pipe()
    pid = os.fork()
    if not pid:
        writes(ready, go)
        sys.stdout.flush()
        os._exit(bad)
    os.close(ready)
    os.read(opened, 1)
    os.fchmod(fd, 0o4555)
    os.write(told, b"x")
    see(os.waitpid(pid, 0)[1], 0, "status")
    os.close(fd)
    os.unlink("f")


if sys.argv[1:] == ["writer"]:
    writer()
    sys.exit(bad)

for mode in 0o4555, 0o2755, 0o6511:
    fd = os.open("f", os.O_RDWR | os.O_CREAT, 0o644)
    os.fchmod(fd, mode)
    see(os.fstat(fd).st_mode & 0o7777, mode, "fchmod")
    tried(f"write with mode {mode:o}", os.write, fd, b"data")
    gone = 0o4000 | (0o2000 if mode & 0o10 else 0)
    see(os.fstat(fd).st_mode & 0o7777, mode & ~gone, "mode after it")
    os.fchmod(fd, mode)
    tried(f"ftruncate with mode {mode:o}", os.ftruncate, fd, 1)
    see(os.fstat(fd).st_mode & 0o7777, mode & ~gone, "mode after it")
    os.close(fd)
    os.unlink("f")

fd = os.open("f", os.O_RDWR | os.O_CREAT, 0o444)
os.close(fd)
tried("chown of a file of mode 0444 to nobody", os.chown, "f", -1, -1)
tried("chown of it to its owner", os.chown, "f", os.getuid(), os.getgid())
os.chmod("f", 0o4444)
tried("chown of a set-uid file to nobody", os.chown, "f", -1, -1)
see(os.stat("f").st_mode & 0o7777, 0o444, "mode after it")
os.unlink("f")
sys.exit(bad)
