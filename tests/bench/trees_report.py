#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes trees.json and trees.md of what trees.py measured.

Medians and intervals are those of report.py: how long rdmafs takes in relation to another is
of pairs of one round, and all these intervals hold together.

Usage: trees_report.py FROM OUT    exit 1: an aim is missed, by an interval that says so

FROM is a directory with trees-BACKING.json, or a trees.json. OUT is a directory.
"""

import json
import os
import statistics
import sys

import report

# At most so much of the other's time; what is not listed is not to take longer.
AIMS = {"tar x": 0.75, "rm -r": 0.75}
SAME = 1


class Data:
    """One backing's records, by step and contender, in the order of the rounds."""

    def __init__(self, raw):
        self.names = sorted({run["contender"] for run in raw["runs"]}, key=report.ORDER.index)
        self.peers = [name for name in self.names if not name.startswith("local")]
        self.others = [n for n in self.peers if n != report.OURS] if report.OURS in self.peers \
            else []
        self.records, self.delegations = {}, {}
        for run in sorted(raw["runs"], key=lambda run: run["round"]):
            for step, record in run["rows"].items():
                self.records.setdefault(step, {}).setdefault(run["contender"], []).append(record)
            if "delegations" in run:
                self.delegations.setdefault(run["contender"], []).append(run["delegations"])

    def values(self, step, name, key):
        return [record[key] for record in self.records[step][name] if key in record]

    def requests(self, step, name):
        """Their median; nothing if there are none."""
        values = self.values(step, name, "requests")
        return statistics.median(values) if values else None

    def comparisons(self, backing):
        """As report.comparisons() has them: rdmafs' time in parts of another's, each round."""
        return {(backing, "time", step, other): [
            mine / its for mine, its in zip(self.values(step, report.OURS, "seconds"),
                                            self.values(step, other, "seconds"))]
                for step in self.records for other in self.others}


def aim_of(step):
    return AIMS.get(step, SAME)


def held(step, verdict):
    """Whether an aim is: "yes" or "NO", where the interval says so."""
    if "low" not in verdict:
        return ""
    if verdict["high"] <= aim_of(step):
        return "yes"
    return "NO" if verdict["low"] > aim_of(step) else "open"


# ------------------------------------------------------------------- Markdown

def aligned(lines):
    """The lines of a table, so that they can be read as they are."""
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines if line]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    found = []
    for row in rows:
        cells = []
        for i, (cell, width) in enumerate(zip(row, widths)):
            if cell.strip("-:") == "" and cell:
                cells.append("-" * (width - cell.endswith(":")) + ":" * cell.endswith(":"))
            else:
                cells.append(cell.rjust(width) if i else cell.ljust(width))
        found.append("| " + " | ".join(cells) + " |")
    return found + [""]


def count(value):
    return "–" if value is None else f"{value:,.0f}"


def requests_ratio(data, step, other):
    mine, its = data.requests(step, report.OURS), data.requests(step, other)
    return f"{mine / its:.2f}" if its else "–"      # who has a delegation may need none


def measured_table(data):
    columns = [(name, key) for name in data.names for key in ("s", "requests")
               if key == "s" or name in data.peers]

    def get(step, column):
        name, key = column
        if key == "requests":
            return count(data.requests(step, name))
        return report.with_interval(report.interval(data.values(step, name, "seconds")))
    return aligned(report.table(data.records, columns, get, lambda c: f"{c[0]}, {c[1]}"))


def compared_table(data, judged):
    def get(step, column):
        other, key = column
        verdict = judged[step][other]
        if key == "requests":
            return requests_ratio(data, step, other)
        if key == "time":
            return report.with_verdict(verdict)
        return f"at most {aim_of(step)} {held(step, verdict)}".strip()
    columns = [(other, key) for other in data.others for key in ("time", "aim", "requests")]
    return aligned(report.table(data.records, columns, get, lambda c: f"{c[0]}: {c[1]}"))


def head(raw, total):
    options = raw["options"]
    lines = ["# Trees of files, compared", "",
             f"Linux {raw['kernel']} ({raw['guest']}), {raw['rdma']}, client and server in one"
             f" kernel; a git repository of {options['files']:,} files of the kernel's source"
             f" ({raw['entries']:,} names with directories and git's own); {options['rounds']}"
             " rounds, of each backing all contenders in one boot, in random order. Medians of"
             " seconds, with 95 % intervals, and of requests that the client sent.", "",
             '"Nothing cached": after caches were dropped, the server\'s among them. What follows'
             ' from that, as delegations given back, is counted in "all of it" alone.', ""]
    if not total:
        return lines
    least = report.least_rounds(report.ERROR / total)
    lines += [f"rdmafs is compared {total} times. Each of these intervals is wrong with"
              f" {report.ERROR:.0%} / {total}, so that all hold together with"
              f" {1 - report.ERROR:.0%}. An aim is held, or missed, where its interval says so.",
              ""]
    if least > options["rounds"]:
        lines += [f"**Nothing** stands: {options['rounds']} rounds are too few for so many"
                  f" comparisons, which take {least}.", ""]
    return lines


def backing_markdown(backing, raw, data, judged):
    lines = [f"## On {backing}", ""]
    lines += report.settings_markdown(raw, "what was done a second", "steps with fewer files")
    lines += ["### Seconds, and requests", ""] + measured_table(data)
    if data.delegations:
        given = ", ".join(f"{name} {count(statistics.median(values))}"
                          for name, values in data.delegations.items())
        lines += [f"Delegations that a client gave back in a round, median: {given}.", ""]
        without = [name for name, values in data.delegations.items() if not any(values)]
        if without:
            lines += [f"**{', '.join(without)}** had none: that is not how NFS is to be compared.",
                      ""]
    if judged:
        lines += ["### rdmafs' time and requests in relation to the other's", "",
                  "Below 1 rdmafs takes less.", ""] + compared_table(data, judged)
    return lines


def make(measured):
    """All that is known of it, the text, and whether no aim is missed."""
    datas = {backing: Data(raw) for backing, raw in measured.items()}
    found = {}
    for backing, data in datas.items():
        found.update(data.comparisons(backing))
    judged = {backing: of["time"] for backing, of in report.judge(found).items()}
    missed = [f"{backing}: {step}, beside {other}" for backing, of in judged.items()
              for step, others in of.items() for other, verdict in others.items()
              if held(step, verdict) == "NO"]
    lines = head(next(iter(measured.values())), len(found))
    for backing, data in datas.items():
        lines += backing_markdown(backing, measured[backing], data, judged.get(backing, {}))
    if missed:
        lines += ["Missed aims: " + "; ".join(missed) + ".", ""]
    return ({"comparisons": judged, "compared": len(found), "missed": missed},
            "\n".join(lines).rstrip() + "\n")


# ----------------------------------------------------------------------- files

def parts(where):
    """By backing, the files that trees.py has left there."""
    paths = {backing: f"{where}/trees-{backing}.json" for backing in report.BACKINGS}
    return {backing: path for backing, path in paths.items() if os.path.exists(path)}


def main():
    where, out = sys.argv[1:]
    found = parts(where) if os.path.isdir(where) else {}
    if found:
        measured = {backing: report.load(path) for backing, path in found.items()}
    elif os.path.isfile(where):
        measured = report.load(where)["measured"]
    else:
        sys.exit(f"trees_report.py: no trees-BACKING.json in {where}")
    known, text = make(measured)
    with open(f"{out}/trees.json", "w", encoding="utf-8") as f:
        json.dump({"measured": measured, **known}, f, indent=1)
    with open(f"{out}/trees.md", "w", encoding="utf-8") as f:
        f.write(text)
    for path in found.values():
        os.unlink(path)
    print(text)
    print(f"{out}/trees.json, trees.md")
    return 1 if known["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
