"""The program, as what the page does is compared with it, and its files."""
import json
import os
import struct
import subprocess

from browser.devtools import Failure
from common import ROOT

PROGRAM = ROOT / "target/debug/tinytrain"
# The vectors of WASM, without fused multiply-adds: the same bits.
ENVIRONMENT = {**os.environ, "TINYTRAIN_VECTORS": "128"}
DEVICE = ("--device", "cpu")


def expect(is_so, text):
    """Fails with a text unless something is so."""
    if not is_so:
        raise Failure(text)


def build():
    """Compiles the program."""
    subprocess.run(["cargo", "build", "--quiet"], cwd=ROOT, check=True)


def run(*words):
    """What the program prints."""
    return subprocess.run([PROGRAM, *words], env=ENVIRONMENT, check=True, capture_output=True, text=True).stdout


def train(data, model, settings):
    """Trains on the processor into a model file; gives what is told of it, the summary last."""
    options = [f"--{name}={value}" for name, value in settings.items()]
    told = run("train", "--data", data, *DEVICE, "--out", model, "--format", "json", "--test-every-epoch", *options)
    return [json.loads(line) for line in told.splitlines()]


def predict(model, data, out):
    """The bytes of the predictions of a model file."""
    run("predict", "--model", model, data, "--out", out, *DEVICE)
    return out.read_bytes()


def tensors(contents):
    """The numbers of a model file: what stands behind its header."""
    (length,) = struct.unpack("<Q", contents[:8])
    return contents[8 + length :]


def image_file(path, pixels):
    """An IDX file of one image of 28 x 28 bytes."""
    path.write_bytes(struct.pack(">IIII", 0x803, 1, 28, 28) + bytes(pixels))
    return path
