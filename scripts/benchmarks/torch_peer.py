"""PyTorch: eager on the processor or a GPU; with `compiled` a whole step through torch.compile, which needs a C++ compiler;
with `graph` a captured CUDA graph of the whole step; the members of a pack by torch.func.vmap.

usage: torch_peer.py WORKLOAD cpu|compiled|cuda [graph]
"""

import sys

import torch
import torch.nn.functional as F
from work import BETAS, EPS, PACKS, WORKLOADS, data, first_weights, rates, run

workload, way, *mode = sys.argv[1:]
work = (WORKLOADS | PACKS)[workload]
device = "cuda" if way == "cuda" else "cpu"
# Products in f32, like ours.
torch.backends.cuda.matmul.allow_tf32 = False
(x, y), (test_x, test_y) = [[torch.from_numpy(values).to(device) for values in part] for part in data(work)]
parameters = [torch.from_numpy(values).to(device) for layer in first_weights(work) for values in layer]


def outputs(parameters, x):
    for layer in range(0, len(parameters) - 2, 2):
        x = torch.relu(x @ parameters[layer] + parameters[layer + 1])
    return x @ parameters[-2] + parameters[-1]


def eager():
    """A step as most programs have it: modules, and an optimizer of the library."""
    layers = []
    for w, b in zip(parameters[::2], parameters[1::2]):
        layer = torch.nn.Linear(*w.shape, device=device)
        layer.weight.data.copy_(w.T)
        layer.bias.data.copy_(b)
        layers += [layer, torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    if work.adam:
        optimizer = torch.optim.Adam(model.parameters(), lr=work.rate, betas=BETAS, eps=EPS)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=work.rate)

    def step(rows):
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(x.index_select(0, rows)), y.index_select(0, rows)).backward()
        optimizer.step()

    return model, step, lambda: optimizer.zero_grad(set_to_none=True)


def functional():
    """A step as one function of the rows: loss, gradients and update, of one network or of all members."""
    means, squares = ([torch.zeros_like(value) for value in parameters] for _ in range(2))
    powers = [torch.ones((), device=device) for _ in BETAS]
    rate = [work.rate] * len(parameters)
    gradients_of = torch.func.grad(lambda parameters, x, y: F.cross_entropy(outputs(parameters, x), y))
    if work.members:
        gradients_of = torch.func.vmap(gradients_of, in_dims=(0, None, None))
        rate = [torch.from_numpy(rates(work)).reshape(-1, *[1] * (value.dim() - 1)) for value in parameters]

    def step(rows):
        gradients = gradients_of(parameters, x.index_select(0, rows), y.index_select(0, rows))
        if not work.adam:
            for parameter, gradient, its_rate in zip(parameters, gradients, rate):
                parameter.sub_(its_rate * gradient)
            return
        for power, beta in zip(powers, BETAS):
            power.mul_(beta)
        for parameter, gradient, mean, square, its_rate in zip(parameters, gradients, means, squares, rate):
            mean.mul_(BETAS[0]).add_((1 - BETAS[0]) * gradient)
            square.mul_(BETAS[1]).add_((1 - BETAS[1]) * gradient * gradient)
            root = (square / (1 - powers[1])).sqrt() + EPS
            parameter.sub_(its_rate * (mean / (1 - powers[0])) / root)

    return step


def captured(step, model, forget):
    """The whole step as a CUDA graph that reads its rows from a buffer."""
    rows = torch.zeros(work.batch, dtype=torch.int64, device=device)
    kept = [parameter.detach().clone() for parameter in model.parameters()]
    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        for _ in range(3):
            step(rows)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    forget()
    with torch.cuda.graph(graph):
        step(rows)
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), kept):
            parameter.copy_(value)

    def replay(chosen):
        rows.copy_(chosen)
        graph.replay()

    return replay


def one_epoch(order, first):
    order = torch.from_numpy(order).to(device)
    for start in range(0, len(order), work.batch):
        rows = order[start : start + work.batch]
        (whole if len(rows) == work.batch else step)(rows)
        if start == 0:
            synchronize()
            first()
    synchronize()


@torch.no_grad()
def classes():
    if model:
        return model(test_x).argmax(1).cpu()
    of_all = torch.func.vmap(outputs, in_dims=(0, None)) if work.members else outputs
    # The outputs of all members for all rows at once would need gigabytes.
    return torch.cat([of_all(parameters, part).argmax(-1) for part in test_x.split(500)], -1)


synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
model = None
if work.members:
    name, step = "PyTorch vmap", functional()
elif way == "compiled":
    name, step = "PyTorch, compiled step", torch.compile(functional(), fullgraph=True)
else:
    name = "PyTorch, eager (cuda)" if way == "cuda" else "PyTorch, eager"
    model, step, forget = eager()
whole = step
if mode:
    name, whole = "PyTorch, CUDA graph", captured(step, model, forget)
run(name, work, len(x), one_epoch, classes, test_y.cpu())
