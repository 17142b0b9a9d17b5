#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How mounts share an RNIC's translations, seen from outside. Prints TAP.

Usage: policy.py [--without] [PART]...    in a directory on the mount

Loads run until a condition holds, never for a time; what is compared are counts
and shares, with room for a slow machine. tests/bench/fairness measures.
"""

import glob
import mmap
import os
import re
import subprocess
import sys
import threading
import time

from guest import (have_points, key_values, measured, point_arm, point_count, point_fail,
                   point_knob, point_release, proc_of, read_text, tap, tap_done, tap_skip, until,
                   write_text)

MR = 257                        # entries that a READ of 1 MiB takes
OPTS = os.environ["RDMAFS_MOUNT_OPTS"]
SOURCE = os.environ["RDMAFS_SOURCE"]
TOP = os.path.abspath(f"{os.path.dirname(__file__)}/../../..")
PARAMETERS = "/sys/module/rdmafs_xprt/parameters"
MIB = 1 << 20
# Of two mounts together, while their shares are measured.
READS = max(2400 // int(os.environ.get("RDMAFS_SCALE", "1")), 1200)
TRIES, GOOD = 8, 3              # at what depends on how the machine lets us run, and how many have to be


class Device:
    def __init__(self):
        (self.path,) = [os.path.dirname(p) for p in glob.glob("/proc/fs/rdmafs/*/capacity")]
        self.plenty = int(read_text(f"{self.path}/capacity"))

    def capacity(self, entries):
        write_text(f"{self.path}/capacity", entries)


class Mount:
    count = 0

    def __init__(self, options="", source=SOURCE):
        Mount.count += 1
        self.where = f"/mnt/policy{Mount.count}"
        os.makedirs(self.where, exist_ok=True)
        subprocess.run(["mount", "-t", "rdmafs", "-o", f"{OPTS}{options}", source, self.where],
                       check=True)
        self.proc = proc_of(self.where)
        self.file = f"{self.where}/test/policy.data"

    def stats(self):
        return key_values(f"{self.proc}/stats")

    def window(self):
        return key_values(f"{self.proc}/window")

    def quota(self, text=None):
        if text is None:
            return read_text(f"{self.proc}/quota")
        write_text(f"{self.proc}/quota", text)

    def umount(self):
        subprocess.run(["umount", self.where], check=True)


class Load:
    """Threads that read or write a file until they are stopped, or so many times."""

    def __init__(self, mount, size, threads, write=False, times=None, verify=None, gate=None):
        self.going, self.done, self.errors = True, 0, []
        self.opened, self.gate = 0, gate
        self.lock = threading.Lock()
        self.args = (mount.file + (".w" if write else ""), size, write, times, verify)
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(threads)]
        for t in self.threads:
            t.start()

    def run(self, index):
        path, size, write, times, verify = self.args
        memory = mmap.mmap(-1, size)
        flags = os.O_DIRECT | (os.O_RDWR | os.O_CREAT if write else os.O_RDONLY)
        try:
            fd = os.open(path, flags, 0o600)
            with self.lock:
                self.opened += 1
            if self.gate:
                self.gate.wait()
            slots = 8 * MIB // size
            n = 0
            while self.going and (times is None or n < times):
                offset = (index + n) % slots * size
                got = (os.pwritev if write else os.preadv)(fd, [memory], offset)
                if got != size:
                    raise OSError(f"{got} of {size} bytes")
                if verify and memory[:] != verify[offset:offset + size]:
                    raise OSError(f"wrong data at {offset}")
                n += 1
                with self.lock:
                    self.done += 1
            os.close(fd)
        except OSError as error:
            self.errors.append(str(error))

    def wait(self):
        for t in self.threads:
            t.join()
        return self.errors

    def stop(self):
        self.going = False
        return self.wait()


BAD = ["", "min", "min=", "min=-1", "min=18446744073709551616", "min=10 max=9", "max=0 min=1",
       "weight=0", "weight=10001", "weight=-5", "min=1 min=2", "frob=1", "min=1 frob=2",
       "min=0x10", "min=1k", "min=1,max=2", "max=nones", "\0", "min=1\0", "x" * 4096,
       "min=1 " * (MIB // 6)]
BAD_POLICY = ["", "discipline=", "discipline=lru", "replacement=fair", "low=2 high=1",
              "idle_ms=-1", "frob=1", "low=1 low=1", "x" * MIB]
BAD_CAPACITY = ["", "0", "256", "-1", "18446744073709551616", "1e6", "257 257", "x" * MIB]


def refused(path, texts):
    """Each is refused with EINVAL, and nothing is changed by it."""
    before, wrong = read_text(path), []
    for text in texts:
        fd = os.open(path, os.O_WRONLY)
        try:
            os.write(fd, text.encode())
            if text:
                wrong.append(f"{text[:40]!r}: accepted")
        except OSError as error:
            if error.errno != 22:
                wrong.append(f"{text[:40]!r}: {error}")
        os.close(fd)
        if read_text(path) != before:
            wrong.append(f"{text[:40]!r}: changed it to {read_text(path)!r}")
    return wrong


def undocumented(*paths):
    """Keys in these files that the documents do not explain."""
    texts = [read_text(f"{TOP}/Documentation/{name}")
             for name in ("ABI/proc-rdmafs", "man/rdmafs-proc.5")]
    keys = {line.split()[0] for path in paths for line in read_text(path).splitlines()}
    return sorted(k for k in keys if not all(re.search(rf"^(\t\t|\.B ){k}\b", t, re.M)
                                             for t in texts))


def files(device):
    m = Mount()
    client = glob.glob("/proc/fs/rdmafs/client-*")[0]
    missing = undocumented(*(f"{d}/{name}" for d in (m.proc, client)
                             for name in ("window", "stats")),
                           f"{device.path}/stats", f"{device.path}/policy")
    tap(not missing, "every value is explained", " ".join(missing))
    for path, texts in ((f"{m.proc}/quota", BAD), (f"{device.path}/policy", BAD_POLICY),
                        (f"{device.path}/capacity", BAD_CAPACITY)):
        wrong = refused(path, texts)
        tap(not wrong, f"bad text for {os.path.basename(path)} is EINVAL and changes nothing",
            "; ".join(wrong))
    m.quota("min=64 max=4096 weight=200")
    tap(m.quota() == "min 64\nmax 4096\nweight 200\n", "quota is what was written", m.quota())
    m.quota("weight=300")
    tap(m.quota() == "min 64\nmax 4096\nweight 300\n", "any subset", m.quota())
    try:
        m.quota(f"min={device.plenty + 1} max=none")
        tap(False, "more than there is can't be kept")
    except OSError as error:
        tap(error.errno == 22, "more than there is can't be kept: EINVAL", str(error))
    subprocess.run(["mount", "-o", "remount,min=32,max=2048,weight=50", m.where], check=True)
    tap(m.quota() == "min 32\nmax 2048\nweight 50\n", "remount changes them", m.quota())
    # the server's side: the newest client is that mount's
    client = max(glob.glob("/proc/fs/rdmafs/client-*/quota"),
                 key=lambda p: int(p.split("-")[1].split("/")[0]))
    # what the connection before kept is not in its way
    least = device.plenty // 2 + 1
    write_text(client, f"min={least} max={device.plenty} weight=7")
    reconnects = m.stats()["reconnects"]

    if have_points():
        # some mount's are lost: of whoever looks first, and then of others
        point_fail("client_beat", 1000)
        tap(until(lambda: m.stats()["reconnects"] > reconnects),
            "a connection is lost and made again")
        point_release("client_beat")
        ok = until(lambda: m.window()["state"] == "up" and
                   read_text(client) == f"min {least}\nmax {device.plenty}\nweight 7\n")
        tap(ok, "a client's quota outlives its connection", read_text(client))
        # the pool of the next one does not know of it yet
        reconnects = m.stats()["reconnects"]
        point_arm("conn_placed", 1000)
        point_fail("client_beat", 1000)
        ok = until(lambda: key_values(f"{os.path.dirname(client)}/window")["state"] == "down")
        ok &= until(lambda: key_values(f"{os.path.dirname(client)}/window")["state"] == "up")
        write_text(client, "weight=9")
        point_release("client_beat")
        point_release("conn_placed")
        ok &= until(lambda: m.stats()["reconnects"] > reconnects and m.window()["state"] == "up")
        tap(ok and read_text(client) == f"min {least}\nmax {device.plenty}\nweight 9\n",
            "what is written while it gets another one changes nothing else", read_text(client))
    else:
        tap_skip("a client's quota and its connections", "no test points")
    m.umount()
    done = subprocess.run(["mount", "-t", "rdmafs", "-o", f"{OPTS},min={device.plenty + 1}",
                           SOURCE, "/mnt"], stderr=subprocess.PIPE, text=True)
    tap(done.returncode != 0 and done.stderr, "nor asked for by mount", done.stderr)
    # readers and writers at once
    m = Mount()
    stop, wrong = threading.Event(), []

    def writer(text):
        while not stop.is_set():
            m.quota(text)

    def reader():
        while not stop.is_set():
            text = m.quota()
            if len(text.splitlines()) != 3 or "weight" not in text:
                wrong.append(text)
    jobs = [threading.Thread(target=writer, args=(t,))
            for t in ("min=1", "max=4096", "weight=7")] + \
           [threading.Thread(target=reader) for _ in range(2)]
    for j in jobs:
        j.start()
    load = Load(m, MIB, 4, times=20)
    errors = load.wait()
    stop.set()
    for j in jobs:
        j.join()
    tap(not wrong and not errors and m.quota() == "min 1\nmax 4096\nweight 7\n",
        "readers and writers at once lose nothing", f"{wrong[:1]} {errors} {m.quota()!r}")
    m.umount()


def shares(device):
    """Two greedy mounts, weights 3:1: what they hold, and that nobody fails."""
    capacity = 8 * MR
    mounts = [Mount(",weight=300"), Mount(",weight=100")]
    device.capacity(capacity)
    loads = [Load(m, MIB, 16) for m in mounts]
    ok = until(lambda: all(load.done > 20 for load in loads))
    charged = []
    before = [m.stats()["charged_us"] for m in mounts]
    start = sum(load.done for load in loads)

    def moved():
        charged.append(key_values(f"{device.path}/stats")["charged"])
        return sum(load.done for load in loads) - start >= READS
    ok = ok and until(moved, 300)
    # Integrals, over so many reads that it is little of them when the machine does something else.
    held = [m.stats()["charged_us"] - b for m, b in zip(mounts, before)]
    ratio = held[0] / max(1, held[1])
    errors = sum((load.stop() for load in loads), [])
    tap(ok and not errors, "both get on, and no I/O fails", f"{errors}")
    measured(2.5 < ratio < 3.6, "3:1 by weight", f"{ratio:.2f}")
    tap(charged and max(charged) <= capacity, "and never more than there is",
        f"{max(charged, default=0)} of {capacity}")
    device.capacity(device.plenty)
    for m in mounts:
        m.umount()


def hoarder(device):
    """Somebody who wants little is not kept waiting by somebody who wants all."""
    capacity = 8 * MR
    big, small = Mount(), Mount()
    device.capacity(capacity)
    load = Load(big, MIB, 32)
    tap(until(lambda: big.window()["charged"] >= capacity - MR), "one mount holds all")
    # Its share is lent again if the machine keeps it from reading for long: so, again.
    waits = []

    def good():
        return sum(n <= 20 for n in waits)

    while len(waits) < TRIES and good() < GOOD:
        before = small.stats()["waits"]
        light = Load(small, 65536, 1, times=200)
        errors = light.wait()
        waits.append(small.stats()["waits"] - before)
        if errors:
            break
    tap(not errors and light.done == 200, "another comes and reads", f"{errors}")
    measured(good() >= GOOD, "and waits the first time, not each time", f"{waits} waits for 200 reads")
    # its share was lent again: the large one comes to hold all
    tap(until(lambda: big.window()["charged"] >= capacity // MR * MR - MR),
        "what it no longer uses is lent again")
    errors = load.stop()
    tap(not errors, "no I/O of the large one has failed", f"{errors[:3]}")
    tap(big.stats()["revocations"] + big.stats()["window_cuts"] > 0, "from which was taken")
    device.capacity(device.plenty)
    big.umount()
    small.umount()


def small_shares(device):
    """Large I/O with room for small RPCs only; the data is right."""
    data = read_text_bytes()
    for most in 257, 129, 33, 8, 7:
        m = Mount(f",max={most}")
        errors = Load(m, MIB, 2, times=8, verify=data).wait()
        peak = m.stats()["charged_peak"]
        tap(not errors and peak <= most, f"1 MiB reads with max={most}", f"{peak} {errors}")
        m.umount()
    m = Mount()
    # the server's side: the newest client is that mount's
    client = max(glob.glob("/proc/fs/rdmafs/client-*/quota"),
                 key=lambda p: int(p.split("-")[1].split("/")[0]))
    for quota in "max=129", "max=33", "max=7":
        write_text(client, quota)
        errors = Load(m, MIB, 2, write=True, times=4).wait()
        tap(not errors, f"1 MiB writes with {quota} on the server", f"{errors}")
    write_text(client, "max=none")
    m.umount()


def read_text_bytes():
    with open("policy.data", "rb") as f:
        return f.read()


def changes(device):
    """Quota and capacity changed under load: at once, and nobody fails."""
    a, b = Mount(), Mount()
    loads = [Load(a, MIB, 16), Load(b, MIB, 16)]
    tap(until(lambda: all(load.done > 10 for load in loads)), "two loads run")
    for entries in 3 * MR, 20 * MR, 2 * MR, 10 * MR:
        device.capacity(entries)
        ok = until(lambda e=entries: key_values(f"{device.path}/stats")["charged"] <= e)
        done = [load.done for load in loads]
        ok = ok and until(lambda d=done: all(l.done > n + 5 for l, n in zip(loads, d)))
        tap(ok, f"capacity {entries}: kept, and both get on",
            f"{key_values(device.path + '/stats')} {[l.errors for l in loads]}")
    for quota, most in (("max=514", 514), ("max=257", 257)):
        a.quota(quota)
        done = loads[0].done
        ok = until(lambda m=most: a.window()["charged"] <= m)
        ok = ok and until(lambda d=done: loads[0].done > d + 5)
        tap(ok, f"{quota}: kept, and it gets on", f"{a.window()} {loads[0].errors}")
    errors = sum((load.stop() for load in loads), [])
    tap(not errors, "no I/O has failed", f"{errors[:3]}")
    device.capacity(device.plenty)
    a.umount()
    b.umount()


def undisturbed(stats):
    """Checkers may hold rxe up until it gives its peer up; the session lives on."""
    lost = "session_resets" if "-" in os.environ["RDMAFS_KERNEL"] else "reconnects"
    return stats["protocol_errors"] == 0 and stats[lost] == 0


def overdue(device):
    """What is to be said of it, and whether a connection was lost."""
    capacity, grace_ms = 4 * MR, read_text(f"{PARAMETERS}/grace_ms").strip()
    big, small = Mount(",reg=direct"), Mount(",reg=direct")
    data = read_text_bytes()
    Load(small, 65536, 1, times=1).wait()
    write_text(f"{PARAMETERS}/grace_ms", 1000)
    device.capacity(capacity)
    gates = threading.Event(), threading.Event()
    load = Load(big, MIB, 8, times=2, verify=data, gate=gates[0])
    light = Load(small, MIB, 1, times=5, verify=data, gate=gates[1])
    until(lambda: load.opened == 8 and light.opened == 1)
    registered = big.stats()["reg_mr"]
    point_arm("req_run", 64)
    gates[0].set()
    # Also what the other has had idle, else that would do for its reads; and each of
    # its requests is held.
    said = [(until(lambda: big.window()["in_use"] > capacity - MR and
                   point_count("req_run", "held") == big.stats()["reg_mr"] - registered),
             "one mount holds all", f"{big.window()} {small.window()} {load.errors}")]
    point_arm("req_run", 0)     # none of the other's will be
    time_stuck = time.monotonic()
    gates[1].set()
    ok = until(lambda: light.done == 5)
    said.append((ok, "another reads though the first one's answers are overdue",
                 f"after {time.monotonic() - time_stuck:.1f} s: {light.done}; {big.window()}"))
    point_release("req_run")
    errors = light.wait() + load.wait()
    said.append((not errors, "and what was put off is read in the end, and right", f"{errors}"))
    s = big.stats()
    # What was put off by the loss of its connection has needed none.
    instead = not s["cancelled"] and s["reconnects"] > 0
    said.append((s["cancelled"] > 0 or instead, "CANCELs were sent", f"cancelled {s['cancelled']}"))
    write_text(f"{PARAMETERS}/grace_ms", grace_ms)
    device.capacity(device.plenty)
    big.umount()
    small.umount()
    return said, instead or not undisturbed(s)


def grace(device):
    """A server that lives, but does not answer for longer than the grace period."""
    # A machine that stands still for that long answers no CANCEL either: so, again.
    for n in range(3):
        said, lost = overdue(device)
        if not lost or not all(ok for ok, _, _ in said):
            break
    for s in said:
        tap(*s)
    measured(not lost, "no connection was lost", f"it was lost {n + lost} times")


def deaf(device):
    """A server that answers PINGs, but neither what it is asked nor CANCELs, loses its connection."""
    capacity, grace_ms = 4 * MR, read_text(f"{PARAMETERS}/grace_ms").strip()
    big, small = Mount(",reg=direct"), Mount(",reg=direct")
    data = read_text_bytes()
    Load(small, 65536, 1, times=1).wait()
    write_text(f"{PARAMETERS}/grace_ms", 1000)
    device.capacity(capacity)
    gates = threading.Event(), threading.Event()
    load = Load(big, MIB, 8, times=2, verify=data, gate=gates[0])
    light = Load(small, MIB, 1, times=5, verify=data, gate=gates[1])
    until(lambda: load.opened == 8 and light.opened == 1)
    registered = big.stats()["reg_mr"]
    point_arm("req_run", 64)
    gates[0].set()
    tap(until(lambda: big.window()["in_use"] > capacity - MR and
              point_count("req_run", "held") == big.stats()["reg_mr"] - registered),
        "one mount holds all", f"{big.window()} {small.window()} {load.errors}")
    point_arm("req_run", 0)
    before = point_count("cancel_unheard", "failed")
    point_fail("cancel_unheard", 1000000)
    gates[1].set()
    tap(until(lambda: light.done == 5), "another reads though a server is deaf to CANCELs",
        f"{light.done}; {big.window()}")
    s = big.stats()
    tap(point_count("cancel_unheard", "failed") > before and s["reconnects"] > 0,
        "which has lost its connection", f"cancelled {s['cancelled']} reconnects {s['reconnects']}")
    point_release("cancel_unheard")
    point_release("req_run")
    errors = light.wait() + load.wait()
    tap(not errors and big.stats()["session_resets"] == 0,
        "and what was put off is read in the end, and right", f"{errors}")
    write_text(f"{PARAMETERS}/grace_ms", grace_ms)
    device.capacity(device.plenty)
    big.umount()
    small.umount()


def slow(device):
    """A server that takes longer than the grace period, when nobody else waits."""
    grace_ms = read_text(f"{PARAMETERS}/grace_ms").strip()
    m = Mount(",reg=direct,max=257")
    data = read_text_bytes()
    start = threading.Event()
    load = Load(m, MIB, 2, times=1, verify=data, gate=start)
    until(lambda: load.opened == 2)
    write_text(f"{PARAMETERS}/grace_ms", 500)
    point_knob("service_us", 4000000)
    start.set()
    ok = until(lambda: load.done == 2, 120)
    point_knob("service_us", 0)
    errors, s = load.wait(), m.stats()
    tap(ok and not errors and s["waits"] > 0, "one waits for the other's MR, and both are read",
        f"{errors} {load.done} done, {s['waits']} waits")
    tap(s["cancelled"] == 0, "who waits for nobody but himself is not revoked",
        f"{s['cancelled']} cancelled")
    write_text(f"{PARAMETERS}/grace_ms", grace_ms)
    m.umount()


def shell(command):
    return subprocess.run(["bash", "-c", command], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def stopped(device):
    """Two nodes: a server that holds all entries falls silent; another one lives."""
    link = os.environ["GUEST_DEV"]
    shell('. "$RDMAFS_GUEST_LIB"; guest_backing tmpfs 64M && rdmafs_server >&2')
    os.mkdir("/backing/export/test")
    data = read_text_bytes()
    # bash looks at both, and would wait for the server
    os.chdir("/")
    os.environ.pop("OLDPWD", None)
    os.environ["PWD"] = "/"
    with open("/backing/export/test/policy.data", "wb") as f:
        f.write(data)
    address = shell(f"ip -4 -o addr show dev {link} | grep -o '10[.][0-9.]*' | head -n 1")
    far, near = Mount(), Mount(source=f"{address}:/export")
    capacity = 8 * MR
    device.capacity(capacity)
    load = Load(far, MIB, 16, verify=data)
    tap(until(lambda: far.window()["charged"] > capacity - MR and load.done > 16),
        "a mount of the other node's server holds all", f"{far.window()} {load.errors}")
    shell(f"guest-peer tc qdisc add dev {link} root netem loss 100%")
    other = Load(near, MIB, 2, times=10, verify=data)
    tap(until(lambda: other.done == 20),
        "that server falls silent: another mount goes on", f"{far.window()} {near.window()}")
    tap(until(lambda: far.window().get("charged", 0) == 0),
        "and nothing is charged to the one that waits", f"{far.window()}")
    done = load.done
    shell(f"guest-peer tc qdisc del dev {link} root")
    tap(until(lambda: load.done > done + 16), "the server is back, and so is its mount",
        f"{load.done} after {done}; {far.window()}")
    errors = other.wait() + load.stop()
    tap(not errors and far.stats()["session_resets"] == 0,
        "no I/O has failed, all was read right, the session lived on", f"{errors[:3]}")
    device.capacity(device.plenty)
    far.umount()
    near.umount()
    shell('. "$RDMAFS_GUEST_LIB"; rdmafs_stop_server >&2; umount -R /backing')


def removal(device):
    """A mount that was aborted, and has no connection, lets go of its RNIC."""
    name = os.path.basename(device.path)
    netdev = read_text(f"/sys/class/infiniband/{name}/ports/1/gid_attrs/ndevs/0").strip()
    m = Mount()
    Load(m, MIB, 1, times=1).wait()
    write_text(f"{m.proc}/abort", 1)
    ok = until(lambda: m.window()["state"] == "aborted" and "device" not in m.window())
    tap(ok, "aborted, it has no part of an RNIC", f"{m.window()}")
    delete = subprocess.Popen(["rdma", "link", "delete", name])
    try:
        tap(delete.wait(60) == 0, "which can be removed")
    except subprocess.TimeoutExpired:
        tap(False, "which can be removed", "it waits for the mount")
    m.umount()
    delete.wait()
    subprocess.run(["rdma", "link", "add", name, "type", os.environ["RDMAFS_RDMA"],
                    "netdev", netdev], check=True)
    tap(read_text_bytes() != b"", "and the others find it when it is back")


PARTS = {"files": files, "shares": shares, "hoarder": hoarder, "small_shares": small_shares,
         "changes": changes, "grace": grace, "deaf": deaf, "slow": slow, "removal": removal}
TWO_NODES = {"stopped": stopped}
# Theirs is a server that takes its time: only where it can be told to (transport/points.h).
WITH_POINTS = (grace, deaf, slow)


def main():
    with open("policy.data", "wb") as f:
        f.write(os.urandom(8 * MIB))
    device = Device()
    without = sys.argv[1:2] == ["--without"]
    names = sys.argv[1 + without:]
    unknown = [name for name in names if name not in PARTS | TWO_NODES]
    if unknown or (without and not names):
        sys.exit(f"policy.py: no such part: {' '.join(unknown)};"
                 f" there are: {' '.join(PARTS | TWO_NODES)}")
    for name in [part for part in PARTS if part not in names] if without else names or PARTS:
        part = (PARTS | TWO_NODES)[name]
        if part in WITH_POINTS and not have_points():
            tap_skip(name, "this kernel's modules have no test points")
        else:
            part(device)
    tap_done()


main()
