"""Prints which peers this Python can run, by the names that compare.py takes."""

import importlib.util

found = []
if importlib.util.find_spec("torch") and importlib.util.find_spec("numpy"):
    import torch

    found += ["torch-cuda", "torch-cuda-graph"] if torch.cuda.is_available() else ["torch-cpu"]
if importlib.util.find_spec("jax"):
    found.append("jax")
print(*found)
