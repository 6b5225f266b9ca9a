"""What the peers share: MNIST from the repository, the workloads, the loop and the report."""

import gzip
import json
import os
import pathlib
import time

import numpy as np

START = time.perf_counter()
DATA = pathlib.Path(os.environ.get("MNIST") or pathlib.Path(__file__).resolve().parents[2] / "data" / "mnist")

# Layer sizes, batch size, epochs.
WORKLOADS = {
    "W1": ([784, 300, 100, 10], 64, 10),
    "W2": ([784, 2500, 2000, 1500, 1000, 500, 10], 256, 5),
    "W3": ([784, 32, 10], 16, 3),
    "W3-64": ([784, 32, 10], 64, 5),
}
RATE = 0.1


def read(name):
    with gzip.open(DATA / f"{name}.gz") as file:
        raw = file.read()
    offset = 16 if raw[3] == 3 else 8
    return np.frombuffer(raw, np.uint8, offset=offset)


def mnist(part):
    """Images [rows, 784] as f32 from 0 to 1, labels [rows]."""
    images = read(f"{part}-images-idx3-ubyte").reshape(-1, 784).astype(np.float32) / np.float32(255)
    return images, read(f"{part}-labels-idx1-ubyte").astype(np.int64)


def run(peer, workload, epochs, one_epoch, accuracy):
    """Trains and prints one JSON object; one_epoch(order, first) calls first() when its first step has ended."""
    times, first = [], None

    def first_step():
        nonlocal first
        first = first or time.perf_counter() - START

    order = np.random.default_rng(1)
    rows = len(read("train-labels-idx1-ubyte"))
    for _ in range(epochs):
        begun = time.perf_counter()
        one_epoch(order.permutation(rows), first_step)
        times.append(time.perf_counter() - begun)
    report = {
        "peer": peer,
        "workload": workload,
        # The first epoch compiles.
        "epoch_s": float(np.median(times[1:])),
        "first_batch_s": first,
        "accuracy": accuracy(),
    }
    print(json.dumps(report))
