#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: crowd.py FILE READY GO THREADS

More direct writes than works run at a time wait for a page to be written back, each
to drop the page behind it next; then that one is read.  Makes READY, begins when
there is GO, prints "doing" when all wait, and "done" when all are done.
"""
import mmap
import os
import sys
import threading
import time

from guest import task_state

PAGE = 4096


def wait_asleep(tids):
    """Each is in a sleep that only SIGKILL ends."""
    while not all(task_state(tid) == "D" for tid in tids):
        time.sleep(0.1)


def fork_reader(view):
    """A process that reads the second page when it is told to: its id and the pipe."""
    go, tell = os.pipe()
    pid = os.fork()
    if pid:
        os.close(go)
        return pid, tell
    os.close(tell)
    os.read(go, 1)
    os._exit(0 if view[PAGE] in b"on" else 1)


def main():
    path, ready, go, count = sys.argv[1:]
    threading.stack_size(256 << 10)
    with open(path, "wb") as f:
        f.write(b"o" * 4 * PAGE)
    fd = os.open(path, os.O_RDWR)
    direct = os.open(path, os.O_RDWR | os.O_DIRECT)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    view = mmap.mmap(fd, 4 * PAGE)
    view.madvise(mmap.MADV_RANDOM)
    # From here on the file is in direct use: writers do not exclude each other.
    os.preadv(direct, [mmap.mmap(-1, PAGE)], 3 * PAGE)
    view[0] = ord("d")
    reader, tell = fork_reader(view)
    data = mmap.mmap(-1, 2 * PAGE)
    data.write(b"n" * 2 * PAGE)
    with open(ready, "w", encoding="ascii"):
        pass
    while not os.path.exists(go):
        time.sleep(0.02)
    threads = [threading.Thread(target=os.pwritev, args=(direct, [data], 0))
               for _ in range(int(count))]
    for thread in threads:
        thread.start()
    wait_asleep([thread.native_id for thread in threads])
    os.write(tell, b"x")
    wait_asleep([reader])
    print("doing", flush=True)
    for thread in threads:
        thread.join()
    print("done" if not os.waitpid(reader, 0)[1] else "read nonsense", flush=True)


main()
