"""numpy by hand, for networks whose time is that of large products.

usage: numpy_peer.py WORKLOAD
"""

import sys

import numpy as np
from work import WORKLOADS, data, run

workload = sys.argv[1]
work = WORKLOADS[workload]
(x, y), (test_x, test_y) = data(work)
normal = np.random.default_rng(1).standard_normal
pairs = list(zip(work.sizes, work.sizes[1:]))
weights = [normal(pair, np.float32) * np.float32((2 / pair[0]) ** 0.5) for pair in pairs]
biases = [np.zeros(outputs, np.float32) for _, outputs in pairs]
gradients = [np.empty_like(w) for w in weights]
rate = np.float32(work.rate)


def forward(x):
    kept = [x]
    for index, (w, b) in enumerate(zip(weights, biases)):
        x = x @ w
        x += b
        if index + 1 < len(weights):
            np.maximum(x, 0, out=x)
        kept.append(x)
    return kept


def step(x, y):
    *kept, z = forward(x)
    z -= z.max(1, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(1, keepdims=True)
    z[np.arange(len(y)), y] -= 1
    # The rate rides on the gradient.
    z *= rate / np.float32(len(y))
    for index in reversed(range(len(weights))):
        np.matmul(kept[index].T, z, out=gradients[index])
        bias = z.sum(0)
        if index:
            z = z @ weights[index].T
            z *= kept[index] > 0
        weights[index] -= gradients[index]
        biases[index] -= bias


def one_epoch(order, first):
    for start in range(0, len(order), work.batch):
        rows = order[start : start + work.batch]
        step(x[rows], y[rows])
        first()


run("numpy", workload, one_epoch, lambda: forward(test_x)[-1], test_y)
