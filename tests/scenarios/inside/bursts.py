#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: bursts.py read|write KIB
#
# In a directory on a mount whose server is in this kernel: fio asks for eight I/Os of
# KIB at once, waits for all, and again. Prints what each side takes for an I/O, which by
# itself takes at least one of each: client DOORBELLS MESSAGES server DOORBELLS MESSAGES.
import glob
import json
import subprocess
import sys

from guest import counters

COUNT = 160
what, kib = sys.argv[1], int(sys.argv[2])


def read_stats():
    return {name: counters(name) for name in glob.glob("/proc/fs/rdmafs/*/stats")}


def fio(count):
    command = ["fio", "--name=bursts", "--filename=bursts.data", "--size=16m", f"--bs={kib}k",
               f"--io_size={count * kib}k", f"--rw=rand{what}", "--norandommap",
               "--direct=1", "--ioengine=libaio", "--iodepth=8", "--iodepth_batch_submit=8",
               "--iodepth_batch_complete_min=8", "--output-format=json", "--thread"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        sys.exit(done.stdout)
    got = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0][what]["total_ios"]
    if got != count:
        sys.exit(f"{got} I/Os instead of {count}")


fio(80)     # the file is there, and what is made once
before = read_stats()
fio(COUNT)
after = read_stats()
delta = {name: {k: v - before[name].get(k, 0) for k, v in stats.items()}
         for name, stats in after.items() if name in before}
line = []
for side in "client", "server":
    found = [d for name, d in delta.items()
             if d.get("calls", 0) >= COUNT and ("/client-" in name) == (side == "server")]
    if len(found) != 1:
        sys.exit(f"{side}: {len(found)} of them: {delta}")
    line += [side] + [f"{found[0][k] / COUNT:.2f}" for k in ("doorbells", "msgs_sent")]
print(*line)
