"""Predicts tables from model files alone, preprocessing included, with numpy in f64, and compares with `tinytrain predict`.

usage: replay.py TINYTRAIN

Exit status 1 if a prediction is off by more than 1e-5, relative to the largest value of its kind.
"""

import csv
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile

import numpy

TABLES = pathlib.Path(__file__).resolve().parents[2] / "data" / "tables"
BOUND = 1e-5
MISSING = {"", "na", "n/a", "nan", "null", "?", "-", "\\n", "#n/a", "<na>", "nat"}
def selu(x):
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return scale * numpy.where(x > 0, x, alpha * numpy.expm1(numpy.minimum(x, 0)))


def mish(x):
    return x * numpy.tanh(numpy.logaddexp(0, x))


ACTIVATIONS = {"relu": lambda x: numpy.maximum(x, 0), "tanh": numpy.tanh, "selu": selu, "mish": mish}
# Validation rows make --preset table the default.
VALIDATED = ["--validation-fraction", "0.2"]
RUNS = [
    ("penguins", ["--target", "species", "--hidden", "16,8"]),
    ("penguins", ["--target", "species", "--scale", "robust", "--hidden", "none"]),
    ("penguins", ["--target", "species", "--scale", "quantile", "--hidden", "8", "--activation", "tanh"]),
    ("penguins", ["--target", "island", "--scale", "minmax", "--hidden", "8", "--categorical", "year"]),
    ("diabetes", ["--target", "progression", "--hidden", "16,8"]),
    ("penguins", ["--target", "species", *VALIDATED, "--embeddings", "none"]),
    ("penguins", ["--target", "island", *VALIDATED, "--categorical", "year", "--one-hot", "2"]),
    ("penguins", ["--target", "species", "--one-hot", "1", "--hidden", "8"]),
    ("diabetes", ["--target", "progression", *VALIDATED]),
    ("penguins", ["--target", "species", "--ensemble", "5"]),
    ("diabetes", ["--target", "progression", "--ensemble", "5"]),
    ("diabetes", ["--target", "progression", "s6", "--hidden", "8", "--categorical", "sex", "--scale", "none", "--lr", "1e-6"]),
]


def model_file(path):
    """The metadata and the tensors of a safetensors file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    kinds = {"F32": "<f4", "F64": "<f8"}

    def tensor(entry):
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        return numpy.frombuffer(data[start:end], kinds[entry["dtype"]]).reshape(entry["shape"]).astype("f8")

    return metadata, {name: tensor(entry) for name, entry in header.items()}


def is_missing(cell):
    return cell.strip().lower() in MISSING


def normal_score(quantiles, value):
    """The quantile of the normal distribution at the value's rank: the middle of those that equal it."""
    equal = numpy.flatnonzero(quantiles == value)
    if len(equal):
        place = (equal[0] + equal[-1]) / 2
    else:
        place = numpy.interp(value, quantiles, numpy.arange(len(quantiles)))
    rank = min(max(place / (len(quantiles) - 1), 1e-7), 1 - 1e-7)
    return statistics.NormalDist().inv_cdf(rank)


def inputs(metadata, tensors, rows):
    """The inputs of the network for rows of cells, by the names of their columns."""
    numbers, affine, normal = iter(tensors.get("input_fill", [])), iter([]), iter([])
    if "input_center" in tensors:
        affine = iter(zip(tensors["input_center"], tensors["input_width"]))
    if "input_quantiles" in tensors:
        normal = iter(tensors["input_quantiles"])
    columns = []
    for name, code in zip(json.loads(metadata["columns"]), json.loads(metadata["encoding"])):
        cells = [row[name].strip() for row in rows]
        if "number" in code:
            fill = next(numbers)
            # Values are read as 32-bit floats.
            values = [fill if is_missing(cell) else float(numpy.float32(cell)) for cell in cells]
            if code["number"] in ("affine", "clipped"):
                center, width = next(affine)
                scaled = numpy.array([(value - center) / width if width else 0.0 for value in values])
                columns.append(scaled / numpy.sqrt(1 + (scaled / 3) ** 2) if code["number"] == "clipped" else scaled)
            else:
                quantiles = next(normal)
                columns.append([normal_score(quantiles, value) for value in values])
            if code["missing"]:
                columns.append([float(is_missing(cell)) for cell in cells])
            continue
        names = code["categories"]
        if len(names) == 2 and not code["missing"]:
            columns.append([{names[0]: -1.0, names[1]: 1.0}.get(cell, 0.0) for cell in cells])
            continue
        if metadata.get("input_categories") == "numbers":
            numbered = {name: float(number) for number, name in enumerate(names)}
            missing = float(len(names)) if code["missing"] else -1.0
            columns.append([missing if is_missing(cell) else numbered.get(cell, -1.0) for cell in cells])
            continue
        for category in names:
            columns.append([float(cell == category) for cell in cells])
        if code["missing"]:
            columns.append([float(is_missing(cell)) for cell in cells])
    return numpy.array(columns).T


def input_layer(metadata, tensors, rows):
    """What the first dense layer reads."""
    made = []
    for number, column in enumerate(json.loads(metadata["input_layer"])):
        values = rows[:, number]
        if column in ("number", "periodic"):
            made.append(values)
        if column == "periodic":
            frequencies, phases, *mixing = tensors[f"f{number + 1}"]
            waves = numpy.cos(2 * numpy.pi * (numpy.outer(values, frequencies) + phases))
            made.extend(waves @ mix + bias for mix, bias in zip(mixing, tensors[f"c{number + 1}"]))
        if column.startswith("one-hot"):
            made.extend(values == category for category in range(int(column.split()[1])))
        if column.startswith("embedding"):
            table = tensors[f"e{number + 1}"]
            known = (values >= 0) & (values < len(table))
            embedded = table[numpy.where(known, values, 0).astype(int)] * known[:, None]
            made.extend(embedded.T)
    return numpy.array(made).T * tensors.get("s", 1.0)


def outputs(metadata, tensors, h):
    """Probabilities of classes, or outputs that are values, of a network for rows of inputs."""
    if "input_layer" in metadata:
        h = input_layer(metadata, tensors, h)
    layers = len(metadata["layers"].split(",")) - 1
    for layer in range(1, layers + 1):
        h = h @ tensors[f"w{layer}"] + tensors[f"b{layer}"]
        if layer < layers:
            h = ACTIVATIONS[metadata["activation"]](h)
    if metadata["loss"] != "cross-entropy":
        return h
    powers = numpy.exp(h - h.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def of_network(entries, number):
    """The entries of a network of an ensemble, by their own names."""
    prefix = f"network{number}."
    return {name.removeprefix(prefix): entry for name, entry in entries.items() if name.startswith(prefix)}


def replay(path, rows):
    """Probabilities or values of every row."""
    metadata, tensors = model_file(path)
    rows = inputs(metadata, tensors, rows)
    picks = [int(count) for count in metadata.get("ensemble", "1").split(",")]
    total = picks[0] * outputs(metadata, tensors, rows)
    for number, count in enumerate(picks[1:], 2):
        total += count * outputs(of_network(metadata, number), of_network(tensors, number), rows)
    mean = total / sum(picks)
    if metadata["loss"] == "cross-entropy":
        return mean
    scale = [numpy.array([float(x) for x in metadata[key].split(",")]) for key in ("target_width", "target_center")]
    return mean * scale[0] + scale[1]


def main():
    program = sys.argv[1]
    worst = 0.0
    for table, options in RUNS:
        file = TABLES / f"{table}.csv"
        with open(file, newline="") as opened:
            rows = list(csv.DictReader(opened))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.safetensors"
            common = ["--data", file, *options, "--epochs", "20", "--device", "cpu", "--quiet"]
            train = ["train", *common, "--out", path]
            if "--ensemble" in options:
                sweep = pathlib.Path(folder) / "sweep"
                train, path = ["sweep", *common, "--trials", "6", "--out", sweep], sweep / "ensemble.safetensors"
            subprocess.run([program, *map(str, train)], check=True, stdout=subprocess.DEVNULL)
            predict = [program, "predict", "--model", str(path), str(file), "--device", "cpu", "--format", "json"]
            lines = subprocess.run(predict, check=True, capture_output=True, text=True).stdout.splitlines()
            predicted = []
            for line in map(json.loads, lines):
                kind = "probabilities" if "probabilities" in line else "values"
                predicted.append(list(line[kind].values()))
            expected = replay(path, rows)
        error = numpy.abs(numpy.array(predicted) - expected).max() / max(numpy.abs(expected).max(), 1e-300)
        worst = max(worst, error)
        print(f"{table} {' '.join(options)}: off by {error:.1e}")
    sys.exit(1 if worst > BOUND else 0)


main()
