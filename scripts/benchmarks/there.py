"""Prints which peers this Python can run, by the names that peers.py gives them."""

import importlib.util

found = []
if importlib.util.find_spec("torch") and importlib.util.find_spec("numpy"):
    import torch

    found += ["torch-cpu"] + ["torch-cuda", "torch-cuda-graph"] * torch.cuda.is_available()
if importlib.util.find_spec("jax"):
    found.append("jax")
print(*found)
