"""The benchmark of the page in Chromium and of the program."""

import argparse
import json
import os
import tempfile
from pathlib import Path

import common
from browser.build import assemble
from browser.devtools import WEBGPU, Browser
from browser.server import in_background

ABOUT = """Times the benchmark of the page in Chromium and of the program: the CPU engine with one thread and more, and kernels
on a software adapter. W1 is 784-300-100-10 with batch 64 and W3 784-32-10 with batch 16, on MNIST. Seconds are those of the
fastest epoch after the first, of training alone, over all rounds; the page and the program take turns. On a software adapter it
is an epoch of fewer rows."""
WORKLOADS = {"W1": "--hidden 300,100 --batch-size 64", "W3": "--hidden 32 --batch-size 16"}
# Vectors of this processor, and of WASM.
NATIVE = {"native": {}, "native, 128 bits": {"TINYTRAIN_VECTORS": "128"}}
DRIVERS = ("/usr/lib/chromium/vk_swiftshader_icd.json", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")


def native(program, data, device, threads=1, **environment):
    """Seconds of the fastest epoch after the first of each workload, by the program."""
    seconds = {}
    for workload, options in WORKLOADS.items():
        with tempfile.TemporaryDirectory() as folder:
            command = [program, "train", "--data", data, "--epochs", 3, "--threads", threads, "--device", device]
            command += [*options.split(), "--format", "json", "--out", f"{folder}/model.safetensors"]
            told = common.measured(command, env={**os.environ, **environment}).output
        events = [json.loads(line) for line in told.splitlines()]
        seconds[workload] = min(it["seconds"] for it in events if it["event"] == "epoch" and it["epoch"] > 1)
    return seconds


def page(address, device, rows, threads=1):
    """Seconds of each workload, by the page."""
    with Browser(*WEBGPU) as browser:
        browser.open(f"{address}/?bench&device={device}&rows={rows}&threads={threads}")
        browser.wait("document.querySelector('#bench-text')", 900)
        line = browser.text("#bench-text")
    print(line, flush=True)
    return {name: float(line.split(f"{name} {device} ")[1].split(" s")[0]) for name in WORKLOADS}


def web(*arguments):
    parser = argparse.ArgumentParser("scripts/bench web", description=ABOUT)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--module", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--gpu-rows", type=int, default=6400)
    options = parser.parse_args(arguments)
    program, least = common.program(options.program), {}

    def note(what, seconds):
        for workload, time in seconds.items():
            least[what, workload] = min(time, least.get((what, workload), time))

    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), options.gpu_rows
        assemble(folder / "site", options.module)
        server, address = in_background(folder / "site")
        for _ in range(options.rounds):
            for threads in options.threads:
                note(f"Chromium, WASM, threads: {threads}", page(address, "cpu", 60_000, threads))
                for what, environment in NATIVE.items():
                    note(f"{what}, threads: {threads}", native(program, common.MNIST, "cpu", threads, **environment))
        if rows:
            few = common.first_images(folder / "few", rows)
            note(f"Chromium, WebGPU, {rows} rows", page(address, "gpu", rows))
            for driver in filter(os.path.exists, DRIVERS):
                seconds = native(program, few, "gpu", VK_DRIVER_FILES=driver, VK_ICD_FILENAMES=driver)
                note(f"native, {Path(driver).name}, {rows} rows", seconds)
        server.shutdown()
    for (what, workload), seconds in least.items():
        print(f"{workload}\t{seconds:.4f} s\t{what}")
