"""Helpers that several scripts share."""

import gzip
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TABLES, MNIST = ROOT / "data/tables", ROOT / "data/mnist"
# Environment for scripts that use Chromium, an argument of `enter`.
BROWSER = ("browser", "playwright==1.65.2")


def enter(name, *packages):
    """Starts the script again in the virtual environment target/NAME with these packages, unless it runs there."""
    place = ROOT / "target" / name
    python = place / "bin/python"
    if Path(sys.prefix) == place:
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    os.execv(python, [str(python), *sys.argv])


def program(given=None):
    """The program that is given, here or by TINYTRAIN; else that of the release profile, which is built."""
    given = given or os.environ.get("TINYTRAIN")
    if not given:
        subprocess.run(["cargo", "build", "--release"], cwd=ROOT, check=True)
    return str(Path(given or ROOT / "target/release/tinytrain").resolve())


def benchmark(name):
    """The program that `cargo bench --bench NAME` runs, which is built; TINYTRAIN_BENCHMARK names one that is there."""
    if "TINYTRAIN_BENCHMARK" in os.environ:
        return os.environ["TINYTRAIN_BENCHMARK"]
    command = ["cargo", "bench", "--bench", name, "--no-run"]
    said = subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.PIPE, text=True).stderr
    return ROOT / re.findall(r"Executable.*\((.*)\)", said)[-1]


class Measured(NamedTuple):
    """A process that has ended: seconds from start to end, seconds of processors, and its largest resident set in MiB."""

    output: str
    seconds: float
    busy: float
    peak: float


def measured(command, **options):
    """Runs a command, which must succeed."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        begun = time.perf_counter()
        process = subprocess.Popen([*map(str, command)], stdout=output, stderr=errors, **options)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        output.seek(0)
        errors.seek(0)
        if status:
            sys.exit(f"{' '.join(map(str, command))[:500]} failed:\n{errors.read()[-2000:]}")
        return Measured(output.read(), seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def processor():
    """The number of cores and the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{os.cpu_count()} cores of {name}"


def row(*cells):
    """A row of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


def head(*names):
    """The head of a table in Markdown, whose first column is text and whose others are numbers."""
    return row(*names) + "\n|---|" + "--:|" * (len(names) - 1)


def replace_section(page, name, lines):
    """Writes lines between the comments that begin and end a section of a page in docs/."""
    page, begin, end = ROOT / "docs" / page, f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = page.read_text()
    before, after = text.split(begin)[0], text.split(end)[1]
    page.write_text("\n".join([before + begin, *lines, end]) + after)


def first_images(folder, train=60_000, test=10_000):
    """MNIST with its first rows alone, as IDX files in a folder; without rows to test where these are 0."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in MNIST.glob("*.gz"):
        contents = gzip.decompress(path.read_bytes())
        rows = train if path.name.startswith("train") else test
        begin, size = (16, 784) if contents[3] == 3 else (8, 1)
        if rows:
            kept = contents[8 : begin + rows * size]
            (folder / path.stem).write_bytes(contents[:4] + rows.to_bytes(4, "big") + kept)
    return folder


def chromium():
    """The path of Chromium; nothing where none is installed."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, names)), None)
