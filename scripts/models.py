"""Small models of many kinds, and how far other ways to predict with them are off."""

import csv
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

from common import MNIST, TABLES

BOUND = 1e-5
MISSING = {"", "na", "n/a", "nan", "null", "?", "-", "\\n", "#n/a", "<na>", "nat"}
# Number of rows of MNIST.
IMAGES = 200
SPECIES = "penguins --target species"
ISLAND = "penguins --target island --categorical year"
DIABETES = "diabetes --target progression"
# Validation rows make --preset table the default.
VALIDATED = "--validation-fraction 0.2"
ACTIVATIONS = "relu leaky-relu elu selu gelu gelu-tanh silu mish tanh sigmoid identity".split()
RUNS = [
    *(f"{SPECIES} --hidden 8,6 --activation {name}" for name in ACTIVATIONS),
    f"{SPECIES} --hidden none --scale robust",
    f"{SPECIES} --hidden 8 --scale quantile",
    f"{ISLAND} --hidden 8 --scale minmax",
    f"{SPECIES} --hidden 8 --one-hot 1",
    f"{SPECIES} --hidden 8 --scale robust --clip smooth --input-scaling",
    f"{SPECIES} {VALIDATED}",
    f"{SPECIES} {VALIDATED} --embeddings none",
    f"{ISLAND} {VALIDATED} --one-hot 2",
    f"wine {VALIDATED} --embeddings none",
    f"{DIABETES} --hidden 16,8 --activation relu,tanh",
    f"{DIABETES} {VALIDATED}",
    f"{DIABETES} s6 --hidden 8 --categorical sex --scale none --lr 1e-6",
    f"{DIABETES} --hidden 8 --scale-target none --lr 1e-6",
    f"{SPECIES} --ensemble 5",
    f"{DIABETES} --ensemble 5",
    "mnist --hidden 32 --epochs 1",
]


def is_missing(cell):
    return cell.strip().lower() in MISSING


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


def rows_of(table):
    """Rows to predict, by the names of their columns."""
    if table != "mnist":
        with open(TABLES / f"{table}.csv", newline="") as file:
            return with_gaps(list(csv.DictReader(file)))
    images = gzip.decompress((MNIST / "t10k-images-idx3-ubyte.gz").read_bytes())
    pixels = numpy.frombuffer(images, "u1", offset=16).reshape(-1, 784)[:IMAGES]
    return [{f"pixel{number}": str(byte) for number, byte in enumerate(image)} for image in pixels]


def trained(program, folder, table, options):
    """The path of a model."""
    data = MNIST if table == "mnist" else TABLES / f"{table}.csv"
    epochs = [] if "--epochs" in options else ["--epochs", "20"]
    common = ["--data", data, *options, *epochs, "--device", "cpu", "--quiet"]
    command, model = ["train", *common, "--out", folder / "model"], folder / "model"
    if "--ensemble" in options:
        command = ["sweep", *common, "--trials", "6", "--out", folder / "sweep"]
        model = folder / "sweep/ensemble.safetensors"
    subprocess.run([program, *command], check=True, stdout=subprocess.DEVNULL)
    return model


def predicted(program, folder, model, rows):
    """What the program predicts: probabilities or values, and classes."""
    with open(folder / "rows.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    command = [program, "predict", "--model", model, file.name, "--device", "cpu", "--format", "json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    kind = "probabilities" if "probabilities" in lines[0] else "values"
    return numpy.array([list(line[kind].values()) for line in lines]), [line.get("class") for line in lines]


def judge(program, runs, others):
    """Trains models and compares what the program predicts with the arrays by name of others(folder, model, rows, classes);
    exits with 1 if one is off by more than 1e-5 of the largest value."""
    worst = 0.0
    for run in runs:
        table, *options = run.split()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            model, rows = trained(program, folder, table, options), rows_of(table)
            expected, classes = predicted(program, folder, model, rows)
            found = others(folder, model, rows, classes)
        errors = {form: numpy.abs(it - expected).max() / numpy.abs(expected).max() for form, it in found.items()}
        print(f"{run}: off by " + ", ".join(f"{form} {error:.1e}" for form, error in errors.items()), flush=True)
        # Unlike max, it returns NaN if there is one.
        worst = float(numpy.max([worst, *errors.values()]))
    print(f"at most {worst:.1e}, where {BOUND:.0e} is allowed")
    sys.exit(0 if worst <= BOUND else 1)
