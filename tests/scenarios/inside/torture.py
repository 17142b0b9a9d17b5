#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: torture.py run LOG CLIENT SLOTS RANGES FILES DIR...    until LOG/stop exists
       torture.py more LOG N CLIENT...          waits, ten minutes at most, until each of their
                                                processes has come to the end of N more sections
       torture.py killed LOG N CLIENT...        waits until each CLIENT has killed N more processes
       torture.py total LOG CLIENT...           how many sections their runs have come to the end of
       torture.py check LOG DIR SESSIONS        by the logs no two were in a section at a time
       torture.py keep DIR READY                has three locks, when READY exists, for ever
       torture.py denied DIR                    whether these can't be had
       torture.py await DIR SAID                waits for them; the times of the first and the last
       torture.py checker                       check finds what it is to find

SLOTS processes of a CLIENT, which is a machine, are in sections under locks (holders.py), at random
in one of RANGES ranges of a file and of FILES files that are locked whole.  Each DIR is of another
mount, and they take turns with these.  While LOG/kill exists one of them after the other is killed,
and another takes its slot.  LOG is one for all clients, outside of the file system: what is in it
outlasts the machine that wrote it.  SESSIONS: kept: none was lost; restarted: some were, but no
lock; lost: locks may have been lost with them.
"""

import collections
import errno
import fcntl
import mmap
import os
import random
import shutil
import signal
import sys
import time
import traceback

import holders
from guest import attempt, diag, measured, proc_of, read_text, start, tap_done, until, write_text
from history import Log, clocks, look_at_clock

PATIENCE = 600  # seconds, on a machine that has much else to do
KEPT = ("posix", "ofd", "flock")


def written(path, text):
    """All of it at once, for who looks at it meanwhile."""
    write_text(f"{path}.new", text)
    os.rename(f"{path}.new", path)


def hold(log, name, where, all_places, how, counts, slot):
    """One process: its sections, one after the other."""
    try:
        stats = f"{proc_of(where)}/stats"
        # The server's own file system has none.
        stats = stats if os.path.exists(stats) else None
        holder = holders.Holder(Log(f"{log}/{name}"), where, name, stats)
        while not os.path.exists(f"{log}/stop"):
            counts[slot] += holder.section(holder.rng.choice(all_places), how)
    except BaseException:
        traceback.print_exc()
        raise


class Client:
    """The processes of a machine: fills the slots of those that are killed, and counts for all."""

    def __init__(self, log, client, slots, ranges, files, dirs, how):
        self.log, self.client, self.dirs, self.how = log, client, dirs, how
        self.places = holders.places(ranges, files)
        self.run_id = os.urandom(3).hex()
        self.rng = random.Random(self.run_id)
        # Each process writes the number of its slot, which those before it have counted.
        self.counts = memoryview(mmap.mmap(-1, 8 * slots)).cast("Q")
        self.begun = collections.Counter()
        self.slots = {}     # by pid
        self.doomed = set()
        self.killed = self.failed = 0

    def begin(self, slot):
        self.begun[slot] += 1
        name = f"{self.client}.{slot}.{self.begun[slot]}-{self.run_id}"
        where = self.dirs[slot % len(self.dirs)]
        pid = start(lambda: hold(self.log, name, where, self.places, self.how, self.counts, slot))
        self.slots[pid] = slot

    def tell(self):
        written(f"{self.log}/progress-{self.client}",
                " ".join(map(str, (self.run_id, self.failed, self.killed, *self.counts, "."))))

    def kill_one(self):
        alive = sorted(set(self.slots) - self.doomed)
        if alive:
            pid = self.rng.choice(alive)
            self.doomed.add(pid)
            os.kill(pid, signal.SIGKILL)

    def stopping(self):
        return os.path.exists(f"{self.log}/stop")

    def reap(self):
        while self.slots:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            slot = self.slots.pop(pid)
            # What it has seen is there for this one, too.
            stopping = self.stopping()
            if pid in self.doomed and os.WIFSIGNALED(status):
                self.killed += 1
            elif status or not stopping:
                diag(f"the process in slot {slot} has ended with status {status}")
                self.failed += 1
                continue
            self.doomed.discard(pid)
            if not stopping:
                self.begin(slot)

    def run(self):
        for slot in range(len(self.counts)):
            self.begin(slot)
        while self.slots:
            if os.path.exists(f"{self.log}/kill") and not self.stopping() and self.rng.randrange(2):
                self.kill_one()
            self.reap()
            self.tell()
            time.sleep(0.3)
        return self.failed > 0


def run(log, client, slots, ranges, files, *dirs, how=None):
    os.makedirs(log, exist_ok=True)
    look_at_clock(log, client)
    c = Client(log, client, int(slots), int(ranges), int(files), dirs, how)
    c.tell()
    failed = c.run()
    look_at_clock(log, client)
    return failed


def progress(log, client):
    """The client's run, how many processes failed and were killed, and each slot's sections."""
    words = []
    # Another one may be put in its place while it is read.
    while words[-1:] != ["."]:
        words = read_text(f"{log}/progress-{client}").split()
    run_id, bad, dead, *counts, _ = words
    return run_id, int(bad), int(dead), [int(n) for n in counts]


def wait_for_progress(log, clients, enough):
    """Until enough(before, now) of each, where before is nothing if it has begun anew."""
    before = {client: progress(log, client) for client in clients}
    now = before.copy()

    def old(client):
        if before[client][0] == now[client][0]:
            return before[client]
        return now[client][0], 0, 0, [0] * len(now[client][3])

    def any_failed():
        return any(state[1] for state in now.values())

    def far():
        now.update((client, progress(log, client)) for client in clients)
        return any_failed() or all(enough(old(client), now[client]) for client in clients)

    if until(far, PATIENCE) and not any_failed():
        return 0
    for client in clients:
        print(f"client {client} (run, failed, killed, sections): {before[client]} before,"
              f" {now[client]} now")
    return 1


def more(log, n, *clients):
    return wait_for_progress(log, clients, lambda old, now: all(
        b >= a + int(n) for a, b in zip(old[3], now[3])))


def killed(log, n, *clients):
    return wait_for_progress(log, clients, lambda old, now: now[2] >= old[2] + int(n))


def total(log, *clients):
    print(sum(sum(progress(log, client)[3]) for client in clients), "sections")


def is_log(name):
    return name.count(".") == 2 and name[0].isdigit()


def proof_of(log, sessions):
    proof = holders.Proof(clocks(log), lost=sessions == "lost", sessions=sessions == "restarted")
    for name in sorted(os.listdir(log)):
        if is_log(name):
            proof.read(f"{log}/{name}")
    return proof


def check(log, where, sessions):
    proof = proof_of(log, sessions)
    proof.look(proof.finals(where))
    firm, every = len(proof.firm()), proof.sections.values()
    states = collections.Counter(s.state for s in every)
    loose = sum(s.loose and s.state != "open" for s in every)
    # Nothing looked at is nothing proved.
    measured(firm and not proof.problems,
             "no two have had a lock at a time, and each has found what the one before has left",
             f"lock: {firm} looked at, {len(proof.problems)} wrong", *proof.problems[:20])
    diag(f"sections: {dict(states)}, {loose} of them loose; {len(proof.places)} places")
    for client, (late, wrong) in proof.clock.items():
        diag(f"the clock of client {client} is {late / 1e6:.1f} ms behind,"
             f" give or take {wrong / 1e6:.1f}")
    if len(proof.clock) > 1:
        measured(proof.handed(), "locks have gone from one client to another",
                 f"{proof.handed()} times")
    lost = loose if sessions == "lost" else sum(s.lost for s in every if s.state != "open")
    if sessions != "kept":
        measured(lost, "sessions were lost in the middle of it", f"{lost} times")
    tap_done()


# What a dead machine has locked.

def kept_place(how):
    return holders.Place(how, f"kept.{how}", 0, (how,))


def kept_file(where, how):
    return os.open(f"{where}/kept.{how}", os.O_RDWR | os.O_CREAT, 0o644)


def keep(where, ready):
    os.makedirs(where, exist_ok=True)
    for how in KEPT:
        holders.lock(kept_file(where, how), how, kept_place(how), fcntl.F_WRLCK)
    written(ready, "")
    signal.pause()


def denied(where):
    for how in KEPT:
        fd = kept_file(where, how)
        try:
            if how == "flock":
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, holders.PLACE, 0)
        except OSError as e:
            if e.errno in (errno.EAGAIN, errno.EACCES):
                continue
            raise
        print(f"{how}: the lock could be had")
        return 1
    return 0


def await_all(where, said):
    times = []
    for how in KEPT:
        holders.lock(kept_file(where, how), how, kept_place(how), fcntl.F_WRLCK)
        times.append(time.time_ns())
    written(said, f"{times[0]} {times[-1]}")


# The proof itself is tested on logs that break each rule.

class Forged:
    """Logs of sections that never were, in seconds, of which clocks may be wrong by a tenth."""

    SECOND = 10 ** 9

    def __init__(self, place):
        self.lines = []
        self.last = (0, holders.NOBODY, holders.NOBODY)
        self.place = place

    def say(self, event, at, name, *rest, version=0):
        self.lines.append((name, f"{event} {int(at * self.SECOND)} {self.place} {version} {name} "
                           + " ".join(map(str, rest))))

    def begin(self, name, at, before=None, version=None, resets=0):
        """The section begins at this second, and finds what was there; returns what it writes."""
        found, by, _ = before or self.last
        version = version or found + 1
        self.say("HS", at + 0.1, name, by, int(at * self.SECOND), resets, "posix", version=version)
        self.last = (version, name, by)
        return self.last

    def end(self, name, at, resets=0):
        self.say("HA", at + 0.01, name, int(at * self.SECOND), resets)

    def whole(self, name, at, **known):
        value = self.begin(name, at, **known)
        self.end(name, at + 0.5, known.get("resets", 0))
        return value

    def proof(self, lost=False, outages=(), final=None, tail="", sessions=False):
        """What is wrong, by the proof."""
        where = "/tmp/forged"
        shutil.rmtree(where, ignore_errors=True)
        os.makedirs(where)
        for name, line in self.lines:
            with open(f"{where}/{name.partition(':')[0]}", "a", encoding="ascii") as f:
                f.write(line + "\n")
        if tail:
            with open(f"{where}/{self.lines[0][0].partition(':')[0]}", "a", encoding="ascii") as f:
                f.write(tail)
        proof = holders.Proof({"1": (0, 10 ** 8), "2": (0, 10 ** 8)}, lost, outages, sessions)
        for name in sorted(os.listdir(where)):
            proof.read(f"{where}/{name}")
        data = holders.value_bytes(self.place, *self.last) if self.last[0] else b""
        proof.look({self.place: data if final is None else final})
        return proof.problems


def chain(place="range:3"):
    """Two clients in turn, three times; what all forgeries begin with."""
    f = Forged(place)
    for i in range(6):
        f.whole(f"{1 + i % 2}.0.1-abc:{i + 1}", i)
    return f


def finds(problems, *words):
    """One problem for each of these, and no other."""
    if len(problems) != len(words) or not all(any(w in p for p in problems) for w in words):
        raise AssertionError(f"wanted {words}, and found {problems}")


def forge_good():
    """a log of sections one after the other is good"""
    finds(chain().proof())
    finds(chain().proof(lost=True))


def forge_killed():
    """and so is one of a process that was killed, whether its value is there or not"""
    for landed in (True, False):
        f = chain()
        before = f.last
        f.begin("1.1.1-abc:1", 6)
        if not landed:
            f.last = before
        f.whole("2.0.1-abc:9", 8)
        finds(f.proof(tail="HS 12 range:3 1"))


def forge_fork():
    """two have replaced one value"""
    f = chain()
    before = f.last
    f.whole("1.1.1-abc:1", 6)
    f.whole("2.1.1-abc:1", 7, before=before)
    # The value of the first of them is lost by that, and so is the number of sections.
    finds(f.proof(), "was replaced by", "1.1.1-abc:1 is lost", "the version is 7")


def forge_lost_value():
    """a value is gone that was stable"""
    f = chain()
    before = f.last
    f.whole("1.1.1-abc:1", 6)
    f.last = before
    finds(f.proof(), "1.1.1-abc:1 is lost", "the version is 6")


def forge_version():
    """a version is left out"""
    f = chain()
    f.whole("1.1.1-abc:1", 6, version=9)
    finds(f.proof(), "has found version 8", "the version is 9")


def forge_unknown():
    """a value was found that nobody has written"""
    f = chain()
    f.whole("1.1.1-abc:1", 6, before=(6, "2.5.1-abc:1", "-"))
    finds(f.proof(), "who has written none", "2.0.1-abc:6 is lost")


def forge_late():
    """two that overlap by the clocks of two machines, or of one, whatever their data shows"""
    f = chain()
    f.begin("1.1.1-abc:1", 6)
    f.end("1.1.1-abc:1", 6.9)
    f.whole("2.1.1-abc:1", 6.75)
    # It is within what the clocks may be wrong by.
    finds(f.proof())
    f = chain()
    f.begin("1.1.1-abc:1", 6)
    f.end("1.1.1-abc:1", 6.9)
    f.whole("2.1.1-abc:1", 6.65)
    finds(f.proof(), "2.1.1-abc:1 has got the lock while 1.1.1-abc:1 had it")
    f = chain()
    f.begin("1.1.1-abc:1", 6)
    f.end("1.1.1-abc:1", 6.9)
    f.whole("1.2.1-abc:1", 6.85)
    finds(f.proof(), "by one clock")
    # The second is over before the first begins, by a clock that is wrong by more than that.
    found = list(holders.overlaps([(2, 18, "long"), (12, -13, "short")]))
    if found:
        raise AssertionError(f"no time is sure of one, and yet: {found}")


def forge_error():
    """an error, and no session was lost"""
    f = chain()
    f.begin("1.1.1-abc:1", 6)
    f.say("HF", 6.5, "1.1.1-abc:1", errno.EIO, 0, 0, 0, version=7)
    finds(f.proof(), "had EIO")
    finds(f.proof(lost=True), "had EIO")
    f = chain()
    f.say("HF", 6.5, "1.0.1-abc:7", errno.EIO, 2, 2, 0)
    finds(f.proof(lost=True), "had EIO")


def forge_error_loose():
    """the same is good if the session was lost, or the error could come at any time"""
    for after, trouble in ((1, 0), (0, 1)):
        f = chain()
        f.begin("1.1.1-abc:1", 6)
        f.say("HF", 6.5, "1.1.1-abc:1", errno.EIO, 0, after, trouble, version=7)
        f.whole("2.1.1-abc:1", 7)
        finds(f.proof(lost=True))


def forge_left():
    """an error of what another could not write, where it may have left pages, and where not"""
    for place, words in (("file:3", ()), ("range:3", ("1.2.1-abc:1 had EIO",))):
        f = chain(place)
        f.begin("1.1.1-abc:1", 6)
        f.say("HF", 6.5, "1.1.1-abc:1", errno.EIO, 0, 1, 0, version=7)
        f.begin("1.2.1-abc:1", 7, resets=1)
        f.say("HF", 7.5, "1.2.1-abc:1", errno.EIO, 1, 1, 0, version=8)
        finds(f.proof(lost=True), *words)


def forge_restarted():
    """a session was lost in a section, and no lock was to be: others may not be in one meanwhile"""
    for at, words in ((6.8, ()), (6.1, ("while 1.1.1",))):
        f = chain()
        f.begin("1.1.1-abc:1", 6)
        f.end("1.1.1-abc:1", 6.5, resets=1)
        f.whole("2.1.1-abc:1", at)
        finds(f.proof(), "no session was to be lost", *words)
        finds(f.proof(sessions=True), *words)


def forge_refused():
    """a lock that was waited for was refused"""
    f = chain()
    f.say("HN", 6, "1.1.1-abc:1", errno.EAGAIN, 0, 0)
    finds(f.proof(), "was refused the lock")
    finds(f.proof(lost=True))


def forge_seen():
    """another's value is there in a section"""
    f = chain()
    f.begin("1.1.1-abc:1", 6)
    f.say("HB", 6.3, "1.1.1-abc:1", "2.0.1-abc:6", version=7)
    f.end("1.1.1-abc:1", 6.5)
    for lost in (False, True):
        finds(f.proof(lost=lost), "has read a value of 2.0.1-abc:6")


def forge_damaged():
    """bytes that are no value, in a section and in the end"""
    f = chain()
    f.say("HD", 6.5, "1.1.1-abc:1", 6 * f.SECOND, 0, 0)
    finds(f.proof(), "what is no value")
    data = bytearray(holders.value_bytes(f.place, *f.last))
    data[300] ^= 1
    finds(chain().proof(final=bytes(data)), "in the end")
    finds(chain().proof(final=holders.value_bytes("range:4", *f.last)), "in the end")


def forge_final():
    """what is there in the end is not what was written"""
    f = chain()
    version, last, before = f.last
    finds(f.proof(final=holders.value_bytes(f.place, version + 1, last, before)),
          "who has not written that", f"the version is {version + 1}")
    finds(f.proof(final=b""), f"{last} is lost", "the version is 0")


def forge_session():
    """a session was lost where none was to be"""
    f = chain()
    f.begin("1.1.1-abc:1", 6)
    f.end("1.1.1-abc:1", 6.5, resets=1)
    finds(f.proof(), "has lost its session")
    finds(f.proof(lost=True))


def forge_loose():
    """whose session was lost may have replaced what others wrote meanwhile, and no more"""
    f = chain()
    before = f.last
    mine = f.begin("1.1.1-abc:1", 6)
    f.whole("2.1.1-abc:1", 7, before=before)
    f.end("1.1.1-abc:1", 8.5, resets=1)
    f.whole("2.1.1-abc:2", 9, before=mine)
    finds(f.proof(lost=True))
    finds(f.proof(), "was replaced by", "has lost its session", "2.1.1-abc:1 is lost",
          "has got the lock while", "the version is 8")
    # Nothing of it is left to come when its value is stable.
    before = f.last
    f.whole("2.1.1-abc:3", 12)
    f.last = before
    finds(f.proof(lost=True), "2.1.1-abc:3 is lost")


def forge_too_many():
    """nor can one that was lost account for all"""
    f = chain()
    f.begin("1.1.1-abc:1", 6)
    f.say("HF", 6.5, "1.1.1-abc:1", errno.EIO, 0, 1, 0, version=7)
    for i in range(3):
        # Each is replaced by what the lost one writes once more.
        f.whole(f"2.1.1-abc:{i + 1}", 7 + i, before=(7, "1.1.1-abc:1", "2.0.1-abc:6"))
    f.last = (7, "1.1.1-abc:1", "2.0.1-abc:6")
    finds(f.proof(lost=True), "3 values are lost")


def forge_outage():
    """an export that was off has ended its locks, for those who had them then"""
    for begin, end, words in ((6.3, 7, ()), (7.2, 8, ("was replaced by", "1.1.1-abc:1 is lost"))):
        f = chain()
        before = f.last
        f.whole("1.1.1-abc:1", 6)
        f.whole("2.1.1-abc:1", 9, before=before)
        outage = int(begin * f.SECOND), int(end * f.SECOND)
        found = [p for p in f.proof(lost=True, outages=[outage]) if "the version is" not in p]
        finds(found, *words)


def forge_lines():
    """lines that can't be"""
    f = chain()
    f.say("HA", 6, "1.1.1-abc:1", 6, 0)
    finds(f.proof(), "a line that can't be")
    f = chain()
    f.lines.append(f.lines[0])
    finds(f.proof(), "a line that can't be")


FORGED = (forge_good, forge_killed, forge_fork, forge_lost_value, forge_version, forge_unknown,
          forge_late, forge_error, forge_error_loose, forge_left, forge_restarted, forge_refused,
          forge_seen, forge_damaged, forge_final, forge_session, forge_loose, forge_too_many,
          forge_outage, forge_lines)


def real_problems(how, kill):
    """Of a short run where one is: how many sections are firm, and what is wrong."""
    log, where = "/tmp/real", os.path.join(os.getcwd(), "real")
    for path in (log, where):
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)

    def client():
        if run(log, "1", 4, 2, 1, where, how=how):
            raise RuntimeError("a process has failed")

    parent = start(client)
    good = until(lambda: os.path.exists(f"{log}/progress-1"))
    if kill:
        write_text(f"{log}/kill", "")
        good = good and killed(log, 5, "1") == 0
        os.unlink(f"{log}/kill")
    good = good and more(log, 20, "1") == 0
    write_text(f"{log}/stop", "")
    status = os.waitpid(parent, 0)[1]
    proof = proof_of(log, "kept")
    proof.look(proof.finals(where))
    if not good or status:
        raise AssertionError(f"status {status}: {proof.problems[:5]}")
    return len(proof.firm()), proof.problems


def real_locked():
    """processes that are killed now and then, on a local file system"""
    firm, problems = real_problems(None, True)
    diag(f"{firm} sections")
    finds(problems)


def real_unlocked():
    """without locks much is wrong"""
    firm, problems = real_problems("none", False)
    diag(f"{firm} sections, {len(problems)} problems", *problems[:3])
    if not any("was replaced by" in p for p in problems) or not any("while" in p for p in problems):
        raise AssertionError(problems[:20])


def checker():
    for forged in FORGED:
        attempt(forged)
    for real in (real_locked, real_unlocked):
        attempt(real)
    tap_done()


def main():
    what, *args = sys.argv[1:]
    return {"run": run, "more": more, "killed": killed, "total": total,
            "check": check, "keep": keep, "denied": denied, "await": await_all,
            "checker": checker}[what](*args)


if __name__ == "__main__":
    sys.exit(main())
