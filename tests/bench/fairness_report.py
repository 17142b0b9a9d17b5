#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes fairness.md and fairness.svg of what fairness.py measured.

Usage: fairness_report.py DIRECTORY    exit 1: something that is wanted does not hold
"""

import collections
import json
import os
import statistics
import sys
from xml.sax.saxutils import escape

COLOURS = ["#c0392b", "#2c6fbb", "#27864f", "#8e44ad", "#d68910", "#148f77", "#7f8c8d", "#5d4037"]


class Report:
    def __init__(self):
        self.rows = []

    def row(self, what, value, limit, holds):
        self.rows.append((what, value, limit, {True: "yes", False: "NO", None: ""}[holds]))

    def holds(self):
        return bool(self.rows) and all(r[3] != "NO" for r in self.rows)

    def text(self):
        head = ("", "measured", "wanted", "holds")
        width = [max(len(r[i]) for r in self.rows + [head]) for i in range(4)]
        lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(r, width)) + " |"
                 for r in [head] + self.rows]
        lines.insert(1, "|" + "|".join("-" * (w + 2) for w in width) + "|")
        return "\n".join(lines) + "\n"


def ratio_row(report, what, over, under, limit, most):
    ratio = over / under
    report.row(what, f"{ratio:.2f}", f"{'at most' if most else 'at least'} {limit}",
               ratio <= limit if most else ratio >= limit)


def shares_rows(report, name, found):
    held = ", ".join(f"{v:.0f}" for v in found["entries"].values())
    report.row(f"{name}: entries held, mean over {found['seconds']:.0f} s", held,
               f"of {found['capacity']}", None)
    if name in ("equal", "writers"):
        report.row(f"{name}: farthest from its share", f"{found['worst']:.1%}", "at most 5%",
                   found["worst"] <= 0.05)
    elif name in ("weighted", "writers31"):
        report.row(f"{name}: farthest from its share", f"{found['worst']:.1%}", "at most 10%",
                   found["worst"] <= 0.10)
    else:
        report.row("eight: Jain's index", f"{found['jain']:.4f}", "at least 0.99",
                   found["jain"] >= 0.99)
    p = found["parts"]
    report.row(f"{name}: bound; in conversion; idle, nobody waits; free",
               "; ".join(f"{p[k]:.1%}" for k in ("bound", "converting", "idle", "free")), "", None)
    report.row(f"{name}: bound or in conversion", f"{p['bound'] + p['converting']:.1%}",
               "at least 95%", p["bound"] + p["converting"] >= 0.95)
    report.row(f"{name}: idle while somebody waits, from the first grants on",
               f"{found['wasted']:.2%}", "less than 2%", found["wasted"] < 0.02)
    sinks, us = found.get("called_back", (0, 0))
    if sinks:
        report.row(f"{name}: {sinks} sinks that were granted before are back after, mean",
                   f"{us / sinks / 1000:.1f} ms", "", None)
    report.row(f"{name}: I/O errors", str(found["errors"]), "0", not found["errors"])


def without_mrs_rows(report, pairs):
    ratio = statistics.median(p["shortage"] / p["plenty"] for p in pairs)
    load = statistics.median(p["shortage_mb_s"] / p["plenty_mb_s"] for p in pairs)
    each_one = each(sorted(p["shortage"] / p["plenty"] for p in pairs), digits=2)
    report.row(f"4 KiB reads in a shortage, of their rate without one: median of {each_one}",
               f"{ratio:.2f}", "at least 0.9", ratio >= 0.9)
    report.row("the hoarder's throughput then, of that without a shortage", f"{load:.2f}", "", None)


def peers_rows(report, found):
    for name, p in found.items():
        alone, beside = (statistics.median(p[k]) for k in ("alone", "beside"))
        report.row(f"{name}: p99 of the light load beside the hoarder's, no quotas, entries for all",
                   f"{beside:.0f} us", f"alone: {alone:.0f} us", None)


def turns(found, name):
    """What each round found."""
    return [v for k, v in found.items() if k.startswith(name) and k[len(name):].isdigit()]


def each(values, scale=1, digits=1):
    return ", ".join(f"{v * scale:.{digits}f}" for v in values)


def slowest(runs, part=0.01):
    """The mean of the slowest hundredth of all I/Os of some runs, in us.

    One CPU is handed on by the tick: about one I/O in a hundred waits 10 ms for
    whatever computes beside it, with a hoarder or without.  A p99 is therefore 0.5 ms or
    10 ms by chance; this mean counts how many such I/Os there are, and how slow.
    """
    bins = collections.Counter()
    for run in runs:
        bins.update({int(ns): n for ns, n in run["bins"].items()})
    wanted = left = max(1, round(sum(bins.values()) * part))
    total = 0
    for ns in sorted(bins, reverse=True):
        taken = min(left, bins[ns])
        total += ns * taken
        left -= taken
    return total / wanted / 1000


def hoarder_rows(report, found):
    hoarders, bases = turns(found, "hoarder"), turns(found, "baseline")
    p99 = [h["light"]["p99_us"] for h in hoarders]
    base = [b["light"]["p99_us"] for b in bases]
    report.row("light beside a hoarder: p99 of each round", each(p99, digits=0) + " us", "", None)
    report.row("baseline: entries for all, hoarder held by max=", each(base, digits=0) + " us",
               f"max={bases[0]['hoarder_max']}", None)
    tail, base_tail = (slowest([r["light"] for r in runs]) for runs in (hoarders, bases))
    report.row("the slowest hundredth of all rounds, mean", f"{tail:.0f} us",
               f"baseline: {base_tail:.0f} us", None)
    ratio_row(report, "ratio of these", tail, base_tail, 1.5, True)
    # The tick is no part of these: what each I/O waits for is.
    ratio_row(report, "ratio of the p50s", *(statistics.median(r["light"]["p50_us"] for r in runs)
                                             for runs in (hoarders, bases)), 1.5, True)
    report.row("from the first wait to the first grant",
               each([h["first_wait_us"] for h in hoarders], 1e-3) + " ms",
               "an RPC of the hoarder: " + each([h["hoarder_rpc_us"] for h in hoarders], 1e-3)
               + " ms", all(h["first_wait_us"] <= h["hoarder_rpc_us"] for h in hoarders))
    report.row("the light one's waits", ", ".join(str(h["light_waits"]) for h in hoarders),
               f"at most 1% of {hoarders[0]['light']['ios']} I/Os",
               all(h["light_waits"] <= h["light"]["ios"] / 100 for h in hoarders))
    report.row("the hoarder has all again after", each([h["regained_s"] for h in hoarders],
                                                       digits=2) + " s", "at most 2 s",
               all(h["regained_s"] <= 2 for h in hoarders))
    errors = sum(bool(h["light"]["error"]) + bool(h["hoarder"]["error"]) for h in hoarders)
    report.row("I/O errors", str(errors), "0", not errors)


def build(found):
    report = Report()
    for name in "equal", "weighted", "eight", "writers", "writers31":
        if name in found:
            shares_rows(report, name, found[name])
    if turns(found, "baseline"):
        hoarder_rows(report, found)
    if "fifo" in found:
        fifo = found["fifo"]
        base = [b["light"]["p99_us"] for b in turns(found, "baseline")]
        base = statistics.median(base) if base else None
        report.row("the same under plain FIFO: p99", f"{fifo['light']['p99_us']:.0f} us",
                   "for comparison" + (f": {fifo['light']['p99_us'] / base:.1f} of the baseline"
                                       if base else ""), None)
    if "churn" in found:
        c = found["churn"]
        wanted = found["options"]["revocations"]
        report.row("revocations", str(c["revocations"]), f"at least {wanted}",
                   c["revocations"] >= wanted)
        report.row("I/O errors by them", str(c["errors"]), "0", not c["errors"])
    if "without_mrs" in found:
        without_mrs_rows(report, found["without_mrs"])
    if "proc" in found:
        ratios = sorted(p["ours"] / p["uptime"] for p in found["proc"])
        ratio = statistics.median(ratios)
        tenth = len(ratios) // 10
        report.row("16 KiB reads while /proc is read 1,000 times a second, of those beside"
                   f" /proc/uptime: median of {len(ratios)} turns, eight tenths of them"
                   f" {ratios[tenth]:.2f} to {ratios[-1 - tenth]:.2f}", f"{ratio:.2f}",
                   "at least 0.9", ratio >= 0.9)
    if "quota" in found:
        q = found["quota"]
        # One stall of the machine is as long as the longest.
        took, rpc = [us / 1e3 for us in q["took_us"]], q["rpc_us"] / 1e3
        report.row(f"a smaller max= is kept after, median and longest of {len(took)}",
                   f"{statistics.median(took):.0f}, {max(took):.0f} ms", f"an RPC: {rpc:.0f} ms",
                   statistics.median(took) <= rpc)
        report.row("and all but the two longest", f"{sorted(took)[-3]:.0f} ms",
                   "at most two RPCs", sorted(took)[-3] <= 2 * rpc)
    if "idle" in found:
        i = found["idle"]
        limit = i["idle_ms"] / 1e3 + 2
        report.row(f"after 1 GiB of I/O: {i['held']} entries are down to none after",
                   f"{i['took_s']:.1f} s", f"at most {limit:.0f} s", i["took_s"] <= limit)
        report.row("and rdma resource show mr has none of ours after", f"{i['shown_s']:.1f} s",
                   f"at most {limit:.0f} s", i["shown_s"] <= limit)
    if "peers" in found:
        peers_rows(report, found["peers"])
    if "policy_ns" in found:
        ns = found["policy_ns"]["acquire_release_ns"]
        report.row("grant and release, uncontended", f"{ns} ns", "at most 300 ns", ns <= 300)
        if "proc" in found:
            part = ns * 1e-9 * statistics.median(p["uptime"] for p in found["proc"])
            report.row("that, of a 16 KiB read at QD16", f"{part:.2%}", "less than 1%", part < 0.01)
    return report


def plot(found, name, title, x, y, width, height):
    data = found[name]["plot"]
    points = data["points"]
    if not points:
        return ""
    last = points[-1][0] or 1
    top = found[name]["capacity"]
    out = [f'<g transform="translate({x},{y})">',
           f'<text x="0" y="-8" font-size="13">{escape(title)}</text>',
           f'<rect width="{width}" height="{height}" fill="none" stroke="#999"/>',
           f'<text x="-6" y="10" font-size="10" text-anchor="end">{top}</text>',
           f'<text x="-6" y="{height}" font-size="10" text-anchor="end">0</text>',
           f'<text x="{width}" y="{height + 14}" font-size="10" text-anchor="end">{last:.0f} s'
           "</text>"]
    if "light_from" in data:
        a, b = (data[k] / last * width for k in ("light_from", "light_to"))
        out.append(f'<rect x="{a:.1f}" width="{b - a:.1f}" height="{height}" fill="#eee"/>')
    for i, label in enumerate(data["names"]):
        path = " ".join(f"{p[0] / last * width:.1f},{height - p[i + 1] / top * height:.1f}"
                        for p in points)
        colour = COLOURS[i % len(COLOURS)]
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}"/>')
        out.append(f'<text x="{width + 6}" y="{12 + 14 * i}" font-size="11" fill="{colour}">'
                   f"{escape(label)}</text>")
    return "\n".join(out + ["</g>"])


def main():
    where = sys.argv[1]
    with open(os.path.join(where, "fairness.json")) as f:
        found = json.load(f)
    report = build(found)
    text = report.text()
    with open(os.path.join(where, "fairness.md"), "w") as f:
        f.write(text)
    titles = [("equal", "two equal greedy readers: entries held"), ("weighted", "weights 3:1"),
              ("eight", "eight equal mounts"),
              ("hoarder0", "a hoarder, and a light mount that comes later (grey)"),
              ("fifo", "the same under plain FIFO")]
    titles = [t for t in titles if t[0] in found]
    width, height, step = 640, 140, 200
    body = "\n".join(plot(found, name, title, 60, 40 + i * step, width, height)
                     for i, (name, title) in enumerate(titles))
    with open(os.path.join(where, "fairness.svg"), "w") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 160}"'
                f' height="{40 + step * len(titles)}" font-family="sans-serif">\n'
                f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')
    sys.stdout.write(text)
    return 0 if report.holds() else 1


sys.exit(main())
