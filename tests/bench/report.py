#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes bench.json, bench.md and bench.svg of what ios.py and files.py measured.

Every figure is a median over rounds with an interval. Ratios and net costs pair the runs
of one round, which were made right after one another. An interval is that of the sign test:
from one of the measured values to another, right whatever the distribution, if only rounds
do not hang on each other. (A bootstrap's is too short so far out in the tails: of 19 rounds,
at the level of a hundred comparisons, it is wrong nine times as often as it says.)

What is one's own has 95 %. What is said of rdmafs beside another has as much for all of that
together: of N comparisons each may be wrong with 5 % / N (Bonferroni). Only what its interval
bears out then is called faster or slower.

Usage: report.py FROM... OUT

FROM is a directory with runs-BACKING.json and, if they were made, counts-BACKING.json and
files-BACKING.json; or a bench.json, which has them all. Of several each has other backings,
measured alike. OUT is a directory.
"""

import json
import math
import os
import statistics
import sys
from xml.sax.saxutils import escape

from ios import score

ERROR = 0.05                # what may be wrong
BACKINGS = ["tmpfs", "ext4", "xfs"]
ORDER = ["rdmafs", "nfs-rdma", "nfs-tcp", "nvme-rdma", "local-tmpfs", "local-ext4", "local-xfs",
         "local-brd", "bare"]
COLOURS = {"rdmafs": "#c0392b", "nfs-rdma": "#2c6fbb", "nfs-tcp": "#7f8c8d",
           "nvme-rdma": "#27864f"}
OURS = "rdmafs"


def interval(values, error=ERROR):
    """Median, and between which of the values the true one is, but for so much error.

    A round is above the true median as often as below it. So that is beyond the k-th value
    from one end as seldom as less than k of n coins show heads. If there are too few rounds
    for so little error there is no interval.
    """
    n, ordered = len(values), sorted(values)
    found = {"median": statistics.median(values), "n": n}
    k, beyond = 0, 0.5 ** n
    while 2 * beyond <= error:
        k += 1
        beyond += math.comb(n, k) * 0.5 ** n
    if k:
        found.update(low=ordered[k - 1], high=ordered[n - k])
    return found


def least_rounds(error):
    """As many as there have to be for an interval with so little error."""
    return math.ceil(1 - math.log2(error))


class Data:
    """Runs by contender and cell, in the order of the rounds."""

    def __init__(self, raw):
        self.cells = raw["cells"]
        self.names = sorted({r["contender"] for r in raw["runs"]}, key=ORDER.index)
        self.peers = [n for n in self.names if not n.startswith("local") and n != "bare"]
        self.others = [n for n in self.peers if n != OURS] if OURS in self.peers else []
        self.local_of = raw["local_of"]
        self.runs = {}
        for r in sorted(raw["runs"], key=lambda r: r["round"]):
            self.runs.setdefault((r["contender"], r["cell"]), []).append(r)

    def values(self, name, cell, key):
        return [r[key] for r in self.runs.get((name, cell), [])]

    def net(self, name, cell):
        """Microseconds of an I/O, less those of the same on the local backing."""
        return [1e6 / m - 1e6 / n for m, n in
                zip(self.values(name, cell, "iops"),
                    self.values(self.local_of[name], cell, "iops"))]

    def costs(self, name, cell, key):
        return [r["cost"][key] / r["ios"] for r in self.runs.get((name, cell), [])
                if key in r["cost"] and r["ios"]]


def summarise(data):
    """What each contender does, as one object."""
    result = {"throughput": {}, "iops": {}, "latency_us": {}, "net_us": {}, "floor": {}}
    for cell in data.cells:
        for name in data.names:
            for key, field, scale in (("throughput", "bytes_s", 1e6), ("iops", "iops", 1),
                                      ("latency_us", "lat_us", 1)):
                values = [v / scale for v in data.values(name, cell, field)]
                if values:
                    result[key].setdefault(cell, {})[name] = interval(values)
        for name in data.peers:
            mine = data.values(name, cell, "iops")
            local = data.values(data.local_of[name], cell, "iops")
            result["net_us"].setdefault(cell, {})[name] = interval(data.net(name, cell))
            bare = data.values("bare", cell, "iops")
            if bare:
                result["floor"].setdefault(cell, {})[name] = interval(
                    [1 / m / (1 / n + 1 / b) for m, n, b in zip(mine, local, bare)])
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


FILES = {"write": "write {mib} MiB, fsync", "read": "read {mib} MiB", "unpack":
         "unpack {entries} files", "remove": "remove them"}


def files_times(raw):
    """Seconds in the order of the rounds, by work and contender."""
    times = {}
    for run in sorted(raw["runs"], key=lambda r: r["round"]):
        for what, seconds in run["seconds"].items():
            times.setdefault(FILES[what].format(**raw), {}).setdefault(
                run["contender"], []).append(seconds)
    return times


# ---------------------------------------------------------------- comparisons

# What rdmafs and another one are compared by: what says that they are the same, and the words
# for more and for less.
COMPARED = {"speed": (1, "faster", "slower"), "cost": (0, "cheaper", "dearer"),
            "files": (1, "faster", "slower"), "time": (1, "slower", "faster")}


def comparisons(backing, measured):
    """By (backing, what, row, other): how much better rdmafs was, in every round."""
    data, found = Data(measured["runs"]), {}
    for cell in data.cells:
        for other in data.others:
            found[backing, "speed", cell, other] = [
                a / b for a, b in zip(data.values(OURS, cell, "iops"),
                                      data.values(other, cell, "iops"))]
            # On the same backing, who is faster is who costs less.
            if data.local_of[other] != data.local_of[OURS]:
                found[backing, "cost", cell, other] = [
                    b - a for a, b in zip(data.net(OURS, cell), data.net(other, cell))]
    for row, of in files_times(measured.get("files", {"runs": []})).items():
        for other, seconds in of.items():
            if OURS in of and other in data.others:
                found[backing, "files", row, other] = [
                    b / a for a, b in zip(of[OURS], seconds)]
    return found


def judge(found):
    """Of each comparison the interval that holds beside those of all others, and what it says."""
    judged = {}
    for (backing, what, row, other), values in found.items():
        verdict = interval(values, ERROR / len(found))
        same, more, less = COMPARED[what]
        verdict["says"] = ""
        if "low" in verdict and verdict["low"] > same:
            verdict["says"] = more
        elif "low" in verdict and verdict["high"] < same:
            verdict["says"] = less
        judged.setdefault(backing, {}).setdefault(what, {}).setdefault(row, {})[other] = verdict
    return judged


def by_batch(cells):
    """Those without batches; the others by kind of I/O and by batch; all batches."""
    plain, batched, batches = [], {}, []
    for cell in cells:
        kind, found, batch = cell.partition(" batch ")
        if not found:
            plain.append(cell)
            continue
        batched.setdefault(kind, {})[batch] = cell
        if batch not in batches:
            batches.append(batch)
    return plain, batched, batches


# ------------------------------------------------------------------- Markdown

def number(v):
    if abs(v) >= 100:
        return f"{v:.0f}"
    return f"{v:.1f}" if abs(v) >= 10 else f"{v:.2f}"


def with_interval(v):
    if not v:
        return "–"
    if "low" not in v:
        return number(v["median"])
    return f"{number(v['median'])} [{number(v['low'])}, {number(v['high'])}]"


def with_verdict(v):
    return with_interval(v) + (f" **{v['says']}**" if v and v["says"] else "")


def table(rows, columns, get, head=str):
    lines = ["| | " + " | ".join(head(c) for c in columns) + " |",
             "| --- |" + " ---: |" * len(columns)]
    for row in rows:
        lines.append(f"| {row} | " + " | ".join(get(row, c) for c in columns) + " |")
    return lines + [""]


def compared_tables(cells, others, of):
    """Kinds of I/O without batches, then those with, each other one's batches side by side."""
    plain, batched, batches = by_batch(cells)
    lines = []
    if plain:
        lines += table(plain, others, lambda c, n: with_verdict(of[c].get(n)))
    if batched:
        def get(kind, column):
            name, batch = column
            return with_verdict(of.get(batched[kind].get(batch), {}).get(name))
        lines += table(batched, [(n, b) for n in others for b in batches], get,
                       lambda column: "{}, batch {}".format(*column))
    return lines


def count_cell(counts, cell, name):
    entry = counts[cell][name]
    words = []
    for key in "messages", "reg_mr", "inv", "completions", "switches":
        words.append(number(entry[key]["value"]) if key in entry else "–")
    return " / ".join(words)


def head_markdown(raw, judged, total, results):
    options = raw["options"]
    lines = ["# rdmafs compared", "",
             f"Linux {raw['kernel']} ({raw['guest']}), {raw['rdma']}, client and server in one"
             f" kernel; {options['rounds']} rounds of {options['seconds']} s a run, of each"
             " backing all contenders in one boot, interleaved in random order. Medians over"
             " rounds; what is not beside another has a 95 % interval.", "",
             "Batch: how many of its 16 I/Os fio hands to one io_submit(). What goes through a"
             " doorbell or into a message together hangs on that.", "",
             "Software RDMA has no translation cache: these figures show CPU cost, messages"
             " and registrations, never what a saved registration gains in an RNIC. It also"
             " computes a CRC over every packet, a floor that is common to all RDMA"
             " contenders.", ""]
    if not total:
        return lines
    lines += ["## What stands", "",
              f"rdmafs is compared {total} times below. Each of these intervals is wrong with"
              f" {ERROR:.0%} / {total}, so that all of them hold together with {1 - ERROR:.0%};"
              " nothing is called faster, slower, cheaper or dearer but what its interval bears"
              " out. rdmafs is:", ""]
    if least_rounds(ERROR / total) > options["rounds"]:
        lines += [f"**Nothing**: {options['rounds']} rounds are too few for so many comparisons,"
                  f" which take {least_rounds(ERROR / total)}.", ""]
    others = [n for n in ORDER if any(n in r["others"] for r in results.values())]

    def get(row, other):
        backing, what = row.split(", ")
        says = [of[other]["says"] for of in judged[backing][what].values() if other in of]
        if not says:
            return "–"
        words = [f"{word} in {says.count(word)}" for word in COMPARED[what][1:]]
        return ", ".join(words + [f"neither in {says.count('')}"])
    rows = [f"{backing}, {what}" for backing, of in judged.items() for what in of]
    return lines + table(rows, others, get)


def settings_markdown(raw, rates="I/Os a second", kinds="kinds of I/O"):
    """What each contender was tried with, and what it was left at."""
    lines = ["### Settings", ""]
    if not raw["options"]["sweep"]:
        lines += ["As the test runner sets them up; nothing was tried.", ""]
    else:
        lines += [f"What did best in short runs before (rounds: {raw['options']['sweep']}), and"
                  f" what else was tried, with {rates} in relation to the best: geometric means"
                  f" over some {kinds}.", ""]
    lines += ["| | taken | tried |", "| --- | --- | --- |"]
    for name in sorted(raw["settings"], key=ORDER.index):
        taken, tried = raw["settings"][name], raw["sweep"][name]
        others = [f"{s}: {number(score(rates) / score(tried[taken]))}"
                  for s, rates in tried.items() if s != taken and rates]
        lines.append(f"| {name} | {taken} | {'; '.join(others) or '–'} |")
    return lines + [""]


def backing_markdown(backing, raw, result, judged):
    names, peers, cells = result["names"], result["peers"], raw["cells"]
    device = "a RAM disk" if backing == "tmpfs" else f"a file on {backing}, by direct I/O"
    lines = [f"## On {backing}", "",
             f"Files lie on {backing}{'' if backing == 'tmpfs' else ' on a RAM disk'}; NVMe-oF's"
             f" namespace is {device}, used as a device, without a file system at the client.",
             ""]
    lines += settings_markdown(raw)
    if "speed" in judged:
        lines += ["### I/Os a second in relation to the others", "",
                  "Above 1 rdmafs does more.", ""]
        lines += compared_tables(cells, result["others"], judged["speed"])
    if "cost" in judged:
        lines += ["### Net cost of an I/O, how much less than the other's, µs", "",
                  "Where the other works on another local backing; else who is faster costs"
                  " less.", ""]
        others = [n for n in result["others"] if any(n in of for of in judged["cost"].values())]
        lines += compared_tables(cells, others, judged["cost"])
    lines += ["### Throughput, MB/s", ""]
    lines += table(cells, names, lambda c, n: with_interval(result["throughput"][c].get(n)))
    lines += ["### I/O per second", ""]
    lines += table(cells, names, lambda c, n: with_interval(result["iops"][c].get(n)))
    lines += ["### Net cost of an I/O, µs", "",
              "1/IOPS less 1/IOPS of the same job on the contender's own local backing"
              " (another file, or RAM disk, of the same kind). One CPU does it all, so this is"
              " CPU time of client, server and software RDMA together.", ""]
    lines += table(cells, peers, lambda c, n: with_interval(result["net_us"][c][n]))
    if result["floor"]:
        lines += ["### Time of an I/O in relation to bare verbs and the local I/O", "",
                  "A bare RDMA WRITE and SEND, answered by a SEND (tests/bare), and the same I/O"
                  " on the contender's own local backing, one after the other. That is no floor:"
                  " who gathers messages or overlaps the two can be below 1.", ""]
        lines += table(result["floor"], peers,
                       lambda c, n: with_interval(result["floor"][c][n]))
    lines += ["### Counts for one I/O", "",
              "Messages / registrations / invalidations / completions / context switches."
              " Messages are SENDs of either side (NFS/TCP: RPCs × 2); registrations,"
              " invalidations and completions are those of both sides; switches are the"
              " machine's, fio's included. –: not counted, or nothing to count.", ""]
    lines += table(cells, peers, lambda c, n: count_cell(result["counts"], c, n))
    if "files" in result:
        times = result["files"]
        lines += ["### Whole files through the page cache, seconds", ""]
        names = sorted(next(iter(times.values())), key=ORDER.index)
        lines += table(times, names, lambda c, n: with_interval(times[c].get(n)))
        if "files" in judged:
            lines += ["The others' time in relation to rdmafs'; above 1 it is faster.", ""]
            lines += table(times, [n for n in names if n in result["others"]],
                           lambda c, n: with_verdict(judged["files"][c].get(n)))
    return lines


def markdown(measured, results, judged, total):
    lines = head_markdown(next(iter(measured.values()))["runs"], judged, total, results)
    for backing, result in results.items():
        lines += backing_markdown(backing, measured[backing]["runs"], result,
                                  judged.get(backing, {}))
    return "\n".join(lines).rstrip() + "\n"


# ------------------------------------------------------------------------ SVG

ROW, LABEL, VALUE = 15, 92, 124     # height of a bar; room on either side of it


def bars(cells, kind, result):
    """Of one kind of I/O (name, batch, cell), a bar each; nothing if it was not measured."""
    plain, batched, _ = by_batch(cells)
    of = batched.get(kind, {"": kind} if kind in plain else {})
    return [(name, batch, cell) for name in result["peers"] for batch, cell in of.items()]


def panel(x, y, width, title, wanted, result, speed):
    """A bar for each contender and batch, its interval as a whisker, and what stands."""
    values = [result["throughput"][cell][name] for name, _, cell in wanted]
    top = max(v.get("high", v["median"]) for v in values) or 1
    room, left = width - LABEL - VALUE, x + LABEL
    out = [f'<text x="{x}" y="{y}" class="head">{escape(title)}</text>']
    for i, ((name, batch, cell), v) in enumerate(zip(wanted, values)):
        row, end = y + 8 + i * ROW, v.get("high", v["median"])
        label = f"{name} ×{batch}" if batch else name
        says = speed.get(cell, {}).get(name, {}).get("says")
        text = number(v["median"]) + (f" rdmafs {says}" if says else "")
        out += [f'<text x="{left - 4}" y="{row + 10}" class="name">{escape(label)}</text>',
                f'<rect x="{left}" y="{row}" width="{room * v["median"] / top:.1f}"'
                f' height="{ROW - 3}" fill="{COLOURS[name]}"'
                f' fill-opacity="{0.6 if batch == "1" else 1}"/>']
        if "low" in v:
            low, high = left + room * v["low"] / top, left + room * v["high"] / top
            out.append(f'<path d="M{low:.1f} {row + 6}H{high:.1f}M{low:.1f} {row + 3}v6'
                       f'M{high:.1f} {row + 3}v6" class="whisker"/>')
        out.append(f'<text x="{left + 6 + room * end / top:.1f}" y="{row + 10}"'
                   f' class="value">{escape(text)}</text>')
    return out


def notes(measured, total):
    """What one has to know to read the picture, a line each."""
    raw = next(iter(measured.values()))["runs"]
    yield (f"Linux {raw['kernel']} ({raw['guest']}), {raw['rdma']}: software RDMA shows CPU cost,"
           " not an RNIC's translation cache. MB/s: median of"
           f" {raw['options']['rounds']} rounds and 95 % interval.")
    yield "×1, ×8: of 16 I/Os under way so many are handed to one io_submit()."
    if total:
        yield (f"rdmafs faster, slower: what stands when all {total} comparisons are to hold"
               " together with 95 %. Nothing else is claimed.")
    for backing, m in measured.items():
        taken = "; ".join(f"{n} {s}" for n, s in m["runs"]["settings"].items())
        yield (f"{backing}: NVMe-oF's namespace is"
               f" {'a RAM disk' if backing == 'tmpfs' else 'a file there, by direct I/O'}.")
        yield (f"{backing}, {'did best' if m['runs']['options']['sweep'] else 'not tuned'}:"
               f" {taken}.")


def svg(measured, results, judged, total):
    """Kinds of I/O from top to bottom; backings side by side, or one of them in three columns."""
    kinds = []
    for m in measured.values():
        plain, batched, _ = by_batch(m["runs"]["cells"])
        kinds += [k for k in plain + list(batched) if k not in kinds]
    columns, width = len(measured) if len(measured) > 1 else 3, 430
    panels = []
    for kind in kinds:
        for backing, result in results.items():
            panels.append((backing, kind, bars(measured[backing]["runs"]["cells"], kind, result)))
    out, y = ['<text x="12" y="26" class="title">rdmafs compared, MB/s</text>'], 46
    for line in notes(measured, total):
        out.append(f'<text x="12" y="{y}">{escape(line)}</text>')
        y += 16
    y += 18
    for start in range(0, len(panels), columns):
        line = panels[start:start + columns]
        for i, (backing, kind, wanted) in enumerate(line):
            if wanted:
                out += panel(12 + i * width, y, width, f"{kind}, {backing}", wanted,
                             results[backing], judged.get(backing, {}).get("speed", {}))
        y += 34 + ROW * max(len(wanted) for _, _, wanted in line)
    total_w = columns * width + 20
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_w}" height="{y}"'
        f' viewBox="0 0 {total_w} {y}">',
        "<style>text{font:11px sans-serif;fill:#222}.head{font-weight:bold;font-size:12px}"
        ".name{text-anchor:end}.title{font-size:15px;font-weight:bold}"
        ".whisker{stroke:#000;fill:none}</style>",
        f'<rect width="{total_w}" height="{y}" fill="#fff"/>', *out, "</svg>"]) + "\n"


# ----------------------------------------------------------------------- files

PARTS = "runs", "counts", "files"


def load(path):
    with open(path) as f:
        return json.load(f)


def gather(where):
    """What was measured, by backing and by part."""
    if not os.path.isdir(where):
        return load(where)["measured"]
    found = {backing: {part: load(f"{where}/{part}-{backing}.json") for part in PARTS
                       if os.path.exists(f"{where}/{part}-{backing}.json")}
             for backing in BACKINGS}
    return {backing: m for backing, m in found.items() if "runs" in m}


def gather_all(places):
    """The same of several places, no backing of which is in two of them."""
    found, alike = {}, set()
    for where in places:
        for backing, m in gather(where).items():
            if backing in found:
                raise ValueError(f"{where}: {backing} was in another file already")
            found[backing] = m
            raw, options = m["runs"], m["runs"]["options"]
            alike.add((raw["kernel"], raw["guest"], raw["rdma"], options["rounds"],
                       options["seconds"], options["mib"], tuple(sorted(raw["settings"])),
                       tuple(raw["cells"])))
    if len(alike) > 1:
        raise ValueError("these were not measured alike: " + "; ".join(map(str, alike)))
    return {backing: found[backing] for backing in BACKINGS if backing in found}


def report(measured):
    """All that is known of it (results, comparisons, how many), the tables and the picture."""
    results, found = {}, {}
    for backing, m in measured.items():
        data = Data(m["runs"])
        results[backing] = summarise(data)
        results[backing].update(
            names=data.names, peers=data.peers, others=data.others,
            counts=count_costs(data, Data(m["counts"]) if "counts" in m else None))
        if "files" in m:
            results[backing]["files"] = {
                row: {name: interval(seconds) for name, seconds in of.items()}
                for row, of in files_times(m["files"]).items()}
        found.update(comparisons(backing, m))
    judged = judge(found)
    return ({"results": results, "comparisons": judged, "compared": len(found)},
            markdown(measured, results, judged, len(found)),
            svg(measured, results, judged, len(found)))


def main():
    *places, out = sys.argv[1:]
    try:
        measured = gather_all(places)
    except ValueError as e:
        sys.exit(f"report.py: {e}")
    if not measured:
        sys.exit(f"report.py: no runs-BACKING.json in {' '.join(places)}")
    known, text, picture = report(measured)
    with open(f"{out}/bench.json", "w") as f:
        json.dump({"measured": measured, **known}, f, indent=1)
    with open(f"{out}/bench.md", "w") as f:
        f.write(text)
    with open(f"{out}/bench.svg", "w") as f:
        f.write(picture)
    for where in filter(os.path.isdir, places):
        for backing in measured:
            for part in PARTS:
                if os.path.exists(f"{where}/{part}-{backing}.json"):
                    os.unlink(f"{where}/{part}-{backing}.json")
    print(text)
    print(f"{out}/bench.json, bench.md, bench.svg")


if __name__ == "__main__":
    main()
