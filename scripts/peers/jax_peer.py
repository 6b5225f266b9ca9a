"""JAX: one jitted lax.scan an epoch, on the processor or, where JAX has one, the GPU.

usage: jax_peer.py WORKLOAD
"""

import sys

import jax
import jax.numpy as jnp
from work import BETAS, EPS, WORKLOADS, data, run

# Products in f32, as ours are: GPUs would round their factors to 10 bits.
jax.config.update("jax_default_matmul_precision", "highest")
workload = sys.argv[1]
work = WORKLOADS[workload]
(x, y), (test_x, test_y) = [[jnp.asarray(values) for values in part] for part in data(work)]
keys = jax.random.split(jax.random.key(1), len(work.sizes))
parameters = [
    (jax.random.normal(key, (inputs, outputs)) * (2 / inputs) ** 0.5, jnp.zeros(outputs))
    for key, inputs, outputs in zip(keys, work.sizes, work.sizes[1:])
]
zeros = jax.tree.map(jnp.zeros_like, parameters)
# Parameters; of Adam the means of gradients and of their squares, and the number of steps.
state = (parameters, zeros, zeros, jnp.zeros(())) if work.adam else (parameters,)


def outputs(parameters, x):
    for w, b in parameters[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = parameters[-1]
    return x @ w + b


def loss(parameters, x, y):
    z = outputs(parameters, x)
    return -jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], 1).mean()


def step(state, rows, x, y):
    gradients = jax.grad(loss)(state[0], x[rows], y[rows])
    if not work.adam:
        return (jax.tree.map(lambda p, d: p - work.rate * d, state[0], gradients),)
    parameters, means, squares, count = state
    count += 1
    means = jax.tree.map(lambda m, d: BETAS[0] * m + (1 - BETAS[0]) * d, means, gradients)
    squares = jax.tree.map(lambda v, d: BETAS[1] * v + (1 - BETAS[1]) * d * d, squares, gradients)
    corrections = [1 - beta**count for beta in BETAS]
    moved = lambda p, m, v: p - work.rate * (m / corrections[0]) / (jnp.sqrt(v / corrections[1]) + EPS)
    return jax.tree.map(moved, parameters, means, squares), means, squares, count


@jax.jit
def epoch(state, order, x, y):
    whole = len(order) // work.batch * work.batch
    batches = order[:whole].reshape(-1, work.batch)
    state, _ = jax.lax.scan(lambda s, rows: (step(s, rows, x, y), None), state, batches)
    # The last batch is shorter.
    return step(state, order[whole:], x, y) if whole < len(order) else state


def one_epoch(order, first):
    global state
    state = jax.block_until_ready(epoch(state, jnp.asarray(order), x, y))
    # A scan has no first step that could be seen from outside.
    first()


run(f"JAX, scan ({jax.default_backend()})", workload, one_epoch, lambda: outputs(state[0], test_x), test_y)
