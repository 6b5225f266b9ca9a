"""Reads the same table with tinytrain, polars and pandas, each time in a process of its own, in turn, and prints their times.

usage: compare.py BENCH ROUNDS ROWS   (BENCH: the program that `cargo bench --bench loading` runs)
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

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


def main():
    bench, rounds, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        table = f"{folder}/table.csv"
        subprocess.run([bench, "--write", table, str(rows)], check=True)
        size = pathlib.Path(table).stat().st_size
        programs = {"tinytrain": [bench, "--read", table]}
        for peer in ("polars", "pandas"):
            programs[peer] = [sys.executable, "-c", PEER.format(peer), table]
        runs = {name: [] for name in programs}
        for _ in range(rounds + 1):
            for name, command in programs.items():
                runs[name].append(timed(command))
    print(f"{rows} rows, 31 columns, {size / 1e6:.0f} MB, {os.cpu_count()} cores, {rounds} rounds in turn\n")
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


main()
