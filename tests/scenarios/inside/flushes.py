#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Usage: flushes.py FILE-SYSTEM OPERATIONS

What an export's disk holds between two flushes: all that was acknowledged before the second.
FILE-SYSTEM is ext4, ext4-nojournal, xfs, btrfs, f2fs or ext2.  Prints TAP.

The disk is one of dm-log-writes: whatever is written to it is kept in the order in which it
became durable, and marks with the time lie between.  On a mount of the export the writers of
history.py make calls until that many OPERATIONS of theirs are acknowledged, those of their
system calls that change something.  Then another disk gets what was written, up to each flush
in turn; a snapshot of it is mounted, as after a loss of power, and has to have what the writers
had been told to be stable before the last mark that comes before anything else was written.
(What is written and not flushed is behind that mark, beside the flush that has made it
durable: an answer that came too early is found.)  The run's two disks in memory are cut into
the four that this takes.
"""

import bisect
import collections
import contextlib
import fcntl
import os
import struct
import subprocess
import sys
import threading
import time

import history
from guest import diag, measured, start, ended, tap, tap_done, until, write_text

WRITERS = 4
SECTOR = 512
MIB = 1 << 20
DISK = 480 * MIB // SECTOR  # sectors
WHERE = "/mnt/flushes"
BACKING = "/backing/flushes"
LOG = "/tmp/flushes.log"

# struct log_write_super and log_write_entry of drivers/md/dm-log-writes.c
MAGIC = 0x6A736677736872
SUPER = struct.Struct("<QQQI")
ENTRY = struct.Struct("<QQQQ")
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8

# struct dm_ioctl, and DM_TARGET_MSG with it
DM_IOCTL = struct.Struct("3I IIIi III Q 128s 129s 7s")
DM_TARGET_MSG = 3 << 30 | 312 << 16 | 0xFD << 8 | 14

MKFS = {
    "ext4": ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,nodiscard"),
    "ext4-nojournal": ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,nodiscard", "-O", "^has_journal"),
    "ext2": ("mkfs.ext2", "-q", "-F", "-E", "nodiscard"),
    "xfs": ("mkfs.xfs", "-q", "-f", "-K"),
    "btrfs": ("mkfs.btrfs", "-q", "-f", "-K"),
    "f2fs": ("mkfs.f2fs", "-q", "-f", "-t", "0"),
}
# After a loss of power these are mounted when fsck(8) has been over them.
WITHOUT_JOURNAL = ("ext4-nojournal", "ext2")


def run(*command, good=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode not in good:
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}: {done.stdout}{done.stderr}")


def dm_create(name, table):
    run("dmsetup", "create", name, "--table", table)


def dm_remove(name):
    run("dmsetup", "remove", name)


def message(name, text):
    """dmsetup message NAME 0 TEXT, without a process: those that the marks would take are too many."""
    data = struct.pack("=Q", 0) + text.encode() + b"\0"
    data += bytes(-len(data) % 8)
    head = DM_IOCTL.pack(4, 0, 0, 312 + len(data), 312, 0, 0, 0, 0, 0, 0, name.encode(), b"", b"")
    with open("/dev/mapper/control", "rb", buffering=0) as control:
        fcntl.ioctl(control, DM_TARGET_MSG, head + data)


class Marks(threading.Thread):
    """As many as may be: each says when it was sent; self.over says when it was in the log."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stopped = threading.Event()
        self.over = {}

    def run(self):
        while not self.stopped.wait(0.003):
            now = time.time_ns()
            message("logged", f"mark {now}")
            self.over[now] = time.time_ns()

    def stop(self):
        self.stopped.set()
        self.join()


def write_all(operations):
    """Until so many at least are acknowledged, on the mount, with marks between."""
    def write():
        # Nice, so that between two flushes there is a mark.
        os.nice(10)
        if history.write(LOG, WHERE, 1, WRITERS):
            raise RuntimeError("a writer has seen an error")

    os.makedirs(LOG)
    writers = start(write)
    counts = history.Counts(LOG)

    def enough():
        counts.look()
        return counts.acked >= operations

    marks = Marks()
    marks.start()
    made = until(enough, history.PATIENCE + operations)
    write_text(f"{LOG}/stop", "")
    good = ended(writers, history.PATIENCE) == 0
    marks.stop()
    counts.look()
    measured(made and good, f"{operations} operations are acknowledged",
             f"{counts.acked} operations, in {sum(sum(calls.values()) for calls in counts.calls.values())} calls")
    return marks


def entries(log):
    """Of the log: flags, the place and the data of each, of which there is none but of writes; a mark's place is its time."""
    magic, _, count, sector = SUPER.unpack_from(os.pread(log, SUPER.size, 0))
    if magic != MAGIC:
        raise RuntimeError(f"no log of dm-log-writes: {magic:#x}")
    at = sector
    for _ in range(count):
        head = os.pread(log, sector, at)
        place, sectors, flags, length = ENTRY.unpack_from(head)
        at += sector
        size = 0 if flags & DISCARD else sectors * sector
        text = head[ENTRY.size:ENTRY.size + length].rstrip(b"\0")
        if not flags & MARK:
            yield flags, place * sector, os.pread(log, size, at)
        elif text.isdigit():
            yield flags, int(text), b""
        at += size


@contextlib.contextmanager
def mounted(fs):
    """A snapshot of the disk, so that what its recovery writes is gone again behind it."""
    dm_create("snapshot", f"0 {DISK} snapshot /dev/mapper/replayed /dev/mapper/spare N 8")
    try:
        if fs in WITHOUT_JOURNAL:
            run("fsck.ext4", "-fy", "/dev/mapper/snapshot", good=(0, 1, 2))
        if fs == "btrfs":
            # Its other copies have the same name.
            run("btrfs", "device", "scan", "--forget")
        run("mount", "-t", fs.partition("-")[0], "/dev/mapper/snapshot", "/mnt/replayed")
        try:
            yield
        finally:
            run("umount", "/mnt/replayed")
    finally:
        dm_remove("snapshot")


def look(fs, registers, stopped, sent, found=None):
    """
    What is wrong with the disk as it is now: it stopped between these two times.  What was lost
    and made twice is added to what was found.
    """
    try:
        with mounted(fs):
            c = history.Check(registers, "/mnt/replayed", (stopped, sent), torn=fs in WITHOUT_JOURNAL)
            c.files()
            c.names()
            c.records()
            if found is not None:
                found["lost"] += c.lost
                found["twice"] += c.twice
            return [f"{kind}: {text}" for kind, problems in c.problems.items() for text in problems]
    except RuntimeError as e:
        return [f"it can't be mounted: {e}"]


def states(log, marks):
    """
    Of the log: what has to be written to come to each state that a loss of power could have
    left, and the times of the marks before anything else was written and after it.
    """
    # In this order they were sent, and were in the log.
    times = sorted(marks.over)
    writes, marked, flushed = [], None, False
    for flags, place, data in entries(log):
        if flags & MARK:
            marked = place
        if data and flushed and marked:
            # A mark follows the last write, or there is none any more that this could be late for.
            later = bisect.bisect_right(times, marked)
            yield writes, marked, marks.over[times[later]] if later < len(times) else float("inf")
            writes, flushed = [], False
        if data:
            writes.append((place, data))
        flushed = flushed or bool(flags & (FLUSH | FUA))
    if flushed and marked:
        yield writes, marked, float("inf")


def replay(fs, marks):
    """To each state in turn, which is looked at; and one by the answers that came later."""
    os.makedirs("/mnt/replayed")
    registers = history.read_logs(LOG)
    log = os.open("/dev/mapper/log", os.O_RDONLY)
    disk = os.open("/dev/mapper/replayed", os.O_RDWR)
    times = [marked for _, marked, _ in states(log, marks)]
    wrong, early, found = [], None, collections.Counter(lost=0, twice=0)
    for i, (writes, marked, sent) in enumerate(states(log, marks)):
        for place, data in writes:
            os.pwrite(disk, data, place)
        os.fsync(disk)
        wrong += [f"state {i}, before {marked}: {text}"
                  for text in look(fs, registers, marked, sent, found)]
        if i == len(times) // 2:
            early = look(fs, registers, times[i + (len(times) - i) // 2], float("inf"))
        if len(wrong) > 50:
            break
    os.close(disk)
    os.close(log)
    acked = [at for r in registers.values() for at in r.acked.values()]
    measured(times and not wrong, "whenever its machine stops the disk has what was acknowledged",
             f"{len(times)} flushes, {len(set(times))} times; {len(acked)} changes acknowledged", *wrong[:20])
    history.figures("the machine stops at a flush", came=len(times), acknowledged=len(acked),
                    wrong=len(wrong) - sum(found.values()), **found)
    tap(early, "what was answered and not written would be found")
    # The log is of the whole run, not of its beginning.
    done = sum(at < max(times, default=0) for at in acked)
    tap(done > len(acked) * 0.9, "the log has all of it", f"{done} of {len(acked)}")


def main():
    fs, operations = sys.argv[1], int(sys.argv[2])
    # On several CPUs a flush may end after a later one, with what that has written anew.
    for cpu in range(1, os.cpu_count()):
        write_text(f"/sys/devices/system/cpu/cpu{cpu}/online", 0)
    # Where they are not built in.
    run("bash", "-c", '. "$RDMAFS_GUEST_LIB"; guest_ramdisks "$RDMAFS_SIZE" &&'
        " guest_modprobe dm_log_writes dm_snapshot " + fs.partition("-")[0])
    for name, ram, at, size in (("data", 0, 0, DISK), ("replayed", 0, DISK, DISK),
                                ("spare", 0, 2 * DISK, DISK)):
        dm_create(name, f"0 {size} linear /dev/ram{ram} {at}")
    sectors = int(open("/sys/block/ram1/size", encoding="ascii").read())
    dm_create("log", f"0 {sectors} linear /dev/ram1 0")
    dm_create("logged", f"0 {DISK} log-writes /dev/mapper/data /dev/mapper/log")
    run(*MKFS[fs], "/dev/mapper/logged")
    for where in (WHERE, BACKING):
        os.makedirs(where)
    run("mount", "-t", fs.partition("-")[0], "/dev/mapper/logged", BACKING)
    run("rdmafsctl", "export", "add", "flushes", BACKING, "-o", "no_root_squash,xattrs=all")
    source = os.environ["RDMAFS_SOURCE"].rpartition("/")[0] + "/flushes"
    run("mount", "-t", "rdmafs", "-o", os.environ["RDMAFS_MOUNT_OPTS"], source, WHERE)
    tap(True, f"{fs} on a disk that keeps what is written to it")
    try:
        marks = write_all(operations)
    finally:
        run("umount", WHERE)
        run("rdmafsctl", "export", "remove", "flushes")
        run("umount", BACKING)
        dm_remove("logged")
    begin = time.monotonic()
    replay(fs, marks)
    diag(f"looked at in {time.monotonic() - begin:.0f} s")
    for name in ("log", "spare", "replayed", "data"):
        dm_remove(name)
    tap_done()


if __name__ == "__main__":
    sys.exit(main())
