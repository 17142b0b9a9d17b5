#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: history.py write LOG DIR CLIENT WRITERS    until LOG/stop exists
       history.py more LOG N WRITERS                waits, ten minutes at most, until each has made
                                                    N more calls of each kind
       history.py check LOG DIR [MOST]              what is there, by what was acknowledged

Writers change files in DIR, on one mount or on several, and give each change a value of its
own.  What they send, what is acknowledged and what they read is written to files in LOG,
which lies outside the file system, before and after each system call.  check finds in them
that nothing acknowledged is lost, that nothing is done twice, and that nothing was seen
before it was sent or after it was replaced; and that no more than MOST (0) changes are of
unknown end.  It prints TAP.  LOG may have been put together from several machines,
whose clocks agree to two seconds.

Everything is a register: a place with one writer, whose values are versions 1, 2, 3...

	block	4 KiB of a file: direct writes, O_SYNC, and write(2) with a later fsync(2)
	size	of a file, by ftruncate(2): a million bytes less the version
	xattr	an attribute, whose value is the version
	names	which names a file has: created, renamed, linked, unlinked
	record	64 bytes that are appended to a file that all writers share: 1 is there

A change is sent (S), and acknowledged (A) when it is on stable storage by the rules of the
system call, or failed (F) if its call said EIO because the answer was lost with the session:
such a one may have been made or not; not all kinds may say so.  Each value is read before it
is replaced, and some are besides, by whoever opens the file just then: what is read (R) is right if
it had been sent when the read ended, and if no later one had been acknowledged when the read
began, though its writer has not closed the file.  A call that is over is counted (C).
"""

import bisect
import collections
import contextlib
import errno
import mmap
import multiprocessing
import os
import random
import sys
import time
import traceback

from guest import diag, measured, tap_done, until

BLOCK = 4096
BLOCKS = 256
SIZE = 1000000
RECORD = 64
# What is done with an open file does not fail when a session ends, but for what can't be
# done twice (Documentation/architecture.rst).
MAY_FAIL = ("names", "record", "xattr")
KINDS = 8       # of calls, see Writer.run()
PATIENCE = 600  # seconds, on a machine that has much else to do
# By so many ns the clocks of two machines may differ: those of two guests were 0.1 s apart.
CLOCKS = 2_000_000_000
# The names of a file after each step of its life.
STEPS = (set(), {"n"}, {"m"}, {"m", "l"}, {"l"}, set())


class Log:
    """One line an event, each in one write(2): a process that is killed has logged it."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def say(self, event, register, *values):
        line = " ".join([event, str(time.time_ns()), register, *map(str, values)])
        os.write(self.fd, line.encode() + b"\n")


def block_data(register, version):
    return f"{register} {version}".encode().ljust(RECORD - 1) + b"\n"


def block_versions(data):
    """What each 64 bytes of it say: a register and its value; None: they were never written."""
    found = set()
    for i in range(0, len(data), RECORD):
        piece = bytes(data[i:i + RECORD])
        says = tuple(piece.decode("ascii", "replace").split())
        if not any(piece):
            found.add(None)
        elif len(says) == 2 and says[1].isdigit() and piece == block_data(*says):
            found.add((says[0], int(says[1])))
        else:
            found.add((f"other bytes: {piece!r}", 0))
    return found


def version_attribute(path):
    try:
        return int(os.getxattr(path, "user.version"))
    except OSError as e:
        if e.errno != errno.ENODATA:
            raise
        return 0


class Writer:
    """The changes of one process."""

    def __init__(self, log, where, name):
        self.name, self.where = name, where
        self.log = Log(f"{log}/{name}")
        self.stop = f"{log}/stop"
        self.rng = random.Random(name)
        self.path = f"{where}/{name}"
        self.buffered = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        self.direct = os.open(self.path, os.O_RDWR | os.O_DIRECT)
        self.sync = os.open(self.path, os.O_RDWR | os.O_SYNC)
        self.sized = os.open(self.path + ".size", os.O_RDWR | os.O_CREAT, 0o644)
        self.append = os.open(f"{where}/append", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.memory = mmap.mmap(-1, 64 * BLOCK)
        self.versions = collections.Counter()
        self.serial = self.records = self.failed = 0

    def change(self, registers, call):
        """Registers as {name: version}: whether it was acknowledged."""
        for register, version in registers.items():
            self.log.say("S", register, version)
        try:
            call()
        except OSError as e:
            kind = next(iter(registers)).split(":")[0]
            if e.errno != errno.EIO or kind not in MAY_FAIL:
                raise
            self.failed += 1
            for register, version in registers.items():
                self.log.say("F", register, version)
            return False
        for register, version in registers.items():
            self.log.say("A", register, version)
        return True

    @contextlib.contextmanager
    def reading(self, flags=0):
        """Adds to a list of (register, version): they have been read meanwhile."""
        found = []
        begin = time.time_ns()
        yield found
        end = time.time_ns()
        how = "direct" if flags & os.O_DIRECT else "cached"
        for register, version in found:
            self.log.say("R", register, version, begin, end, how)

    def take_blocks(self, fd, whose, at, n, found):
        memory = memoryview(self.memory)[:n * BLOCK]
        got = os.preadv(fd, [memory], at * BLOCK)
        for i in range(n):
            register = f"block:{whose}:{at + i}"
            # Behind the end of the file is nothing, either.
            says = block_versions(memory[i * BLOCK:min(got, (i + 1) * BLOCK)]) or {None}
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
            raise AssertionError("a short write")

    def blocks_direct(self):
        at, n, registers = self.run_of_blocks()
        self.change(registers, lambda: self.put(self.direct, at, n))

    def blocks_sync(self):
        at, n, registers = self.run_of_blocks()
        self.change(registers, lambda: self.put(self.sync, at, n))

    def blocks_fsync(self):
        """Several writes, which one fsync(2) makes stable."""
        registers = {}
        for _ in range(self.rng.randrange(1, 6)):
            at, n, new = self.run_of_blocks()
            for register, version in new.items():
                self.log.say("S", register, version)
            self.put(self.buffered, at, n)
            registers.update(new)
        os.fsync(self.buffered)
        for register, version in registers.items():
            self.log.say("A", register, version)

    def size(self):
        register = f"size:{self.name}"
        with self.reading() as found:
            size = os.fstat(self.sized).st_size
            found.append((register, SIZE - size if size else 0))
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
        self.records += 1
        register = f"record:{self.name}:{self.records}"
        data = block_data(register, 1)
        # All of it or nothing: it is one RPC.
        self.change({register: 1}, lambda: os.write(self.append, data))

    def look(self):
        """What is there now, of one's own or another's: who opens a file sees what was stable before."""
        whose = self.rng.choice(list(filter(is_log, os.listdir(self.where))))
        flags = self.rng.choice((0, os.O_DIRECT))
        with self.reading(flags) as found:
            fd = os.open(f"{self.where}/{whose}", os.O_RDONLY | flags)
            self.take_blocks(fd, whose, self.rng.randrange(BLOCKS), 1, found)
            os.close(fd)

    def run(self):
        kinds = [self.blocks_direct, self.blocks_sync, self.blocks_fsync, self.size, self.xattr,
                 self.names, self.record, self.look]
        while not os.path.exists(self.stop):
            # One of them is one of each: more().
            self.rng.shuffle(kinds)
            for kind in kinds:
                before = self.failed
                kind()
                if self.failed == before:
                    self.log.say("C", kind.__name__, 1)


def write_one(log, where, name):
    try:
        Writer(log, where, name).run()
    except BaseException:
        traceback.print_exc()
        sys.exit(1)


def write(log, where, client, writers):
    os.makedirs(log, exist_ok=True)
    os.makedirs(f"{where}/names", exist_ok=True)
    # Nothing that another run has left looks like what this one writes.
    run = os.urandom(3).hex()
    tasks = [multiprocessing.Process(target=write_one, args=(log, where, f"{client}.{i}-{run}"))
             for i in range(int(writers))]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    return any(task.exitcode for task in tasks)


class Register:
    """What was sent to a place, what is stable and what was refused; by time and version."""

    def __init__(self):
        self.sent = {}
        self.acked = {}
        self.failed = set()
        self.reads = []
        # Of them, those by writers of another client, through its page cache and past it.
        self.elsewhere = collections.Counter()

    def highest_acked(self):
        return max(self.acked, default=0)

    def wrong_reads(self):
        """Reads of what was not sent yet, or was replaced by what was acknowledged before."""
        acks = sorted((t, v) for v, t in self.acked.items())
        times = [t for t, _ in acks]
        highest = []
        for _, version in acks:
            highest.append(max(version, highest[-1] if highest else 0))
        for version, begin, end in self.reads:
            if version and self.sent.get(version, end + 1) > end:
                yield f"{version} was read before it was sent"
            before = bisect.bisect_left(times, begin)
            if before and version < highest[before - 1]:
                yield f"{version} was read when {highest[before - 1]} had been acknowledged"


def is_log(name):
    """Or the name of a writer's file: they are the same."""
    return name.count(".") == 1 and name[0].isdigit()


def read_logs(log):
    registers = collections.defaultdict(Register)
    for name in os.listdir(log):
        if not is_log(name):
            continue
        with open(f"{log}/{name}", encoding="ascii") as f:
            for line in f:
                event, at, register, version, *rest = line.split()
                if event == "C":
                    continue
                r, version = registers[register], int(version)
                if event == "S":
                    r.sent[version] = int(at)
                elif event == "A":
                    r.acked[version] = int(at)
                elif event == "F":
                    r.failed.add(version)
                else:
                    elsewhere = name.split(".")[0] != register.split(":")[1].split(".")[0]
                    r.elsewhere[rest[2]] += elsewhere
                    slack = CLOCKS if elsewhere else 0
                    r.reads.append((version, int(rest[0]) - slack, int(rest[1]) + slack))
    return registers


class Counts:
    """How many calls of each kind every writer has made; what is new in their logs is read."""

    def __init__(self, log):
        self.log = log
        self.files, self.rest, self.calls = {}, {}, {}

    def look(self):
        for name in os.listdir(self.log):
            if is_log(name) and name not in self.files:
                self.files[name] = open(f"{self.log}/{name}", "rb")
                self.rest[name], self.calls[name] = b"", collections.Counter()
        for name, f in self.files.items():
            *lines, self.rest[name] = (self.rest[name] + f.read()).split(b"\n")
            self.calls[name].update(line.split()[2] for line in lines if line.startswith(b"C "))


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


class Check:
    """Compares what there is with the log; problems, a line each, by kind."""

    def __init__(self, log, where):
        self.where = where
        self.registers = read_logs(log)
        self.problems = collections.defaultdict(list)
        self.looked_at = collections.Counter()

    def register(self, name):
        """What nobody has logged is on the disk now and then, and is no register by that."""
        return self.registers.get(name) or Register()

    def value(self, kind, register, version):
        """A register has this version in the end."""
        r = self.register(register)
        self.looked_at[kind] += 1
        if version < r.highest_acked():
            self.problems[kind].append(f"{register}: {r.highest_acked()} was acknowledged, and there is {version}")
        elif version and version not in r.sent:
            self.problems[kind].append(f"{register}: there is {version}, which was never sent")

    def blocks(self, name):
        fd = os.open(f"{self.where}/{name}", os.O_RDONLY)
        for block in range(BLOCKS):
            register = f"block:{name}:{block}"
            for found in block_versions(os.pread(fd, BLOCK, block * BLOCK)) or {None}:
                if found and found[0] != register:
                    self.problems["block"].append(f"{register}: there is {found}")
                else:
                    self.value("block", register, found[1] if found else 0)
        os.close(fd)

    def files(self):
        for name in sorted({r.split(":")[1] for r in self.registers}):
            self.blocks(name)
            size = os.stat(f"{self.where}/{name}.size").st_size
            self.value("size", f"size:{name}", SIZE - size if size else 0)
            self.value("xattr", f"xattr:{name}", version_attribute(f"{self.where}/{name}"))

    def names(self):
        there = collections.defaultdict(set)
        for name in os.listdir(f"{self.where}/names"):
            kind, whose = name.split(".", 1)
            writer, serial = whose.rsplit(".", 1)
            there[f"names:{writer}:{serial}"].add(kind)
        for register in set(there) | {r for r in self.registers if r.startswith("names:")}:
            r = self.register(register)
            may = [STEPS[v] for v in {r.highest_acked(), max(r.sent, default=0)}]
            self.looked_at["names"] += 1
            if there[register] not in may:
                self.problems["names"].append(
                    f"{register}: there is {there[register]}, and {r.highest_acked()} was acknowledged, "
                    f"{max(r.sent, default=0)} sent")

    def records(self):
        with open(f"{self.where}/append", "rb") as f:
            data = f.read()
        found = collections.Counter()
        for i in range(0, len(data), RECORD):
            says = block_versions(data[i:i + RECORD]).pop()
            found[says[0] if says else f"zeros at {i}"] += 1
        for register in set(found) | {r for r in self.registers if r.startswith("record:")}:
            r = self.register(register)
            self.looked_at["record"] += 1
            if found[register] < len(r.acked) or found[register] > len(r.sent):
                self.problems["record"].append(
                    f"{register}: is there {found[register]} times; sent {len(r.sent)}, acknowledged {len(r.acked)}")

    def reads(self):
        for register, r in self.registers.items():
            self.looked_at["read"] += len(r.reads)
            self.looked_at += r.elsewhere
            self.problems["read"] += [f"{register}: {why}" for why in r.wrong_reads()]


def check(log, where, most=0):
    c = Check(log, where)
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
    clients = {name.split(":")[1].split(".")[0] for name in c.registers}
    if len(clients) > 1:
        for how, what in (("cached", "through their page caches"), ("direct", "past their page caches")):
            measured(c.looked_at[how], f"clients have read what others wrote, {what}",
                     f"{c.looked_at[how]} reads")
    sent = sum(len(r.sent) for r in c.registers.values())
    acked = sum(len(r.acked) for r in c.registers.values())
    lost = collections.Counter(name.split(":")[0] for name, r in c.registers.items() for _ in r.failed)
    diag(f"{sent} changes sent, {acked} acknowledged; of no known end: {dict(lost)}")
    unknown = sum(lost.values())
    measured(unknown <= int(most), "no more changes of unknown end than may be",
             f"{unknown}, and {most} may be")
    tap_done()


def main():
    what, *args = sys.argv[1:]
    return {"write": write, "more": more, "check": check}[what](*args)


if __name__ == "__main__":
    sys.exit(main())
