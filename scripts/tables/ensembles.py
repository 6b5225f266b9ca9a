"""Sweeps on the tables of docs/TABLES.md: what the best of some networks and an ensemble of them give on the test rows.

usage: ensembles.py TINYTRAIN RESULTS [TABLE...]

RESULTS is a file of JSON lines, one a split that is done; those that stand there already are not trained again. The document tells
of all of them.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import time

from scipy.stats import rankdata

from problems import PROBLEMS
from splits import SEEDS, measure, measured, parts, trained

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "TABLES.md"
BEGIN, END = "<!-- ensembles: begin -->", "<!-- ensembles: end -->"
MEMBERS = 16
PICKS = 16
# Columns of the table above that stand beside them.
BESIDE = ["held out", "LightGBM"]


def swept(tinytrain, problem, seed):
    """Of a sweep on a split: accuracy or R2 on the test rows of the best member and of the ensemble, and seconds."""
    train, test = parts(problem, seed)
    options = ["--trials", str(MEMBERS), "--ensemble", str(PICKS)]
    events, seconds = trained(tinytrain, "sweep", options, seed, train, test)
    summary = events[-1]
    best = next(e for e in events if e["event"] == "member" and e["member"] == summary["best_member"])
    return {"best": best[measure(train)], "ensemble": summary["ensemble"][measure(train)], "seconds": seconds}


def columns(text):
    """The columns of the first table of the document: name by name, the cells of each problem."""
    lines = [line.strip("| \n").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    header, cells = lines[0], {}
    for line in lines[1:]:
        if line[0] == "mean rank":
            break
        cells[line[0]] = dict(zip(header[1:], line[1:]))
    return cells


def cell(shares):
    """Mean and deviation, and of how many splits, if not of all."""
    deviation = f" ± {statistics.stdev(shares):.1f}" if len(shares) > 1 else ""
    few = {len(SEEDS): "", 1: " (1 split)"}.get(len(shares), f" ({len(shares)} splits)")
    return f"{statistics.mean(shares):.1f}{deviation}{few}"


def mean(cell):
    return float(cell.split(" ")[0])


def main():
    tinytrain, path, *wanted = sys.argv[1:]
    pairs = ((problem, seed) for seed in SEEDS for problem in wanted or PROBLEMS)
    done = measured(pathlib.Path(path), pairs, lambda problem, seed: swept(tinytrain, problem, seed))
    results = {problem: [done[problem, seed] for seed in SEEDS if (problem, seed) in done] for problem in PROBLEMS}
    results = {problem: rows for problem, rows in results.items() if rows}
    text = DOCUMENT.read_text()
    above = columns(text.split("<!-- compare-tables: begin -->")[1])
    version = subprocess.run([tinytrain, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    lines, places, ahead = [], [], {"best": 0, **dict.fromkeys(BESIDE, 0)}
    for problem, rows in results.items():
        shares = {name: [100 * row[name] for row in rows] for name in ("ensemble", "best")}
        own = [cell(each) for each in shares.values()]
        others = above[problem]
        lines.append(f"| {problem} | {' | '.join([*own, *(others[name] for name in BESIDE)])} |")
        scores = [mean(own[0]), *(mean(cell) for cell in others.values())]
        places.append(rankdata([-score for score in scores]))
        for name, other in zip(ahead, [mean(own[1]), *(mean(others[name]) for name in BESIDE)]):
            ahead[name] += (mean(own[0]) > other) + 0.5 * (mean(own[0]) == other)
    ranks = [statistics.mean(place) for place in zip(*places)]
    names = ["ensemble", *next(iter(above.values()))]
    count = len(results)
    section = [
        BEGIN,
        f"{time.strftime('%Y-%m-%d')}: {version}, {os.cpu_count()} cores.",
        "",
        f"| table | ensemble | best member | {' | '.join(BESIDE)} |",
        "|---|" + "--:|" * (2 + len(BESIDE)),
        *lines,
        "",
        f"The ensemble is ahead of its best member on {ahead['best']:g} of {count} tables, of the preset alone on"
        f" {ahead['held out']:g}, of LightGBM on {ahead['LightGBM']:g} (a tie is half a table).",
        f"Mean rank with it among the columns of the first table: {', '.join(f'{n} {r:.1f}' for n, r in zip(names, ranks))}.",
        END,
    ]
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    DOCUMENT.write_text(before + "\n".join(section) + after)
    print("\n".join(section[1:-1]))


main()
