"""PyTorch: all members by torch.func.vmap. Prints the best validation accuracy of the members.

usage: torch_pack.py PACK
"""

import sys

import numpy as np
import torch
from members import PACKS, data, first_weights, rates
from torch.func import grad, vmap

pack = PACKS[sys.argv[1]]
(x, y), (valid_x, valid_y) = [[torch.as_tensor(np.asarray(values)) for values in part] for part in data(pack)]
parameters = [torch.as_tensor(it) for layer in first_weights(pack, x.shape[1], int(y.max()) + 1) for it in layer]
lr = torch.as_tensor(rates(pack))
means = [torch.zeros_like(it) for it in parameters]
squares = [torch.zeros_like(it) for it in parameters]


def outputs(parameters, x):
    for layer in range(0, len(parameters) - 2, 2):
        x = torch.relu(x @ parameters[layer] + parameters[layer + 1])
    return x @ parameters[-2] + parameters[-1]


def loss(parameters, x, y):
    return torch.nn.functional.cross_entropy(outputs(parameters, x), y)


gradients_of = vmap(grad(loss), in_dims=(0, None, None))
outputs_of = vmap(outputs, in_dims=(0, None))
random = np.random.default_rng(1)
best = torch.zeros(pack.members)
count = 0
for _ in range(pack.epochs):
    for rows in torch.as_tensor(random.permutation(len(x))).split(pack.batch):
        count += 1
        gradients = gradients_of(parameters, x[rows], y[rows])
        for it, d, m, v in zip(parameters, gradients, means, squares):
            rate = lr.reshape(-1, *[1] * (it.dim() - 1))
            if pack.optimizer == "sgd":
                it -= rate * d
                continue
            m.mul_(0.9).add_(d, alpha=0.1)
            v.mul_(0.999).addcmul_(d, d, value=0.001)
            it -= rate * (m / (1 - 0.9**count)) / ((v / (1 - 0.999**count)).sqrt() + 1e-8)
    with torch.no_grad():
        # The outputs of all members for all rows at once would take gigabytes.
        right = sum((outputs_of(parameters, a).argmax(2) == b).sum(1) for a, b in zip(valid_x.split(500), valid_y.split(500)))
    best = torch.maximum(best, right / len(valid_y))
print(best.max().item())
