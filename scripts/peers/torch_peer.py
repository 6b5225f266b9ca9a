"""PyTorch, eager on the processor or a GPU; with `graph` a captured CUDA graph of the whole step.

usage: torch_peer.py WORKLOAD cpu|cuda [graph]
"""

import sys

import torch
import torch.nn.functional as F
from work import RATE, WORKLOADS, mnist, run

workload, device, *mode = sys.argv[1:]
sizes, batch, epochs = WORKLOADS[workload]
torch.manual_seed(1)
# Products in f32, as ours are.
torch.backends.cuda.matmul.allow_tf32 = False
(x, y), (test_x, test_y) = (
    [torch.from_numpy(values).to(device) for values in mnist(part)] for part in ("train", "t10k")
)
layers = []
for inputs, outputs in zip(sizes, sizes[1:]):
    layer = torch.nn.Linear(inputs, outputs)
    torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    torch.nn.init.zeros_(layer.bias)
    layers += [layer, torch.nn.ReLU()]
model = torch.nn.Sequential(*layers[:-1]).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)


def step(rows):
    optimizer.zero_grad(set_to_none=True)
    F.cross_entropy(model(x.index_select(0, rows)), y.index_select(0, rows)).backward()
    optimizer.step()


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
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        steps.get(len(rows), step)(rows)
        if start == 0:
            synchronize()
            first()
    synchronize()


def accuracy():
    with torch.no_grad():
        return float((model(test_x).argmax(1) == test_y).float().mean())


synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
steps = {batch: captured(batch)} if mode else {}
name = "PyTorch, CUDA graph" if mode else f"PyTorch, eager{' (cuda)' if device == 'cuda' else ''}"
run(name, workload, epochs, one_epoch, accuracy)
