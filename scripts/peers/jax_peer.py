"""JAX: one jitted lax.scan an epoch, on the processor or, where JAX has one, the GPU.

usage: jax_peer.py WORKLOAD
"""

import sys

import jax
import jax.numpy as jnp
from work import RATE, WORKLOADS, mnist, run

# Products in f32, as ours are: GPUs would round their factors to 10 bits.
jax.config.update("jax_default_matmul_precision", "highest")
workload = sys.argv[1]
sizes, batch, epochs = WORKLOADS[workload]
(x, y), (test_x, test_y) = ([jnp.asarray(values) for values in mnist(part)] for part in ("train", "t10k"))
keys = jax.random.split(jax.random.key(1), len(sizes))
parameters = [
    (jax.random.normal(key, (inputs, outputs)) * (2 / inputs) ** 0.5, jnp.zeros(outputs))
    for key, inputs, outputs in zip(keys, sizes, sizes[1:])
]


def logits(parameters, x):
    for w, b in parameters[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = parameters[-1]
    return x @ w + b


def loss(parameters, x, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits(parameters, x)), y[:, None], 1).mean()


def step(parameters, rows, x, y):
    gradients = jax.grad(loss)(parameters, x[rows], y[rows])
    return jax.tree.map(lambda p, d: p - RATE * d, parameters, gradients)


@jax.jit
def epoch(parameters, order, x, y):
    whole = len(order) // batch * batch
    batches = order[:whole].reshape(-1, batch)
    parameters, _ = jax.lax.scan(lambda p, rows: (step(p, rows, x, y), None), parameters, batches)
    # The last batch is shorter.
    return step(parameters, order[whole:], x, y) if whole < len(order) else parameters


def one_epoch(order, first):
    global parameters
    parameters = jax.block_until_ready(epoch(parameters, jnp.asarray(order), x, y))
    # A scan has no first step that could be seen from outside.
    first()


def accuracy():
    return float((logits(parameters, test_x).argmax(1) == test_y).mean())


run(f"JAX, scan ({jax.default_backend()})", workload, epochs, one_epoch, accuracy)
