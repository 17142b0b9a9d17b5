# SPDX-License-Identifier: GPL-2.0
"""
What programs in Python share inside a guest, as guest.sh has it for bash: TAP, waiting,
processes, what /proc shows, and test points (tests/points/points.c; test kernels only).
tests/bench uses it, too.
"""

import ctypes
import errno
import glob
import os
import sys
import time
import traceback

POINTS = "/sys/module/rdmafs_points/parameters"

_number = _failed = 0


def tap(good, name, *why):
    """A test's line; behind one that failed stands why."""
    global _number, _failed
    _number += 1
    _failed += not good
    print(f"{'ok' if good else 'not ok'} {_number} - {name}")
    if not good:
        diag(*why)
    sys.stdout.flush()


def report(name, problem):
    """A test's line, if it has said what is wrong, or nothing (an empty string or list)."""
    tap(not problem, name, problem)


def attempt(action, name=None):
    """
    A test's line, named as action() describes itself if nothing else is said; what that raises
    is why it failed.  Returns whether it passed.
    """
    problem = ""
    try:
        action()
    except Exception:  # pylint: disable=broad-except
        problem = traceback.format_exc()
    report(name or action.__doc__, problem)
    return not problem


def measured(good, name, *what):
    """A test's line, and what it measured: to be read though it passes."""
    tap(good, name)
    diag(*what)


def diag(*why):
    """What is to be read beside the tests."""
    for text in why:
        for line in str(text).splitlines():
            print(f"# {line}")
    sys.stdout.flush()


def tap_skip(name, reason):
    """One test that can't be made here."""
    tap(True, f"{name} # SKIP {reason}")


def skip_all(reason):
    """Nothing here can be tested; does not return."""
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def tap_done():
    """The plan; does not return."""
    print(f"1..{_number}")
    sys.exit(_failed > 0)


def until(condition, seconds=60):
    """
    Whether it comes true in time.  Seconds in which it can't be looked at do not count: where
    the whole machine stands still for minutes, only time goes on.
    """
    second = int(time.monotonic())
    while not condition():
        if int(time.monotonic()) != second:
            second = int(time.monotonic())
            seconds -= 1
        if seconds <= 0:
            return False
        time.sleep(0.02)
    return True


def start(action):
    """A process that runs action(), and ends with status 0 if that returns."""
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        try:
            action()
            os._exit(0)
        except BaseException as e:
            diag(repr(e))
            os._exit(1)
    return pid


def ended(pid, seconds=120):
    """The status of a process that was started, or None."""
    over = []

    def is_over():
        done, status = os.waitpid(pid, os.WNOHANG)
        over.extend([status] if done else [])
        return done

    return over[0] if until(is_over, seconds) else None


def as_user(call, user=1000):
    """What call() returns to an ordinary user, as repr() has it, or the errno's name."""
    into, out = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(into)
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            # PR_SET_DUMPABLE: /proc/self is his, too
            ctypes.CDLL(None).prctl(4, 1)
            said = repr(call())
        except OSError as e:
            said = errno.errorcode[e.errno]
        os.write(out, said.encode())
        os._exit(0)
    os.close(out)
    with os.fdopen(into) as f:
        said = f.read()
    os.waitpid(pid, 0)
    return said


def task_state(pid):
    """A letter, as ps(1) prints it."""
    return read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()[0]


def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def write_text(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(str(text))


def proc_of(path):
    """The directory below /proc/fs/rdmafs of the mount that path is on."""
    dev = os.stat(path).st_dev
    return f"/proc/fs/rdmafs/{os.major(dev)}:{os.minor(dev)}"


def key_values(path):
    """A file of "key value" lines: numbers as numbers."""
    found = {}
    for line in read_text(path).splitlines():
        key, _, value = line.partition(" ")
        found[key] = int(value) if value.lstrip("-").isdigit() else value
    return found


def counters(path):
    """The numbers of such a file."""
    return {key: value for key, value in key_values(path).items() if isinstance(value, int)}


def abort_sessions():
    """The server forgets all sessions that there are."""
    for path in glob.glob("/proc/fs/rdmafs/client-*/abort"):
        try:
            write_text(path, 1)
        except OSError as e:
            # That of a mount which has just ended may go meanwhile.
            if e.errno not in (errno.ENOENT, errno.EIO):
                raise


def have_points():
    return os.path.isdir(POINTS)


def point_arm(name, count=1, key=None):
    """The next count threads that come there, with that key if there is one, are held."""
    write_text(f"{POINTS}/points", f"hold {name} {count}" + ("" if key is None else f" {key}"))


def point_fail(name, count=1, key=None):
    """The next count times it fails."""
    write_text(f"{POINTS}/points", f"fail {name} {count}" + ("" if key is None else f" {key}"))


def point_count(name, what):
    """what: arrived, held, failed or overdue."""
    for line in read_text(f"{POINTS}/points").splitlines():
        words = line.split()
        if words[0] == name:
            return int(words[words.index(what) + 1])
    return 0


def point_wait(name, count=1, seconds=60):
    """Until count threads are held there: whether they are."""
    return until(lambda: point_count(name, "held") >= count, seconds)


def point_release(name):
    """Who is held goes on, and nobody is held or fails any more."""
    write_text(f"{POINTS}/points", f"release {name}")


def point_knob(name, value):
    """What is pretended (transport/points.h); 0 is nothing."""
    write_text(f"{POINTS}/{name}", value)
