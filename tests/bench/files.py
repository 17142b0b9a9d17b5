#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The benchmark's part about whole files, in the guest.

Every round writes and reads one large file through the page cache, unpacks a
source tree and removes it, on every file system that is mounted, in an order of
its own. The large file is synced before its time is taken; NFS and rdmafs both
have every name on stable storage before they answer, and data when a file is
closed. Records go to $RDMAFS_OUT/files-BACKING.json. Settings are those that did best in
RUNS, the file that ios.py left.

Usage: files.py BACKING CONTENDERS ROUNDS MIB RUNS
"""

import glob
import json
import os
import random
import shutil
import subprocess
import sys
import time

import ios
from guest import write_text    # of the scenarios, which ios has found

TAR = "/tmp/tree.tar"
CHUNK = 1 << 20


def drop_caches():
    os.sync()
    write_text("/proc/sys/vm/drop_caches", 3)


def timed(*command, **options):
    """Seconds that a command takes. If it fails, so does all of this."""
    start = time.monotonic()
    subprocess.run(command, check=True, **options)
    return time.monotonic() - start


def write_file(path, mib, data):
    start = time.monotonic()
    with open(path, "wb", buffering=0) as f:
        for _ in range(mib):
            f.write(data)
        os.fsync(f.fileno())
    return time.monotonic() - start


def read_file(path, buffer):
    start = time.monotonic()
    with open(path, "rb", buffering=0) as f:
        while f.readinto(buffer):
            pass
    return time.monotonic() - start


def main():
    backing, contenders, rounds, mib = *sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4])
    names = [n for n in contenders.split(",") if n != "nvme-rdma"]
    with open(sys.argv[5]) as f:
        settings = json.load(f)["settings"]
    ios.contenders_sh("up", backing, "1", *names)
    places = {n: f"/mnt/{n}" for n in names}
    places[f"local-{backing}"] = "/backing/export"
    # the kernel's own headers, which whoever builds modules has
    tree = sorted(glob.glob("/usr/src/linux-headers-*-common"))[-1]
    subprocess.run(["tar", "cf", TAR, "-C", "/usr/src", os.path.basename(tree)], check=True)
    listing = subprocess.run(["tar", "tf", TAR], stdout=subprocess.PIPE, text=True, check=True)
    entries = len(listing.stdout.splitlines())
    data, buffer = os.urandom(CHUNK), bytearray(CHUNK)
    shuffle, runs, start = random.Random(1), [], time.monotonic()
    for number in range(rounds):
        order = list(places)
        shuffle.shuffle(order)
        for name in order:
            if name in settings:
                ios.apply(name, settings[name])
            where = f"{places[name]}/files"
            os.mkdir(where)
            large = f"{where}/large"
            drop_caches()
            took = {"write": write_file(large, mib, data)}
            drop_caches()
            took["read"] = read_file(large, buffer)
            os.unlink(large)
            drop_caches()
            took["unpack"] = timed("tar", "xf", TAR, "-C", where)
            took["remove"] = timed("rm", "-r", f"{where}/{os.path.basename(tree)}")
            shutil.rmtree(where)
            runs.append({"round": number, "contender": name, "seconds": took})
        print(f"bench: {backing}: files: round {number + 1} of {rounds} done after"
              f" {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    with open(f"{os.environ['RDMAFS_OUT']}/files-{backing}.json", "w") as f:
        json.dump({"mib": mib, "entries": entries, "runs": runs}, f)
    ios.contenders_sh("down")


if __name__ == "__main__":
    main()
