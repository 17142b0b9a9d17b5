#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: starved.py PART...    in a directory on the mount; prints TAP

Our modules get no memory now and then, wherever they ask for any: in system calls, the
server's threads, workers and softirqs (tests/points/nomem.c).  Errors are allowed then,
damage is not.

once            modules are loaded, exports made, the server started, its export mounted and
                used for one thing after the other, and a session is lost, while each place
                gets no memory the first time; who is told so tries again
work:SECONDS    programs work while one of a hundred calls gets none; at least half of what
                they try succeeds, of large transactions one of a hundred, and is there in the end
"""

import collections
import errno
import glob
import mmap
import multiprocessing
import os
import random
import re
import sqlite3
import subprocess
import sys
import time
import traceback

from guest import (counters, diag, have_points, measured, point_knob, proc_of, read_text, report,
                   skip_all, tap_done, until, write_text)

TABLE = "/sys/kernel/debug/rdmafs_nomem"
RECLAIM = "/sys/module/rdmafsd/parameters/reclaim_s"
BELOW_UP = ("rdmafs_regpolicy", "rdmafs_xprt", "rdmafs_proto", "rdmafs", "rdmafsd")
ENV = os.environ
MOUNT, BACKING = ENV["RDMAFS_MNT"], ENV["RDMAFS_BACKING"]
EXERCISER = "/tmp/exerciser"
# The server's file system is ext4, which does all that it knows.
WITHOUT = ("--without", "")

# What may be said when memory is short; the rest would be wrong.
EXCUSED = (errno.ENOMEM, errno.EIO)
ONE_OF_A_HUNDRED = 10           # of a thousand
# Without memory for a request the server gives its connection up, and for a second nobody
# comes to anything else: not before the last third.
COSTLY = "rxs_req_new"


def whole(done, wanted):
    """A call that ends early does so because the next byte fails."""
    if done != wanted:
        raise OSError(errno.EIO, f"{done} bytes of {wanted}")


def run(*command, seconds=120):
    """What it says if it fails, or None."""
    p = subprocess.run(command, cwd="/", timeout=seconds, check=False, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return None if not p.returncode else p.stdout.strip() or f"status {p.returncode}"


# -------------------------------------------------------------------------- what failed where


def forget():
    write_text(TABLE, "all")


def table():
    """Calls and failures of each place."""
    found = {}
    for line in read_text(TABLE).splitlines():
        calls, failed, place = line.split(" ", 2)
        found[place] = int(calls), int(failed)
    return found


def function_of(place):
    """Its function and module."""
    return re.sub(r"\+0x\S* ", " ", place)


def functions():
    """All functions that ask for memory, but those that only run when a module is loaded."""
    found = set()
    for module in BELOW_UP:
        path = f"{ENV['RDMAFS_MODULES']}/{module}.ko"
        symbols = collections.defaultdict(list)
        for line in subprocess.run(("objdump", "-t", path), check=True, text=True,
                                   capture_output=True).stdout.splitlines():
            m = re.match(r"([0-9a-f]+) .{5} F (\S+)\s+([0-9a-f]+)(?: \.hidden)? (\S+)", line)
            if m:
                symbols[m[2]].append((int(m[1], 16), int(m[3], 16), m[4]))
        section = ""
        for line in subprocess.run(("objdump", "-r", path), check=True, text=True,
                                   capture_output=True).stdout.splitlines():
            m = re.match(r"RELOCATION RECORDS FOR \[(\S+)\]", line)
            section = m[1] if m else section
            m = re.match(r"([0-9a-f]+)\s+R_\S+\s+rdmafs_nomem_", line)
            if m and section.startswith(".text"):
                at = int(m[1], 16)
                found |= {f"{name} [{module}]" for start, size, name in symbols[section]
                          if start <= at < start + size}
    return found


def say_places(places):
    """What failed how often, and what never did."""
    failed = {place: n for place, (_, n) in places.items() if n}
    for place, n in sorted(failed.items(), key=lambda item: -item[1]):
        diag(f"{n} of {places[place][0]}: {place}")
    for what, names in (
            ("never failed", sorted(set(places) - set(failed))),
            ("functions that nobody came to",
             sorted(functions() - {function_of(place) for place in places}))):
        diag(f"{what}: {len(names)}")
        for name in names:
            diag(f"  {name}")


# ------------------------------------------------------------------------- each place once


class Again:
    """Things that are tried until they succeed; who fails has to say why."""

    def __init__(self, limit=60):
        self.limit = limit
        self.said = collections.Counter()
        self.wrong = []
        self.tries = 0

    def fail(self, why):
        """What is wrong; there may be more of it, but not for ever."""
        self.wrong.append(why)
        if len(self.wrong) > 5:
            raise AssertionError("and so on")

    def command(self, what, *words, allowed="", before=None):
        """A command, which may fail with a message that has one of what is allowed in it."""
        for _ in range(self.limit):
            begin = time.monotonic()
            self.tries += 1
            said = run(*words)
            if time.monotonic() - begin > 3:
                diag(f"{what}: {time.monotonic() - begin:.1f} s: {said}")
            if said is None:
                return
            self.said[f"{what}: {said}"] += 1
            if not re.search(allowed, said):
                self.fail(f"{what}: {said}")
            if before:
                before()
        self.fail(f"{what}: still not after {self.limit} times: {said}")

    def call(self, what, function, done=()):
        """A function, which may fail with ENOMEM or EIO; after that also as if it had been done."""
        for n in range(self.limit):
            begin = time.monotonic()
            self.tries += 1
            try:
                return function()
            except OSError as e:
                if n and e.errno in done:
                    return None
                self.said[f"{what}: {errno.errorcode[e.errno]}"] += 1
                if e.errno not in EXCUSED:
                    self.fail(f"{what}: {e}")
            finally:
                if time.monotonic() - begin > 3:
                    diag(f"{what}: {time.monotonic() - begin:.1f} s")
        self.fail(f"{what}: still not after {self.limit} times")
        return None

    def same(self, what, have, want):
        if have != want:
            self.fail(f"{what}: {str(have)[:200]} instead of {str(want)[:200]}")


def again_and_again(name, action, *arguments, limit=60):
    """One test: action(again, ...)."""
    again = Again(limit)
    try:
        action(again, *arguments)
    except Exception:  # pylint: disable=broad-except
        again.wrong.append(traceback.format_exc())
    for said, n in sorted(again.said.items()):
        diag(f"{n} times {said}")
    report(f"{name}, in {again.tries} tries", "\n".join(again.wrong))


def export_add(again, name):
    again.command(f"export add {name}", "rdmafsctl", "export", "add", name, f"/backing/{name}",
                  "-o", "no_root_squash,dev,xattrs=all",
                  before=lambda: run("rdmafsctl", "export", "remove", name))


def everything_down(unload):
    """Returns what fails."""
    commands = [("umount", MOUNT), ("rdmafsctl", "stop"),
                ("rdmafsctl", "export", "remove", "--all")]
    if unload:
        commands += [("rmmod", module) for module in reversed(BELOW_UP)]
    return [f"{' '.join(command)}: {said}" for command in commands if (said := run(*command))]


def load(again):
    for module in BELOW_UP:
        if not os.path.isdir(f"/sys/module/{module}"):
            again.command(f"insmod {module}", "insmod", f"{ENV['RDMAFS_MODULES']}/{module}.ko",
                          allowed="Cannot allocate memory")


def serve(again):
    for name in "export", "scratch":
        export_add(again, name)
    again.command("start", "rdmafsctl", "start")


def mount(again):
    again.command("mount", "mount", MOUNT, allowed="Cannot allocate memory|error -12|has no room")


def direct_buffer(data):
    """Memory for direct I/O that holds data."""
    memory = mmap.mmap(-1, len(data))
    memory[:] = data
    return memory


def opened(again, path, flags, action):
    """What action(fd) returns, each try with a file of its own."""
    def once():
        fd = os.open(path, flags, 0o644)
        try:
            return action(fd)
        finally:
            os.close(fd)
    return again.call(f"{action.__name__} of {os.path.basename(path)}", once)


def files(again, where):
    data = random.Random(1).randbytes(1 << 20)
    path = where + "/file"

    def write(fd):
        whole(os.pwrite(fd, data, 0), len(data))
        os.fsync(fd)

    def write_direct(fd):
        whole(os.pwritev(fd, [direct_buffer(data[::-1])], 0), len(data))

    def read(fd):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        found = os.pread(fd, len(data), 0)
        whole(len(found), len(data))
        return found

    def read_direct(fd):
        memory = direct_buffer(bytes(len(data)))
        whole(os.preadv(fd, [memory], 0), len(data))
        return memory[:]

    def copy(fd):
        with open(path + ".copy", "wb") as to:
            whole(os.copy_file_range(fd, to.fileno(), len(data)), len(data))

    def hole(fd):
        return os.lseek(fd, 0, os.SEEK_HOLE)

    opened(again, path, os.O_CREAT | os.O_RDWR, write)
    again.same("read", opened(again, path, os.O_RDONLY, read), data)
    opened(again, path, os.O_RDWR | os.O_DIRECT, write_direct)
    again.same("direct read", opened(again, path, os.O_RDONLY | os.O_DIRECT, read_direct),
               data[::-1])
    again.same("read", opened(again, path, os.O_RDONLY, read), data[::-1])
    again.same("hole", opened(again, path, os.O_RDONLY, hole), len(data))
    opened(again, path, os.O_RDONLY, copy)
    again.same("read of the copy", opened(again, path + ".copy", os.O_RDONLY, read), data[::-1])
    again.call("remove", lambda: os.unlink(path + ".copy"), (errno.ENOENT,))
    again.call("truncate", lambda: os.truncate(path, 5000))
    again.same("size", again.call("stat", lambda: os.stat(path)).st_size, 5000)
    again.call("chmod", lambda: os.chmod(path, 0o640))
    again.call("utime", lambda: os.utime(path, (1, 2)))
    st = again.call("stat", lambda: os.stat(path))
    again.same("mode and time", (st.st_mode & 0o777, int(st.st_mtime)), (0o640, 2))
    fd = again.call("open", lambda: os.open(path, os.O_RDONLY))
    again.call("remove", lambda: os.unlink(path), (errno.ENOENT,))
    again.same("read of what has no name", again.call("pread", lambda: os.pread(fd, 10, 0)),
               data[::-1][:10])
    os.close(fd)


def names(again, where):
    def twice(what, function):
        return again.call(what, function, (errno.EEXIST, errno.ENOENT))

    path = where + "/names"
    twice("mkdir", lambda: os.mkdir(path))
    twice("mkfifo", lambda: os.mkfifo(path + "/fifo"))
    twice("symlink", lambda: os.symlink("some/where", path + "/symlink"))
    again.same("symlink", again.call("readlink", lambda: os.readlink(path + "/symlink")),
               "some/where")
    for n in range(100):
        twice("create", lambda n=n: os.close(os.open(f"{path}/f{n}", os.O_CREAT | os.O_WRONLY)))
    twice("link", lambda: os.link(path + "/f1", path + "/f1.link"))
    twice("rename", lambda: os.rename(path + "/f2", path + "/f2.renamed"))
    want = {f"f{n}" for n in range(100)} - {"f2"} | {"f2.renamed", "f1.link", "fifo", "symlink"}
    again.same("names", set(again.call("listdir", lambda: os.listdir(path))), want)
    attribute = path + "/f3", "user.test"
    again.call("setxattr", lambda: os.setxattr(*attribute, b"v" * 200))
    again.same("getxattr", again.call("getxattr", lambda: os.getxattr(*attribute)), b"v" * 200)
    again.same("listxattr", again.call("listxattr", lambda: os.listxattr(path + "/f3")),
               ["user.test"])
    again.call("removexattr", lambda: os.removexattr(*attribute), (errno.ENODATA,))
    acl = ["setfacl", "-m", "u:1000:rw", path + "/f4"], ["getfacl", "-n", path + "/f4"]
    for command in acl:
        again.command(command[0], *command, allowed="Cannot allocate memory|Input/output error")
    again.call("statvfs", lambda: os.statvfs(path))
    for n in range(100):
        if n != 2:
            twice("remove", lambda n=n: os.unlink(f"{path}/f{n}"))
    for name in want - {f"f{n}" for n in range(100)}:
        twice("remove", lambda name=name: os.unlink(f"{path}/{name}"))
    twice("rmdir", lambda: os.rmdir(path))


def use(again, where):
    names(again, where)
    files(again, where)


def session_lost(again, where):
    """The server ends it; for a new one memory is missing in each place once."""
    forget()
    for path in glob.glob("/proc/fs/rdmafs/client-*/abort"):
        again.call("abort", lambda path=path: write_text(path, 1), (errno.ENOENT,))
    again.call("stat", lambda: os.stat(where + "/."))
    use(again, where)


def no_orphans():
    """What had no memory to go is tried again each second."""
    orphans = "/backing/export/.rdmafs-orphans/[0-9a-f]*"
    until(lambda: not glob.glob(orphans), 30)
    report("no file without a name is left", " ".join(glob.glob(orphans)))


def once(where):
    os.chdir("/")
    # KASAN in UML takes what another module left in memory for the new one's.
    unload = not ENV["RDMAFS_KERNEL"].endswith("-debug")
    report("all is taken down" + (", and unloaded" if unload else ""),
           "\n".join(everything_down(unload)))
    forget()
    point_knob("nomem_once", 1)
    again_and_again("the modules are loaded", load)
    again_and_again("exports are made, and the server is started", serve)
    again_and_again("it is mounted", mount, limit=200)
    again_and_again("names and files are used", use, where)
    places = table()
    again_and_again("the session is lost, and another one used", session_lost, where)
    for place, (calls, failed) in table().items():
        before = places.get(place, (0, 0))
        places[place] = before[0] + calls, before[1] + failed
    report("umount", run("umount", MOUNT))
    point_knob("nomem_once", 0)
    say_places(places)
    failed = sum(1 for _, n in places.values() if n)
    measured(failed >= 90, "memory was missing in many places", f"{failed} places")
    no_orphans()
    report("mount", run("mount", MOUNT))


# ------------------------------------------------------------------------------ under load


class Tries:
    """What a worker has tried, and how much of it has succeeded."""

    def __init__(self):
        self.tried = self.good = 0

    def __call__(self, function):
        """Whether function() returns; what it raises may be an error that is allowed."""
        self.tried += 1
        try:
            function()
        except OSError as e:
            if e.errno not in EXCUSED:
                raise
            return False
        self.good += 1
        return True


def written(path, data):
    with open(path, "xb", buffering=0) as f:
        whole(f.write(data), len(data))
        os.fsync(f.fileno())


class Tree:
    """A tree of files: what is known of it is compared, as it is found and in the end."""

    def __init__(self, where):
        self.where = where
        self.known = {}         # content by path
        self.either = []        # content and the two paths, one of which has it

    def make(self, tries, rng, n):
        path = f"{self.where}/f{n}"
        data = rng.randbytes(rng.choice((0, 100, 5000, 70000)))
        if tries(lambda: written(path, data)):
            self.known[path] = data

    def read(self, tries, rng):
        path = rng.choice(list(self.known))
        found = []

        def read():
            with open(path, "rb", buffering=0) as f:
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                found.append(f.read())

        if tries(read) and found[0] != self.known[path]:
            raise AssertionError(f"{path}: other contents, {len(found[0])} bytes")

    def rename(self, tries, rng):
        path = rng.choice(list(self.known))
        data = self.known.pop(path)
        if tries(lambda: os.rename(path, path + "r")):
            self.known[path + "r"] = data
        else:
            self.either.append((data, path, path + "r"))

    def remove(self, tries, rng):
        path = rng.choice(list(self.known))
        self.known.pop(path)
        if tries(lambda: os.unlink(path)):
            if os.path.lexists(path.replace(MOUNT, BACKING, 1)):
                raise AssertionError(f"{path} was removed, and is there")

    def listed(self, tries):
        found = []
        if tries(lambda: found.extend(os.listdir(self.where))):
            missing = {os.path.basename(path) for path in self.known} - set(found)
            if missing:
                raise AssertionError(f"not listed: {missing}")

    def damage(self):
        """As the server has it."""
        def content(path):
            try:
                with open(path.replace(MOUNT, BACKING, 1), "rb") as f:
                    return f.read()
            except FileNotFoundError:
                return None

        wrong = [path for path, data in self.known.items() if content(path) != data]
        return wrong + [f"{a} or {b}" for data, a, b in self.either
                        if sorted((content(a) is None, content(b) is None)) != [False, True]
                        or data not in (content(a), content(b))]


def trees(where, seconds):
    """Files are made, read, renamed and removed."""
    tree, tries, rng = Tree(where), Tries(), random.Random(1)
    end, n = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        n += 1
        tree.make(tries, rng, n)
        if tree.known:
            tree.read(tries, rng)
        if n % 4 == 0 and tree.known:
            tree.rename(tries, rng)
        if tree.known and (n % 3 == 0 or len(tree.known) > 300):
            tree.remove(tries, rng)
        if n % 20 == 0:
            tree.listed(tries)
    point_off()
    damage = tree.damage()
    if damage:
        raise AssertionError(f"damaged: {damage}")
    return tries.tried, tries.good


def base(where, seconds):
    """Transactions of SQLite; what was committed is there, and only what was begun."""
    path, tries, certain, begun = where + "/db", 0, set(), set()
    end, db = time.monotonic() + seconds, None
    while time.monotonic() < end:
        tries += 1
        try:
            if not db:
                db = sqlite3.connect(path, timeout=10, isolation_level=None)
                db.execute("PRAGMA journal_mode=PERSIST")
                db.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, v BLOB)")
            begun.add(tries)
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO t VALUES (?, ?)", (tries, bytes([tries % 256]) * 3000))
            db.execute("COMMIT")
            certain.add(tries)
        except sqlite3.Error as e:
            if re.search("malformed|not a database", str(e)):
                raise
            if db:
                db.close()
            db = None
    point_off()
    if db:
        db.close()
    db = sqlite3.connect(path, timeout=60)
    if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        raise AssertionError("the data base is not sound")
    have = set()
    for n, value in db.execute("SELECT n, v FROM t"):
        have.add(n)
        if value != bytes([n % 256]) * 3000:
            raise AssertionError(f"row {n} is another one")
    if certain - have or have - begun:
        raise AssertionError(f"missing: {certain - have}, never written: {have - begun}")
    return tries, len(certain)


class Git:
    """Commands of git in one repository; one that fails leaves its locks."""

    def __init__(self, where):
        self.where = where
        self.environment = {**ENV, "HOME": "/tmp", "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C"}
        self.settings = [word for setting in (
            "user.name=starved", "user.email=starved@localhost", "init.defaultBranch=main",
            "gc.auto=0", "core.fsync=all", "safe.directory=*") for word in ("-c", setting)]
        self.tried = self.good = 0

    def run(self, *words):
        self.tried += 1
        p = subprocess.run(("git", *self.settings, *words), cwd=self.where, env=self.environment,
                           check=False, text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
        self.good += not p.returncode
        return p.returncode, p.stdout

    def commits(self):
        status, said = self.run("rev-list", "--count", "HEAD")
        return 0 if status else int(said)


def repository(where, seconds):
    """Commits of git; those that succeed are there, and all is sound."""
    git, rng, n, good = Git(where), random.Random(2), 0, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        n += 1
        try:
            with open(f"{where}/f{rng.randrange(20)}", "wb") as f:
                f.write(rng.randbytes(2000))
            for lock in glob.glob(where + "/.git/**/*.lock", recursive=True):
                os.unlink(lock)
        except OSError as e:
            if e.errno not in EXCUSED:
                raise
            continue
        if not git.run("add", "-A")[0]:
            good += not git.run("commit", "-q", "--allow-empty", "-m", f"number {n}")[0]
    tried, succeeded = git.tried, git.good
    point_off()
    for lock in glob.glob(where + "/.git/**/*.lock", recursive=True):
        os.unlink(lock)
    for words in (("add", "-A"), ("commit", "-q", "--allow-empty", "-m", "last"),
                  ("fsck", "--full", "--strict", "--no-progress")):
        status, said = git.run(*words)
        if status:
            raise AssertionError(f"git {words[0]}: {said}")
    if not good < git.commits() <= n + 1:
        raise AssertionError(f"{git.commits()} commits, {good} succeeded of {n}")
    return tried, succeeded


# Workers that are done with what may fail, and when all are.
working = multiprocessing.Value("i", 0)


def point_off():
    """Waits until nothing fails any more."""
    with working.get_lock():
        working.value -= 1
    if not until(lambda: not int(read_text("/sys/module/rdmafs_points/parameters/nomem")), 300):
        raise TimeoutError("memory is still missing")


def worker(work, where, seconds, results):
    why = tried = good = 0
    try:
        tried, good = work(where, seconds)
    except BaseException:  # pylint: disable=broad-except
        why = traceback.format_exc()
        # If it had not come to that: the others don't wait for it.
        with working.get_lock():
            working.value = min(working.value, 0)
    results.put((work.__name__, tried, good, why))


def exercisers(where, seconds):
    return [subprocess.Popen(
        (EXERCISER, "--seed", str(seed), "--seconds", str(seconds), "--size", "2000000",
         "--errors-ok", "50", *WITHOUT, *options, f"{where}/exercised.{seed}"), cwd="/", text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for seed, options in ((1, ("--no-mmap",)), (2, ("--direct-only",)))]


# The others' commands are of hundreds of operations: so some of them at least, and in the few
# seconds of the short form one success may be too much to ask for.
HALF = {"trees"}
LONG = 30   # seconds


def least(name, tried, seconds):
    """So many have to succeed."""
    if name in HALF:
        return (tried + 1) // 2
    return max(1, tried // 100) if seconds >= LONG else 0


def loads(where, seconds):
    """All at once; returns what failed where."""
    results, processes = multiprocessing.Queue(), []
    works = trees, base, repository
    working.value = len(works)
    for work in works:
        path = f"{where}/{work.__name__}"
        os.mkdir(path)
        if work is repository:
            subprocess.run(("git", "init", "-q", "-b", "main", "."), cwd=path, check=True)
        processes.append(multiprocessing.Process(target=worker,
                                                 args=(work, path, seconds, results)))
    forget()
    point_knob("nomem_spare", COSTLY)
    point_knob("nomem", ONE_OF_A_HUNDRED)
    for process in processes:
        process.start()
    running = exercisers(where, seconds)
    time.sleep(seconds * 2 / 3)
    point_knob("nomem_spare", "-")
    for name, process in zip(("all kinds of I/O", "direct I/O"), running):
        said = process.communicate(timeout=seconds + 400)[0].strip()
        measured(not process.returncode,
                 f"exerciser, {name}: half of it succeeds, and all of that is right",
                 "\n".join(said.splitlines()[-1 if not process.returncode else -40:]))
    until(lambda: working.value <= 0, seconds + 400)
    point_knob("nomem", 0)
    for _ in works:
        name, tried, good, why = results.get(timeout=400)
        wanted = least(name, tried, seconds)
        enough = tried > 0 and good >= wanted
        report(f"{name}: {'half of it succeeds, and ' if name in HALF else ''}nothing is damaged",
               why or ("" if enough else "too little succeeded"))
        diag(f"{name}: {tried} tried, {good} succeeded, {wanted} have to")
    for process in processes:
        process.join()
    return table()


def work(where, seconds):
    os.chdir("/")
    stats = proc_of(where) + "/stats"
    before = counters(stats)
    write_text(RECLAIM, 1)
    places = loads(where, seconds)
    say_places(places)
    failures = sum(n for _, n in places.values())
    failed = sum(1 for _, n in places.values() if n)
    calls = sum(n for n, _ in places.values())
    # A busy machine does less in that time.
    measured(failures >= max(15, calls / 250) and failed >= 8,
             "memory was missing often, and in many places",
             f"{failures} of {calls} calls failed, in {failed} places of {len(places)}")
    after = counters(stats)
    diag(*(f"{key}: {before[key]} -> {after[key]}" for key in ("session_resets", "reconnects")))
    report("nobody took it for an error of the protocol",
           "" if after["protocol_errors"] == before["protocol_errors"] else str(after))
    report("then all is well", run(EXERCISER, "--seed", "3", "--ops", "200", *WITHOUT, where + "/after",
                                   seconds=300))
    report("all is removed", run("rm", "-rf", *glob.glob(where + "/*")))
    report("umount", run("umount", MOUNT))
    opens = "/sys/kernel/config/rdmafs/opens"
    # If sessions were lost: what was not opened again is kept for as long as it may be.
    until(lambda: not int(read_text(opens)), 150)
    report("the server has nothing open", "" if not int(read_text(opens)) else read_text(opens))
    no_orphans()
    write_text(RECLAIM, 90)
    report("mount", run("mount", MOUNT))
    report("nothing is left", " ".join(os.listdir(where)))


def main():
    parts = sys.argv[1:]
    if not parts or not all(re.fullmatch("once|work:[0-9]+", part) for part in parts):
        print("starved.py: which parts? see its top", file=sys.stderr)
        sys.exit(2)
    if not have_points():
        skip_all("not a test kernel")
    where = os.getcwd()
    subprocess.run(("gcc", "-O2", "-Wall", "-o", EXERCISER,
                    ENV["RDMAFS_TOP"] + "/tests/scenarios/inside/exerciser.c"), check=True)
    for part in parts:
        name, _, seconds = part.partition(":")
        diag(f"part {name}")
        if name == "once":
            once(where)
        else:
            work(where, int(seconds))
    tap_done()


main()
