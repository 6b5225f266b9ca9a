"""Writes data/tables/*.csv from the data that scikit-learn brings along, every number as it is written there.

usage: make_datasets.py   (in a Python with requirements.txt installed)
"""

import csv
import gzip
import pathlib

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
