"""Trains packs of networks with tinytrain and others, in turn, and prints a table of times, memory and scores.

usage: bench.py TINYTRAIN PYTHON ROUNDS PACK...   (all packs without a name)
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from members import PACKS, rates, table

HERE = pathlib.Path(__file__).resolve().parent
MNIST = HERE.parents[1] / "data" / "mnist"
# By the name of the library.
PEERS = {"JAX vmap": "jax_pack.py", "PyTorch vmap": "torch_pack.py", "scikit-learn, joblib": "sklearn_pack.py"}
# Members that are trained alone, to tell how long all of them would take.
ALONE = 8


def timed(command):
    """Seconds of a process, its peak memory in MB (without processes of its own), and its output."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        output.seek(0)
        errors.seek(0)
        if status != 0:
            sys.exit(f"{' '.join(command[:3])} failed: {errors.read()[-1000:]}")
        return seconds, usage.ru_maxrss / 1024, output.read()


def files(pack, folder):
    """Options that name the data."""
    if pack.data == "mnist":
        return ["--data", str(MNIST / "train-images-idx3-ubyte.gz"), "--validation", str(MNIST)]
    for part in ("train", "validation"):
        x, y = table(part)
        header = ",".join([f"x{i}" for i in range(x.shape[1])] + ["class"])
        rows = [",".join([*map(repr, map(float, row)), f"c{label}"]) for row, label in zip(x, y)]
        pathlib.Path(folder, f"{part}.csv").write_text("\n".join([header, *rows]) + "\n")
    return ["--data", f"{folder}/train.csv", "--validation", f"{folder}/validation.csv"]


def ours(tinytrain, pack, folder, tag):
    """Trains all members; the time, the memory, the best validation accuracy, and the options that all have."""
    common = [*files(pack, folder), "--preset", "plain", "--hidden", ",".join(map(str, pack.hidden))]
    common += ["--batch-size", str(pack.batch), "--epochs", str(pack.epochs), "--optimizer", pack.optimizer]
    common += ["--device", os.environ.get("TINYTRAIN_DEVICE", "cpu"), "--format", "json"]
    settings = pathlib.Path(folder, "settings.jsonl")
    settings.write_text("".join(json.dumps({"lr": float(f"{rate:.5g}")}) + "\n" for rate in rates(pack)))
    out = f"{folder}/sweep-{tag}"
    seconds, peak, output = timed([tinytrain, "sweep", *common, "--settings", str(settings), "--out", out])
    return seconds, peak, json.loads(output.splitlines()[-1])["accuracy"], common


def alone(tinytrain, pack, common, folder):
    """The mean time of a member trained by itself on one thread."""
    chosen = rates(pack)[:: max(pack.members // ALONE, 1)][:ALONE]
    times = []
    for rate in chosen:
        command = [tinytrain, "train", *common, "--threads", "1", "--lr", f"{rate:.5g}", "--out", f"{folder}/alone.safetensors"]
        times.append(timed(command)[0])
    return statistics.mean(times)


def measured(tinytrain, python, name, rounds):
    """Of each program the seconds of each round, the peak memory, and the best validation accuracy."""
    pack, runs = PACKS[name], {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds):
            seconds, peak, score, common = ours(tinytrain, pack, folder, turn)
            runs.setdefault("tinytrain sweep", []).append((seconds, peak, score))
            single = alone(tinytrain, pack, common, folder)
            # What it would take if all cores were busy with nothing but members.
            runs.setdefault("ideal", []).append((single * pack.members / os.cpu_count(), None, None))
            for peer, script in PEERS.items():
                if pack.members > 64 and peer.startswith("scikit"):
                    continue
                seconds, peak, output = timed([python, str(HERE / script), name])
                runs.setdefault(peer, []).append((seconds, peak, float(output.split()[-1])))
    return runs


def main():
    tinytrain, python, rounds, *wanted = sys.argv[1:]
    print("| pack | program | seconds | times ours | peak MB | best accuracy |\n|---|---|--:|--:|--:|--:|")
    for name in wanted or PACKS:
        runs = measured(tinytrain, python, name, int(rounds))
        first = statistics.median(seconds for seconds, _, _ in runs["tinytrain sweep"])
        for program, rows in runs.items():
            seconds = statistics.median(seconds for seconds, _, _ in rows)
            _, peak, score = rows[-1]
            peak = "" if peak is None else f"{peak:.0f}"
            score = "" if score is None else f"{100 * score:.2f} %"
            print(f"| {name} | {program} | {seconds:.1f} | {seconds / first:.2f} | {peak} | {score} |", flush=True)


main()
