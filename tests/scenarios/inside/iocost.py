#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: iocost.py read|write BYTES COUNT [MEMORY-OFFSET] STATS-FILE
#
# What one O_DIRECT I/O of BYTES costs by the mount's own counters, the sum over
# COUNT of them divided by COUNT; counters that do not move are left out. A
# heartbeat in between would be a message too much, and who was kept waiting may
# need what had gone back meanwhile, so it is tried three times and the least counts.
import mmap
import os
import sys

from guest import counters

what, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
offset = int(sys.argv[4]) if len(sys.argv) > 5 else 0
COUNTED = ("reg_mr", "local_inv", "remote_inv", "mr_alloc", "bounced", "retry_later", "replays")


def read_stats():
    values = counters(sys.argv[-1])
    have = {name: values[name] for name in COUNTED}
    have["messages"] = values["msgs_sent"] + values["msgs_received"]
    return have


def cost(delta):
    return delta["messages"], sum(delta[name] for name in ("mr_alloc", "bounced", "retry_later", "replays"))


fd = os.open("cost.data", os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
memory = mmap.mmap(-1, size + 8192)
memory[:] = b"c" * len(memory)
buffer = memoryview(memory)[offset:offset + size]
for i in range(count):
    os.pwritev(fd, [buffer], i * size)
io = os.preadv if what == "read" else os.pwritev
io(fd, [buffer], 0)  # whatever is made once is there now
best = None
for attempt in range(3):
    before = read_stats()
    for i in range(count):
        if io(fd, [buffer], i * size) != size:
            sys.exit("a short one")
    after = read_stats()
    delta = {name: after[name] - before[name] for name in after}
    if best is None or cost(delta) < cost(best):
        best = delta
print(" ".join(f"{name} {best[name] / count:g}" for name in ("messages",) + COUNTED if best[name]))
os.close(fd)
os.unlink("cost.data")
