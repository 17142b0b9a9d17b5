#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The benchmark's part about trees of files, in the guest.

Every round, on every file system that is mounted and on what backs them, in an order of its
own: a small program is built; an archive of a git repository is unpacked, git looks whether
anything in it has changed, it is listed, and removed. Each of them has that tree for itself,
and no other one exists meanwhile. Of every step the time is taken, and how many requests the
client sent. What the steps print has to be right, and the same everywhere.

A step's requests are counted until no more come, after a sync: a client may leave some for
later, as the end of a file that was closed. Those that follow when caches are dropped, as
delegations that are given back, count for the whole turn alone.

Records go to $RDMAFS_OUT/trees-BACKING.json; trees_report.py makes sense of them.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time

import files
import ios
from guest import counters, proc_of, read_text, write_text     # of the scenarios

HERE = "/run/trees"     # in this guest's memory, where the host has nothing
TREE, SMALL, PROJECT, SAID = (f"{HERE}/{name}" for name in ("tree.tar", "small.tar", "project",
                                                            "said"))
PARTS = 29      # files of the program, beside main.c
# No configuration of whom this machine belongs to.
ENVIRONMENT = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null",
                   LC_ALL="C.UTF-8")
ALL = "all of it"

MAKEFILE = """\
objects := $(patsubst %.c,%.o,$(sort $(wildcard *.c)))

program: $(objects)
\tgcc -o $@ $^

%.o: %.c parts.h
\tgcc -O1 -Wall -c -o $@ $<
"""

PART = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "parts.h"

int part{n}(int x)
{{
\tchar text[32];

\tsnprintf(text, sizeof(text), "%d", x * {n});
\treturn atoi(text) + (int)strlen(PART_NAME);
}}
"""


class Wrong(Exception):
    """A step did not do what it should have done."""


# ------------------------------------------------------------------- counters

def requests_of(name, where):
    """A function that tells how many requests the mount's client has sent; None has none."""
    if name == "rdmafs":
        stats = f"{proc_of(where)}/stats"
        return lambda: counters(stats)["calls"]
    if name.startswith("nfs"):
        return lambda: ios.nfs_counters(where)["rpcs"]
    return None


def settled(read):
    """What a counter comes to when nobody asks for anything any more."""
    os.sync()
    value, still = read(), 0
    for _ in range(100):
        time.sleep(0.02)
        last, value = value, read()
        still = still + 1 if value == last else 0
        if still == 3:
            break
    return value


def delegations_returned(mount):
    """How many NFS's client has given back; who has none gives none back."""
    ours = False
    for line in read_text("/proc/self/mountstats").splitlines():
        words = line.split()
        if line.startswith("device "):
            ours = words[4] == mount
        elif ours and words[:1] == ["DELEGRETURN:"]:
            return int(words[1])
    raise Wrong(f"no DELEGRETURN in what the kernel says of {mount}")


# --------------------------------------------------------------------- a turn

def make_project():
    """The sources of a small program, which prints what all its parts return."""
    os.makedirs(PROJECT)
    numbers = range(1, PARTS + 1)
    calls = " + ".join(f"part{n}(2)" for n in numbers)
    sources = {"Makefile": MAKEFILE, **{f"part{n}.c": PART.format(n=n) for n in numbers}}
    sources["parts.h"] = '#define PART_NAME "part"\n\n' + "".join(
        f"int part{n}(int x);\n" for n in numbers)
    sources["main.c"] = ('#include <stdio.h>\n#include "parts.h"\n\nint main(void)\n{\n'
                         f'\treturn printf("%d\\n", {calls}) < 0;\n}}\n')
    for name, text in sources.items():
        write_text(f"{PROJECT}/{name}", text)


def check_program(where):
    done = subprocess.run([f"{where}/program"], stdout=subprocess.PIPE, text=True, check=True)
    wanted = sum(2 * n + len("part") for n in range(1, PARTS + 1))
    if done.stdout != f"{wanted}\n":
        raise Wrong(f"{where}: the program says {done.stdout!r}, not {wanted}")


class Archive:
    """A git repository, and what finding and listing it prints if all of it is there."""

    def __init__(self, path, copy):
        shutil.copyfile(path, copy)
        self.path = copy
        names = subprocess.run(["tar", "tf", copy], stdout=subprocess.PIPE, text=True, check=True)
        self.entries = len(names.stdout.splitlines())
        self.listing = None

    def check_found(self, text):
        if len(text.splitlines()) != self.entries:
            raise Wrong(f"{len(text.splitlines())} names are found, not {self.entries}")

    def check_listing(self, text):
        """The first one to list them says what all have to. Directories are of any size."""
        lines = [line for line in text.splitlines() if line[:1] in ("-", "l")]
        if not lines:
            raise Wrong("nothing is listed")
        self.listing = self.listing or lines
        for have, want in zip(lines, self.listing):
            if have != want:
                raise Wrong(f"listed as {have!r}, elsewhere as {want!r}")
        if len(lines) != len(self.listing):
            raise Wrong(f"{len(lines)} files are listed, elsewhere {len(self.listing)}")


def nothing(text):
    if text:
        raise Wrong(f"git finds changes: {text[:500]}")


class Turn:
    """All steps on one file system."""

    def __init__(self, name, where, archive):
        self.where, self.archive = f"{where}/trees-{name}", archive
        self.requests, self.rows = requests_of(name, where), {}

    def step(self, what, command, check=None, cwd=None):
        """Measure a command, and look at what it has printed. Its program is in memory."""
        subprocess.run([command[0], "--version"], stdout=subprocess.DEVNULL, check=True)
        before = self.requests() if self.requests else 0
        with open(SAID, "w", encoding="utf-8") as out:
            seconds = files.timed(*command, cwd=cwd, env=ENVIRONMENT, stdout=out)
        self.rows[what] = {"seconds": seconds}
        if self.requests:
            self.rows[what]["requests"] = settled(self.requests) - before
        try:
            if check:
                check(read_text(SAID))
        except Wrong as e:
            raise Wrong(f"{self.where}: {what}: {e}") from None

    def cold(self, what, *more):
        files.drop_caches()
        self.step(f"{what}, nothing cached", *more)

    def run(self, build):
        """Records by step. Only the whole turn has what comes between them, too."""
        os.mkdir(self.where)
        tree, project = f"{self.where}/tree", f"{self.where}/project"
        shutil.copytree(PROJECT, project)
        files.drop_caches()
        first = self.requests() if self.requests else 0
        if build:
            # The compiler comes from the host's disk, on no contender's account.
            subprocess.run(["gcc", "-O1", "-o", f"{HERE}/warm", f"{PROJECT}/part1.c", "-xc", "-"],
                           input="int main(void) { return 0; }", text=True, check=True)
            self.step(f"make, {PARTS + 1} files", ["make", "-s"], cwd=project)
            check_program(project)
        status, archive = ["git", "status", "--porcelain"], self.archive
        self.step("tar x", ["tar", "xf", archive.path, "-C", self.where])
        # To git these are other files than those it knows: it reads them, and then knows these.
        self.step("git status, all files read", status, nothing, tree)
        self.cold("git status", status, nothing, tree)
        self.step("git status again", status, nothing, tree)
        self.cold("find", ["find", "."], archive.check_found, tree)
        self.cold("ls -lR", ["ls", "-lR", "--full-time"], archive.check_listing, tree)
        self.step("rm -r", ["rm", "-r", tree])
        self.rows[ALL] = {"seconds": sum(row["seconds"] for row in self.rows.values())}
        if self.requests:
            self.rows[ALL]["requests"] = settled(self.requests) - first
        shutil.rmtree(self.where)
        return self.rows


# ------------------------------------------------------------------------ main

def say(text):
    print(f"trees: {text}", file=sys.stderr, flush=True)


def bring_up(options):
    """Where each contender, and the backing, has its files."""
    names = options.contenders.split(",")
    ios.contenders_sh("up", options.backing, "1", *names)
    for name in names:
        has_chunks = "own_reg_mr" in ios.nfs_counters(f"/mnt/{name}")
        if name.startswith("nfs") and has_chunks != (name == "nfs-rdma"):
            sys.exit(f"trees: {name} is mounted over another transport")
    if read_text("/proc/sys/fs/leases-enable").strip() != "1":
        sys.exit("trees: no leases, and so no delegations")
    return {**{name: f"/mnt/{name}" for name in names},
            f"local-{options.backing}": "/backing/export"}


def parse_arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--backing", required=True, help="what the runner has mounted")
    p.add_argument("--contenders", required=True)
    p.add_argument("--rounds", type=int, required=True)
    p.add_argument("--sweep", type=int, required=True, help="rounds in which settings are tried")
    p.add_argument("--tree", required=True, help="an archive of a repository, below tree/")
    p.add_argument("--small", required=True, help="another one, with which settings are tried")
    p.add_argument("--files", type=int, required=True, help="of the former, without git's")
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


def measure(options, places, settings, shuffle, start):
    archive, runs = Archive(options.tree, TREE), []
    for number in range(options.rounds):
        for name in shuffle.sample(list(places), len(places)):
            if name in settings:
                ios.apply(name, settings[name])
            run = {"round": number, "contender": name}
            if name.startswith("nfs"):
                before = delegations_returned(places[name])
            run["rows"] = Turn(name, places[name], archive).run(build=True)
            if name.startswith("nfs"):
                run["delegations"] = delegations_returned(places[name]) - before
            runs.append(run)
        say(f"{options.backing}: round {number + 1} of {options.rounds} done after"
            f" {time.monotonic() - start:.0f} s")
    return archive, runs


def main():
    options = parse_arguments()
    make_project()
    places, start, shuffle = bring_up(options), time.monotonic(), random.Random(options.seed)
    contenders = options.contenders.split(",")
    tried = Archive(options.small, SMALL) if options.sweep else None

    def rates_of(name):
        for what, row in Turn(name, places[name], tried).run(build=False).items():
            if what != ALL:
                yield what, 1 / row["seconds"]

    sweep = ios.sweep(contenders, options.sweep, shuffle, rates_of)
    settings = ios.best_settings(sweep, options)
    if options.sweep:
        say(f"{options.backing}: after {time.monotonic() - start:.0f} s best: {settings}")
    archive, runs = measure(options, places, settings, shuffle, start)
    result = {"kernel": os.uname().release, "guest": os.environ["RDMAFS_KERNEL"],
              "rdma": os.environ["RDMAFS_RDMA"], "options": vars(options),
              "entries": archive.entries, "sweep": sweep, "settings": settings, "runs": runs}
    write_text(f"{os.environ['RDMAFS_OUT']}/trees-{options.backing}.json", json.dumps(result))
    ios.contenders_sh("down")


if __name__ == "__main__":
    try:
        main()
    except Wrong as e:
        sys.exit(f"trees: {e}")
