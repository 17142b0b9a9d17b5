# SPDX-License-Identifier: GPL-2.0
"""
Sections under locks by fcntl(2) and flock(2), and the proof from their logs that no two processes
have been in one at a time.  torture.py and history.py use it.

A place is what a lock guards: PLACE bytes of a file of which ranges are locked by fcntl(2), for a
process or for an open file description in turn; or the beginning of a file that is locked whole,
by flock(2).  There is a value in it: the place's name, a version, the name of the section that
wrote it, and the name of the section whose value that one has replaced.  Who is in a section has
taken the lock, reads the value, writes one of the next version, which no instruction does at once,
reads that back, has it made stable and gives the lock back: all with the descriptor that the lock
was taken with, through the page cache or past it by chance.  The log lies outside the file system:

	HS	the lock was granted, the value was read, and the next one is about to be written
	HB	something else was read than had been written
	HA	the value is stable, and was read once more; the lock is given back after this
	HF	a call had an error, and the descriptor is closed
	HD	what was read is no value, and the descriptor is closed
	HN	a lock that was to be waited for was refused

with how many sessions the mount had lost before the lock was asked for, and at this line.

A section is loose if what the file system promises of its lock does not hold: its session was lost
before its last call, or its export was off meanwhile, and that was no restart after which all who
had locks have got them again before others.  Another client may then be quicker to get the lock.  That the section is told (EIO) if another has the lock when it is taken again is no proof
that it was never another's.  So a loose section may find that its value was replaced, replace what
others have written, or have an error, and its value may come late or twice.  All others hold: each
value is replaced by one of them, they do not overlap in time, no value of theirs is lost, and they
see no error.  Where no session is lost none is loose, a process or machine that was killed in its
section included, whose value is there or not.
"""

import bisect
import collections
import contextlib
import errno
import fcntl
import itertools
import os
import random
import struct
import time

from guest import counters

PLACE = 512
PIECE = 128
NOBODY = "-"    # who wrote what is there before all values, which is zeros
OFD_SETLKW = 38

Place = collections.namedtuple("Place", "name file at hows")


class Damaged(Exception):
    """Bytes that are no value of the place."""


def place_of(name):
    """The place of that name: range:N or file:N."""
    kind, _, number = name.partition(":")
    if kind == "range":
        return Place(name, "locked", int(number) * PLACE, ("posix", "ofd"))
    return Place(name, f"locked.{number}", 0, ("flock",))


def places(ranges, files):
    names = [f"range:{i}" for i in range(ranges)] + [f"file:{i}" for i in range(files)]
    return [place_of(name) for name in names]


def value_bytes(place, version, name, before):
    piece = f"{place} {version} {name} {before}".encode().ljust(PIECE - 1) + b"\n"
    return piece * (PLACE // PIECE)


def value_of(place, data):
    """A version, who wrote it, and whose value that one has replaced."""
    if not any(data):
        return 0, NOBODY, NOBODY
    words = data[:PIECE].decode("ascii", "replace").split()
    if len(words) == 4 and words[0] == place and words[1].isdigit() and \
            data == value_bytes(place, int(words[1]), words[2], words[3]):
        return int(words[1]), words[2], words[3]
    raise Damaged(f"{place}: there is {data!r}")


def lock(fd, how, place, kind):
    """how: posix, ofd or flock; or none, to see that the proof fails then."""
    if how == "flock":
        fcntl.flock(fd, fcntl.LOCK_UN if kind == fcntl.F_UNLCK else fcntl.LOCK_EX)
    elif how != "none":
        fcntl.fcntl(fd, OFD_SETLKW if how == "ofd" else fcntl.F_SETLKW,
                    struct.pack("hhqqi4x", kind, os.SEEK_SET, place.at, PLACE, 0))


class Holder:
    """
    The sections of one process in a directory.  log.say() takes the lines; stats is the file that
    counts lost sessions, or None where there are none, and no I/O past the page cache, either;
    errors may come at any time.
    """

    def __init__(self, log, where, name, stats, errors=()):
        self.log, self.where, self.name = log, where, name
        self.stats, self.errors = stats, errors
        self.rng = random.Random(name)
        self.fds = {}       # by file: the descriptor, and how many sessions were lost before
        self.serial = 0

    def resets(self):
        return counters(self.stats)["session_resets"] if self.stats else 0

    def descriptor(self, place, resets=None):
        """
        With resets, no session was lost since it was opened: one that has lost its lock, which
        nobody may have noticed, is of no use any more.
        """
        fd, since = self.fds.get(place.file, (None, None))
        if resets not in (None, since):
            self.close(place)
            fd = os.open(f"{self.where}/{place.file}", os.O_RDWR | os.O_CREAT, 0o644)
            self.fds[place.file] = fd, resets
        return fd

    def close(self, place):
        fd, _ = self.fds.pop(place.file, (None, None))
        if fd is not None:
            # What could not be written is told of by fsync(2), which was before this.
            with contextlib.suppress(OSError):
                os.close(fd)

    def pause(self):
        time.sleep(self.rng.choice((0, 0, 0.001, 0.01)))

    def turn(self, fd, flags=(0, os.O_DIRECT)):
        """From now on it is read and written past the page cache, or through it."""
        if self.stats:
            fcntl.fcntl(fd, fcntl.F_SETFL, self.rng.choice(flags))

    def take(self, place, how, name):
        """How many sessions were lost before: none was lost between that and the grant."""
        while True:
            before = self.resets()
            try:
                lock(self.descriptor(place, before), how, place, fcntl.F_WRLCK)
            except BlockingIOError as e:
                # One of this machine has a lock that is lost, and has not closed its file yet.
                self.close(place)
                self.log.say("HN", place.name, 0, name, e.errno, before, self.resets())
                time.sleep(0.1)
                continue
            if self.resets() == before:
                return before
            self.give(place, how)

    def give(self, place, how):
        """By close(2) now and then."""
        if self.rng.randrange(8):
            lock(self.descriptor(place), how, place, fcntl.F_UNLCK)
        else:
            self.close(place)

    def read(self, fd, place):
        return value_of(place.name, os.pread(fd, PLACE, place.at))

    def read_back(self, fd, place, version, name):
        try:
            found = self.read(fd, place)[:2]
        except Damaged:
            found = 0, "damaged"
        if found != (version, name):
            self.log.say("HB", place.name, version, name, found[1])

    def change(self, fd, place, version, name, before):
        """The value becomes that of this section; when it was the section's for sure."""
        self.pause()
        self.turn(fd)
        if os.pwrite(fd, value_bytes(place.name, version, name, before), place.at) != PLACE:
            raise OSError(errno.EIO, "a short write")
        self.turn(fd)
        self.read_back(fd, place, version, name)
        os.fsync(fd)
        self.pause()
        end = time.time_ns()
        # The server answers this: so at that time the session was alive if no other has come since.
        self.turn(fd, (os.O_DIRECT,))
        self.read_back(fd, place, version, name)
        return end

    def section(self, place, how=None):
        """Whether it came to its end with a value that is stable."""
        self.serial += 1
        name = f"{self.name}:{self.serial}"
        how = how or self.rng.choice(place.hows)
        version, begun = 0, self.resets()
        try:
            resets = self.take(place, how, name)
            granted = time.time_ns()
            fd = self.descriptor(place)
            self.turn(fd)
            found, before, _ = self.read(fd, place)
            version = found + 1
            self.log.say("HS", place.name, version, name, before, granted, resets, how)
            end = self.change(fd, place, version, name, before)
            self.log.say("HA", place.name, version, name, end, self.resets())
            self.give(place, how)
        except Damaged:
            # This comes first: the next one may have the lock then.
            self.log.say("HD", place.name, 0, name, granted, begun, self.resets())
            self.close(place)
            return False
        except OSError as e:
            # What it has left in the page cache is written then, or never.
            self.close(place)
            self.log.say("HF", place.name, version, name, e.errno, begun, self.resets(),
                         int(e.errno in self.errors))
            if e.errno != errno.EIO and e.errno not in self.errors:
                raise
            return False
        return True


class Section:
    """What a log says of one that was about to write."""

    __slots__ = ("name", "place", "version", "before", "granted", "end", "lost", "state", "saw",
                 "error", "trouble", "loose")

    def __init__(self, name, place, version, before, granted, resets, at):
        self.name, self.place, self.version, self.before = name, place, version, before
        # Between these two it has held the lock, if it has not failed.
        self.granted, self.end = granted, at
        # Sessions lost before it, and then whether any was lost since.
        self.lost = resets
        self.state = "open"         # acked: its value is stable; failed
        self.saw = self.error = None
        self.trouble = False        # its error may come at any time
        self.loose = False

    @property
    def client(self):
        return self.name.partition(".")[0]


def overlaps(held):
    """
    Those of (begin, end, name) that begin before one that began earlier has ended.  One that ends
    before it begins is shorter than what the clock may be wrong by: there is no time that it had.
    """
    last = (float("-inf"), None)
    for begin, end, name in sorted(h for h in held if h[0] <= h[1]):
        if begin < last[0]:
            yield name, last[1]
        last = max(last, (end, name), key=lambda e: e[0])


class Proof:
    """
    Reads logs, and finds what is wrong with them: self.problems, a line each.  clock: of each
    client by how many ns its clock is behind, and by how many this may be wrong; lost: sessions may
    have been lost, and locks with them; sessions: sessions may have been lost; outages: times, by
    the clock of client 1, at which the export was off.
    """

    def __init__(self, clock, lost=False, outages=(), sessions=False):
        self.clock, self.may_lose, self.may_lose_sessions = clock, lost, lost or sessions
        late, wrong = clock.get("1", (0, 0))
        self.outages = [(begin + late - wrong, end + late + wrong) for begin, end in outages]
        self.sections = {}
        self.places = collections.defaultdict(list)
        self.damaged, self.bare = [], []
        self.problems = []

    def read(self, path):
        """The log of one process; the last line of one that was killed may not be whole."""
        with open(path, "rb") as f:
            for line in f:
                # Others have lines of their own between these.
                if not line.startswith(b"H") or not line.endswith(b"\n"):
                    continue
                try:
                    self.add(line.decode("ascii", "replace").split())
                except (ValueError, LookupError, TypeError):
                    self.problems.append(f"{path}: a line that can't be: {line!r}")

    def add(self, words):
        event, at, place, version, name, *rest = words
        if event == "HS":
            before, granted, resets, _ = rest
            if name in self.sections:
                raise ValueError(name)
            s = Section(name, place, int(version), before, int(granted), int(resets), int(at))
            self.sections[name] = s
            self.places[place].append(s)
        elif event == "HB":
            self.sections[name].saw = self.sections[name].saw or rest[0]
        elif event == "HA":
            s = self.sections[name]
            s.end, s.lost, s.state = int(rest[0]), int(rest[1]) != s.lost, "acked"
        elif event == "HF":
            self.failed(self.sections.get(name), place, name, int(at), *map(int, rest))
        elif event == "HD":
            granted, begun, after = map(int, rest)
            self.damaged.append((place, name, granted, int(at), begun != after))
        elif event == "HN":
            error, _, _ = map(int, rest)
            if not self.may_lose:
                self.problems.append(f"{place}: {name} was refused the lock, and no session was"
                                     f" lost: {errno.errorcode[error]}")
        else:
            raise ValueError(event)

    def failed(self, s, place, name, at, error, begun, after, trouble):
        error = errno.errorcode[error]
        if not s:
            # It was not about to write.
            if not trouble and (after == begun or not self.may_lose):
                self.bare.append((place, name, at, error))
        elif s.state == "open":
            s.error, s.trouble, s.end = error, bool(trouble), at
            s.lost, s.state = after != s.lost, "failed"
        elif not self.may_lose or (after == begun and not trouble and not self.outages):
            # It was giving the lock back, and what was stable is so still.
            s.error = error

    def span(self, s):
        """The time from the grant on for sure, and to the end for sure, by the clock of all."""
        late, wrong = self.clock[s.client]
        return s.granted + late + wrong, s.end + late - wrong

    def at_outage(self, s):
        late, wrong = self.clock[s.client]
        return any(s.granted + late - wrong <= end and begin <= s.end + late + wrong
                   for begin, end in self.outages)

    def is_loose(self, s):
        # Who was killed in it has not told whether his session was lost.
        return self.may_lose and (s.state == "open" or s.lost or s.trouble or self.at_outage(s))

    def look(self, finals):
        """finals: of each place, the bytes that are there in the end."""
        for s in self.sections.values():
            s.loose = self.is_loose(s)
        for place, mine in self.places.items():
            self.look_at(place, mine, finals.get(place, b""))
        for place, name, begin, end, lost in self.damaged:
            late, wrong = self.clock[name.partition(".")[0]]
            excused = lost and self.may_lose or Loose(self, self.places.get(place, ())).at(
                begin + late - wrong, end + late + wrong)
            if not excused:
                self.problems.append(f"{place}: {name} has read what is no value")
        for place, name, at, error in self.bare:
            late, _ = self.clock[name.partition(".")[0]]
            loose = Loose(self, self.places.get(place, ()))
            if not self.outages and not loose.left(place, at + late):
                self.problems.append(f"{place}: {name} had {error}, and its session lived on")

    def look_at(self, place, mine, data):
        loose = Loose(self, mine)
        replaced = collections.defaultdict(list)
        for s in mine:
            replaced[s.before].append(s)
        self.problems += [f"{place}: {what}" for what in itertools.chain(
            self.wrong_alone(place, mine, loose), self.wrong_forks(replaced),
            self.wrong_times(mine), self.wrong_end(place, mine, data, replaced, loose))]

    def wrong_alone(self, place, mine, loose):
        """What a section tells by itself, and by whose value it has found."""
        for s in mine:
            before = self.sections.get(s.before)
            if s.before != NOBODY and (not before or before.place != place):
                yield f"{s.name} has found a value of {s.before}, who has written none"
            elif s.version != (before.version if before else 0) + 1:
                yield f"{s.name} has found version {s.version - 1} of {s.before}, which had" \
                      f" {before.version if before else 0}"
            if s.state != "open" and s.lost and not self.may_lose_sessions:
                yield f"{s.name} has lost its session, and no session was to be lost"
            if s.error and not s.loose and not loose.left(place, self.span(s)[1]):
                yield f"{s.name} had {s.error}, and its session lived on"
            if s.saw and not s.loose:
                by = self.sections.get(s.saw)
                if not (by.loose if by else loose.at(*self.span(s))):
                    yield f"{s.name} has read a value of {s.saw} in its section"

    def wrong_forks(self, replaced):
        for name, those in replaced.items():
            by = self.sections.get(name)
            firm = [s.name for s in those if s.state == "acked" and not s.loose]
            # A value that may have come twice may be replaced twice.
            if len(firm) > 1 and not (by and by.loose):
                yield f"the value of {name} was replaced by {', '.join(firm[:5])}"

    def wrong_times(self, mine):
        """By the clock, which takes no data to show it."""
        held = [s for s in mine if not s.loose and s.state != "failed"]
        for name, other in overlaps([(*self.span(s), s.name) for s in held]):
            yield f"{name} has got the lock while {other} had it"
        # One machine has one clock.
        of = collections.defaultdict(list)
        for s in held:
            of[s.client].append((s.granted, s.end, s.name))
        for those in of.values():
            for name, other in overlaps(those):
                yield f"{name} has got the lock while {other} had it, by one clock"

    def wrong_end(self, place, mine, data, replaced, loose):
        try:
            version, last, before = value_of(place, data)
        except Damaged as e:
            yield f"in the end {e}"
            return
        s = self.sections.get(last)
        if last != NOBODY and (not s or (s.place, s.version, s.before) != (place, version, before)):
            yield f"in the end there is version {version} of {last}, who has not written that"
        acked = [s for s in mine if s.state == "acked"]
        # What another has found was there; whether it had the right to replace it, others tell.
        gone = [s for s in acked if not s.loose and s.name != last and s.name not in replaced]
        for s in gone:
            if not loose.at(*self.span(s)):
                yield f"the value of {s.name} is lost"
        # Each came twice at most.
        if loose.number and len(gone) > 2 * loose.number:
            yield f"{len(gone)} values are lost, and {loose.number} sections were loose"
        rest = sum(s.state != "acked" for s in mine)
        if not loose.number and not len(acked) <= version <= len(acked) + rest:
            yield f"{len(acked)} sections came to their end, {rest} have not," \
                  f" and the version is {version}"

    def finals(self, where):
        """What is in each place now."""
        found = {}
        for name in self.places:
            place = place_of(name)
            with open(f"{where}/{place.file}", "rb") as f:
                found[name] = os.pread(f.fileno(), PLACE, place.at)
        return found

    def firm(self):
        """The sections by which something was proved."""
        return [s for s in self.sections.values() if s.state == "acked" and not s.loose]

    def handed(self):
        """How many of them have found the value of another client."""
        return sum(s.before in self.sections and self.sections[s.before].client != s.client
                   for s in self.firm())


class Loose:
    """The loose sections of a place: whether the value of one may have come at a time."""

    def __init__(self, proof, mine):
        spans = []
        for s in mine:
            if s.loose:
                late, wrong = proof.clock[s.client]
                # Stable means that nothing of it is left to come.
                spans.append((s.granted + late - wrong,
                              s.end + late + wrong if s.state == "acked" else float("inf")))
        spans.sort()
        self.number = len(spans)
        self.begins = [begin for begin, _ in spans]
        self.ends = list(itertools.accumulate((end for _, end in spans), max))

    def left(self, place, at):
        """
        Whether pages may have been dirty then that could not be written without the lock, of which
        the next one to use the file is told.  Where ranges are locked none are left dirty.
        """
        return place.startswith("file:") and self.at(at, at)

    def at(self, begin, end):
        n = bisect.bisect_right(self.begins, max(begin, end))
        return n > 0 and self.ends[n - 1] >= min(begin, end)
