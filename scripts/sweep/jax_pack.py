"""JAX: all members by vmap under jit, an epoch a lax.scan. Prints the best validation accuracy of the members.

usage: jax_pack.py PACK
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from members import PACKS, data, first_weights, rates

pack = PACKS[sys.argv[1]]
(x, y), (valid_x, valid_y) = [[jnp.asarray(values) for values in part] for part in data(pack)]
parameters = [(jnp.asarray(w), jnp.asarray(b)) for w, b in first_weights(pack, x.shape[1], int(y.max()) + 1)]
lr = jnp.asarray(rates(pack))
zeros = jax.tree.map(jnp.zeros_like, parameters)


def outputs(parameters, x):
    for w, b in parameters[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = parameters[-1]
    return x @ w + b


def loss(parameters, x, y):
    z = outputs(parameters, x)
    return -jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], 1).mean()


def member_step(parameters, means, squares, lr, count, x, y):
    gradients = jax.grad(loss)(parameters, x, y)
    if pack.optimizer == "sgd":
        return jax.tree.map(lambda p, d: p - lr * d, parameters, gradients), means, squares
    means = jax.tree.map(lambda m, d: 0.9 * m + 0.1 * d, means, gradients)
    squares = jax.tree.map(lambda v, d: 0.999 * v + 0.001 * d * d, squares, gradients)
    moved = lambda p, m, v: p - lr * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8)
    return jax.tree.map(moved, parameters, means, squares), means, squares


step = jax.vmap(member_step, in_axes=(0, 0, 0, 0, None, None, None))


@jax.jit
def epoch(state, order):
    def body(state, rows):
        parameters, means, squares, count = state
        parameters, means, squares = step(parameters, means, squares, lr, count + 1, x[rows], y[rows])
        return (parameters, means, squares, count + 1), None

    return jax.lax.scan(body, state, order)[0]


@jax.jit
def right(parameters):
    classes = jax.vmap(lambda parameters: outputs(parameters, valid_x).argmax(1))(parameters)
    return (classes == valid_y).mean(1)


state = (parameters, zeros, zeros, jnp.zeros(()))
random = np.random.default_rng(1)
best = np.zeros(pack.members)
steps = len(x) // pack.batch
for _ in range(pack.epochs):
    # Whole batches: a scan has steps of one shape.
    order = random.permutation(len(x))[: steps * pack.batch].reshape(steps, pack.batch)
    state = epoch(state, jnp.asarray(order))
    best = np.maximum(best, np.asarray(right(state[0])))
print(best.max())
