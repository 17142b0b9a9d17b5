# SPDX-License-Identifier: GPL-2.0
"""Test points (tests/points/points.c; test kernels only), as guest.sh has them for bash."""

import os

from guest import until

POINTS = "/sys/module/rdmafs_points/parameters"


def have_points():
    return os.path.isdir(POINTS)


def _write(name, text):
    with open(f"{POINTS}/{name}", "w", encoding="ascii") as f:
        f.write(str(text))


def point_arm(name, count=1, key=None):
    """The next count threads that come there, with that key if there is one, are held."""
    _write("points", f"hold {name} {count}" + ("" if key is None else f" {key}"))


def point_fail(name, count=1, key=None):
    """The next count times it fails."""
    _write("points", f"fail {name} {count}" + ("" if key is None else f" {key}"))


def point_count(name, what):
    """what: arrived, held, failed or overdue."""
    with open(f"{POINTS}/points", encoding="ascii") as f:
        for line in f:
            words = line.split()
            if words[0] == name:
                return int(words[words.index(what) + 1])
    return 0


def point_wait(name, count=1, seconds=60):
    """Until count threads are held there: whether they are."""
    return until(lambda: point_count(name, "held") >= count, seconds)


def point_release(name):
    """Who is held goes on, and nobody is held or fails any more."""
    _write("points", f"release {name}")


def point_knob(name, value):
    """What is pretended (transport/points.h); 0 is nothing."""
    _write(name, value)
