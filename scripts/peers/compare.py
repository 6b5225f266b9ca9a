"""Runs tinytrain and its peers in turn, several rounds, and writes the medians into docs/BENCHMARKS.md.

usage: compare.py TINYTRAIN ROUNDS PYTHON PEER...   (a peer: torch-cpu, torch-cuda, torch-cuda-graph, jax)
"""

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
BEGIN, END = "<!-- bench-peers: begin -->", "<!-- bench-peers: end -->"
OURS = {
    "W1": ["--epochs", "10"],
    "W3": ["--epochs", "3", "--hidden", "32", "--batch-size", "16"],
}


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


def ours(tinytrain, workload, device):
    with tempfile.TemporaryDirectory() as folder:
        command = [tinytrain, "train", "--format", "json", "--device", device, "--out", f"{folder}/model"]
        text, seconds, memory = measured(command + OURS[workload])
    events = [json.loads(line) for line in text.splitlines()]
    epochs = [event for event in events if event["event"] == "epoch"]
    done = events[-1]
    return {
        "peer": f"tinytrain, {events[0]['device']}",
        "epoch_s": statistics.median(epoch["seconds"] for epoch in epochs[1:]),
        "first_batch_s": done["first_batch_seconds"],
        "accuracy": epochs[-1]["test_accuracy"],
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
    device = os.environ.get("TINYTRAIN_DEVICE", "auto")
    lines = [
        BEGIN,
        f"`scripts/bench-peers`, {time.strftime('%Y-%m-%d')}: {os.cpu_count()} cores of {processor()}. Medians of {rounds}",
        "rounds in which every program ran once, in turn; the ratio is its epoch time to ours.",
    ]
    for workload in OURS:
        runs = {}
        for number in range(int(rounds)):
            programs = [lambda: ours(tinytrain, workload, device)]
            programs += [lambda name=name: peer(python, name, workload) for name in peers]
            for program in programs:
                report = program()
                runs.setdefault(report["peer"], []).append(report)
                print(f"{workload} round {number + 1}: {json.dumps(report)}", file=sys.stderr, flush=True)
        lines += [
            "",
            f"| {workload} | seconds per epoch | ratio | first batch trained after | whole process | peak memory | accuracy |",
            "|---|--:|--:|--:|--:|--:|--:|",
        ]
        middle = lambda reports, key: statistics.median(report[key] for report in reports)
        base = middle(next(iter(runs.values())), "epoch_s")
        for name, reports in runs.items():
            epoch = middle(reports, "epoch_s")
            lines.append(
                f"| {name} | {epoch:.3f} | {epoch / base:.1f} | {middle(reports, 'first_batch_s'):.2f} s"
                f" | {middle(reports, 'wall_s'):.1f} s | {middle(reports, 'memory_mib'):.0f} MiB"
                f" | {100 * middle(reports, 'accuracy'):.2f} % |"
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
