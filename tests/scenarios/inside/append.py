#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: append.py FILE RECORDS DIRECTORY...
#
# Two processes in each directory (all of them the same one, through different
# mounts) append records to FILE in it; each record must be there, whole, once,
# and each writer's in its order.
import os
import re
import sys

name, records, directories = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
LENGTHS = (60, 400, 5000)


def record(writer, i):
    head = b"<%d %d " % (writer, i)
    length = LENGTHS[i % 50 == 0 and 2 or i % 2]
    return head + b"%d" % (i % 10) * (length - len(head) - 2) + b">\n"


def append(writer, directory):
    fd = os.open(os.path.join(directory, name), os.O_WRONLY | os.O_APPEND)
    for i in range(records):
        data = record(writer, i)
        if os.write(fd, data) != len(data):
            os._exit(1)
    os.close(fd)
    os._exit(0)


open(os.path.join(directories[0], name), "xb").close()
children = []
for w, d in enumerate(directories * 2):
    pid = os.fork()
    if pid == 0:
        try:
            append(w, d)
        except OSError as e:
            print(e)
        os._exit(1)
    children.append(pid)
if any(os.waitpid(pid, 0)[1] for pid in children):
    sys.exit("a writer failed")
for d in directories:
    with open(os.path.join(d, name), "rb") as f:
        text = f.read()
    following = [0] * len(children)
    place = 0
    while place < len(text):
        m = re.compile(rb"<(\d+) (\d+) ").match(text, place)
        if not m:
            sys.exit(f"{d}: at {place}: {text[place:place + 30]!r}")
        w, i = int(m[1]), int(m[2])
        want = record(w, i)
        if i != following[w] or text[place:place + len(want)] != want:
            sys.exit(f"{d}: at {place}: writer {w} record {i} after {following[w]} are there")
        following[w] += 1
        place += len(want)
    if following != [records] * len(children):
        sys.exit(f"{d}: of {records} records of each: {following}")
