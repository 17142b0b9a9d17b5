#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Fairness under a shortage of translations: the part in the guest.

Several mounts of one export share one RNIC whose capacity is lowered to a few
dozen of the largest MRs. What each of them held is read from its own files in
/proc/fs/rdmafs, as integrals over time (charged_us), so that nothing hangs on
when somebody looked. Results go to $RDMAFS_OUT/fairness.json; fairness_report.py
prints and plots them.

READs alone take translations of the client, WRITEs alone those of the server, so the
loads are one or the other; server and clients are one kernel and one RNIC.
"""

import argparse
import glob
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.append(f"{os.path.dirname(os.path.abspath(__file__))}/../scenarios/inside")

from guest import counters, proc_of, read_text, write_text    # noqa: E402

MR = 257                    # entries of the MR of an unaligned 1 MiB, what a READ takes
OPTS = os.environ["RDMAFS_MOUNT_OPTS"]
SOURCE = os.environ["RDMAFS_SOURCE"]
MIB = 64


def say(text):
    print(f"fairness: {text}", file=sys.stderr, flush=True)


class Device:
    """The RNIC's directory."""

    def __init__(self):
        (self.path,) = [os.path.dirname(p) for p in glob.glob("/proc/fs/rdmafs/*/capacity")]
        self.plenty = int(read_text(f"{self.path}/capacity"))

    def capacity(self, entries):
        write_text(f"{self.path}/capacity", entries)

    def discipline(self, name):
        write_text(f"{self.path}/policy", f"discipline={name}")

    def stats(self):
        return counters(f"{self.path}/stats")


class Mount:
    """One more mount of the export."""

    def __init__(self, name, options=""):
        self.where = f"/mnt/fair-{name}"
        os.makedirs(self.where, exist_ok=True)
        others = set(glob.glob("/proc/fs/rdmafs/client-*"))
        # the most that a port grants unless it is told otherwise
        subprocess.run(["mount", "-t", "rdmafs", "-o", f"{OPTS},slots=128{options}", SOURCE,
                        self.where], check=True)
        self.proc = proc_of(self.where)
        self.file = f"{self.where}/test/fair"
        # what the server has of it, and charges for its WRITEs
        (self.client,) = set(glob.glob("/proc/fs/rdmafs/client-*")) - others

    def stats(self):
        return counters(f"{self.proc}/stats")

    def window(self):
        return counters(f"{self.proc}/window")

    def quota(self, text):
        write_text(f"{self.proc}/quota", text)

    def of_reads(self):
        return counters(f"{self.proc}/stats")

    def of_writes(self):
        return counters(f"{self.client}/stats")

    def umount(self):
        subprocess.run(["umount", self.where], check=True)
        os.rmdir(self.where)


class Fio:
    """A running fio; result() waits for it."""

    def __init__(self, mount, *args):
        command = ["fio", "--name=load", "--thread", "--output-format=json+", "--direct=1",
                   f"--filename={mount.file}", "--rw=randread", f"--size={MIB}m", "--randrepeat=0",
                   "--norandommap=1", "--ioengine=libaio", *args]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.stopped = False    # fio calls that a failure

    def result(self, errors=False):
        """What it did.  An error ends all of this, unless @errors are for the caller."""
        out = self.process.communicate()[0]
        job = json.loads(out[out.index("{"):])["jobs"][0]
        done = job["read"] if job["read"]["total_ios"] else job["write"]
        late = done["lat_ns"].get("percentile", {})
        bins = {int(ns): n for ns, n in done["lat_ns"].get("bins", {}).items()}
        error = job["error"] or (self.process.returncode and not self.stopped)
        if error and not errors:
            sys.exit(f"fairness: {' '.join(self.process.args)}: error {error}")
        return {"error": error,
                "ios": done["total_ios"], "iops": done["iops"], "mb_s": done["bw_bytes"] / 1e6,
                "p50_us": late.get("50.000000", 0) / 1000,
                "p99_us": late.get("99.000000", 0) / 1000, "bins": bins}

    def stop(self, errors=False):
        self.stopped = True
        self.process.send_signal(signal.SIGINT)
        return self.result(errors)


def hoard(mount, depth, *args):
    """Threads, each of which can wait for entries by itself, with so much between them."""
    threads = max(1, depth // 4)
    return Fio(mount, "--bs=1m", f"--numjobs={threads}", "--group_reporting",
               f"--iodepth={depth // threads}", "--time_based", "--runtime=3600", *args)


class Sampler(threading.Thread):
    """What each mount is charged, ten times a second, for the plot."""

    def __init__(self, mounts):
        super().__init__(daemon=True)
        self.mounts = mounts
        self.start_time = time.monotonic()
        self.points = []
        self.going = True
        self.start()

    def now(self):
        return time.monotonic() - self.start_time

    def run(self):
        while self.going:
            self.points.append([self.now()] + [m.window()["charged"]
                                               for m in self.mounts.values()])
            time.sleep(0.1)

    def stop(self):
        self.going = False
        self.join()
        return {"names": list(self.mounts), "points": self.points}


# What entries are charged for, or not, as parts of capacity over time.
USES = ("bound", "converting", "idle", "idle_waited")


def parts(before, after):
    whole = after["capacity_us"] - before["capacity_us"]
    found = {u: (after[f"{u}_us"] - before[f"{u}_us"]) / whole for u in USES}
    found["free"] = max(0, 1 - (after["charged_us"] - before["charged_us"]) / whole)
    return found


def measured(device, stats, seconds):
    """Time integrals over some seconds of a load that is running, by members' stats.

    What is idle while somebody waits counts from the call on, that is from when
    everybody has got something; shares from a second later, when they have settled.
    """
    begun = device.stats()
    time.sleep(1)

    def look():
        return (time.monotonic(), device.stats(), {n: read() for n, read in stats.items()})

    t0, d0, s0 = look()
    time.sleep(seconds)
    t1, d1, s1 = look()
    us = (t1 - t0) * 1e6
    return {"seconds": t1 - t0,
            "entries": {n: (s1[n]["charged_us"] - s0[n]["charged_us"]) / us for n in stats},
            "parts": parts(d0, d1), "wasted": parts(begun, d1)["idle_waited"]}


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


def wait_until(what, seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"fairness: {what}: not within {seconds} s")
        time.sleep(0.01)


def called_back():
    """Sinks that the server has recalled, and the microseconds until they came."""
    stats = [counters(path) for path in glob.glob("/proc/fs/rdmafs/client-*/stats")]
    return [sum(s[k] for s in stats) for k in ("sinks_recalled", "sinks_recalled_us")]


def shares(device, weights, capacity, depth, seconds):
    """Greedy mounts with these weights, all the time."""
    mounts = {f"m{i}": Mount(f"m{i}", f",weight={w}") for i, w in enumerate(weights)}
    before = called_back()
    device.capacity(capacity)
    loads = [hoard(m, depth) for m in mounts.values()]
    wait_until("everybody holds something", 60,
               lambda: all(m.window()["charged"] > 0 for m in mounts.values()))
    sampler = Sampler(mounts)
    found = measured(device, {n: m.of_reads for n, m in mounts.items()}, seconds)
    found["plot"] = sampler.stop()
    found["called_back"] = [now - then for now, then in zip(called_back(), before)]
    found["errors"] = sum(bool(load.stop(errors=True)["error"]) for load in loads)
    device.capacity(device.plenty)
    for m in mounts.values():
        m.umount()
    held = list(found["entries"].values())
    fair = [capacity * w / sum(weights) for w in weights]
    found.update(weights=weights, capacity=capacity, jain=jain([h / w for h, w in
                                                              zip(held, weights)]),
                 worst=max(abs(h / f - 1) for h, f in zip(held, fair)))
    return found


def writers(device, weights, capacity, depth, seconds):
    """Greedy clients of one server, which shares its sinks among them."""
    mounts = {f"w{i}": Mount(f"w{i}") for i in range(len(weights))}
    for m, weight in zip(mounts.values(), weights):
        write_text(f"{m.client}/quota", f"weight={weight}")
    device.capacity(capacity)
    loads = [hoard(m, depth, "--rw=randwrite") for m in mounts.values()]
    # The server's threads bound how many WRITEs of a client ask for a sink at a time.
    wait_until("everybody wants more than its share", 60, lambda: all(
        counters(f"{m.client}/window")["demand"] * sum(weights) > capacity * w
        for m, w in zip(mounts.values(), weights)))
    found = measured(device, {n: m.of_writes for n, m in mounts.items()}, seconds)
    found["errors"] = sum(bool(load.stop(errors=True)["error"]) for load in loads)
    device.capacity(device.plenty)
    for m in mounts.values():
        m.umount()
    held = [h / w for h, w in zip(found["entries"].values(), weights)]
    found.update(weights=weights, capacity=capacity, jain=jain(held),
                 worst=max(abs(h * len(held) / sum(held) - 1) for h in held))
    return found


# The whole latency: entries are waited for while an I/O is being submitted.
LIGHT = ["--bs=64k", "--iodepth=1", "--clat_percentiles=0",
         "--lat_percentiles=1", "--percentile_list=50:99"]


def light(mount, ios):
    return Fio(mount, *LIGHT, f"--number_ios={ios}", "--io_size=100g")


def hoarder_and_light(device, capacity, ios, discipline):
    """A light mount that comes to an RNIC which a hoarder has filled."""
    device.discipline(discipline)
    device.capacity(capacity)
    mounts = {"hoarder": Mount("hoarder"), "light": Mount("light")}
    load = hoard(mounts["hoarder"], 64)
    wait_until("the hoarder has all", 60,
               lambda: mounts["hoarder"].window()["charged"] >= capacity - MR)
    sampler = Sampler(mounts)
    time.sleep(1)
    before, start = mounts["light"].stats(), sampler.now()
    hoarder_before = mounts["hoarder"].stats()
    running = light(mounts["light"], ios)
    wait_until("the light one's first I/O", 60, lambda: mounts["light"].stats()["grants"] >
               before["grants"])
    first = mounts["light"].stats()
    result = running.result(errors=True)
    end = sampler.now()
    after, hoarder_after = mounts["light"].stats(), mounts["hoarder"].stats()
    us = (end - start) * 1e6
    found = {"discipline": discipline, "capacity": capacity, "light": result,
             "first_wait_us": first["wait_us"] - before["wait_us"],
             "light_waits": after["waits"] - before["waits"],
             "hoarder_entries": (hoarder_after["charged_us"] - hoarder_before["charged_us"]) / us,
             "hoarder_rpc_us": (hoarder_after["rpc_us"] - hoarder_before["rpc_us"]) /
             max(1, hoarder_after["replies"] - hoarder_before["replies"]),
             "revocations": hoarder_after["revocations"] - hoarder_before["revocations"]}
    stopped = time.monotonic()
    if discipline == "fair":
        wait_until("the hoarder has it all again", 60, lambda:
                   mounts["light"].window()["charged"] == 0 and
                   mounts["hoarder"].window()["charged"] > capacity - MR)
        found["regained_s"] = time.monotonic() - stopped
        time.sleep(1)
    found["plot"] = dict(sampler.stop(), light_from=start, light_to=end)
    found["hoarder"] = load.stop(errors=True)
    device.capacity(device.plenty)
    device.discipline("fair")
    for m in mounts.values():
        m.umount()
    return found


def baseline(device, outstanding, ios):
    """Entries for everybody; the hoarder has as much outstanding as under contention."""
    mounts = {"hoarder": Mount("hoarder"), "light": Mount("light")}
    mounts["hoarder"].quota(f"max={max(1, round(outstanding / MR)) * MR}")
    load = hoard(mounts["hoarder"], 64)
    time.sleep(2)
    result = light(mounts["light"], ios).result()
    load.stop()
    for m in mounts.values():
        m.umount()
    return {"light": result, "hoarder_max": max(1, round(outstanding / MR)) * MR}


# A hoarder that never has the MR that it wants next.
MIXED = ["--rw=randread", "--bssplit=16k/25:64k/25:256k/25:1m/25"]


def churn(device, capacity, revocations, limit):
    """Light mounts come and go beside hoarders until so much has been revoked."""
    mounts = {n: Mount(n) for n in ("h0", "h1", "light")}
    device.capacity(capacity)
    loads = [hoard(mounts["h0"], 64), hoard(mounts["h1"], 64, *MIXED)]
    before = {n: m.stats()["revocations"] for n, m in mounts.items()}
    errors, runs, start = 0, 0, time.monotonic()
    while time.monotonic() - start < limit:
        result = Fio(mounts["light"], "--bs=1m", "--iodepth=16", "--number_ios=48").result(errors=True)
        errors += bool(result["error"])
        runs += 1
        done = {n: m.stats()["revocations"] - before[n] for n, m in mounts.items()}
        if sum(done.values()) >= revocations:
            break
        # until what it held is lent again
        wait_until("the light one's entries", 60,
                   lambda: mounts["light"].window()["charged"] == 0)
    errors += sum(bool(load.stop(errors=True)["error"]) for load in loads)
    device.capacity(device.plenty)
    for m in mounts.values():
        m.umount()
    return {"revocations": sum(done.values()), "of": done, "errors": errors, "runs": runs,
            "seconds": time.monotonic() - start}


def without_mrs(device, capacity, rounds, seconds):
    """4 KiB reads beside a hoarder: does it matter that entries are short?

    The hoarder has as much outstanding either way: by the capacity, or by its quota.
    """
    mounts = {"hoarder": Mount("hoarder"), "small": Mount("small")}
    load = hoard(mounts["hoarder"], 64)
    pairs = []
    for turn in range(rounds):
        pair = {}
        for what in ("plenty", "shortage")[::1 if turn % 2 else -1]:
            if what == "shortage":
                device.capacity(capacity)
                mounts["hoarder"].quota("max=none")
            else:
                mounts["hoarder"].quota(f"max={capacity // MR * MR}")
                device.capacity(device.plenty)
            wait_until("the hoarder's outstanding", 60, lambda:
                       capacity - 2 * MR < mounts["hoarder"].window()["charged"] <= capacity)
            moved, start = mounts["hoarder"].stats()["bytes_read"], time.monotonic()
            pair[what] = Fio(mounts["small"], "--bs=4k", "--iodepth=16",
                             "--iodepth_batch_submit=8", "--iodepth_batch_complete_min=1",
                             "--iodepth_batch_complete_max=16", "--time_based",
                             f"--runtime={seconds}").result()["iops"]
            pair[f"{what}_mb_s"] = ((mounts["hoarder"].stats()["bytes_read"] - moved) / 1e6 /
                                    (time.monotonic() - start))
        pairs.append(pair)
    load.stop()
    device.capacity(device.plenty)
    for m in mounts.values():
        m.umount()
    return pairs


class Elsewhere:
    """A peer's mount or device: what Fio needs to know of it."""

    def __init__(self, path):
        self.file = path


# Each has its connection for itself, as mounts of ours have, and NFS as many threads.
PEERS = {"nfs-rdma": """
nfs_server; echo 64 >/proc/fs/nfsd/threads; nfs_client
for n in hoarder light; do
    echo $n >/sys/fs/nfs/net/nfs_client/identifier
    guest_mount nfs-rdma export /mnt/nfs-$n
    echo /mnt/nfs-$n/test/fair
done
""", "nvme-rdma": """
nvme-rdma_server; nvme-rdma_client
id=5a1b9f0e-6b0d-4a5e-9d8c-000000000002
echo "transport=rdma,traddr=$GUEST_SERVER,trsvcid=4420,nqn=$nvme_nqn,hostnqn=nqn.2014-08.org.nvmexpress:uuid:$id,hostid=$id" >/dev/nvme-fabrics
until [ -b /dev/nvme1n1 ]; do sleep 0.1; done
dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=64 oflag=direct status=none
echo /dev/nvme0n1; echo /dev/nvme1n1
"""}


def peers(ios, rounds):
    """The light load alone and beside the hoarder's, on every contender's own terms."""
    files = {}
    for name, script in PEERS.items():
        made = subprocess.run(["bash", "-ec", f". $RDMAFS_GUEST_LIB\n{script}"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.split()
        files[name] = [Elsewhere(path) for path in made]
    files["rdmafs"] = ours = [Mount("hoarder"), Mount("light")]
    found = {name: {"alone": [], "beside": []} for name in files}
    for _ in range(rounds):
        for name, (big, small) in files.items():
            found[name]["alone"].append(light(small, ios).result()["p99_us"])
            load = hoard(big, 64)
            time.sleep(1)
            found[name]["beside"].append(light(small, ios).result()["p99_us"])
            load.stop()
    for m in ours:
        m.umount()
    return found


def quota_change(device, capacity, rounds):
    """How soon a mount that uses all keeps to a quota written meanwhile."""
    mount = Mount("hoarder")
    device.capacity(capacity)
    load = hoard(mount, 64)
    took = []
    before = mount.stats()
    for _ in range(rounds):
        mount.quota("max=none")
        wait_until("the hoarder has all", 60, lambda:
                   mount.window()["charged"] > capacity - MR)
        time.sleep(0.5)
        mount.quota(f"max={10 * MR}")
        start = time.monotonic()
        wait_until("the quota", 60, lambda: mount.window()["charged"] <= 10 * MR)
        took.append((time.monotonic() - start) * 1e6)
    after = mount.stats()
    load.stop()
    device.capacity(device.plenty)
    mount.umount()
    return {"took_us": took, "rpc_us": (after["rpc_us"] - before["rpc_us"]) /
            max(1, after["replies"] - before["replies"])}


def idle(device):
    """After 1 GiB of large I/O: until a mount holds no more than its minimum."""
    def mrs():
        shown = subprocess.run(["rdma", "resource", "show", "mr"], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        return sum("rdmafs" in line for line in shown.splitlines())

    idle_ms = counters(f"{device.path}/policy").get("idle_ms", 5000)
    mount = Mount("idle")
    Fio(mount, "--bs=1m", "--iodepth=16", "--number_ios=1024", "--io_size=2g").result()
    start, held = time.monotonic(), mount.window()["charged"]
    wait_until("its minimum", 60, lambda: mount.window()["charged"] == 0)
    took = time.monotonic() - start
    wait_until("no MRs", 60, lambda: not mrs())
    shown = time.monotonic() - start
    mount.umount()
    return {"held": held, "took_s": took, "shown_s": shown, "idle_ms": idle_ms}


def read_often(paths, rate, seconds):
    """Read files, each so often a second."""
    due = time.monotonic()
    end = due + seconds
    while due < end:
        for path in paths:
            with open(path, "rb") as f:
                f.read()
        due += 1 / rate
        time.sleep(max(0, due - time.monotonic()))


def proc_cost(turns, seconds):
    """
    Reading our files often, against reading /proc/uptime as often: in short turns while one
    load runs, as what a machine has to spare differs from one second to the next.
    """
    mount = Mount("proc")
    ours = glob.glob(f"{mount.proc}/*") + [p for p in glob.glob("/proc/fs/rdmafs/*/*")
                                           if "/client-" not in p and ":" not in p]
    load = Fio(mount, "--bs=16k", "--iodepth=16", "--time_based", "--runtime=3600")
    wait_until("the load", 60, lambda: mount.stats()["replies"] > 1000)
    pairs = []
    for turn in range(turns):
        pair = {}
        for what in ("uptime", "ours")[::1 if turn % 2 else -1]:
            paths = ours if what == "ours" else ["/proc/uptime"] * len(ours)
            start, before = time.monotonic(), mount.stats()["replies"]
            read_often(paths, 1000 / len(ours), seconds)
            after = mount.stats()["replies"]
            pair[what] = (after - before) / (time.monotonic() - start)
        pairs.append(pair)
    load.stop()
    mount.umount()
    return pairs


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=10, help="of each measured load")
    p.add_argument("--ios", type=int, default=2000, help="of the light mount")
    p.add_argument("--revocations", type=int, default=10000)
    p.add_argument("--rounds", type=int, default=3, help="of the hoarder and its baseline")
    p.add_argument("--only", default="", help="some of the parts, by comma")
    options = p.parse_args()
    only = options.only.split(",") if options.only else None
    device = Device()
    found = {"kernel": os.uname().release, "options": vars(options), "plenty": device.plenty}
    with open(f"{os.environ['RDMAFS_MNT']}/test/fair", "wb") as f:
        for _ in range(MIB):
            f.write(os.urandom(1 << 20))
    capacity = 40 * MR      # twenty of the largest MR that the device has

    def part(name, run):
        if only and name not in only:
            return
        say(name)
        found[name] = run()

    part("equal", lambda: shares(device, [100, 100], capacity, 96, options.seconds))
    part("weighted", lambda: shares(device, [300, 100], capacity, 96, options.seconds))
    part("eight", lambda: shares(device, [100] * 8, capacity // 2, 24, options.seconds))
    part("writers", lambda: writers(device, [100, 100], capacity, 96, options.seconds))
    part("writers31", lambda: writers(device, [300, 100], capacity, 96, options.seconds))
    for turn in range(options.rounds):
        name = f"hoarder{turn}"
        part("hoarder", lambda: found.setdefault(name, hoarder_and_light(
            device, capacity, options.ios, "fair")))
        part("hoarder", lambda: found.setdefault(f"baseline{turn}", baseline(
            device, found[name]["hoarder_entries"], options.ios)))
    part("fifo", lambda: hoarder_and_light(device, capacity, options.ios // 10, "fifo"))
    part("churn", lambda: churn(device, capacity, options.revocations, 300))
    part("without_mrs", lambda: without_mrs(device, capacity, 9, options.seconds / 4))
    part("proc", lambda: proc_cost(80, 0.25))
    part("quota", lambda: quota_change(device, capacity, 9))
    part("idle", lambda: idle(device))
    part("peers", lambda: peers(options.ios // 4, options.rounds))
    module = f"{os.environ['RDMAFS_MODULES']}/policy_cost.ko"
    if os.path.exists(module):
        subprocess.run(["insmod", module], check=True)
        found["policy_ns"] = counters("/proc/rdmafs_policy_cost")
        subprocess.run(["rmmod", "policy_cost"], check=True)
    write_text(f"{os.environ['RDMAFS_OUT']}/fairness.json", json.dumps(found))


main()
