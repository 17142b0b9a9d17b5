#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Fairness under a shortage of translations: the part in the guest.

Several mounts of one export share one RNIC whose capacity is lowered to a few
dozen of the largest MRs. What each of them held is read from its own files in
/proc/fs/rdmafs, as integrals over time (charged_us), so that nothing hangs on
when somebody looked. Results go to $RDMAFS_OUT/fairness.json; fairness_report.py
prints and plots them.

READs alone take translations of the client, so the loads are READs; server and
clients are one kernel and one RNIC.
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

MR = 257                    # entries of the MR of an unaligned 1 MiB, what a READ takes
OPTS = os.environ["RDMAFS_MOUNT_OPTS"]
SOURCE = os.environ["RDMAFS_SOURCE"]
MIB = 64


def say(text):
    print(f"fairness: {text}", file=sys.stderr, flush=True)


def read_text(path):
    with open(path) as f:
        return f.read()


def write_text(path, text):
    with open(path, "w") as f:
        f.write(text)


def key_values(path):
    found = {}
    for line in read_text(path).splitlines():
        key, _, value = line.partition(" ")
        if value.strip().lstrip("-").isdigit():
            found[key] = int(value)
    return found


class Device:
    """The RNIC's directory."""

    def __init__(self):
        (self.path,) = [os.path.dirname(p) for p in glob.glob("/proc/fs/rdmafs/*/capacity")]
        self.plenty = int(read_text(f"{self.path}/capacity"))

    def capacity(self, entries):
        write_text(f"{self.path}/capacity", str(entries))

    def discipline(self, name):
        write_text(f"{self.path}/policy", f"discipline={name}")

    def stats(self):
        return key_values(f"{self.path}/stats")


class Mount:
    """One more mount of the export."""

    def __init__(self, name, options=""):
        self.where = f"/mnt/fair-{name}"
        os.makedirs(self.where, exist_ok=True)
        subprocess.run(["mount", "-t", "rdmafs", "-o", f"{OPTS},slots=256{options}", SOURCE,
                        self.where], check=True)
        st = os.stat(self.where)
        self.proc = f"/proc/fs/rdmafs/{os.major(st.st_dev)}:{os.minor(st.st_dev)}"
        self.file = f"{self.where}/test/fair"

    def stats(self):
        return key_values(f"{self.proc}/stats")

    def window(self):
        return key_values(f"{self.proc}/window")

    def quota(self, text):
        write_text(f"{self.proc}/quota", text)

    def umount(self):
        subprocess.run(["umount", self.where], check=True)
        os.rmdir(self.where)


class Fio:
    """A running fio; result() waits for it."""

    def __init__(self, mount, *args):
        command = ["fio", "--name=load", "--thread", "--output-format=json", "--direct=1",
                   f"--filename={mount.file}", f"--size={MIB}m", "--randrepeat=0",
                   "--norandommap=1", "--ioengine=libaio", *args]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.stopped = False    # fio calls that a failure

    def result(self):
        out = self.process.communicate()[0]
        job = json.loads(out[out.index("{"):])["jobs"][0]
        read = job["read"]
        return {"error": job["error"] or (self.process.returncode and not self.stopped), "ios": read["total_ios"],
                "iops": read["iops"], "mb_s": read["bw_bytes"] / 1e6,
                "p50_us": read["lat_ns"].get("percentile", {}).get("50.000000", 0) / 1000,
                "p99_us": read["lat_ns"].get("percentile", {}).get("99.000000", 0) / 1000}

    def stop(self):
        self.stopped = True
        self.process.send_signal(signal.SIGINT)
        return self.result()


def hoard(mount, depth):
    """Threads, each of which can wait for entries by itself, with so much between them."""
    threads = max(1, depth // 4)
    return Fio(mount, "--bs=1m", "--rw=randread", f"--numjobs={threads}", "--group_reporting",
               f"--iodepth={depth // threads}", "--time_based", "--runtime=3600")


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


def measured(device, mounts, seconds):
    """Time integrals over some seconds of a load that is running."""
    def look():
        return (time.monotonic(), device.stats(), {n: m.stats() for n, m in mounts.items()})

    t0, d0, s0 = look()
    time.sleep(seconds)
    t1, d1, s1 = look()
    us = (t1 - t0) * 1e6
    held = {n: (s1[n]["charged_us"] - s0[n]["charged_us"]) / us for n in mounts}
    rpcs = {n: s1[n]["replies"] - s0[n]["replies"] for n in mounts}
    return {"seconds": t1 - t0, "entries": held,
            "rpc_us": {n: (s1[n]["rpc_us"] - s0[n]["rpc_us"]) / max(1, rpcs[n]) for n in mounts},
            "bytes_s": {n: (s1[n]["bytes_read"] - s0[n]["bytes_read"]) / (t1 - t0)
                        for n in mounts},
            "busy": (d1["charged_us"] - d0["charged_us"]) / (d1["capacity_us"] - d0["capacity_us"])}


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


def wait_until(what, seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"fairness: {what}: not within {seconds} s")
        time.sleep(0.01)


def shares(device, weights, capacity, depth, seconds):
    """Greedy mounts with these weights, all the time."""
    mounts = {f"m{i}": Mount(f"m{i}", f",weight={w}") for i, w in enumerate(weights)}
    device.capacity(capacity)
    loads = [hoard(m, depth) for m in mounts.values()]
    wait_until("everybody holds something", 10,
               lambda: all(m.window()["charged"] > 0 for m in mounts.values()))
    time.sleep(1)
    sampler = Sampler(mounts)
    found = measured(device, mounts, seconds)
    found["plot"] = sampler.stop()
    found["errors"] = sum(load.stop()["error"] for load in loads)
    device.capacity(device.plenty)
    for m in mounts.values():
        m.umount()
    held = list(found["entries"].values())
    fair = [capacity * w / sum(weights) for w in weights]
    found.update(weights=weights, capacity=capacity, jain=jain([h / w for h, w in
                                                              zip(held, weights)]),
                 worst=max(abs(h / f - 1) for h, f in zip(held, fair)))
    return found


# The whole latency: entries are waited for while an I/O is being submitted.
LIGHT = ["--bs=64k", "--rw=randread", "--iodepth=1", "--clat_percentiles=0",
         "--lat_percentiles=1", "--percentile_list=50:99"]


def light(mount, ios):
    return Fio(mount, *LIGHT, f"--number_ios={ios}", "--io_size=100g")


def hoarder_and_light(device, capacity, ios, discipline):
    """A light mount that comes to an RNIC which a hoarder has filled."""
    device.discipline(discipline)
    device.capacity(capacity)
    mounts = {"hoarder": Mount("hoarder"), "light": Mount("light")}
    load = hoard(mounts["hoarder"], 64)
    wait_until("the hoarder has all", 10,
               lambda: mounts["hoarder"].window()["charged"] >= capacity - MR)
    sampler = Sampler(mounts)
    time.sleep(1)
    before, start = mounts["light"].stats(), sampler.now()
    hoarder_before = mounts["hoarder"].stats()
    running = light(mounts["light"], ios)
    wait_until("the light one's first I/O", 30, lambda: mounts["light"].stats()["grants"] >
               before["grants"])
    first = mounts["light"].stats()
    result = running.result()
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
        wait_until("the hoarder has it all again", 10, lambda:
                   mounts["light"].window()["charged"] == 0 and
                   mounts["hoarder"].window()["charged"] > capacity - MR)
        found["regained_s"] = time.monotonic() - stopped
        time.sleep(1)
    found["plot"] = dict(sampler.stop(), light_from=start, light_to=end)
    found["hoarder"] = load.stop()
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


def churn(device, capacity, revocations, limit):
    """Light mounts come and go beside hoarders until so much has been revoked."""
    mounts = {n: Mount(n) for n in ("h0", "h1", "light")}
    device.capacity(capacity)
    loads = [hoard(mounts["h0"], 64), hoard(mounts["h1"], 64)]
    before = {n: m.stats()["revocations"] for n, m in mounts.items()}
    errors, runs, start = 0, 0, time.monotonic()
    while time.monotonic() - start < limit:
        result = Fio(mounts["light"], "--bs=1m", "--rw=randread", "--iodepth=16",
                     "--number_ios=48").result()
        errors += bool(result["error"])
        runs += 1
        done = sum(m.stats()["revocations"] - before[n] for n, m in mounts.items())
        if done >= revocations:
            break
        time.sleep(0.2)     # long enough for what it held to be lent again
    errors += sum(bool(load.stop()["error"]) for load in loads)
    device.capacity(device.plenty)
    for m in mounts.values():
        m.umount()
    return {"revocations": done, "errors": errors, "runs": runs,
            "seconds": time.monotonic() - start}


def without_mrs(device, capacity, seconds):
    """4 KiB reads beside a hoarder: does it matter that entries are short?"""
    rates = {}
    for what in "plenty", "shortage", "plenty", "shortage", "plenty", "shortage":
        mounts = {"hoarder": Mount("hoarder"), "small": Mount("small")}
        if what == "shortage":
            device.capacity(capacity)
        else:
            mounts["hoarder"].quota(f"max={capacity // MR * MR}")
        load = hoard(mounts["hoarder"], 64)
        time.sleep(1)
        result = Fio(mounts["small"], "--bs=4k", "--rw=randread", "--iodepth=16",
                     "--iodepth_batch_submit=8", "--iodepth_batch_complete_min=1",
                     "--iodepth_batch_complete_max=16", "--time_based",
                     f"--runtime={seconds}").result()
        rates.setdefault(what, []).append(result["iops"])
        load.stop()
        device.capacity(device.plenty)
        for m in mounts.values():
            m.umount()
    return rates


READER = """
import sys, time
paths, every, end = sys.argv[3:], 1 / float(sys.argv[1]), time.monotonic() + float(sys.argv[2])
due = time.monotonic()
while due < end:
    for p in paths:
        with open(p, "rb") as f:
            f.read()
    due += every
    time.sleep(max(0, due - time.monotonic()))
"""


def proc_cost(seconds):
    """Reading our files often, against reading /proc/uptime as often."""
    mount = Mount("proc")
    ours = glob.glob(f"{mount.proc}/*") + [p for p in glob.glob("/proc/fs/rdmafs/*/*")
                                           if "/client-" not in p and ":" not in p]
    rates = {}
    for what in ("uptime", "ours") * 3:
        paths = ours if what == "ours" else ["/proc/uptime"] * len(ours)
        reader = subprocess.Popen([sys.executable, "-c", READER, str(1000 / len(ours)),
                                   str(seconds + 1), *paths])
        result = Fio(mount, "--bs=16k", "--rw=randread", "--iodepth=16", "--time_based",
                     f"--runtime={seconds}").result()
        reader.wait()
        rates.setdefault(what, []).append(result["iops"])
    mount.umount()
    return rates


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
    for turn in range(options.rounds):
        name = f"hoarder{turn}"
        part("hoarder", lambda: found.setdefault(name, hoarder_and_light(
            device, capacity, options.ios, "fair")))
        part("hoarder", lambda: found.setdefault(f"baseline{turn}", baseline(
            device, found[name]["hoarder_entries"], options.ios)))
    part("fifo", lambda: hoarder_and_light(device, capacity, options.ios // 10, "fifo"))
    part("churn", lambda: churn(device, capacity, options.revocations, 300))
    part("without_mrs", lambda: without_mrs(device, capacity, options.seconds / 2))
    part("proc", lambda: proc_cost(options.seconds / 2))
    module = f"{os.environ['RDMAFS_MODULES']}/policy_cost.ko"
    if os.path.exists(module):
        subprocess.run(["insmod", module], check=True)
        found["policy_ns"] = key_values("/proc/rdmafs_policy_cost")
        subprocess.run(["rmmod", "policy_cost"], check=True)
    write_text(f"{os.environ['RDMAFS_OUT']}/fairness.json", json.dumps(found))


main()
