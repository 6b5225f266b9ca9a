"""What the peers share: the data, the workloads, the loop and the report."""

import gzip
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

START = time.perf_counter()
MNIST = Path(__file__).resolve().parents[2] / "data/mnist"


class Work(NamedTuple):
    """A network of ReLU layers that learns classes by gradient descent or Adam; or, with members, a pack of such networks
    that differ in their learning rates, which are equally far from one another by their logarithms."""

    sizes: list
    batch: int
    epochs: int
    rows: int = 60_000
    rate: float = 0.1
    adam: bool = False
    members: int = 0
    rates: tuple = ()
    data: str = "mnist"


WORKLOADS = {
    "W1": Work([784, 300, 100, 10], 64, 10),
    "W1-Adam": Work([784, 300, 100, 10], 64, 10, rate=0.001, adam=True),
    "W3": Work([784, 32, 10], 16, 3),
    "W3-64": Work([784, 32, 10], 64, 5),
    "W2": Work([784, 2500, 2000, 1500, 1000, 500, 10], 256, 3, rows=12_800),
}
SGD_RATES, ADAM_RATES = (0.01, 0.5), (3e-4, 1e-2)
PACKS = {
    "64 of 784-32-10": Work([784, 32, 10], 64, 3, members=64, rates=SGD_RATES),
    "1,000 of 784-32-10": Work([784, 32, 10], 64, 1, members=1000, rates=SGD_RATES),
    "64 of width 256 on a table": Work(
        [20, 256, 256, 4], 128, 30, rows=8000, adam=True, members=64, rates=ADAM_RATES, data="table"
    ),
}
# Adam's decays of both means, and the term added to the root.
BETAS, EPS = (0.9, 0.999), 1e-8


def rates(work):
    """A learning rate for each member."""
    return np.geomspace(*work.rates, work.members).astype(np.float32)


def first_weights(work):
    """For each layer the weights [members, inputs, outputs], He normal, and biases [members, outputs], as 32-bit floats;
    without the first dimension for a single network."""
    random, some = np.random.default_rng(1), (work.members,) if work.members else ()
    return [
        (
            (random.standard_normal((*some, a, b)) * np.sqrt(2 / a)).astype(np.float32),
            np.zeros((*some, b), np.float32),
        )
        for a, b in zip(work.sizes, work.sizes[1:])
    ]


def read(name):
    raw = gzip.decompress((MNIST / f"{name}.gz").read_bytes())
    return np.frombuffer(raw, np.uint8, offset=16 if raw[3] == 3 else 8)


def mnist(part, rows):
    """Images [rows, 784] as f32 from 0 to 1, labels [rows]."""
    images = read(f"{part}-images-idx3-ubyte").reshape(-1, 784)[:rows].astype(np.float32) / np.float32(255)
    return images, read(f"{part}-labels-idx1-ubyte")[:rows].astype(np.int64)


def data(work):
    """Inputs and labels to train on, whose number the workload or ROWS of the environment gives, and others to test with."""
    if work.data == "mnist":
        return mnist("train", int(os.environ.get("ROWS") or work.rows)), mnist("t10k", 10_000)
    from sklearn.datasets import make_classification

    x, y = make_classification(n_samples=10_000, n_features=20, n_informative=12, n_classes=4, random_state=0)
    x = ((x - x[: work.rows].mean(0)) / x[: work.rows].std(0)).astype(np.float32)
    return (x[: work.rows], y[: work.rows]), (x[work.rows :], y[work.rows :])


def run(peer, work, rows, one_epoch, classes, targets):
    """Trains and prints one JSON object. one_epoch(order, first) calls first() when its first step has ended; classes() are
    those that the network, or each of a pack, predicts. Of a pack the best network at the end of any epoch counts."""
    times, first, right = [], None, []

    def first_step():
        nonlocal first
        first = first or time.perf_counter() - START

    order = np.random.default_rng(1)
    for epoch in range(work.epochs):
        begun = time.perf_counter()
        one_epoch(order.permutation(rows), first_step)
        times.append(time.perf_counter() - begun)
        if work.members or epoch + 1 == work.epochs:
            right.append((np.asarray(classes()) == np.asarray(targets)).mean(-1).max())
    # The first epoch includes compilation.
    epoch = float(np.median(times[1:] or times))
    print(json.dumps({"peer": peer, "epoch_s": epoch, "first_batch_s": first, "quality": float(max(right))}))
