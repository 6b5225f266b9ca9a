"""What the programs of `scripts/bench sweep` train: networks that differ in their learning rates."""

import os
import pathlib
import sys
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from work import mnist  # noqa: E402


class Pack(NamedTuple):
    """Networks of ReLU layers that learn classes by gradient descent or Adam."""

    members: int
    hidden: list
    batch: int
    epochs: int
    optimizer: str
    rates: tuple
    data: str = "mnist"


PACKS = {
    "64 of 784-32-10": Pack(64, [32], 64, 3, "sgd", (0.01, 0.5)),
    "1,000 of 784-32-10": Pack(1000, [32], 64, 1, "sgd", (0.01, 0.5)),
    "64 of width 256 on a table": Pack(64, [256, 256], 128, 30, "adam", (3e-4, 1e-2), "table"),
}


def rates(pack):
    """A learning rate a member, equally far from one another by their logarithms."""
    return np.geomspace(*pack.rates, pack.members).astype(np.float32)


def table(part):
    """Two classes of 20 numbers, 8,000 rows to train on and 2,000 to validate on."""
    from sklearn.datasets import make_classification

    x, y = make_classification(n_samples=10_000, n_features=20, n_informative=12, n_classes=4, random_state=0)
    x = ((x - x[:8000].mean(0)) / x[:8000].std(0)).astype(np.float32)
    return (x[:8000], y[:8000]) if part == "train" else (x[8000:], y[8000:])


def data(pack):
    """Inputs and classes to train on, and to validate with."""
    if pack.data == "table":
        return table("train"), table("validation")
    return mnist("train", int(os.environ.get("ROWS") or 60_000)), mnist("t10k", 10_000)


def first_weights(pack, inputs, outputs):
    """For each layer the weights [members, inputs, outputs], He normal, and biases [members, outputs]."""
    sizes = [inputs, *pack.hidden, outputs]
    random = np.random.default_rng(1)
    return [
        (
            (random.standard_normal((pack.members, a, b)) * np.sqrt(2 / a)).astype(np.float32),
            np.zeros((pack.members, b), np.float32),
        )
        for a, b in zip(sizes, sizes[1:])
    ]
