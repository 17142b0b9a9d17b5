#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The benchmark's part about I/Os, in the guest: fio on all contenders, interleaved.

Every round runs every cell (a kind of I/O), in an order of its own, and a cell on
every contender and on its local backing one right after the other, again in an order
of its own: what is compared with each other is seconds apart, so that whatever drifts
drifts for all. Before that every contender tries each of its settings, and keeps the best.
Each run leaves one record: speed, and what the counters of the kernel say it cost.
Records go to $RDMAFS_OUT/runs-BACKING.json; report.py makes sense of them.

Counters, where the kernel has them:
  messages      receives of the software RDMA device (rxe: rdma_recvs); every SEND
                is one, for all contenders alike
  reg_mr, inv, completions
                calls of rxe's own functions, by kprobes (Debian's kernel)
  own_reg_mr, own_inv
                what a contender counts itself: rdmafs in /proc/fs/rdmafs, NFS in
                /proc/self/mountstats (chunks)
  rpcs          RPCs of NFS
  ctxt          context switches of the machine, fio's own included
"""

import argparse
import glob
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(f"{HERE}/../scenarios/inside")

from guest import key_values, read_text, write_text    # noqa: E402

KPROBES = {"reg_mr": "rxe_reg_fast_mr", "inv": "rxe_invalidate_mr",
           "completions": "rxe_cq_post"}
TRACING = "/sys/kernel/tracing"
BARE = "bare"
# How many of the I/Os of QD16 fio hands to one io_submit(): what goes together through a
# doorbell, and into one message, hangs on that.
BATCHES = 1, 8
# What a server is tried with; the first is as the test runner sets it up. nfsd is one for both
# transports. UML has one CPU, and the kernel gives NVMe-oF no more I/O queues than CPUs; of one
# queue mq-deadline is the kernel's scheduler. inline: bytes of a WRITE that travel in its command.
SETTINGS = {
    "rdmafs": ["threads=32", "threads=8", "threads=16", "threads=64"],
    "nfs": ["threads=4", "threads=8", "threads=16", "threads=32"],
    "nvme-rdma": ["scheduler=mq-deadline queue_size=128 inline=4096",
                  "scheduler=none queue_size=128 inline=4096",
                  "scheduler=none queue_size=32 inline=4096",
                  "scheduler=none queue_size=128 inline=16384"],
}
SWEPT = "(4k|128k) QD16"


# ------------------------------------------------------------------- counters

def kprobes_on():
    """Count calls of a few functions of rxe; False where that can't be done."""
    if not os.path.exists(f"{TRACING}/kprobe_events"):
        return False
    try:
        for name, function in KPROBES.items():
            # open() would seek to the end, which this file refuses
            fd = os.open(f"{TRACING}/kprobe_events", os.O_WRONLY | os.O_APPEND)
            os.write(fd, f"p:bench/{name} {function}\n".encode())
            os.close(fd)
            write_text(f"{TRACING}/events/bench/{name}/enable", "1")
        # hits are counted either way; the events themselves are not wanted
        write_text(f"{TRACING}/tracing_on", "0")
    except OSError as error:
        print(f"bench: no kprobes: {error}", file=sys.stderr)
        return False
    return True


def kprobe_hits():
    hits = {}
    for line in read_text(f"{TRACING}/kprobe_profile").splitlines():
        name, count, missed = line.split()
        hits[name] = int(count) + int(missed)
    return hits


def rdmafs_counters():
    total = {}
    for path in glob.glob("/proc/fs/rdmafs/*/stats"):
        try:
            stats = key_values(path)
        except OSError:
            continue        # whose it was has gone meanwhile
        if "reg_mr" not in stats:
            continue        # a device
        total["own_reg_mr"] = total.get("own_reg_mr", 0) + stats["reg_mr"]
        total["own_inv"] = total.get("own_inv", 0) + stats["local_inv"]
    return total


def nfs_counters(mount):
    ours = False
    for line in read_text("/proc/self/mountstats").splitlines():
        words = line.split()
        if line.startswith("device "):
            ours = words[4] == mount
        elif ours and words[:2] == ["xprt:", "rdma"]:
            n = [int(w) for w in words[2:]]
            # after ten numbers of every transport: read, write, reply chunks
            return {"rpcs": n[5], "own_reg_mr": n[10] + n[11] + n[12], "own_inv": n[24]}
        elif ours and words[:2] == ["xprt:", "tcp"]:
            return {"rpcs": int(words[7])}
    return {}


def counters(name, kprobes):
    found = {}
    for line in read_text("/proc/stat").splitlines():
        if line.startswith("ctxt "):
            found["ctxt"] = int(line.split()[1])
    recvs = glob.glob("/sys/class/infiniband/*/ports/1/hw_counters/rdma_recvs")
    if recvs:
        found["messages"] = int(read_text(recvs[0]))
    if name == "rdmafs":
        found.update(rdmafs_counters())
    elif name.startswith("nfs"):
        found.update(nfs_counters(f"/mnt/{name}"))
    if kprobes:
        found.update(kprobe_hits())
    return found


# ------------------------------------------------------------------------ fio

def cells(options):
    """Name and fio's arguments of every kind of I/O that was asked for."""
    found = []
    for bs in "4k", "128k", "1m":
        for rw in "read", "write":
            args = [f"--bs={bs}", f"--rw=rand{rw}", "--direct=1", "--ioengine=libaio"]
            found.append((f"{rw} {bs} QD1", rw, args + ["--iodepth=1"]))
            for batch in BATCHES:
                found.append((f"{rw} {bs} QD16 batch {batch}", rw, args + [
                    "--iodepth=16", f"--iodepth_batch_submit={batch}",
                    "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=16"]))
    for rw in "read", "write":
        found.append((f"buffered {rw}", rw,
                      ["--bs=128k", f"--rw={rw}", "--direct=0", "--ioengine=psync",
                       "--invalidate=1", "--end_fsync=1"]))
    if options.quick:
        keep = "^(read 4k QD1$|(read|write) 4k QD16|(read|write) 1m QD1$|buffered)"
        found = [c for c in found if re.search(keep, c[0])]
    return [c for c in found if re.search(options.kinds, c[0])]


def run_fio(target, rw, args, mib, limit):
    """One job; limit is --runtime=... or --number_ios=..."""
    command = ["fio", "--name=bench", "--thread", "--output-format=json",
               f"--filename={target}", f"--size={mib}m", "--randrepeat=0",
               "--norandommap=1", "--refill_buffers=0", *args, *limit]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}:"
                           f" {done.stderr.strip()} {done.stdout[-500:]}")
    job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]
    if job["error"]:
        raise RuntimeError(f"{' '.join(command)}: error {job['error']}")
    return job[rw]


def limit_of(cell, options):
    if "buffered" in cell:
        return []               # the whole file
    if options.ios:
        return [f"--number_ios={options.ios}"]
    return ["--time_based", f"--runtime={int(options.seconds * 1000)}ms"]


def counted_run(name, target, rw, args, mib, limit, kprobes):
    """fio's result, and what was added to the counters."""
    before = counters(name, kprobes)
    result = run_fio(target, rw, args, mib, limit)
    after = counters(name, kprobes)
    return result, {k: after[k] - before[k] for k in after if k in before}


def bare_run(address, cell, options):
    """Verbs alone: as many RDMA WRITEs as fill about the time of a fio run."""
    words = cell.split()
    size = {"4k": 4096, "128k": 131072, "1m": 1048576}[words[1]]
    depth, count = int(words[2][2:]), 50
    while True:
        write_text("/proc/rdma_bare", f"{address} {size} {count} {depth}")
        found = key_pairs(read_text("/proc/rdma_bare"))
        if options.ios or found["ns"] >= options.seconds * 0.8e9:
            break
        count = min(10**7, int(count * max(1.5, options.seconds * 1e9 / found["ns"])))
    iops = count * 1e9 / found["ns"]
    return {"contender": BARE, "cell": cell, "ios": count, "iops": iops,
            "bytes_s": iops * size, "lat_us": depth * 1e6 / iops, "p99_us": 0, "cost": {}}


def key_pairs(text):
    words = text.split()
    return {k: int(v) for k, v in zip(words[::2], words[1::2])}


def one_run(name, target, cell, rw, args, options, kprobes):
    if name == BARE:
        return bare_run(target, cell, options)
    limit = limit_of(cell, options)
    result, cost = counted_run(name, target, rw, args, options.mib, limit, kprobes)
    ios = result["total_ios"]
    if options.ios and limit:
        # Opening and closing count too: a run of a single I/O tells how much.
        once = counted_run(name, target, rw, args, options.mib, ["--number_ios=1"], kprobes)[1]
        cost = {k: cost[k] - once[k] for k in cost}
        ios -= 1
    return {"contender": name, "cell": cell, "ios": ios,
            "iops": result["iops"], "bytes_s": result["bw_bytes"],
            "lat_us": result["clat_ns"]["mean"] / 1000,
            "p99_us": result["clat_ns"].get("percentile", {}).get("99.000000", 0) / 1000,
            "cost": cost}


def contenders_sh(*args):
    done = subprocess.run(["bash", f"{HERE}/contenders.sh", *args], stdout=subprocess.PIPE,
                          text=True)
    if done.returncode:
        sys.exit(f"bench: failed: contenders.sh {' '.join(args)}")
    return done.stdout


def bring_up(options):
    """Targets by name: contenders, and their backings as local-tmpfs, local-brd."""
    targets, local_of = {}, {}
    for line in contenders_sh("up", options.backing, str(options.mib),
                              *options.contenders.split(",")).splitlines():
        name, target, local = line.split()
        local_name = "local-brd" if local.startswith("/dev/") else f"local-{options.backing}"
        targets[name] = target
        targets[local_name] = local
        local_of[name] = local_name
    for name in targets:
        xprt = nfs_counters(f"/mnt/{name}")
        if name == "nfs-rdma" and "own_reg_mr" not in xprt:
            sys.exit("bench: the NFS/RDMA mount is not over RDMA")
        if name == "nfs-tcp" and "own_reg_mr" in xprt:
            sys.exit("bench: the NFS/TCP mount is over RDMA")
    if os.path.exists("/proc/rdma_bare"):
        targets[BARE] = "10.9.0.1"
    return targets, local_of


# ------------------------------------------------------------------- settings

def server_of(name):
    return "nfs" if name.startswith("nfs") else name


current = {server: settings[0] for server, settings in SETTINGS.items()}


def apply(name, setting):
    """Have a contender's server run with a setting, if it does not already."""
    server = server_of(name)
    if current[server] == setting:
        return
    if server == "nfs":
        write_text("/proc/fs/nfsd/threads", setting.removeprefix("threads="))
    else:
        contenders_sh("change", name, *setting.split())
    current[server] = setting


def score(rates):
    """One figure for how often a second several kinds of work were done, in several rounds."""
    return statistics.geometric_mean([statistics.median(v) for v in rates.values()])


def sweep(names, rounds, shuffle, rates_of):
    """By contender and setting what rates_of(name) yields then: kinds of work, and how often a
    second each was done, in several rounds."""
    tried = {name: {setting: {} for setting in SETTINGS[server_of(name)]} for name in names}
    for _ in range(rounds):
        for name, of in shuffle.sample(list(tried.items()), len(tried)):
            for setting, rates in shuffle.sample(list(of.items()), len(of)):
                apply(name, setting)
                for kind, rate in rates_of(name):
                    rates.setdefault(kind, []).append(rate)
    return tried


def iops_of(target, kinds, options):
    """Kinds of I/O that settings are tried with, and what fio gets of each."""
    for cell, rw, args in [c for c in kinds if re.search(SWEPT, c[0])] or kinds:
        yield cell, run_fio(target, rw, args, options.mib, limit_of(cell, options))["iops"]


def best_settings(tried, options):
    """Of each contender; without a sweep it stays as it is set up."""
    if not options.sweep:
        return {name: next(iter(of)) for name, of in tried.items()}
    return {name: max(of, key=lambda setting: score(of[setting])) for name, of in tried.items()}


def parse_arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--seconds", type=float, default=1.0, help="of each run")
    p.add_argument("--ios", type=int, default=0, help="I/Os of each run, instead of a time")
    p.add_argument("--mib", type=int, default=64, help="size of each file")
    p.add_argument("--quick", action="store_true", help="fewer cells")
    p.add_argument("--kinds", default="", help="only cells whose names this regex finds")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--contenders", default="rdmafs,nfs-rdma,nfs-tcp,nvme-rdma")
    p.add_argument("--backing", default="tmpfs", help="what the runner has mounted")
    p.add_argument("--sweep", type=int, default=0, help="rounds in which settings are tried")
    p.add_argument("--name", default="runs", help="of the file in $RDMAFS_OUT")
    return p.parse_args()


def main():
    options = parse_arguments()
    kinds = cells(options)
    if not kinds:
        sys.exit(f"bench: no kind of I/O matches {options.kinds}")
    targets, local_of = bring_up(options)
    kprobes = kprobes_on()
    shuffle = random.Random(options.seed)
    runs, start = [], time.monotonic()
    tried = sweep(local_of, options.sweep, shuffle,
                  lambda name: iops_of(targets[name], kinds, options))
    settings = best_settings(tried, options)
    if options.sweep:
        print(f"bench: {options.backing}: after {time.monotonic() - start:.0f} s best: {settings}",
              file=sys.stderr, flush=True)
    for number in range(options.rounds):
        for cell, rw, args in shuffle.sample(kinds, len(kinds)):
            names = [n for n in targets if n != BARE or "buffered" not in cell]
            for name in shuffle.sample(names, len(names)):
                if name in settings:
                    apply(name, settings[name])
                run = one_run(name, targets[name], cell, rw, args, options, kprobes)
                run["round"] = number
                runs.append(run)
        print(f"bench: {options.backing}: round {number + 1} of {options.rounds} done after"
              f" {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    result = {"kernel": os.uname().release, "guest": os.environ["RDMAFS_KERNEL"],
              "rdma": os.environ["RDMAFS_RDMA"], "options": vars(options),
              "cells": [c[0] for c in kinds], "local_of": local_of,
              "kprobes": kprobes, "sweep": tried, "settings": settings, "runs": runs}
    write_text(f"{os.environ['RDMAFS_OUT']}/{options.name}-{options.backing}.json",
               json.dumps(result))
    contenders_sh("down")


if __name__ == "__main__":
    main()
