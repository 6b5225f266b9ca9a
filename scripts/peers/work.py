"""What the peers share: the data, the workloads, the loop and the report."""

import gzip
import json
import os
import pathlib
import time
from typing import NamedTuple

import numpy as np

START = time.perf_counter()
DATA = pathlib.Path(os.environ.get("MNIST") or pathlib.Path(__file__).resolve().parents[2] / "data" / "mnist")


class Work(NamedTuple):
    """A network of ReLU layers that learns MNIST by gradient descent or Adam."""

    sizes: list
    batch: int
    epochs: int
    rows: int = 60_000
    rate: float = 0.1
    adam: bool = False


WORKLOADS = {
    "W1": Work([784, 300, 100, 10], 64, 10),
    "W1-Adam": Work([784, 300, 100, 10], 64, 10, rate=0.001, adam=True),
    "W3": Work([784, 32, 10], 16, 3),
    "W3-64": Work([784, 32, 10], 64, 5),
    "W2": Work([784, 2500, 2000, 1500, 1000, 500, 10], 256, 3, rows=12_800),
}
# Of Adam: the decay of both means, and what is added to the root.
BETAS, EPS = (0.9, 0.999), 1e-8


def rows_of(work):
    """Rows to train on: those of the workload, or ROWS of the environment."""
    return int(os.environ.get("ROWS") or work.rows)


def read(name):
    with gzip.open(DATA / f"{name}.gz") as file:
        raw = file.read()
    offset = 16 if raw[3] == 3 else 8
    return np.frombuffer(raw, np.uint8, offset=offset)


def mnist(part, rows):
    """Images [rows, 784] as f32 from 0 to 1, labels [rows]."""
    images = read(f"{part}-images-idx3-ubyte").reshape(-1, 784)[:rows].astype(np.float32) / np.float32(255)
    return images, read(f"{part}-labels-idx1-ubyte")[:rows].astype(np.int64)


def data(work):
    """Inputs and labels to train on, and others to test with."""
    return mnist("train", rows_of(work)), mnist("t10k", 10_000)


def quality(outputs, targets):
    """The share of rows classified correctly."""
    return float((np.asarray(outputs).argmax(1) == np.asarray(targets)).mean())


def run(peer, workload, one_epoch, outputs, targets):
    """Trains and prints one JSON object; one_epoch(order, first) calls first() when its first step has ended."""
    work, times, first = WORKLOADS[workload], [], None

    def first_step():
        nonlocal first
        first = first or time.perf_counter() - START

    order = np.random.default_rng(1)
    for _ in range(work.epochs):
        begun = time.perf_counter()
        one_epoch(order.permutation(rows_of(work)), first_step)
        times.append(time.perf_counter() - begun)
    report = {
        "peer": peer,
        "workload": workload,
        # The first epoch compiles.
        "epoch_s": float(np.median(times[1:])),
        "first_batch_s": first,
        "quality": quality(outputs(), targets),
    }
    print(json.dumps(report))
