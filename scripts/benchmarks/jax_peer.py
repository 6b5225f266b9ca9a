"""JAX: one jitted lax.scan an epoch, on the processor or, where JAX has one, the GPU; the members of a pack by vmap.

usage: jax_peer.py WORKLOAD
"""

import sys

import jax
import jax.numpy as jnp
from work import BETAS, EPS, PACKS, WORKLOADS, data, first_weights, rates, run

# Products in f32, like ours: GPUs would round their factors to 10 bits.
jax.config.update("jax_default_matmul_precision", "highest")
work = (WORKLOADS | PACKS)[sys.argv[1]]
(x, y), (test_x, test_y) = [[jnp.asarray(values) for values in part] for part in data(work)]
parameters = jax.tree.map(jnp.asarray, first_weights(work))
zeros = jax.tree.map(jnp.zeros_like, parameters)
rate = jnp.asarray(rates(work)) if work.members else work.rate
# Parameters; for Adam also the means of gradients and of their squares, and the number of steps.
state = (parameters, zeros, zeros, jnp.zeros(work.members or ())) if work.adam else (parameters,)


def outputs(parameters, x):
    for w, b in parameters[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = parameters[-1]
    return x @ w + b


def loss(parameters, x, y):
    z = outputs(parameters, x)
    return -jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], 1).mean()


def step(state, rate, x, y):
    gradients = jax.grad(loss)(state[0], x, y)
    if not work.adam:
        return (jax.tree.map(lambda p, d: p - rate * d, state[0], gradients),)
    parameters, means, squares, count = state
    count += 1
    means = jax.tree.map(lambda m, d: BETAS[0] * m + (1 - BETAS[0]) * d, means, gradients)
    squares = jax.tree.map(lambda v, d: BETAS[1] * v + (1 - BETAS[1]) * d * d, squares, gradients)
    corrections = [1 - beta**count for beta in BETAS]
    moved = lambda p, m, v: p - rate * (m / corrections[0]) / (jnp.sqrt(v / corrections[1]) + EPS)
    return jax.tree.map(moved, parameters, means, squares), means, squares, count


def classes(parameters):
    return outputs(parameters, test_x).argmax(1)


if work.members:
    step, classes = jax.vmap(step, in_axes=(0, 0, None, None)), jax.vmap(classes)


@jax.jit
def epoch(state, order, x, y):
    whole = len(order) // work.batch * work.batch
    batches = order[:whole].reshape(-1, work.batch)
    state, _ = jax.lax.scan(lambda s, rows: (step(s, rate, x[rows], y[rows]), None), state, batches)
    # The last batch is shorter.
    last = order[whole:]
    return step(state, rate, x[last], y[last]) if len(last) else state


def one_epoch(order, first):
    global state
    state = jax.block_until_ready(epoch(state, jnp.asarray(order), x, y))
    # The first step of a scan is not visible from outside.
    first()


name = "JAX vmap" if work.members else f"JAX, scan ({jax.default_backend()})"
run(name, work, len(x), one_epoch, lambda: jax.jit(classes)(state[0]), test_y)
