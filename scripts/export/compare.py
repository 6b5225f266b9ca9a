"""Exports small models in both formats, and compares their predictions with those of `tinytrain predict`.

usage: compare.py TINYTRAIN

Exit status 1 if a prediction is off by more than 1e-5, relative to the largest value of its kind.
"""

import csv
import ctypes
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ROOT / "data" / "tables"
BOUND = 1e-5
MISSING = {"", "na", "n/a", "nan", "null", "?", "-", "\\n", "nat"}
# Rows of MNIST.
IMAGES = 200
SPECIES = ["penguins", "--target", "species"]
DIABETES = ["diabetes", "--target", "progression"]
# Validation rows make --preset table the default.
VALIDATED = ["--validation-fraction", "0.2"]
ACTIVATIONS = [
    "relu", "leaky-relu", "elu", "selu", "gelu", "gelu-tanh", "silu", "mish", "tanh", "sigmoid", "identity",
]
RUNS = [
    *([*SPECIES, "--hidden", "8,6", "--activation", name] for name in ACTIVATIONS),
    [*SPECIES, "--hidden", "none", "--scale", "robust"],
    [*SPECIES, "--hidden", "8", "--scale", "quantile"],
    ["penguins", "--target", "island", "--hidden", "8", "--scale", "minmax", "--categorical", "year"],
    [*SPECIES, "--hidden", "8", "--one-hot", "1"],
    [*SPECIES, "--hidden", "8", "--scale", "robust", "--clip", "smooth", "--input-scaling"],
    [*SPECIES, *VALIDATED],
    ["penguins", "--target", "island", *VALIDATED, "--categorical", "year", "--one-hot", "2"],
    ["wine", *VALIDATED, "--embeddings", "none"],
    [*DIABETES, "--hidden", "16,8", "--activation", "relu,tanh"],
    [*DIABETES, *VALIDATED],
    [*DIABETES, "s6", "--hidden", "8", "--categorical", "sex", "--scale", "none", "--lr", "1e-6"],
    [*DIABETES, "--hidden", "8", "--scale-target", "none", "--lr", "1e-6"],
    [*SPECIES, "--ensemble", "5"],
    [*DIABETES, "--ensemble", "5"],
    ["mnist", "--hidden", "32", "--epochs", "1"],
]


def read(path):
    with open(path, newline="") as opened:
        return list(csv.DictReader(opened))


def write(path, rows):
    with open(path, "w", newline="") as opened:
        writer = csv.DictWriter(opened, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def with_gaps(rows):
    """The rows, and some of them again with a cell that is missing or unknown."""
    changed = []
    for index in range(60):
        row = dict(rows[index * len(rows) // 60])
        name = list(row)[index % len(row)]
        is_number = row[name].replace(".", "").replace("-", "").isdigit()
        row[name] = "" if is_number or index % 2 else "unheard of"
        changed.append(row)
    return rows + changed


def numbers(rows, names, categories):
    """Rows as a model takes them: numbers, and categories by their index."""

    def number(name, cell):
        if cell.strip().lower() in MISSING:
            return float("nan")
        if name in categories:
            # Any number that is no index is an unknown category.
            return categories[name].index(cell) if cell in categories[name] else -1
        return float(cell)

    return numpy.array([[number(name, row[name]) for name in names] for row in rows], "f4")


def session_of(path):
    """A session, and the entries of its metadata."""
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session, session.get_modelmeta().custom_metadata_map


def by_onnx(session, metadata, columns):
    names = [output.name for output in session.get_outputs()]
    outputs = dict(zip(names, session.run(None, {"columns": columns})))
    if "values" in outputs:
        return outputs["values"], None
    classes = json.loads(metadata["classes"])
    return outputs["probabilities"], [classes[index] for index in outputs["class"]]


def by_c(path, columns, outputs):
    library = path.with_suffix(".so")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, str(path), "-o", str(library), "-lm"], check=True)
    predict = getattr(ctypes.CDLL(str(library)), f"{path.stem}_predict")
    pointer = ctypes.POINTER(ctypes.c_float)
    found = numpy.zeros((len(columns), outputs), "f4")
    for row, result in zip(numpy.ascontiguousarray(columns), found):
        predict(row.ctypes.data_as(pointer), result.ctypes.data_as(pointer))
    return found


def trained(program, folder, table, options):
    """A model, and a table of rows to predict."""
    data = ROOT / "data" / "mnist" if table == "mnist" else TABLES / f"{table}.csv"
    rows = folder / "rows.csv"
    if table == "mnist":
        images = next(path for path in data.iterdir() if path.name.startswith("t10k-images"))
        pixels = numpy.frombuffer(gzip.open(images).read(), "u1", offset=16).reshape(-1, 784)[:IMAGES]
        write(rows, [{f"pixel{number}": str(byte) for number, byte in enumerate(image)} for image in pixels])
    else:
        write(rows, with_gaps(read(data)))
    epochs = [] if "--epochs" in options else ["--epochs", "20"]
    common = ["--data", data, *options, *epochs, "--device", "cpu", "--quiet"]
    command, model = ["train", *common, "--out", folder / "model"], folder / "model"
    if "--ensemble" in options:
        command = ["sweep", *common, "--trials", "6", "--out", folder / "sweep"]
        model = folder / "sweep" / "ensemble.safetensors"
    subprocess.run([program, *map(str, command)], check=True, stdout=subprocess.DEVNULL)
    return model, rows


def compare(program, folder, table, options):
    """How far each format is off."""
    model, rows = trained(program, folder, table, options)
    predict = [program, "predict", "--model", model, rows, "--device", "cpu", "--format", "json"]
    lines = subprocess.run(predict, check=True, capture_output=True, text=True).stdout.splitlines()
    lines = [json.loads(line) for line in lines]
    kind = "probabilities" if "probabilities" in lines[0] else "values"
    expected = numpy.array([list(line[kind].values()) for line in lines])
    files = {"onnx": folder / "model.onnx", "c": folder / "network.c"}
    for form, path in files.items():
        subprocess.run([program, "export", f"--{form}", "--model", model, "--out", path], check=True)
    session, metadata = session_of(files["onnx"])
    names, categories = json.loads(metadata["columns"]), json.loads(metadata["categories"])
    cells = read(rows)
    if table == "mnist":
        # Images have no names of columns.
        names = [name for name in cells[0] if name != "label"]
    columns = numbers(cells, names, categories)
    of_onnx, classes = by_onnx(session, metadata, columns)
    if classes is not None:
        wrong = sum(found != line["class"] for found, line in zip(classes, lines))
        if wrong:
            sys.exit(f"{table} {options}: {wrong} classes of ONNX are others")
    found = {"onnx": of_onnx, "c": by_c(files["c"], columns, expected.shape[1])}
    largest = numpy.abs(expected).max()
    return {form: numpy.abs(values - expected).max() / largest for form, values in found.items()}


def main():
    program, worst = str(pathlib.Path(sys.argv[1]).resolve()), 0.0
    for table, *options in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            errors = compare(program, pathlib.Path(folder), table, options)
        text = ", ".join(f"{form} {error:.1e}" for form, error in errors.items())
        print(f"{table} {' '.join(options)}: off by {text}", flush=True)
        # Unlike max, it gives NaN where there is one.
        worst = float(numpy.max([worst, *errors.values()]))
    print(f"at most {worst:.1e}, where {BOUND:.0e} is allowed")
    sys.exit(0 if worst <= BOUND else 1)


main()
