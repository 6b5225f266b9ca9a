"""Runs tinytrain and its peers in turn, several rounds, and writes the medians into docs/BENCHMARKS.md.

usage: compare.py TINYTRAIN ROUNDS PYTHON PEER...   (a peer: torch-cpu, torch-compiled, torch-cuda,
  torch-cuda-graph, jax)

WORKLOADS="W1 W3" in the environment measures only these.
"""

import gzip
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "docs" / "BENCHMARKS.md"
BEGIN, END = "<!-- bench peers: begin -->", "<!-- bench peers: end -->"
OURS = {
    "W1": "--epochs 10",
    "W1-Adam": "--epochs 10 --optimizer adam --lr 0.001",
    "W3": "--epochs 3 --hidden 32 --batch-size 16",
    # Last: what this program holds then to write its rows would be counted as memory of the smaller ones.
    "W2": "--epochs 3 --hidden 2500,2000,1500,1000,500 --batch-size 256",
}
TITLES = {
    "W1": "784-300-100-10, batches of 64, gradient descent",
    "W1-Adam": "784-300-100-10, batches of 64, Adam",
    "W3": "784-32-10, batches of 16, gradient descent",
    "W2": "784-2500-2000-1500-1000-500-10, batches of 256, gradient descent, 12,800 rows",
}
# As in work.py, which needs numpy.
W2_ROWS = 12_800
# No CUDA graph of Adam's steps is written.
LEFT_OUT = {("torch-cuda-graph", "W1-Adam")}


def measured(command):
    """Standard output, seconds from start to end, and the largest resident set in MiB."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        if os.waitstatus_to_exitcode(status) != 0:
            errors.seek(0)
            sys.exit(f"{' '.join(command)} failed:\n{errors.read()[-2000:]}")
        output.seek(0)
        return output.read(), seconds, usage.ru_maxrss / 1024


def data_of(workload, folder):
    """The options that name the data, written into a folder where the repository has none."""
    if workload == "W2":
        mnist = HERE.parents[1] / "data" / "mnist"
        for name in mnist.glob("*.gz"):
            raw = gzip.decompress(name.read_bytes())
            if name.name.startswith("train"):
                header, size = (16, 784) if raw[3] == 3 else (8, 1)
                count = W2_ROWS.to_bytes(4, "big")
                raw = raw[:4] + count + raw[8:header] + raw[header : header + W2_ROWS * size]
            pathlib.Path(folder, name.stem).write_bytes(raw)
        return ["--data", folder]
    return []


def ours(tinytrain, workload, device):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as data:
        command = [tinytrain, "train", "--format", "json", "--device", device, "--out", f"{folder}/model.safetensors"]
        text, seconds, memory = measured(command + OURS[workload].split() + data_of(workload, data))
    events = [json.loads(line) for line in text.splitlines()]
    epochs = [event for event in events if event["event"] == "epoch"]
    done = events[-1]
    return {
        "peer": f"tinytrain, {events[0]['device']}",
        "epoch_s": statistics.median(epoch["seconds"] for epoch in epochs[1:]),
        "first_batch_s": done["first_batch_seconds"],
        "quality": epochs[-1]["test_accuracy"],
        "wall_s": seconds,
        "memory_mib": memory,
    }


def peer(python, name, workload):
    program, *arguments = name.split("-")
    command = [python, str(HERE / f"{program}_peer.py"), workload, *arguments]
    text, seconds, memory = measured(command)
    report = json.loads(text.splitlines()[-1])
    return report | {"wall_s": seconds, "memory_mib": memory}


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main():
    tinytrain, rounds, python, *peers = sys.argv[1:]
    device = os.environ.get("TINYTRAIN_DEVICE", "cpu")
    lines = [
        BEGIN,
        f"`scripts/bench peers`, {time.strftime('%Y-%m-%d')}: {os.cpu_count()} cores of {processor()}. Medians of {rounds}",
        "rounds in which every program ran once, in turn; the ratio is its epoch time to ours.",
    ]
    for workload in os.environ.get("WORKLOADS", " ".join(OURS)).split():
        runs = {}
        for number in range(int(rounds)):
            programs = [lambda: ours(tinytrain, workload, device)]
            programs += [
                lambda name=name: peer(python, name, workload)
                for name in peers
                if (name, workload) not in LEFT_OUT
            ]
            for program in programs:
                report = program()
                runs.setdefault(report["peer"], []).append(report)
                print(f"{workload} round {number + 1}: {json.dumps(report)}", file=sys.stderr, flush=True)
        lines += [
            "",
            f"**{workload}**: {TITLES[workload]}",
            "",
            "| program | seconds per epoch | ratio | first batch trained after | whole process | peak memory"
            " | accuracy |",
            "|---|--:|--:|--:|--:|--:|--:|",
        ]
        middle = lambda reports, key: statistics.median(report[key] for report in reports)
        base = middle(next(iter(runs.values())), "epoch_s")
        for name, reports in runs.items():
            epoch, quality = middle(reports, "epoch_s"), middle(reports, "quality")
            lines.append(
                f"| {name} | {epoch:.4f} | {epoch / base:.1f} | {middle(reports, 'first_batch_s'):.2f} s"
                f" | {middle(reports, 'wall_s'):.1f} s | {middle(reports, 'memory_mib'):.0f} MiB"
                f" | {100 * quality:.2f} % |"
            )
    lines.append(END)
    text = TABLE.read_text()
    section = "\n".join(lines)
    if BEGIN in text and END in text:
        text = text[: text.index(BEGIN)] + section + text[text.index(END) + len(END) :]
    else:
        text = text.rstrip() + f"\n\n## Beside PyTorch and JAX\n\n{section}\n"
    TABLE.write_text(text)
    print(section)


main()
