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


ACTIVATIONS = {"identity": lambda x: x, "relu": lambda x: numpy.maximum(x, 0), "tanh": numpy.tanh, "selu": selu, "mish": mish}
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
    metadata = json.loads(header.pop("__metadata__")["tinytrain"])
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
    quantiles = iter(tensors.get("input_quantiles", []))
    encoding, columns = metadata["transform"]["columns"], []
    for column, code in zip(metadata["data"]["schema"]["inputs"], encoding["columns"]):
        cells = [row[column["name"]].strip() for row in rows]
        if "number" in code:
            number = code["number"]
            # Values are read as 32-bit floats.
            values = [number["fill"] if is_missing(cell) else float(numpy.float32(cell)) for cell in cells]
            if number["map"] == "normal":
                of_column = next(quantiles)
                columns.append([normal_score(of_column, value) for value in values])
            else:
                ((kind, line),) = number["map"].items()
                center, width = line["center"], line["width"]
                scaled = numpy.array([(value - center) / width if width else 0.0 for value in values])
                columns.append(scaled / numpy.sqrt(1 + (scaled / 3) ** 2) if kind == "clipped" else scaled)
            if number["has_indicator"]:
                columns.append([float(is_missing(cell)) for cell in cells])
            continue
        names, has_missing = code["category"]["categories"]["names"], code["category"]["has_missing"]
        if len(names) == 2 and not has_missing:
            columns.append([{names[0]: -1.0, names[1]: 1.0}.get(cell, 0.0) for cell in cells])
            continue
        if encoding["is_numbered"]:
            numbered = {name: float(number) for number, name in enumerate(names)}
            missing = float(len(names)) if has_missing else -1.0
            columns.append([missing if is_missing(cell) else numbered.get(cell, -1.0) for cell in cells])
            continue
        for category in names:
            columns.append([float(cell == category) for cell in cells])
        if has_missing:
            columns.append([float(is_missing(cell)) for cell in cells])
    return numpy.array(columns).T


def input_layer(layer, tensors, rows):
    """What the first dense layer reads."""
    made = []
    for number, column in enumerate(layer["columns"]):
        values = rows[:, number]
        if column in ("number", "periodic"):
            made.append(values)
        if column == "periodic":
            frequencies, phases, *mixing = tensors[f"f{number + 1}"]
            waves = numpy.cos(2 * numpy.pi * (numpy.outer(values, frequencies) + phases))
            made.extend(waves @ mix + bias for mix, bias in zip(mixing, tensors[f"c{number + 1}"]))
        if "one-hot" in column:
            made.extend(values == category for category in range(column["one-hot"]["categories"]))
        if "embedding" in column:
            table = tensors[f"e{number + 1}"]
            known = (values >= 0) & (values < len(table))
            embedded = table[numpy.where(known, values, 0).astype(int)] * known[:, None]
            made.extend(embedded.T)
    return numpy.array(made).T * tensors.get("s", 1.0)


def outputs(network, tensors, h):
    """Probabilities of classes, or outputs that are values, of a network for rows of inputs."""
    if network["input_layer"]:
        h = input_layer(network["input_layer"], tensors, h)
    for number, layer in enumerate(network["layers"], 1):
        h = ACTIVATIONS[layer["activation"]](h @ tensors[f"w{number}"] + tensors[f"b{number}"])
    if network["loss"] != "cross-entropy":
        return h
    powers = numpy.exp(h - h.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def replay(path, rows):
    """Probabilities or values of every row."""
    metadata, tensors = model_file(path)
    rows = inputs(metadata, tensors, rows)
    networks, total = metadata["networks"], 0.0
    picks = metadata["picks"] or [1]
    for number, (network, count) in enumerate(zip(networks, picks), 1):
        prefix = "" if number == 1 else f"network{number}."
        own = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        total += count * outputs(network, own, rows)
    mean, scale = total / sum(picks), metadata["data"]["target_scale"]
    return mean * scale["width"] + scale["center"] if scale else mean


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
