"""Times training while endless loops run: none, one and two per core."""

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common

JOBS = {
    "W1": "--epochs 2",
    "W3": "--epochs 3 --hidden 32 --batch-size 16",
    "W4": "--data TABLE --target y --preset table --validation-fraction 0.08 --epochs 16",
}


def write_table(path):
    """A table of 3,000 rows and 57 numbers, and two classes that depend on them."""
    draw = random.Random(0)
    rows = [[draw.gauss(0, 1) for _ in range(57)] for _ in range(3000)]
    lines = [",".join([*(f"x{column}" for column in range(57)), "y"])]
    lines += [",".join([*(f"{x:.4f}" for x in row), "ab"[sum(row[:5]) * row[5] > 0]]) for row in rows]
    path.write_text("\n".join(lines) + "\n")


def busy(*programs):
    """Times several programs in turn; seconds are those of the whole process, the less of two."""
    programs = [Path(program).resolve() for program in programs] or [common.program()]
    cores, quiet = len(os.sched_getaffinity(0)), {}
    print(f"{cores} cores; seconds, and times those of a quiet machine")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        write_table(table)
        for loops in (0, cores, 2 * cores):
            load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
            time.sleep(0.3)
            try:
                for program in programs:
                    shown = []
                    for name, options in JOBS.items():
                        command = [program, "train", "--device", "cpu", "--quiet", "--out", f"{folder}/model.safetensors"]
                        command += [str(table) if word == "TABLE" else word for word in options.split()]
                        taken = min(common.measured(command, cwd=common.ROOT).seconds for _ in range(2))
                        least = quiet.setdefault((program, name), taken)
                        shown.append(f"{name} {taken:.2f} ({taken / least:.1f})")
                    print(f"{loops} loops, {Path(program).name}: " + ", ".join(shown), flush=True)
            finally:
                for process in load:
                    process.kill()
                    process.wait()
