"""PyTorch: eager on the processor or a GPU; with `compiled` a whole step through torch.compile, which needs a C++ compiler;
with `graph` a captured CUDA graph of the whole step.

usage: torch_peer.py WORKLOAD cpu|compiled|cuda [graph]
"""

import sys

import torch
import torch.nn.functional as F
from work import BETAS, EPS, WORKLOADS, data, run

workload, way, *mode = sys.argv[1:]
work = WORKLOADS[workload]
device = "cuda" if way == "cuda" else "cpu"
torch.manual_seed(1)
# Products in f32, as ours are.
torch.backends.cuda.matmul.allow_tf32 = False
(x, y), (test_x, test_y) = [[torch.from_numpy(values).to(device) for values in part] for part in data(work)]
layers = []
for inputs, outputs in zip(work.sizes, work.sizes[1:]):
    layer = torch.nn.Linear(inputs, outputs)
    torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    torch.nn.init.zeros_(layer.bias)
    layers += [layer, torch.nn.ReLU()]
model = torch.nn.Sequential(*layers[:-1]).to(device)
loss = F.cross_entropy
if work.adam:
    optimizer = torch.optim.Adam(model.parameters(), lr=work.rate, betas=BETAS, eps=EPS)
else:
    optimizer = torch.optim.SGD(model.parameters(), lr=work.rate)


def step(rows):
    optimizer.zero_grad(set_to_none=True)
    loss(model(x.index_select(0, rows)), y.index_select(0, rows)).backward()
    optimizer.step()


def compiled():
    """The whole step as one compiled function of the rows: loss, gradients and update."""
    names, parameters = zip(*[(name, value.detach()) for name, value in model.named_parameters()])
    means, squares = ([torch.zeros_like(value) for value in parameters] for _ in range(2))
    powers = [torch.ones(()) for _ in BETAS]

    def of_parameters(parameters, x, y):
        return loss(torch.func.functional_call(model, dict(zip(names, parameters)), (x,)), y)

    @torch.compile(fullgraph=True)
    def step(rows):
        gradients = torch.func.grad(of_parameters)(parameters, x.index_select(0, rows), y.index_select(0, rows))
        if not work.adam:
            for parameter, gradient in zip(parameters, gradients):
                parameter.sub_(work.rate * gradient)
            return
        for power, beta in zip(powers, BETAS):
            power.mul_(beta)
        for parameter, gradient, mean, square in zip(parameters, gradients, means, squares):
            mean.mul_(BETAS[0]).add_((1 - BETAS[0]) * gradient)
            square.mul_(BETAS[1]).add_((1 - BETAS[1]) * gradient * gradient)
            root = (square / (1 - powers[1])).sqrt() + EPS
            parameter.sub_(work.rate * (mean / (1 - powers[0])) / root)

    return step


def captured(size):
    """The whole step as a CUDA graph that reads its rows from a buffer."""
    rows = torch.zeros(size, dtype=torch.int64, device=device)
    kept = [parameter.detach().clone() for parameter in model.parameters()]
    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        for _ in range(3):
            step(rows)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
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
        steps.get(len(rows), other)(rows)
        if start == 0:
            synchronize()
            first()
    synchronize()


def outputs():
    with torch.no_grad():
        return model(test_x).cpu()


synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
# The CUDA graph is of whole batches.
steps = {work.batch: captured(work.batch)} if mode else {}
other = compiled() if way == "compiled" else step
names = {"cpu": "PyTorch, eager", "compiled": "PyTorch, compiled step", "cuda": "PyTorch, eager (cuda)"}
run("PyTorch, CUDA graph" if mode else names[way], workload, one_epoch, outputs, test_y.cpu())
