#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: mounts.py SOURCE OPTIONS DIRECTORY COUNT READY GO

Mounts SOURCE so often, in DIRECTORY/1 and so on, makes READY, waits for GO, and unmounts
all at once.  OPTIONS are the kernel's, addr= among them.  It is one process for all, and
asks the kernel itself: hundreds of mount(8) and umount(8) take a minute where fork(2) is slow.
"""
import ctypes
import os
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)


def fail_unless(result, what):
    if result:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")


def main():
    source, options, directory, count, ready, go = sys.argv[1:]
    places = [os.path.join(directory, str(i + 1)).encode() for i in range(int(count))]
    for place in places:
        os.makedirs(place)
        fail_unless(libc.mount(source.encode(), place, b"rdmafs", 0, options.encode()),
                    f"mount {place.decode()}")
    with open(ready, "w", encoding="ascii"):
        pass
    while not os.path.exists(go):
        time.sleep(0.02)
    failed = []

    def unmount(place):
        if libc.umount2(place, 0):
            failed.append(f"{place.decode()}: {os.strerror(ctypes.get_errno())}")

    threading.stack_size(256 << 10)
    threads = [threading.Thread(target=unmount, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit("\n".join(failed) or 0)


main()
