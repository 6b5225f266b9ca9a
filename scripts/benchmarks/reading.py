"""Reads the same table with tinytrain, polars and pandas, each time in a separate process, in turn, and prints their times;
then the same table with quotes."""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import common

# Number of numeric columns before the text columns, as written by benches/loading/mixed.rs; the class follows
# last.
NUMBERS = 25
# Times only the call, without starting Python or importing the library.
PEER = """
import sys, time, {0}
begun = time.perf_counter()
table = {0}.read_csv(sys.argv[1])
print(len(table), time.perf_counter() - begun)
"""


def write_quoted(table, quoted):
    """The same table with quotes around names and text, as R and `csv.QUOTE_NONNUMERIC` write them."""
    with open(table) as rows, open(quoted, "w") as file:
        file.write(",".join(f'"{name}"' for name in next(rows).rstrip("\n").split(",")) + "\n")
        for row in rows:
            cells = row.rstrip("\n").split(",")
            texts = [f'"{cell}"' for cell in cells[NUMBERS:-1]]
            file.write(",".join(cells[:NUMBERS] + texts + cells[-1:]) + "\n")


def compare(programs, rounds, rows):
    """Runs programs in turn and prints a table of their times."""
    runs = {name: [] for name in programs}
    for _ in range(rounds + 1):
        for name, command in programs.items():
            runs[name].append(common.measured(command))
    print(common.head("program", "median, s", "fastest, s", "times ours", "processor time, s", "peak MB"))
    first = None
    for name, (_, *counted) in runs.items():
        # The first round reads the file and the libraries into memory.
        found, seconds = zip(*(run.output.split() for run in counted))
        if set(found) != {str(rows)}:
            sys.exit(f"{name} has read {set(found)} rows of {rows}")
        seconds = [*map(float, seconds)]
        middle, used = statistics.median(seconds), statistics.median(run.busy for run in counted)
        first = first or middle
        peak = max(run.peak for run in counted) * 2**20 / 1e6
        cells = f"{middle:.3f}", f"{min(seconds):.3f}", f"{middle / first:.2f}", f"{used:.2f}", f"{peak:.0f}"
        print(common.row(name, *cells))


def reading(rounds="11", rows="1000000"):
    bench, rounds, rows = common.benchmark("loading"), int(rounds), int(rows)
    with tempfile.TemporaryDirectory() as folder:
        plain, quoted = Path(folder, "table.csv"), Path(folder, "quoted.csv")
        subprocess.run([bench, "--write", plain, str(rows)], check=True)
        write_quoted(plain, quoted)
        for table, title in (plain, "plain"), (quoted, "text in quotes"):
            size = table.stat().st_size / 1e6
            programs = {"tinytrain": [bench, "--read", table]}
            programs |= {peer: [sys.executable, "-c", PEER.format(peer), table] for peer in ("polars", "pandas")}
            print(f"\n{title}: {rows} rows, 31 columns, {size:.0f} MB, {os.cpu_count()} cores, {rounds} rounds in turn\n")
            compare(programs, rounds, rows)
