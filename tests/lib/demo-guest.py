#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# The demo's part inside the guest: fio on the mount, and what it cost, from
# the counters in /proc/fs/rdmafs before and after.

import json
import os
import subprocess
import sys

sys.path.append(f"{os.path.dirname(os.path.abspath(__file__))}/../scenarios/inside")

from guest import key_values, proc_of, read_text    # noqa: E402

PROC = "/proc/fs/rdmafs"
FIO = ["fio", "--output-format=json", "--name=demo", "--ioengine=libaio",
       "--direct=1", "--filename=demo", "--verify=crc32c",
       "--verify_fatal=1", "--randrepeat=1", "--group_reporting"]


def counters():
    """Of the mount, and of all clients' sessions on the server here."""
    mount = key_values(proc_of(os.environ["RDMAFS_MNT"]) + "/stats")
    server = 0
    for name in os.listdir(PROC):
        if name.startswith("client-"):
            server += key_values(f"{PROC}/{name}/stats")["reg_mr"]
    return {"messages": mount["msgs_sent"] + mount["msgs_received"],
            "client": mount["reg_mr"], "server": server}


def run_fio(*args):
    """fio's result for its one job."""
    done = subprocess.run(FIO + list(args), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"fio failed with status {done.returncode}: {done.stdout[-2000:]}")
    return json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]


def counted(direction, *args):
    """fio's result, and what it added to the counters."""
    before = counters()
    job = run_fio(*args)[direction]
    after = counters()
    return job, {k: after[k] - before[k] for k in after}


def one_pass(what, direction, size, *args):
    """Run fio, print a line of the table."""
    job, all_of_it = counted(direction, f"--size={size}m", *args)
    # fio opens, looks at, and closes its file too: a run of one I/O tells.
    block = args[0].replace("--bs", "--size")
    rest = counted(direction, block, *args)[1]
    n = job["total_ios"]
    cost = {k: (all_of_it[k] - rest[k]) / (n - 1) for k in rest}
    p99 = job["clat_ns"]["percentile"]["99.000000"]
    print(f"  {what:<22} {job['bw_bytes'] / 1e6:7.1f} MB/s {job['iops']:8.0f}"
          f" {job['clat_ns']['mean'] / 1e6:8.2f} {p99 / 1e6:8.2f}"
          f" {cost['messages']:8.2f} {cost['client']:8.2f} {cost['server']:7.2f}",
          flush=True)
    return job["io_bytes"]


def show_proc():
    """The mount's page in /proc, without what is still zero."""
    where = proc_of(os.environ["RDMAFS_MNT"])
    print(f"\n{where}/ (counters that are 0 left out)")
    for file in "mount", "quota", "window", "stats":
        lines = read_text(f"{where}/{file}").strip().splitlines()
        lines = [line for line in lines if file != "stats" or not line.endswith(" 0")]
        text = ", ".join(lines)
        while text:
            cut = len(text) if len(text) < 68 else text.rfind(", ", 0, 68) + 1
            print(f"  {file:<7}{text[:cut]}")
            text, file = text[cut:].strip(), ""


def two_passes(name, size, *args):
    """Write a file that is there already, read it; bytes written."""
    with open("demo", "w") as f:
        f.truncate(size << 20)
    written = one_pass(f"{name} writes", "write", size, *args, "--do_verify=0")
    one_pass(f"{name} reads", "read", size, *args, "--verify_only=1")
    os.unlink("demo")
    return written


def main():
    mib = int(sys.argv[1])
    device = "soft-RoCE" if os.environ["RDMAFS_RDMA"] == "rxe" else "soft-iWARP"
    print(f"\nLinux {os.uname().release}: {os.environ['RDMAFS_SOURCE']} mounted on"
          f" {os.environ['RDMAFS_MNT']} over {device}\n", flush=True)
    subprocess.run(["df", "-hT", "."], check=True)
    print("\n                                                  latency, ms   messages"
          "   registrations")
    print("                          throughput     IOPS     mean      99%  per I/O"
          "   client  server")
    total = two_passes("4 KiB random", mib, "--bs=4k", "--rw=randwrite", "--iodepth=8")
    total += two_passes("1 MiB", 4 * mib, "--bs=1m", "--rw=write", "--iodepth=2")
    print(f"\n{total >> 20} MiB were written and read again; the checksum of every block"
          " is right.")
    print("Client, server and the software RDMA device share an emulated machine here:"
          "\ncounts are what they would be on an RNIC, times are not.")
    show_proc()


main()
