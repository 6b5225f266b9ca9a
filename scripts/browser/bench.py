#!/usr/bin/env python3
"""Times the benchmark of the page in Chromium beside the program: the CPU engine with one thread and more, and kernels on a software
adapter.

    scripts/bench web [PROGRAM] [--module DIR] [--rounds N] [--threads N...] [--gpu-rows N]

W1 is 784-300-100-10 with batch 64 and W3 784-32-10 with batch 16, on MNIST. Seconds are those of the fastest epoch after the first, of
training alone, over all rounds; the page and the program take turns. On a software adapter it is an epoch of fewer rows.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from browser import devtools, program
from browser.build import ROOT, assemble
from browser.server import ISOLATED, in_background

EPOCHS = 3
WORKLOADS = {"W1": ("300,100", 64), "W3": ("32", 16)}
# The vectors of this processor, and those of WASM.
NATIVE = {"native": {}, "native, 128 bits": {"TINYTRAIN_VECTORS": "128"}}
DRIVERS = ("/usr/lib/chromium/vk_swiftshader_icd.json", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")


def native(binary, data, workload, device, environment, threads=1):
    """Seconds of the fastest epoch after the first, by the program."""
    hidden, batch = WORKLOADS[workload]
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", "--data", data, "--hidden", hidden, "--batch-size", str(batch), "--epochs", str(EPOCHS)]
        words += ["--threads", str(threads), "--device", device, "--format", "json", "--out", f"{folder}/model.safetensors"]
        told = subprocess.run([binary, *words], env={**os.environ, **environment}, check=True, capture_output=True, text=True)
    events = [json.loads(line) for line in told.stdout.splitlines()]
    return min(event["seconds"] for event in events[1:] if event["event"] == "epoch" and event["epoch"] > 1)


def page(chromium, address, device, rows, threads=1):
    """Seconds of each workload, by the page."""
    with devtools.Browser(chromium, *devtools.WEBGPU) as browser:
        browser.open(f"{address}/?bench&device={device}&rows={rows}&threads={threads}")
        browser.wait("document.querySelector('#bench-text')", 900)
        line = browser.text("#bench-text")
    print(line, flush=True)
    return {name: float(line.split(f"{name} {device} ")[1].split(" s")[0]) for name in WORKLOADS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", type=Path, default=ROOT / "target/release/tinytrain")
    parser.add_argument("--module", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--gpu-rows", type=int, default=6400)
    options = parser.parse_args()
    chromium = devtools.chromium()
    least = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        assemble(folder / "site", options.module)
        few = program.first_images(folder / "few", options.gpu_rows)
        server, address = in_background(folder / "site")

        def note(what, workload, seconds):
            key = (what, workload)
            least[key] = min(seconds, least.get(key, seconds))

        for _ in range(options.rounds):
            for threads in options.threads:
                for workload, seconds in page(chromium, address, "cpu", 60_000, threads).items():
                    note(f"Chromium, WASM, threads: {threads}", workload, seconds)
                for what, environment in NATIVE.items():
                    for workload in WORKLOADS:
                        seconds = native(options.program, ROOT / "data/mnist", workload, "cpu", environment, threads)
                        note(f"{what}, threads: {threads}", workload, seconds)
        if options.gpu_rows:
            for workload, seconds in page(chromium, address, "gpu", options.gpu_rows).items():
                note(f"Chromium, WebGPU, {options.gpu_rows} rows", workload, seconds)
            for driver in filter(os.path.exists, DRIVERS):
                for workload in WORKLOADS:
                    name = f"native, {Path(driver).name}, {options.gpu_rows} rows"
                    environment = {"VK_DRIVER_FILES": driver, "VK_ICD_FILENAMES": driver}
                    note(name, workload, native(options.program, few, workload, "gpu", environment))
        server.shutdown()
    for (what, workload), seconds in least.items():
        print(f"{workload}\t{seconds:.4f} s\t{what}")


main()
