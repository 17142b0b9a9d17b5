#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: storm.py DIRECTORY TIMES

The session is ended TIMES times, or the server restarted, while an ordinary user works
in DIRECTORY: objects as git makes them, with mode 0444; a repository of git itself; a data
base of SQLite; trees that are unpacked; temporary files without a name.  Each worker checks what it reads, and at the
end all that was made is read from the server itself.

What is done with an open file never fails.  What is done with a name and can't be done
twice may say EIO if its answer was lost with the session, once for each session that ends
meanwhile: the worker then looks what has become of it and goes on.

Prints TAP.
"""

import glob
import hashlib
import multiprocessing
import os
import random
import sqlite3
import subprocess
import sys
import time
import traceback

import storm_git
from guest import (abort_sessions, attempt, counters, diag, proc_of, read_text, report, tap,
                   tap_done, until, write_text)
from unproven import unproven as maybe_made

USER = 1000
RECLAIM = "/sys/module/rdmafsd/parameters/reclaim_s"
ENABLE = "/sys/kernel/config/rdmafs/exports/export/enable"
ENDING = "/sys/kernel/config/rdmafs/ending"
OPENS = "/sys/kernel/config/rdmafs/opens"
OBJECTS = 1000          # so many are kept: about 100 MB

# Sessions that were ended or are just now, and those of them that a new one has followed.
ends = multiprocessing.Value("i", 0)
settled = multiprocessing.Value("i", 0)
# Calls that said EIO.
unknown = multiprocessing.Value("i", 0)


def unproven(function, done):
    """As many EIOs as sessions end meanwhile, and one may have been about to before that."""
    begin = ends.value

    def excused(lost):
        with unknown.get_lock():
            unknown.value += 1
        return lost <= ends.value - begin + 1

    return maybe_made(function, done, excused)


def remove(path):
    unproven(lambda: os.path.lexists(path) and os.unlink(path), lambda: not os.path.lexists(path))


def objects(where, stop):
    """Files of mode 0444, written by who made them, then moved to the name of their content."""
    made, n = [], 0
    rng = random.Random(1)
    while not stop.is_set():
        data = rng.randbytes(rng.choice((100, 5000, 70000, 300000)))
        temporary = f"{where}/tmp_obj_{n}"
        n += 1
        fd = os.open(temporary, os.O_CREAT | os.O_RDWR, 0o644)
        os.fchmod(fd, 0o444)
        for at in range(0, len(data), 10000):
            os.pwrite(fd, data[at:at + 10000], at)
        if n % 3 == 0:
            os.fsync(fd)
        os.close(fd)
        name = f"{where}/{hashlib.sha1(data).hexdigest()}"
        unproven(lambda a=temporary, b=name: os.rename(a, b),
                 lambda a=temporary: not os.path.exists(a))
        made.append(name)
        if len(made) > OBJECTS:
            verify(made[0])
            remove(made.pop(0))
        if n % 5 == 0:
            verify(random.choice(made))
    return n, {os.path.basename(name) for name in made}


def verify(path):
    with open(path, "rb") as f:
        have = hashlib.sha1(f.read()).hexdigest()
    if have != os.path.basename(path):
        raise AssertionError(f"{path} has other contents")


def database(where, stop):
    """Transactions, each found again after it was committed."""
    n = 0
    db = sqlite3.connect(where + "/db", timeout=60)
    # The journal keeps its name: nothing here could be unproven.
    db.execute("PRAGMA journal_mode=PERSIST")
    db.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, v BLOB)")
    while not stop.is_set():
        n += 1
        with db:
            db.execute("INSERT INTO t VALUES (?, ?)", (n, bytes([n % 256]) * 3000))
        if n % 10 == 0:
            count, = db.execute("SELECT count(*) FROM t").fetchone()
            if count != n:
                raise AssertionError(f"{count} rows of {n}")
    if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
        raise AssertionError("the data base is not sound")
    db.close()
    return n


def repository(where, stop):
    """git: init, add, commit, gc, fsck."""
    return storm_git.work(where, stop, (ends, settled), remove)


def trees(where, stop):
    """A tree of files that can only be read is unpacked, compared, and removed."""
    rng = random.Random(2)
    files = {f"d{n % 7}/f{n}": rng.randbytes(rng.choice((0, 10, 4096, 20000))) for n in range(40)}
    n = 0
    while not stop.is_set():
        n += 1
        root = f"{where}/tree{n}"
        unproven(lambda: os.mkdir(root), lambda: os.path.isdir(root))
        for name, data in files.items():
            path = f"{root}/{name}"
            above = os.path.dirname(path)
            if not os.path.isdir(above):
                unproven(lambda a=above: os.mkdir(a), lambda a=above: os.path.isdir(a))
            with open(path, "wb", opener=lambda p, f: os.open(p, f, 0o644)) as f:
                os.fchmod(f.fileno(), 0o444)
                f.write(data)
        for name, data in files.items():
            with open(f"{root}/{name}", "rb") as f:
                if f.read() != data:
                    raise AssertionError(f"{root}/{name} has other contents")
        for base, dirs, names in os.walk(root, topdown=False):
            for name in names:
                remove(f"{base}/{name}")
            unproven(lambda b=base: os.rmdir(b), lambda b=base: not os.path.isdir(b))
            del dirs
    return n


def nameless(where, stop):
    """Temporary files that lost their names: written, read and cut for a long while."""
    n = 0
    rng = random.Random(3)
    while not stop.is_set():
        path = f"{where}/temporary{n}"
        fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o400)
        remove(path)
        want = bytearray()
        for _ in range(20):
            n += 1
            data = rng.randbytes(rng.choice((10, 9000, 50000)))
            os.pwrite(fd, data, len(want))
            want += data
            if n % 4 == 0:
                os.fsync(fd)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            st = os.fstat(fd)
            if (st.st_nlink, st.st_size) != (0, len(want)):
                raise AssertionError(f"{path}: {st.st_nlink} links, {st.st_size} of {len(want)}")
            at = rng.randrange(len(want))
            if os.pread(fd, 5000, at) != want[at:at + 5000]:
                raise AssertionError(f"{path} has other contents at {at}")
            if stop.is_set():
                break
            time.sleep(0.02)
        os.close(fd)
    return n


def worker(work, where, stop, results):
    why, n, made = "", 0, set()
    try:
        os.setgid(USER)
        os.setuid(USER)
        n = work(where, stop)
        if isinstance(n, tuple):
            n, made = n
    except BaseException:  # pylint: disable=broad-except
        why = traceback.format_exc()
    results.put((work.__name__, n, made, why))


def resets(stats):
    return counters(stats)["session_resets"]


def end_session(stats, restart):
    before = resets(stats)
    with ends.get_lock():
        ends.value += 1
    if restart:
        for command in "stop", "start":
            subprocess.run(["rdmafsctl", command], check=True, capture_output=True, cwd="/")
    else:
        abort_sessions()
    if not until(lambda: resets(stats) > before):
        raise TimeoutError("no new session")
    settled.value = ends.value


def opens_in_the_end():
    """What the workers had open is closed, in sessions that have ended, too."""
    # What was closed before it was opened again counts as long as it may be come back for.
    write_text(RECLAIM, "1")
    until(lambda: int(read_text(OPENS)) == 0)
    return int(read_text(OPENS))


def orphans_in_the_end():
    """What a start finds without a name is kept for a while, too."""
    write_text(ENABLE, "0")
    until(lambda: not read_text(ENDING))
    write_text(ENABLE, "1")
    until(lambda: not glob.glob("/backing/export/.rdmafs-orphans/[0-9a-f]*"))
    write_text(RECLAIM, "90")
    return glob.glob("/backing/export/.rdmafs-orphans/[0-9a-f]*")


def main():
    where, times = sys.argv[1], int(sys.argv[2])
    stats = proc_of(os.environ["RDMAFS_MNT"]) + "/stats"
    # Named before anything ends, since to look would wait.
    backing = where.replace(os.environ["RDMAFS_MNT"], "/backing/export", 1)
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    works = objects, repository, database, trees, nameless
    running = []
    for work in works:
        path = f"{where}/{work.__name__}"
        os.mkdir(path)
        os.chown(path, USER, USER)
        running.append(multiprocessing.Process(target=worker, args=(work, path, stop, results)))
        running[-1].start()

    def end_sessions():
        for n in range(times):
            time.sleep(random.Random(n).uniform(0, 0.3))
            end_session(stats, n % 8 == 7)

    attempt(end_sessions, f"the session was ended {times} times")
    stop.set()
    made, acknowledged = set(), 0
    for _ in works:
        name, n, more, why = results.get(timeout=300)
        made |= more
        acknowledged += n
        diag(f"{name}: {n}")
        tap(not why and n, f"{name} goes on through all of it", why)
    for process in running:
        process.join()
    found, wrong = set(), []
    for name in os.listdir(backing + "/objects"):
        found.add(name)
        with open(f"{backing}/objects/{name}", "rb") as f:
            if hashlib.sha1(f.read()).hexdigest() != name:
                wrong.append(name)
    tap(made == found and not wrong, "every object is on the server as it was made, and no other",
        f"missing: {sorted(made - found)}, more: {sorted(found - made)}, other contents: {wrong}")
    left = opens_in_the_end()
    tap(not left, "the server has nothing open any more", f"{left} opens")
    report("no file without a name is left", " ".join(orphans_in_the_end()))
    # As history.py has it for tests/lib/faults.py.
    diag(f"figures: the session ends under git, SQLite and trees: came={settled.value}"
         f" acknowledged={acknowledged} failed={unknown.value} EIO={unknown.value}"
         f" lost={len(made - found)} wrong={len(found - made) + len(wrong)}")
    tap_done()


main()
