"""One training run again, in PyTorch and in f64."""

import math

import torch
from torch.nn import functional

ACTIVATIONS = {
    "relu": functional.relu,
    "leaky-relu": functional.leaky_relu,
    "elu": functional.elu,
    "selu": functional.selu,
    "gelu": functional.gelu,
    "gelu-tanh": lambda z: functional.gelu(z, approximate="tanh"),
    "silu": functional.silu,
    "mish": functional.mish,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "identity": lambda z: z,
}


def row_losses(settings, outputs, targets):
    name = settings["loss"]
    if name == "cross-entropy":
        smoothing = float(settings["label-smoothing"])
        return functional.cross_entropy(outputs, targets, reduction="none", label_smoothing=smoothing)
    loss = {"mse": functional.mse_loss, "mae": functional.l1_loss, "huber": functional.huber_loss}[name]
    return loss(outputs, targets, reduction="none").mean(dim=1)


def optimizer(settings, weights, biases):
    """An optimizer with a group for each tensor, whose learning rate is `factor` times that of the run."""
    kind = settings["optimizer"]
    rate, decay = float(settings["lr"]), float(settings["weight-decay"])
    momentum, eps = float(settings["momentum"]), float(settings["eps"])
    betas = tuple(float(beta) for beta in settings["betas"].split(","))
    layers = [float(factor) for factor in settings["lr-layers"].split(",") if factor]
    layers += [1.0] * (len(weights) - len(layers))
    groups = []
    for tensors, of_kind, is_bias in ((weights, "lr-weights", False), (biases, "lr-biases", True)):
        for tensor, factor in zip(tensors, layers):
            undecayed = kind == "adamw" and is_bias
            groups.append(
                {"params": [tensor], "factor": factor * float(settings[of_kind]), "weight_decay": 0.0 if undecayed else decay}
            )
    if kind in ("sgd", "momentum", "nesterov"):
        heavy = momentum if kind != "sgd" else 0.0
        return torch.optim.SGD(groups, lr=rate, momentum=heavy, nesterov=kind == "nesterov")
    if kind == "adam":
        return torch.optim.Adam(groups, lr=rate, betas=betas, eps=eps)
    if kind == "adamw":
        return torch.optim.AdamW(groups, lr=rate, betas=betas, eps=eps)
    return torch.optim.RMSprop(groups, lr=rate, alpha=betas[1], eps=eps, momentum=momentum)


def rates(settings, steps):
    """The learning rate of every step: by PyTorch's own schedulers, where it has them."""
    peak, epoch = float(settings["lr"]), int(settings["epoch-steps"])
    gamma, every = float(settings["lr-gamma"]), int(settings["lr-every"])
    schedulers = torch.optim.lr_scheduler
    # Without momentum, OneCycleLR changes nothing but the rate.
    model = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak)
    make = {
        "constant": lambda: schedulers.ConstantLR(model, factor=1.0),
        "step": lambda: schedulers.StepLR(model, every * epoch, gamma),
        "exponential": lambda: schedulers.StepLR(model, epoch, gamma),
        "cosine": lambda: schedulers.CosineAnnealingLR(model, steps),
        "onecycle": lambda: schedulers.OneCycleLR(model, peak, total_steps=steps, cycle_momentum=False),
        "coslog4": lambda: schedulers.LambdaLR(
            model, lambda step: (1 - math.cos(2 * math.pi * math.log2(1 + 15 * step / steps))) / 2
        ),
    }
    scheduler = make[settings["lr-schedule"]]()
    found = []
    for _ in range(steps):
        found.append(model.param_groups[0]["lr"])
        model.step()
        if len(found) < steps:
            scheduler.step()
    warmup = int(settings["warmup"])
    return [rate * min(1.0, (step + 1) / warmup) if warmup else rate for step, rate in enumerate(found)]


def replay(settings, tensors):
    """The parameters behind all steps, by their names."""
    if any(float(share) for share in settings["dropout"].split(",")):
        raise SystemExit("dropout cannot be replayed: PyTorch leaves out other units")
    count = sum(name.startswith("w") and name[1:].isdigit() for name in tensors)
    wide = lambda name: tensors[name].double().requires_grad_()
    weights = [wide(f"w{layer}") for layer in range(1, count + 1)]
    biases = [wide(f"b{layer}") for layer in range(1, count + 1)]
    names = settings["activation"].split(",")
    names = names * (count - 1) if len(names) == 1 else names
    updates = optimizer(settings, weights, biases)
    clip = float(settings["clip-norm"])
    steps = int(settings["steps"])
    for step, rate in enumerate(rates(settings, steps)):
        for group in updates.param_groups:
            group["lr"] = rate * group["factor"]
        outputs = tensors["x"][step].double()
        for layer in range(count):
            outputs = outputs @ weights[layer] + biases[layer]
            if layer + 1 < count:
                outputs = ACTIVATIONS[names[layer]](outputs)
        targets = tensors["targets"][step]
        losses = row_losses(settings, outputs, targets if targets.dtype == torch.int64 else targets.double())
        if "weights" in tensors:
            losses = losses * tensors["weights"][step].double()
        updates.zero_grad()
        losses.mean().backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(weights + biases, clip)
        updates.step()
    layers = range(1, count + 1)
    return dict(zip([f"w{layer}" for layer in layers] + [f"b{layer}" for layer in layers], weights + biases))
