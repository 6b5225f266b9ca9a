"""The programs of the day: built, or those that were packed."""

import re
import shutil
import subprocess
import sys

import common
from common import ROOT
from day import vulkan

# A packed folder has these beside the programs.
CARRIED = ("scripts/gpu-day", "scripts/common.py", "scripts/day", "scripts/benchmarks", "data/mnist", "data/tables")


def fail(text):
    print(f"scripts/gpu-day: {text}", file=sys.stderr)
    sys.exit(2)


def build(place):
    """Builds into a folder: tinytrain, kernels (the benchmark), revision."""
    print("building", file=sys.stderr)
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(common.program(), place / "tinytrain")
    shutil.copy(common.benchmark("kernels"), place / "kernels")
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, stdout=subprocess.PIPE)
    (place / "revision").write_bytes(done.stdout)


def programs():
    """The folder of the programs."""
    place = ROOT / "bin"
    if not (place / "tinytrain").exists():
        place = ROOT / "target/gpu-day/bin"
        if shutil.which("cargo"):
            build(place)
        elif not (place / "tinytrain").exists():
            fail(f"there is no cargo here, and no packed programs in {place}: see --pack")
    return place


def pack(place, folder):
    """Makes a folder that runs on a machine without cargo and without network."""
    for part in CARRIED:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, folder / part)
    if (folder / "bin").resolve() != place.resolve():
        shutil.copytree(place, folder / "bin", dirs_exist_ok=True)
    # Machines for computing alone often lack it.
    if loader := vulkan.loader():
        shutil.copy(loader, folder / "bin/libvulkan.so.1")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"packed: {folder} ({size >> 20} MiB); run {folder}/scripts/gpu-day there")
