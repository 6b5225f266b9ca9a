#!/usr/bin/env python3
"""Times training beside endless loops: none, as many as cores, and twice as many.

    scripts/bench busy [PROGRAM ...]     # by default target/release/tinytrain

Several programs are timed in turn. W1 is 784-300-100-10 with batch 64 and W3 784-32-10 with batch 16, both on MNIST; W4 is the preset for
tables on a generated table of 3,000 rows and 57 columns. Seconds are those of the whole process, the less of two.
"""
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def table(path):
    """A table of numbers, and two classes that depend on them."""
    random.seed(0)
    weights = [[random.gauss(0, 1) for _ in range(3)] for _ in range(57)]
    with open(path, "w") as file:
        print(*(f"x{column}" for column in range(57)), "y", sep=",", file=file)
        for _ in range(3000):
            row = [random.gauss(0, 1) for _ in range(57)]
            h = [math.tanh(sum(x * w[k] for x, w in zip(row, weights)) / 4) for k in range(3)]
            label = "a" if h[0] * h[1] + h[2] + 0.3 * random.gauss(0, 1) > 0 else "b"
            print(*(f"{x:.4f}" for x in row), label, sep=",", file=file)


def main():
    programs = sys.argv[1:] or [str(ROOT / "target/release/tinytrain")]
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        data, model = f"{folder}/table.csv", f"{folder}/model.safetensors"
        table(data)
        w4 = ["--data", data, "--target", "y", "--preset", "table", "--validation-fraction", "0.08", "--epochs", "16"]
        jobs = {
            "W1": ["--epochs", "2"],
            "W3": ["--epochs", "3", "--hidden", "32", "--batch-size", "16"],
            "W4": w4,
        }
        print(f"{cores} cores; seconds, and times those of a quiet machine")
        quiet = {}
        for loops in (0, cores, 2 * cores):
            busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
            try:
                time.sleep(0.3 if busy else 0)
                for program in programs:
                    shown = []
                    for name, options in jobs.items():
                        taken = []
                        for _ in range(2):
                            begin = time.perf_counter()
                            command = [program, "train", "--device", "cpu", "--quiet", "--out", model, *options]
                            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
                            taken.append(time.perf_counter() - begin)
                        least = quiet.setdefault((program, name), min(taken))
                        shown.append(f"{name} {min(taken):.2f} ({min(taken) / least:.1f})")
                    print(f"{loops} loops, {Path(program).name}: " + ", ".join(shown), flush=True)
            finally:
                for process in busy:
                    process.kill()
                    process.wait()


if __name__ == "__main__":
    main()
