# SPDX-License-Identifier: GPL-2.0
"""What the scenarios' programs share inside a guest, as guest.sh has it for bash."""

import ctypes
import errno
import os
import sys
import time

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


def counters(path):
    """The numbers of a file of "key value" lines."""
    lines = (line.split() for line in read_text(path).splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}
