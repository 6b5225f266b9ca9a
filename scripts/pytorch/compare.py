"""usage: compare.py TINYTRAIN DEVICE...

Writes docs/PYTORCH.md: for every case and device the largest difference of a parameter after 20 steps, relative to the
largest parameter of its tensor, over all tensors and, on a GPU, all schedules."""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file

from cases import CASES, SCHEDULES
from replay import replay

STEPS = 20
BOUND = 1e-5
PAGE = Path("docs/PYTORCH.md")


def difference(path):
    with safe_open(path, "pt") as file:
        settings = file.metadata()
    tensors = load_file(path)
    largest = 0.0
    for name, want in replay(settings, tensors).items():
        got = tensors[f"{name}_after"].double()
        if not torch.isfinite(got).all():
            return float("inf")
        largest = max(largest, ((got - want).abs().max() / want.abs().max().clamp_min(1e-30)).item())
    return largest


def judged(program, device, case):
    """The largest difference, over all schedules of a GPU; and the schedule that has it."""
    worst = (0.0, "")
    for schedule in [""] if device == "cpu" else SCHEDULES:
        if schedule == "two-dispatch" and "--clip-norm" in case:
            continue
        with tempfile.TemporaryDirectory() as folder:
            options = ["--schedule", schedule] if schedule else []
            command = [program, "check", "--device", device, "--save", folder, "--steps", str(STEPS), "--only-save"]
            subprocess.run(command + options + case, check=True, stdout=subprocess.DEVNULL)
            worst = max(worst, (difference(Path(folder) / "training.safetensors"), schedule))
    return worst


def main(program, devices):
    rows, failed = [], 0
    for case in CASES:
        cells = []
        for device in devices:
            found, schedule = judged(program, device, case)
            failed += found >= BOUND
            cells.append(f"{found:.1e}")
            print(f"{' '.join(case):<70} {device:<7} {found:.1e} {schedule}", flush=True)
        rows.append(f"| `{' '.join(case)}` | " + " | ".join(cells) + " |")
    head = f"| settings | {' | '.join(devices)} |\n|---|{'--:|' * len(devices)}\n"
    PAGE.write_text(
        "# PyTorch's opinion\n\n"
        "`scripts/compare-pytorch` writes this page. `tinytrain check --save DIR --steps 20` trains a 20-32-24-16-10 network on\n"
        f"random rows, 32 per batch; PyTorch {torch.__version__.split('+')[0]} replays the {STEPS} steps in f64 with its own optimizers, losses and\n"
        "learning rate schedulers. The figures are the largest difference of a weight or bias after the last step, relative to\n"
        "the largest one of its tensor; on a GPU over all schedules that have the feature. All must be below 1e-5.\n\n"
        + head + "\n".join(rows) + "\n\n"
        "What PyTorch has no counterpart of: `coslog4` and the warm-up are formulas of the script; gelu-tanh is PyTorch's\n"
        "`approximate=\"tanh\"`; row and class weights multiply the losses of the rows before the mean over them; AdamW decays\n"
        "no biases; dropout leaves out other units than PyTorch's generator would, and is checked against the f64 reference.\n"
    )
    if failed:
        sys.exit(f"{failed} differences are {BOUND:.0e} or more")


if __name__ == "__main__":
    main(sys.argv[1], " ".join(sys.argv[2:]).split())
