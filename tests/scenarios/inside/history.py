#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: history.py write LOG DIR CLIENT WRITERS [ERRNO...]    until LOG/stop exists; calls
                                                    may fail so (EIO, ENOSPC...)
       history.py more LOG N WRITERS                waits, ten minutes at most, until each has made
                                                    N more calls of each kind
       history.py failed LOG N WRITERS              waits until N more calls of each have failed
       history.py still LOG                         waits until nobody makes a step any more
       history.py check LOG DIR [MOST|any [TROUBLE [again]]]
                                                    what is there, by what was acknowledged

Writers, who are whom DIR belongs to, change files in it, on one mount or on several, and give
each change a value of its own.  What they send, what is acknowledged and what they read is
written to files in LOG, which lies outside the file system, before and after each system call.
check finds in them that nothing acknowledged is lost, that nothing is done twice, and that
nothing was seen before it was sent or after it was replaced; and that no more than MOST (0)
changes are of unknown end, if not any number may be.  It prints TAP, and the figures for that
TROUBLE (tests/lib/faults.py; again: the same log is looked at elsewhere, too).  LOG may have been put
together from several machines: what their clocks say at the same time is found out by files
that they share with the host.

Everything is a register: a place with one writer, whose values are versions 1, 2, 3...

	block	4 KiB of a file: direct writes, O_SYNC, and write(2) with a later fsync(2)
	size	of a file, by ftruncate(2): a million bytes less the version
	xattr	an attribute, whose value is the version
	names	which names a file has: created, renamed, linked, unlinked
	record	64 bytes that are appended to a file that all writers share: each version is
		there once, and the last one is what is read

Besides these all writers share some places, of which each changes one under a lock at a time
(holders.py): check finds that each has found what the one before had left, and that no two had a
lock at a time. LOG/outages has the times from when to when the export was off, which ends locks.

A change is sent (S), and acknowledged (A) when it is on stable storage by the rules of the
system call, or failed (F) if its call said EIO because the answer was lost with the session,
or had an error that the disk's trouble brings: such a one may have been made or not; not all
kinds may say so where only sessions are lost.  Blocks, sizes and attributes are read before they
are replaced, and one of each kind is read besides, by whoever opens the file or the directory
just then: what is read (R) is right if it had been sent when the read ended, and if no later one
had been acknowledged when the read began, though its writer has not closed the file.  Of names
each is asked for alone: that it is there, or is not, says that the version is one of several.
A call that is over is logged, if it was good (C) or not (X), with how many operations in it were
acknowledged.
"""

import bisect
import collections
import contextlib
import errno
import functools
import itertools
import mmap
import multiprocessing
import os
import random
import sys
import time
import traceback

import holders
from guest import diag, measured, proc_of, tap_done, until

BLOCK = 4096
BLOCKS = 256
SIZE = 1000000
RECORD = 64
SECTOR = 512
# What is done with an open file does not fail when a session ends, but for what can't be
# done twice, and of which nothing proves whether it was done (Documentation/architecture.rst).
MAY_FAIL = ("names", "record", "size")
KINDS = 9       # of calls, see Writer.run()
PATIENCE = 600  # seconds, on a machine that has much else to do
# A file's time is that of the last tick: it may be so many ns old.
TICK = 10_000_000
# The names of a file after each step of its life.
STEPS = (set(), {"n"}, {"m"}, {"m", "l"}, {"l"}, set())
# An append is stable when write(2) returns: that is rdmafs' own promise.
APPEND = os.O_APPEND | (0 if os.environ.get("RDMAFS_FS") == "rdmafs" else os.O_SYNC)


class Log:
    """One line an event, each in one write(2): a process that is killed has logged it."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def say(self, event, register, *values):
        line = " ".join([event, str(time.time_ns()), register, *map(str, values)])
        os.write(self.fd, line.encode() + b"\n")


def block_data(register, version):
    return f"{register} {version}".encode().ljust(RECORD - 1) + b"\n"


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


@functools.lru_cache(4096)
def block_versions(data):
    """What each 64 bytes of it say: a register and its value; None: they were never written."""
    found = set()
    for i in range(0, len(data), RECORD):
        piece = data[i:i + RECORD]
        says = tuple(piece.decode("ascii", "replace").split())
        if not any(piece):
            found.add(None)
        elif len(says) == 2 and says[1].isdigit() and piece == block_data(*says):
            found.add((says[0], int(says[1])))
        else:
            found.add((f"other bytes: {piece!r}", 0))
    return frozenset(found)


def size_version(size):
    return SIZE - size if size else 0


def named_versions(kind, there):
    """Of the names of a file: those that have this one, or have it not."""
    return ",".join(str(version) for version, names in enumerate(STEPS) if (kind in names) == there)


def exists(name, directory):
    try:
        os.stat(name, dir_fd=directory)
    except FileNotFoundError:
        return False
    return True


@contextlib.contextmanager
def opened(path, flags=os.O_RDONLY):
    fd = os.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def version_attribute(file):
    try:
        return int(os.getxattr(file, "user.version"))
    except OSError as e:
        if e.errno != errno.ENODATA:
            raise
        return 0


class Writer:
    """The changes of one process."""

    def __init__(self, log, where, name, errors):
        self.name, self.where = name, where
        self.errors = errors
        self.log = Log(f"{log}/{name}")
        self.stop = f"{log}/stop"
        self.rng = random.Random(name)
        self.path = f"{where}/{name}"
        self.buffered = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        self.direct = os.open(self.path, os.O_RDWR | os.O_DIRECT)
        self.sync = os.open(self.path, os.O_RDWR | os.O_SYNC)
        self.sized = os.open(self.path + ".size", os.O_RDWR | os.O_CREAT, 0o644)
        self.append = os.open(f"{where}/append", os.O_WRONLY | os.O_CREAT | APPEND, 0o644)
        self.memory = mmap.mmap(-1, 64 * BLOCK)
        self.versions = collections.Counter()
        stats = f"{proc_of(where)}/stats" if os.environ.get("RDMAFS_FS") == "rdmafs" else None
        self.holder = holders.Holder(self.log, where, name, stats, errors)
        self.places = holders.places(4, 2)
        self.serial = self.failed = self.acked = 0

    def change(self, registers, call):
        """Registers as {name: version}: whether it was acknowledged."""
        for register, version in registers.items():
            self.log.say("S", register, version)
        return self.stable(registers, call)

    def stable(self, registers, call, operations=1):
        """Changes that have been sent, by so many operations: whether call() has them acknowledged."""
        try:
            call()
        except OSError as e:
            kind = next(iter(registers)).split(":")[0]
            if e.errno not in self.errors and (e.errno != errno.EIO or kind not in MAY_FAIL):
                raise
            self.failed += 1
            for register, version in registers.items():
                self.log.say("F", register, version, e.errno)
            return False
        for register, version in registers.items():
            self.log.say("A", register, version)
        self.acked += operations
        return True

    @contextlib.contextmanager
    def reading(self, how="cached"):
        """Adds to a list of (register, version): they have been read meanwhile."""
        found = []
        begin = time.time_ns()
        yield found
        end = time.time_ns()
        for register, version in found:
            self.log.say("R", register, version, begin, end, how)

    def fill_memory(self, fd, at, n):
        """So many blocks of the file: what there is of them."""
        memory = memoryview(self.memory)[:n * BLOCK]
        got = 0
        # Less than was asked for is what there was before the end, or before an error; behind
        # an end that is nowhere a direct read can begin there was nothing.
        while got < len(memory) and got % SECTOR == 0:
            more_got = os.preadv(fd, [memory[got:]], at * BLOCK + got)
            if not more_got:
                break
            got += more_got
        return bytes(memory[:got])

    def take_blocks(self, fd, whose, at, n, found):
        data = self.fill_memory(fd, at, n)
        for i in range(n):
            register = f"block:{whose}:{at + i}"
            # Behind the end of the file is nothing, either.
            says = block_versions(data[i * BLOCK:(i + 1) * BLOCK]) or {None}
            for name, version in ((s or (register, 0)) for s in says):
                if name != register:
                    raise AssertionError(f"{register}: there is {name} {version}")
                found.append((register, version))

    def read_blocks(self, fd, whose, at, n):
        with self.reading() as found:
            self.take_blocks(fd, whose, at, n, found)

    def next(self, register):
        self.versions[register] += 1
        return self.versions[register]

    def run_of_blocks(self):
        """Some blocks with new values in self.memory: where, how many, and the registers."""
        n = self.rng.choice((1, 1, 4, 64))
        at = self.rng.randrange(BLOCKS - n + 1)
        self.read_blocks(self.rng.choice((self.direct, self.buffered)), self.name, at, n)
        registers = {}
        for i in range(n):
            register = f"block:{self.name}:{at + i}"
            registers[register] = self.next(register)
            self.memory[i * BLOCK:(i + 1) * BLOCK] = \
                block_data(register, registers[register]) * (BLOCK // RECORD)
        return at, n, registers

    def put(self, fd, at, n):
        if os.pwritev(fd, [memoryview(self.memory)[:n * BLOCK]], at * BLOCK) != n * BLOCK:
            # The error that ended it comes with the next one.
            if not self.errors:
                raise AssertionError("a short write")
            raise OSError(min(self.errors), "a short write")

    def blocks_direct(self):
        at, n, registers = self.run_of_blocks()
        self.change(registers, lambda: self.put(self.direct, at, n))

    def blocks_sync(self):
        at, n, registers = self.run_of_blocks()
        self.change(registers, lambda: self.put(self.sync, at, n))

    def blocks_fsync(self):
        """Several writes, which one fsync(2) makes stable."""
        registers = {}
        writes = self.rng.randrange(1, 6)
        for _ in range(writes):
            at, n, new = self.run_of_blocks()
            for register, version in new.items():
                self.log.say("S", register, version)
            self.put(self.buffered, at, n)
            registers.update(new)
        self.stable(registers, lambda: os.fsync(self.buffered), writes + 1)

    def size(self):
        register = f"size:{self.name}"
        with self.reading() as found:
            found.append((register, size_version(os.fstat(self.sized).st_size)))
        version = self.next(register)
        self.change({register: version}, lambda: os.ftruncate(self.sized, SIZE - version))

    def xattr(self):
        register = f"xattr:{self.name}"
        with self.reading() as found:
            found.append((register, version_attribute(self.path)))
        version = self.next(register)
        self.change({register: version},
                    lambda: os.setxattr(self.path, "user.version", str(version).encode()))

    def names(self):
        """The life of a name, or the beginning of it."""
        self.serial += 1
        register = f"names:{self.name}:{self.serial}"
        n, m, link = (f"{self.where}/names/{c}.{self.name}.{self.serial}" for c in "nml")
        steps = (lambda: os.close(os.open(n, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)),
                 lambda: os.rename(n, m), lambda: os.link(m, link), lambda: os.unlink(m),
                 lambda: os.unlink(link))
        for version in range(1, self.rng.randrange(1, len(steps) + 1) + 1):
            if not self.change({register: version}, steps[version - 1]):
                break

    def record(self):
        register = f"record:{self.name}"
        version = self.next(register)
        data = block_data(register, version)

        def append():
            # All of it or nothing: it is one RPC, and lies in one block.
            if os.write(self.append, data) != RECORD:
                raise AssertionError("a short append")

        self.change({register: version}, append)

    def locked(self):
        """The value of a place that all share is changed, under a lock."""
        if not self.holder.section(self.rng.choice(self.places)):
            self.failed += 1

    def look(self):
        """What is there now, of one's own or another's: who opens a file sees what was stable before."""
        # The file of sizes is the later one of the two that a writer makes.
        whose = self.rng.choice([name.removesuffix(".size") for name in os.listdir(self.where)
                                 if name.endswith(".size")])
        how, flags = self.rng.choice((("cached", os.O_RDONLY), ("direct", os.O_RDONLY | os.O_DIRECT)))
        with self.reading(how) as found, opened(f"{self.where}/{whose}", flags) as fd:
            self.take_blocks(fd, whose, self.rng.randrange(BLOCKS), 1, found)
        with self.reading(how) as found, opened(f"{self.where}/append", flags) as fd:
            self.look_at_records(fd, found)
        with self.reading("asked") as found, opened(f"{self.where}/{whose}.size") as fd:
            version = size_version(os.fstat(fd).st_size)
            found.append((f"size:{whose}", version))
        with self.reading("asked") as found, opened(f"{self.where}/{whose}") as fd:
            found.append((f"xattr:{whose}", version_attribute(fd)))
        # There are about as many of the one as of the other: it is one of the last.
        serial = self.rng.randrange(max(1, version - 2), version + 2)
        with self.reading("asked") as found, opened(f"{self.where}/names", os.O_DIRECTORY) as fd:
            for kind in "nml":
                found.append((f"names:{whose}:{serial}",
                              named_versions(kind, exists(f"{kind}.{whose}.{serial}", fd))))

    def look_at_records(self, fd, found):
        """The last one of each writer who has one near the end."""
        last = {}
        data = self.fill_memory(fd, max(0, os.fstat(fd).st_size // BLOCK - 1), 2)
        for i in range(0, len(data) - RECORD + 1, RECORD):
            says, = block_versions(data[i:i + RECORD])
            if not says or not says[0].startswith("record:"):
                raise AssertionError(f"among records is {says}")
            last[says[0]] = max(says[1], last.get(says[0], 0))
        found += last.items()

    def run(self):
        kinds = [self.blocks_direct, self.blocks_sync, self.blocks_fsync, self.size, self.xattr,
                 self.names, self.record, self.locked, self.look]
        while not os.path.exists(self.stop):
            # One of them is one of each: more().
            self.rng.shuffle(kinds)
            for kind in kinds:
                before, acked = self.failed, self.acked
                try:
                    kind()
                except OSError as e:
                    # It came from a read, or from a write(2) that a later fsync(2) was to make stable.
                    if e.errno not in self.errors:
                        raise
                    self.failed += 1
                self.log.say("C" if self.failed == before else "X", kind.__name__, self.acked - acked)
                if self.failed > before and self.errors:
                    # Until the trouble is over: more of the same shows nothing new.
                    time.sleep(0.1)


def write_one(log, where, name, errors):
    try:
        owner = os.stat(where).st_uid
        if owner != os.getuid():
            os.setgroups([])
            os.setgid(owner)
            os.setuid(owner)
        os.makedirs(f"{where}/names", exist_ok=True)
        Writer(log, where, name, errors).run()
    except BaseException:
        traceback.print_exc()
        sys.exit(1)


def look_at_clock(log, client):
    """Between which bounds the host's clock is ahead of this machine's: another line of a file."""
    shared = f"{os.environ['RDMAFS_SHARED']}/clock.{client}"
    least, most = -float("inf"), float("inf")
    for _ in range(20):
        before = time.time_ns()
        # The time at which the host has made it; of a write it may be this machine's.
        os.close(os.open(shared, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        after = time.time_ns()
        host = os.stat(shared).st_mtime_ns
        least, most = max(least, host - after), min(most, host + TICK - before)
        os.unlink(shared)
    with open(f"{log}/clock-{client}", "a", encoding="ascii") as f:
        f.write(f"{least} {most}\n")


def clocks(log):
    """Of each client: its clock is by so many ns behind that of the first, and this may be wrong by so many."""
    bounds = {}
    for name in sorted(os.listdir(log)):
        if name.startswith("clock-"):
            words = [int(word) for word in read_bytes(f"{log}/{name}").split()]
            bounds[name.removeprefix("clock-")] = min(words), max(words)
    first = sum(next(iter(bounds.values()), (0, 0))) // 2
    return {client: ((least + most) // 2 - first, (most - least) // 2)
            for client, (least, most) in bounds.items()}


def write(log, where, client, writers, *errors):
    os.makedirs(log, exist_ok=True)
    os.chmod(log, 0o777)
    look_at_clock(log, client)
    # Nothing that another run has left looks like what this one writes.
    run = os.urandom(3).hex()
    errors = {getattr(errno, name) for name in errors}
    tasks = [multiprocessing.Process(target=write_one, args=(log, where, f"{client}.{i}-{run}", errors))
             for i in range(int(writers))]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    look_at_clock(log, client)
    return any(task.exitcode for task in tasks)


class Register:
    """What was sent to a place, what is stable and what was refused; by time and version."""

    def __init__(self):
        self.sent = {}
        self.acked = {}
        self.failed = {}    # and the errno
        # The versions that may be what was read, and from when to when.
        self.reads = []
        # Of them, those by writers of another client: through its page cache, past it, without data.
        self.elsewhere = collections.Counter()

    @functools.cached_property
    def stable(self):
        """The times at which something was acknowledged, and the highest version of each."""
        acks = sorted((at, version) for version, at in self.acked.items())
        return [at for at, _ in acks], list(itertools.accumulate((v for _, v in acks), max))

    def highest_acked(self, before=None):
        """Of all, or of what was acknowledged before a time."""
        times, versions = self.stable
        n = len(times) if before is None else bisect.bisect_left(times, before)
        return versions[n - 1] if n else 0

    def wrong_reads(self):
        """Reads of what was not sent yet, or was replaced by what was acknowledged before."""
        for versions, begin, end in self.reads:
            sent = [v for v in versions if not v or self.sent.get(v, end + 1) <= end]
            least = self.highest_acked(begin)
            if not sent:
                yield f"{versions} was read before it was sent, until {end}"
            elif max(sent) < least:
                yield f"{versions} was read when {least} had been acknowledged, from {begin} to {end}"


def is_log(name):
    """Or the name of a writer's file: they are the same."""
    return name.count(".") == 1 and name[0].isdigit()


def read_logs(log):
    registers = collections.defaultdict(Register)
    clock = clocks(log)
    for name in os.listdir(log):
        if not is_log(name):
            continue
        client = name.split(".")[0]
        late, wrong = clock[client]
        with open(f"{log}/{name}", encoding="ascii") as f:
            for line in f:
                event, at, register, version, *rest = line.split()
                if event in "CX" or event.startswith("H"):
                    continue
                r, at = registers[register], int(at) + late
                versions = [int(v) for v in version.split(",")]
                version = versions[0]
                if event == "S":
                    r.sent[version] = at
                elif event == "A":
                    r.acked[version] = at
                elif event == "F":
                    r.failed[version] = int(rest[0]) if rest else 0
                else:
                    owner = register.split(":")[1].split(".")[0]
                    r.elsewhere[rest[2]] += owner != client
                    slack = wrong + clock[owner][1] if owner != client else 0
                    r.reads.append((versions, int(rest[0]) + late - slack, int(rest[1]) + late + slack))
    return registers


class Counts:
    """How many calls of each kind every writer has made; what is new in their logs is read."""

    def __init__(self, log):
        self.log = log
        self.files, self.rest, self.calls = {}, {}, {}
        self.failed = collections.Counter()
        self.acked = 0    # operations

    def look(self):
        for name in os.listdir(self.log):
            if is_log(name) and name not in self.files:
                self.files[name] = open(f"{self.log}/{name}", "rb")
                self.rest[name], self.calls[name] = b"", collections.Counter()
        for name, f in self.files.items():
            # A log may be larger than what a process should have in memory.
            while data := f.read(1 << 20):
                *lines, self.rest[name] = (self.rest[name] + data).split(b"\n")
                self.acked += sum(int(line.split()[3]) for line in lines if line.startswith((b"C ", b"X ")))
                self.calls[name].update(line.split()[2] for line in lines if line.startswith(b"C "))
                self.failed[name] += sum(line.startswith(b"X ") for line in lines)


def more(log, n, writers):
    counts = Counts(log)
    counts.look()
    before = {name: calls.copy() for name, calls in counts.calls.items()}

    def made(name):
        calls = counts.calls[name]
        return len(calls) == KINDS and min((calls - before.get(name, collections.Counter())).get(kind, 0)
                                           for kind in calls) >= int(n)

    def all_made():
        counts.look()
        return sum(map(made, counts.calls)) == int(writers)

    if until(all_made, PATIENCE):
        return 0
    print(f"of {writers} writers not all made {n} more calls of each kind;", counts.calls)
    return 1


def failed(log, n, writers):
    counts = Counts(log)
    counts.look()
    before = counts.failed.copy()

    def have_failed():
        counts.look()
        return sum(counts.failed[name] >= before[name] + int(n) for name in counts.files) == int(writers)

    return not until(have_failed, PATIENCE)


def still(log):
    """Whether nobody has made a step for a second."""
    sizes = None
    for _ in range(PATIENCE):
        before, sizes = sizes, [os.path.getsize(f"{log}/{name}") for name in sorted(os.listdir(log))]
        if sizes == before:
            return 0
        time.sleep(1)
    return 1


class Check:
    """
    Compares what there is with the log; problems, a line each, by kind.  stopped: it is what a
    disk had when its machine stopped, some time between these two; torn: and on it a change of
    names that was under way is not all or nothing.
    """

    def __init__(self, registers, where, stopped=None, torn=False):
        self.where, self.stopped, self.torn = where, stopped, torn
        # What was acknowledged before the first has to be there, what was sent before the last may be.
        self.least, self.most = stopped or (None, float("inf"))
        self.registers = registers
        self.problems = collections.defaultdict(list)
        self.looked_at = collections.Counter()
        # What was acknowledged and is not there, and what is there more often than it was done.
        self.lost = self.twice = 0

    def register(self, name):
        """What nobody has logged is on the disk now and then, and is no register by that."""
        return self.registers.get(name) or Register()

    def value(self, kind, register, version):
        """A register has this version in the end."""
        r = self.register(register)
        self.looked_at[kind] += 1
        acked = r.highest_acked(self.least)
        if version < acked:
            self.lost += 1
            self.problems[kind].append(f"{register}: {acked} was acknowledged, and there is {version}")
        elif version and version not in r.sent:
            self.problems[kind].append(f"{register}: there is {version}, which was never sent")

    def look(self, kind, missing, call, *args):
        """What a call says; a file that is not there was never made stable."""
        try:
            return call(*args)
        except FileNotFoundError:
            if self.stopped is None:
                raise
        except OSError as e:
            self.problems[kind].append(f"{args}: {e}")
        return missing

    def blocks(self, name):
        data = self.look("block", b"", read_bytes, f"{self.where}/{name}")
        for block in range(BLOCKS):
            register = f"block:{name}:{block}"
            for found in block_versions(data[block * BLOCK:(block + 1) * BLOCK]) or {None}:
                if found and found[0] != register:
                    self.problems["block"].append(f"{register}: there is {found}")
                else:
                    self.value("block", register, found[1] if found else 0)

    def files(self):
        for name in sorted({r.split(":")[1] for r in self.registers}):
            self.blocks(name)
            path = f"{self.where}/{name}"
            size = self.look("size", 0, os.path.getsize, f"{path}.size")
            self.value("size", f"size:{name}", size_version(size))
            self.value("xattr", f"xattr:{name}", self.look("xattr", 0, version_attribute, path))

    def names(self):
        there = collections.defaultdict(set)
        for name in self.look("names", [], os.listdir, f"{self.where}/names"):
            kind, whose = name.split(".", 1)
            writer, serial = whose.rsplit(".", 1)
            there[f"names:{writer}:{serial}"].add(kind)
        for register in set(there) | {r for r in self.registers if r.startswith("names:")}:
            r = self.register(register)
            acked = r.highest_acked(self.least)
            sent = max((version for version, at in r.sent.items() if at < self.most), default=0)
            may = STEPS[acked:sent + 1]
            self.looked_at["names"] += 1
            if self.torn and set.intersection(*may) <= there[register] <= set.union(*may):
                continue
            if there[register] not in may:
                # What was undone again, or never done, is lost; so is what a later step needs.
                self.lost += acked > 0
                self.problems["names"].append(
                    f"{register}: there is {there[register]}, and {acked} was acknowledged, {sent} sent")

    def records(self):
        data = self.look("record", b"", read_bytes, f"{self.where}/append")
        found = collections.Counter()
        for i in range(0, len(data), RECORD):
            says, = block_versions(data[i:i + RECORD])
            # The size may be on the disk before the data is.
            if says or self.stopped is None:
                found[says or (f"zeros at {i}", 0)] += 1
        for register in {r for r in self.registers if r.startswith("record:")}:
            for version in self.registers[register].sent:
                found.setdefault((register, version), 0)
        for (register, version), n in found.items():
            r = self.register(register)
            acked = version in r.acked and (self.least is None or r.acked[version] < self.least)
            self.looked_at["record"] += 1
            if n < acked or n > (version in r.sent):
                self.lost += n < acked
                self.twice += n > 1
                self.problems["record"].append(
                    f"{register} {version}: is there {n} times; sent {version in r.sent}, acknowledged {acked}")

    def reads(self):
        for register, r in self.registers.items():
            self.looked_at["read"] += len(r.reads)
            self.looked_at += r.elsewhere
            self.problems["read"] += [f"{register}: {why}" for why in r.wrong_reads()]


def outages(log):
    if not os.path.exists(f"{log}/outages"):
        return []
    times = [float(word) for word in read_bytes(f"{log}/outages").split()]
    # One that has not ended goes on.
    return list(itertools.zip_longest(times[::2], times[1::2], fillvalue=float("inf")))


def check_locks(log, where, lost):
    """lost: sessions may have been."""
    proof = holders.Proof(clocks(log), lost, outages(log))
    for name in sorted(os.listdir(log)):
        if is_log(name):
            proof.read(f"{log}/{name}")
    proof.look(proof.finals(where))
    firm = len(proof.firm())
    measured(firm and not proof.problems, "who has had a lock has had it alone, and found what was left to him",
             f"lock: {firm} looked at, {len(proof.problems)} wrong", *proof.problems[:20])
    return proof


def figures(trouble, **what):
    """What tests/lib/faults.py adds up."""
    diag(f"figures: {trouble}: {' '.join(f'{key}={n}' for key, n in what.items())}")


def check(log, where, most=0, trouble=None, again=None):
    c = Check(read_logs(log), where)
    c.files()
    c.names()
    c.records()
    c.reads()
    lines = (("block", "blocks have what was acknowledged last, or what was sent after it"),
             ("size", "sizes"), ("xattr", "attributes"), ("names", "names"),
             ("record", "records that were appended are there once"),
             ("read", "what was read had been sent, and not been replaced"))
    for kind, what in lines:
        bad = c.problems[kind]
        # Nothing looked at is nothing proved.
        measured(c.looked_at[kind] and not bad, what,
                 f"{kind}: {c.looked_at[kind]} looked at, {len(bad)} wrong", *bad[:20])
    proof = check_locks(log, where, str(most) != "0")
    c.looked_at["handed"] = proof.handed()
    clients = {name.split(":")[1].split(".")[0] for name in c.registers}
    if len(clients) > 1:
        diag(*(f"the clock of client {client} is {late / 1e6:.1f} ms behind, give or take {wrong / 1e6:.1f}"
               for client, (late, wrong) in clocks(log).items()))
        for how, what in (("cached", "through their page caches"), ("direct", "past their page caches"),
                          ("asked", "their sizes, attributes and names"),
                          ("handed", "under locks that these had before")):
            measured(c.looked_at[how], f"clients have read what others wrote, {what}",
                     f"{c.looked_at[how]} reads")
    sent = sum(len(r.sent) for r in c.registers.values())
    acked = sum(len(r.acked) for r in c.registers.values())
    failed_kinds = collections.Counter(name.split(":")[0] for name, r in c.registers.items()
                                       for _ in r.failed)
    unknown = sum(failed_kinds.values())
    diag(f"{sent} changes sent, {acked} acknowledged; of no known end: {dict(failed_kinds)}")
    if trouble:
        what = {"lost": c.lost, "twice": c.twice,
                "wrong": sum(map(len, (*c.problems.values(), proof.problems))) - c.lost - c.twice}
        if not again:
            what |= {"acknowledged": acked, "failed": unknown,
                     "EIO": sum(number == errno.EIO for r in c.registers.values()
                                for number in r.failed.values())}
        figures(trouble, **what)
    if most != "any":
        measured(unknown <= int(most), "no more changes of unknown end than may be",
                 f"{unknown}, and {most} may be")
    tap_done()


def main():
    what, *args = sys.argv[1:]
    return {"write": write, "more": more, "failed": failed, "still": still, "check": check}[what](*args)


if __name__ == "__main__":
    sys.exit(main())
