"""Writes data/tables/*.csv from the data that scikit-learn and palmerpenguins bring along, every number as it is written
there.

usage: make_datasets.py   (in a Python with requirements.txt installed, and `pip install --no-deps palmerpenguins==0.1.6`)
"""

import csv
import gzip
import importlib.util
import pathlib
import shutil

import sklearn.datasets as datasets

HERE = pathlib.Path(__file__).resolve().parent
TABLES = HERE.parents[1] / "data" / "tables"
SOURCE = pathlib.Path(datasets.__file__).parent / "data"


def rows(name, header_lines):
    """The cells of a bundled file, as text."""
    path = SOURCE / name
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        return list(csv.reader(file))[header_lines:]


def write(name, source, header_lines, bundle, label):
    """A table with a header and the label, as text, in the last column."""
    classes = [str(target) for target in bundle.target_names]
    lines = rows(source, header_lines)
    assert len(lines) == len(bundle.data)
    for cells, values, target in zip(lines, bundle.data, bundle.target):
        assert [float(cell) for cell in cells[:-1]] == list(values) and int(cells[-1]) == target
    with open(TABLES / f"{name}.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*bundle.feature_names, label])
        table.writerows([*cells[:-1], classes[int(cells[-1])]] for cells in lines)


write("iris", "iris.csv", 1, datasets.load_iris(), "species")
write("wine", "wine_data.csv", 1, datasets.load_wine(), "class")
write("breast_cancer", "breast_cancer.csv", 1, datasets.load_breast_cancer(), "diagnosis")
write("digits", "digits.csv.gz", 0, datasets.load_digits(), "digit")


def write_diabetes():
    """The columns as they were measured, and the whole number that is to be predicted in the last."""
    with gzip.open(SOURCE / "diabetes_data_raw.csv.gz", "rt") as file:
        lines = [line.split() for line in file]
    with gzip.open(SOURCE / "diabetes_target.csv.gz", "rt") as file:
        targets = [float(line) for line in file]
    bundle = datasets.load_diabetes(scaled=False)
    assert [[float(cell) for cell in cells] for cells in lines] == bundle.data.tolist()
    assert targets == bundle.target.tolist() and all(target.is_integer() for target in targets)
    with open(TABLES / "diabetes.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*bundle.feature_names, "progression"])
        table.writerows([*cells, int(target)] for cells, target in zip(lines, targets))


write_diabetes()
penguins = pathlib.Path(importlib.util.find_spec("palmerpenguins").origin).parent / "data" / "penguins.csv"
shutil.copyfile(penguins, TABLES / "penguins.csv")
