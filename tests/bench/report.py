#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes bench.json, bench.md and bench.svg of what guest.py measured.

Every figure is a median over rounds with a 95 % bootstrap interval. Ratios and
net costs pair the runs of one round, which were made right after one another.
"""

import json
import os
import random
import statistics
import sys
from xml.sax.saxutils import escape

RESAMPLES = 2000
ORDER = ["rdmafs", "nfs-rdma", "nfs-tcp", "nvme-rdma", "local-tmpfs", "local-brd", "bare"]
COLOURS = {"rdmafs": "#c0392b", "nfs-rdma": "#2c6fbb", "nfs-tcp": "#7f8c8d",
           "nvme-rdma": "#27864f"}


def interval(values, rng):
    """Median and its 95 % bootstrap interval."""
    medians = sorted(statistics.median(rng.choices(values, k=len(values)))
                     for _ in range(RESAMPLES))
    return {"median": statistics.median(values), "low": medians[int(RESAMPLES * 0.025)],
            "high": medians[int(RESAMPLES * 0.975) - 1], "n": len(values)}


class Data:
    """Runs by contender and cell, in the order of the rounds."""

    def __init__(self, raw):
        self.cells = raw["cells"]
        self.names = sorted({r["contender"] for r in raw["runs"]}, key=ORDER.index)
        self.peers = [n for n in self.names if not n.startswith("local") and n != "bare"]
        self.local_of = raw["local_of"]
        self.runs = {}
        for r in sorted(raw["runs"], key=lambda r: r["round"]):
            self.runs.setdefault((r["contender"], r["cell"]), []).append(r)

    def values(self, name, cell, key):
        return [r[key] for r in self.runs.get((name, cell), [])]

    def costs(self, name, cell, key):
        return [r["cost"][key] / r["ios"] for r in self.runs.get((name, cell), [])
                if key in r["cost"] and r["ios"]]


def summarise(data, rng):
    """All that is reported, as one object."""
    result = {"throughput": {}, "iops": {}, "latency_us": {}, "ratio": {}, "net_us": {},
              "floor": {}}
    for cell in data.cells:
        for name in data.names:
            for key, field, scale in (("throughput", "bytes_s", 1e6), ("iops", "iops", 1),
                                      ("latency_us", "lat_us", 1)):
                values = [v / scale for v in data.values(name, cell, field)]
                if values:
                    result[key].setdefault(cell, {})[name] = interval(values, rng)
        for name in data.peers:
            mine = data.values(name, cell, "iops")
            local = data.values(data.local_of[name], cell, "iops")
            net = [1e6 / m - 1e6 / n for m, n in zip(mine, local)]
            result["net_us"].setdefault(cell, {})[name] = interval(net, rng)
            bare = data.values("bare", cell, "iops")
            if bare:
                result["floor"].setdefault(cell, {})[name] = interval(
                    [1 / m / (1 / n + 1 / b) for m, n, b in zip(mine, local, bare)], rng)
            if name != "rdmafs" and "rdmafs" in data.peers:
                ours = data.values("rdmafs", cell, "iops")
                result["ratio"].setdefault(cell, {})[name] = interval(
                    [o / m for o, m in zip(ours, mine)], rng)
    return result


def count_costs(timing, counting):
    """Per I/O: from the kprobes if there are any, else a contender's own."""
    found = {}
    for cell in timing.cells:
        for name in timing.peers:
            entry = {}
            for key, own in (("messages", "rpcs"), ("reg_mr", "own_reg_mr"),
                             ("inv", "own_inv"), ("completions", None)):
                values, source = [], None
                if counting:
                    values, source = counting.costs(name, cell, key), "counted"
                if not values:
                    values, source = timing.costs(name, cell, key), "counted"
                if name == "nfs-tcp" and key == "messages":
                    values = [2 * v for v in timing.costs(name, cell, own)]
                    source = "RPCs × 2"
                elif not values and own:
                    values, source = timing.costs(name, cell, own), "its own count"
                if name == "nfs-tcp" and key != "messages":
                    continue    # nothing of RDMA in it
                if values:
                    # what was counted around the run may come to a little less than 0
                    entry[key] = {"value": max(0, statistics.median(values)),
                                  "source": source}
            switches = timing.costs(name, cell, "ctxt")
            if switches:
                entry["switches"] = {"value": statistics.median(switches),
                                     "source": "counted"}
            found.setdefault(cell, {})[name] = entry
    return found


# ------------------------------------------------------------------- Markdown

def number(v):
    if abs(v) >= 100:
        return f"{v:.0f}"
    return f"{v:.1f}" if abs(v) >= 10 else f"{v:.2f}"


def with_interval(v):
    if not v:
        return "–"
    return f"{number(v['median'])} [{number(v['low'])}, {number(v['high'])}]"


def table(cells, names, get):
    lines = ["| | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
    for cell in cells:
        lines.append(f"| {cell} | " + " | ".join(get(cell, n) for n in names) + " |")
    return lines


def count_cell(counts, cell, name):
    entry = counts[cell][name]
    words = []
    for key in "messages", "reg_mr", "inv", "completions", "switches":
        words.append(number(entry[key]["value"]) if key in entry else "–")
    return " / ".join(words)


def markdown(raw, data, result, counts):
    options = raw["options"]
    others = [n for n in data.peers if n != "rdmafs"]
    lines = ["# rdmafs compared", "",
             f"Linux {raw['kernel']} ({raw['guest']}), {raw['rdma']}, client and server in one"
             f" kernel; {options['rounds']} rounds of {options['seconds']} s a run, all"
             " contenders in one boot, interleaved in random order. Medians with 95 %"
             " bootstrap intervals.", "",
             "Software RDMA has no translation cache: these figures show CPU cost, messages"
             " and registrations, never what a saved registration gains in an RNIC. It also"
             " computes a CRC over every packet, a floor that is common to all RDMA"
             " contenders.", "",
             "## Throughput, MB/s", ""]
    lines += table(data.cells, data.names,
                   lambda c, n: with_interval(result["throughput"][c].get(n)))
    lines += ["", "## I/O per second", ""]
    lines += table(data.cells, data.names, lambda c, n: with_interval(result["iops"][c].get(n)))
    if others and "rdmafs" in data.peers:
        lines += ["", "## rdmafs in relation to the others", "",
                  "Above 1 rdmafs is faster.", ""]
        lines += table(data.cells, others, lambda c, n: with_interval(result["ratio"][c][n]))
    lines += ["", "## Net cost of an I/O, µs", "",
              "1/IOPS less 1/IOPS of the same job on the contender's own local backing"
              " (tmpfs; for NVMe-oF a RAM disk). One CPU does it all, so this is CPU time of"
              " client, server and software RDMA together.", ""]
    lines += table(data.cells, data.peers, lambda c, n: with_interval(result["net_us"][c][n]))
    if result["floor"]:
        lines += ["", "## Time of an I/O in relation to the least possible", "",
                  "The least: a bare RDMA WRITE and SEND, answered by a SEND (tests/bare),"
                  " and the same I/O on the contender's own local backing.", ""]
        lines += table(list(result["floor"]), data.peers,
                       lambda c, n: with_interval(result["floor"][c][n]))
    lines += ["", "## Counts for one I/O", "",
              "Messages / registrations / invalidations / completions / context switches."
              " Messages are SENDs of either side (NFS/TCP: RPCs × 2); registrations,"
              " invalidations and completions are those of both sides; switches are the"
              " machine's, fio's included. –: not counted, or nothing to count.", ""]
    lines += table(data.cells, data.peers, lambda c, n: count_cell(counts, c, n))
    return "\n".join(lines) + "\n"


FILES = {"write": "write {mib} MiB, fsync", "read": "read {mib} MiB", "unpack":
         "unpack {entries} files", "remove": "remove them"}


def summarise_files(raw, rng):
    """Seconds of each kind of work, and rdmafs' in relation to the others."""
    times = {}
    for run in sorted(raw["runs"], key=lambda r: r["round"]):
        for what, seconds in run["seconds"].items():
            times.setdefault(FILES[what].format(**raw), {}).setdefault(
                run["contender"], []).append(seconds)
    ratios = {what: {n: interval([o / v for o, v in zip(of["rdmafs"], values)], rng)
                     for n, values in of.items() if n != "rdmafs"}
              for what, of in times.items() if "rdmafs" in of}
    return {"seconds": {what: {n: interval(v, rng) for n, v in of.items()}
                        for what, of in times.items()}, "ratio": ratios}


def files_markdown(files):
    kinds = list(files["seconds"])
    names = sorted(files["seconds"][kinds[0]], key=ORDER.index)
    lines = ["", "## Whole files through the page cache, seconds", ""]
    lines += table(kinds, names, lambda c, n: with_interval(files["seconds"][c].get(n)))
    if files["ratio"]:
        others = [n for n in names if n != "rdmafs"]
        lines += ["", "rdmafs' time in relation to the others'; below 1 it is faster.", ""]
        lines += table(kinds, others, lambda c, n: with_interval(files["ratio"][c].get(n)))
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------------ SVG

def panel(x, y, width, cell, result, names):
    """One kind of I/O: a bar for each contender, its interval as a whisker."""
    values = result["throughput"][cell]
    top = max(v["high"] for n, v in values.items() if n in names) or 1
    out = [f'<text x="{x}" y="{y}" class="head">{escape(cell)}</text>']
    room = width - 150
    for i, name in enumerate(names):
        v = values[name]
        row = y + 8 + i * 17
        long = room * v["median"] / top
        low, high = x + 70 + room * v["low"] / top, x + 70 + room * v["high"] / top
        out += [f'<text x="{x + 66}" y="{row + 11}" class="name">{escape(name)}</text>',
                f'<rect x="{x + 70}" y="{row}" width="{long:.1f}" height="13"'
                f' fill="{COLOURS[name]}"/>',
                f'<path d="M{low:.1f} {row + 6.5}H{high:.1f}M{low:.1f} {row + 3}v7'
                f'M{high:.1f} {row + 3}v7" class="whisker"/>',
                f'<text x="{x + 76 + room * v["high"] / top:.1f}" y="{row + 11}"'
                f' class="value">{number(v["median"])}</text>']
    return out


def svg(raw, data, result):
    columns, width = 3, 330
    height = 40 + 17 * len(data.peers)
    rows = -(-len(data.cells) // columns)
    total_w, total_h = columns * width + 20, rows * height + 60
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_w}" height="{total_h}"'
           f' viewBox="0 0 {total_w} {total_h}">',
           "<style>text{font:11px sans-serif;fill:#222}.head{font-weight:bold;font-size:12px}"
           ".name{text-anchor:end}.title{font-size:15px;font-weight:bold}"
           ".whisker{stroke:#000;fill:none}</style>",
           f'<rect width="{total_w}" height="{total_h}" fill="#fff"/>',
           '<text x="12" y="22" class="title">MB/s, median and 95 % interval</text>',
           f'<text x="12" y="38">Linux {escape(raw["kernel"])} ({escape(raw["guest"])}),'
           f' {escape(raw["rdma"])}: software RDMA shows CPU cost,'
           " not an RNIC's translation cache</text>"]
    for i, cell in enumerate(data.cells):
        out += panel(12 + i % columns * width, 64 + i // columns * height, width, cell, result,
                     data.peers)
    return "\n".join(out + ["</svg>"]) + "\n"


def load(path):
    if not os.path.exists(path):
        return None
    with open(path) as f:
        return json.load(f)


def main():
    out = sys.argv[1]
    raw, counting = load(f"{out}/runs.json"), load(f"{out}/counts.json")
    if not raw:
        sys.exit(f"report.py: no {out}/runs.json")
    data = Data(raw)
    result = summarise(data, random.Random(1))
    counts = count_costs(data, Data(counting) if counting else None)
    text = markdown(raw, data, result, counts)
    files = load(f"{out}/files.json")
    if files:
        result["files"] = summarise_files(files, random.Random(1))
        text += files_markdown(result["files"])
    everything = {k: raw[k] for k in ("kernel", "guest", "rdma", "options", "cells")}
    everything.update(result, counts=counts, runs=raw["runs"],
                      count_runs=counting["runs"] if counting else [])
    with open(f"{out}/bench.json", "w") as f:
        json.dump(everything, f, indent=1)
    with open(f"{out}/bench.md", "w") as f:
        f.write(text)
    with open(f"{out}/bench.svg", "w") as f:
        f.write(svg(raw, data, result))
    for name in "runs.json", "counts.json", "files.json":
        if os.path.exists(f"{out}/{name}"):
            os.unlink(f"{out}/{name}")
    print(text)
    print(f"{out}/bench.json, bench.md, bench.svg")


if __name__ == "__main__":
    main()
