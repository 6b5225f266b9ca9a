"""The tables that are compared: the bundled ones, and generated ones that are hard in a way of their own."""

import csv
import pathlib

import numpy
from sklearn.datasets import make_classification, make_moons

BUNDLED = pathlib.Path(__file__).resolve().parents[2] / "data" / "tables"


def bundled(name):
    """Cells and labels of a table of data/tables, as text."""
    with open(BUNDLED / f"{name}.csv", newline="") as file:
        _, *rows = csv.reader(file)
    return [row[:-1] for row in rows], [row[-1] for row in rows]


def generated(values, classes):
    """The same of arrays: every number as the shortest decimal fraction that reads back to it."""
    return [[repr(float(value)) for value in row] for row in values], [f"class {label}" for label in classes]


def scales():
    """20 columns whose units lie between 1e-4 and 1e5, all far from 0; 10 of them tell about the class."""
    values, classes = make_classification(
        n_samples=1500, n_features=20, n_informative=10, n_redundant=4, n_classes=3, random_state=0
    )
    unit = 10.0 ** (numpy.arange(20) % 10 - 4)
    return generated((values + 10) * unit, classes)


def imbalanced():
    """One sample of ten belongs to the rare class."""
    values, classes = make_classification(
        n_samples=1500, n_features=12, n_informative=6, weights=[0.9], class_sep=0.8, random_state=1
    )
    return generated(values, classes)


def moons():
    """Two columns; the border between the classes is far from straight."""
    return generated(*make_moons(n_samples=1000, noise=0.2, random_state=2))


PROBLEMS = {
    "iris": lambda: bundled("iris"),
    "wine": lambda: bundled("wine"),
    "breast cancer": lambda: bundled("breast_cancer"),
    "digits": lambda: bundled("digits"),
    "scales": scales,
    "imbalanced": imbalanced,
    "moons": moons,
}
