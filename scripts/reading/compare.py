"""Reads the same table with tinytrain, polars and pandas, each time in a process of its own, in turn, and prints their times; then
the same table with quotes.

usage: compare.py BENCH ROUNDS ROWS   (BENCH: the program that `cargo bench --bench loading` runs)
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

# Columns of numbers in front of those of text, as benches/loading/mixed.rs writes them; behind these stands the class.
NUMBERS = 25

# The time of the call alone: neither that of starting Python nor that of importing the library.
PEER = """
import sys, time, {0}
begun = time.perf_counter()
table = {0}.read_csv(sys.argv[1])
print(len(table), time.perf_counter() - begun)
"""


def timed(command):
    """Rows, seconds of reading, processor seconds of the whole process, and its peak memory in MB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command[:2])} failed")
    rows, seconds = output.split()
    return int(rows), float(seconds), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


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
            runs[name].append(timed(command))
    print("| program | median, s | fastest, s | times ours | processor time, s | peak MB |\n|---|--:|--:|--:|--:|--:|")
    first = None
    for name, all_rounds in runs.items():
        # The first round brings the file and the libraries into memory.
        found, seconds, busy, peak = zip(*all_rounds[1:])
        if set(found) != {rows}:
            sys.exit(f"{name} has read {set(found)} rows of {rows}")
        middle = statistics.median(seconds)
        first = first or middle
        print(
            f"| {name} | {middle:.3f} | {min(seconds):.3f} | {middle / first:.2f} | {statistics.median(busy):.2f} | {max(peak):.0f} |"
        )


def main():
    bench, rounds, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        plain, quoted = f"{folder}/table.csv", f"{folder}/quoted.csv"
        subprocess.run([bench, "--write", plain, str(rows)], check=True)
        write_quoted(plain, quoted)
        for table, title in (plain, "plain"), (quoted, "text in quotes"):
            size = pathlib.Path(table).stat().st_size
            programs = {"tinytrain": [bench, "--read", table]}
            for peer in ("polars", "pandas"):
                programs[peer] = [sys.executable, "-c", PEER.format(peer), table]
            print(f"\n{title}: {rows} rows, 31 columns, {size / 1e6:.0f} MB, {os.cpu_count()} cores, {rounds} rounds in turn\n")
            compare(programs, rounds, rows)


main()
