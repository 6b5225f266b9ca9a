"""Runs tinytrain and its peers in turn, several rounds: single networks, and packs of them."""

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import common
from benchmarks.work import PACKS, WORKLOADS, data, rates

OURS = {
    "W1": "--epochs 10",
    "W1-Adam": "--epochs 10 --optimizer adam --lr 0.001",
    "W3": "--epochs 3 --hidden 32 --batch-size 16",
    # The largest table is last: writing its rows needs memory of this process, which would count for smaller
    # tables.
    "W2": "--epochs 3 --hidden 2500,2000,1500,1000,500 --batch-size 256",
}
TITLES = {
    "W1": "784-300-100-10, batches of 64, gradient descent",
    "W1-Adam": "784-300-100-10, batches of 64, Adam",
    "W3": "784-32-10, batches of 16, gradient descent",
    "W2": "784-2500-2000-1500-1000-500-10, batches of 256, gradient descent, 12,800 rows",
}
# CUDA graphs of Adam's steps are not implemented, and a thousand networks of scikit-learn take too long.
LEFT_OUT = {("torch-cuda-graph", "W1-Adam"), ("sklearn", "1,000 of 784-32-10")}
# Number of a pack's members that are trained one by one, to estimate the time of all members.
ALONE = 8
DEVICE = os.environ.get("TINYTRAIN_DEVICE", "cpu")


def peer(name, workload):
    """The report of a peer: torch-cpu, torch-compiled, torch-cuda, torch-cuda-graph, jax or sklearn."""
    script, *arguments = name.split("-")
    run = common.measured([sys.executable, Path(__file__).with_name(f"{script}_peer.py"), workload, *arguments])
    return json.loads(run.output.splitlines()[-1]) | {"wall_s": run.seconds, "memory_mib": run.peak}


def network(program, workload):
    """The report of tinytrain for a single network."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--format", "json", "--device", DEVICE, "--out", f"{folder}/model.safetensors"]
        rows = WORKLOADS[workload].rows
        images = [] if rows == 60_000 else ["--data", common.first_images(Path(folder, "mnist"), rows)]
        run = common.measured([*command, *OURS[workload].split(), *images], cwd=common.ROOT)
    events = [json.loads(line) for line in run.output.splitlines()]
    epochs = [event for event in events if event["event"] == "epoch"]
    return {
        "peer": f"tinytrain, {events[0]['device']}",
        "epoch_s": statistics.median(epoch["seconds"] for epoch in epochs[1:]),
        "first_batch_s": events[-1]["first_batch_seconds"],
        "quality": events[-1]["test_accuracy"],
        "wall_s": run.seconds,
        "memory_mib": run.peak,
    }


def options_of(pack, folder):
    """The options of a pack but its learning rates; writes its data into a folder where they are no files."""
    work = PACKS[pack]
    train, test = common.MNIST / "train-images-idx3-ubyte.gz", common.MNIST
    if work.data != "mnist":
        train, test = folder / "train.csv", folder / "validation.csv"
        for path, (x, y) in zip((train, test), data(work)):
            lines = [",".join([*(f"x{i}" for i in range(x.shape[1])), "class"])]
            lines += [",".join([*map(repr, map(float, row)), f"c{label}"]) for row, label in zip(x, y)]
            path.write_text("\n".join(lines) + "\n")
    settings = {
        "data": train, "validation": test, "preset": "plain", "hidden": ",".join(map(str, work.sizes[1:-1])),
        "batch-size": work.batch, "epochs": work.epochs, "optimizer": "adam" if work.adam else "sgd", "device": DEVICE,
    }
    return [*(f"--{name}={value}" for name, value in settings.items()), "--format", "json"]


def members(program, pack, common_options, folder):
    """The report of `tinytrain sweep`."""
    settings, out = folder / "settings.jsonl", folder / "sweep"
    settings.write_text("".join(json.dumps({"lr": float(f"{rate:.5g}")}) + "\n" for rate in rates(PACKS[pack])))
    run = common.measured([program, "sweep", *common_options, "--settings", settings, "--out", out])
    shutil.rmtree(out)
    quality = json.loads(run.output.splitlines()[-1])["accuracy"]
    return {"peer": "tinytrain sweep", "wall_s": run.seconds, "memory_mib": run.peak, "quality": quality}


def ideal(program, pack, common_options, folder):
    """The time of all cores for members trained one by one, each on one thread."""
    count, times = PACKS[pack].members, []
    for rate in rates(PACKS[pack])[:: count // ALONE][:ALONE]:
        chosen = ["--threads", "1", "--lr", f"{rate:.5g}", "--out", folder / "alone.safetensors"]
        times.append(common.measured([program, "train", *common_options, *chosen]).seconds)
    return {"peer": "ideal", "wall_s": statistics.mean(times) * count / os.cpu_count()}


def in_turn(name, rounds, programs):
    """The reports of all rounds by the names of programs, in each of which every one ran once."""
    runs = {}
    for number in range(int(rounds)):
        for program in programs:
            report = program()
            runs.setdefault(report["peer"], []).append(report)
            print(f"{name} round {number + 1}: {json.dumps(report)}", file=sys.stderr, flush=True)
    return runs


def others(names, workload):
    return [lambda name=name: peer(name, workload) for name in names if (name, workload) not in LEFT_OUT]


def shown(reports, key, form, unit=""):
    """The median, for a cell."""
    return f"{statistics.median(it[key] for it in reports):{form}}{unit}" if key in reports[0] else ""


def peers(rounds="5"):
    """Writes a table of each workload into docs/BENCHMARKS.md."""
    program = common.program()
    # A separate process: the memory of this one would count for the programs that it starts.
    names = common.measured([sys.executable, Path(__file__).with_name("there.py")]).output.split()
    names += ["torch-compiled"] * bool(shutil.which(os.environ.get("CXX", "g++")))
    lines = [
        f"`scripts/bench peers`, {time.strftime('%Y-%m-%d')}: {common.processor()}. Medians of {rounds}",
        "rounds in which every program ran once, in turn; the ratio is its epoch time to ours.",
    ]
    columns = ["seconds per epoch", "ratio", "first batch trained after", "whole process", "peak memory", "accuracy"]
    for workload in os.environ.get("WORKLOADS", " ".join(OURS)).split():
        runs = in_turn(workload, rounds, [lambda: network(program, workload), *others(names, workload)])
        lines += ["", f"**{workload}**: {TITLES[workload]}", "", common.head("program", *columns)]
        first = float(shown(next(iter(runs.values())), "epoch_s", "f"))
        for name, reports in runs.items():
            epoch = float(shown(reports, "epoch_s", "f"))
            memory, wall = shown(reports, "memory_mib", ".0f", " MiB"), shown(reports, "wall_s", ".1f", " s")
            begun = shown(reports, "first_batch_s", ".2f", " s")
            quality = shown(reports, "quality", ".2%").replace("%", " %")
            lines.append(common.row(name, f"{epoch:.4f}", f"{epoch / first:.1f}", begun, wall, memory, quality))
    common.replace_section("BENCHMARKS.md", "bench peers", lines)
    print("\n".join(lines))


def sweep(rounds="3", *wanted):
    """Prints a table of all packs, or of those that are wanted."""
    program, names = common.program(), ["jax", "torch-cpu", "sklearn"]
    print(common.head("pack", "program", "seconds", "times ours", "peak MB", "best accuracy"))
    for pack in wanted or PACKS:
        with tempfile.TemporaryDirectory() as name:
            given = program, pack, options_of(pack, Path(name)), Path(name)
            runs = in_turn(pack, rounds, [lambda: members(*given), lambda: ideal(*given), *others(names, pack)])
        first = float(shown(runs["tinytrain sweep"], "wall_s", "f"))
        for name, reports in runs.items():
            wall = float(shown(reports, "wall_s", "f"))
            memory, quality = shown(reports, "memory_mib", ".0f"), shown(reports, "quality", ".2%").replace("%", " %")
            print(common.row(pack, name, f"{wall:.1f}", f"{wall / first:.2f}", memory, quality), flush=True)
