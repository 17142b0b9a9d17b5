#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: collected.py DIRECTORY READY GO

Files that nobody can reach any more, as they are on their way to sockets that are on their way
to each other: a kernel thread finds that out, and closes them (unix(7), SCM_RIGHTS).  Has some in
DIRECTORY, makes the file READY, waits for the file GO, makes one dirty, and gives them up; then
pipes, one after the other, each of which has to be closed.  Prints "done" in the end.
"""
import os
import socket
import sys
import time


def sent(*fds):
    """Sockets that keep these, which are closed."""
    ours, theirs = socket.socketpair()
    socket.send_fds(ours, [b"x"], [ours.fileno(), theirs.fileno(), *fds])
    socket.send_fds(theirs, [b"x"], [ours.fileno(), theirs.fileno()])
    for fd in fds:
        os.close(fd)
    return ours, theirs


def give_up(sockets):
    for end in sockets:
        end.close()
    # What is collected is collected when a socket is closed.
    for end in socket.socketpair():
        end.close()


directory, ready, go = sys.argv[1:]
dirty, gone = directory + "/collected", directory + "/gone"
files = sent(os.open(dirty, os.O_RDWR | os.O_CREAT, 0o644), os.open(gone, os.O_RDWR | os.O_CREAT))
os.unlink(gone)
writer = os.open(dirty, os.O_WRONLY)
with open(ready, "w", encoding="ascii"):
    pass
while not os.path.exists(go):
    time.sleep(0.02)
os.write(writer, b"collected")
give_up(files)
# The first may go together with those; so may the second with the first.
for _ in range(4):
    out, into = os.pipe()
    give_up(sent(into))
    if os.read(out, 1):
        sys.exit("a pipe has something in it")
    os.close(out)
print("done", flush=True)
