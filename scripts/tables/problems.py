"""The tables that are compared: the bundled ones, generated ones that are hard in a way of their own, those of mlbench,
and small ones of R.

Each is a function that gives a data frame, whose columns are numbers or text, and its target: text, or numbers to predict.
"""

import pathlib

import numpy
import pandas
from sklearn.datasets import make_classification, make_friedman1, make_moons

import mlbench
import small

BUNDLED = pathlib.Path(__file__).resolve().parents[2] / "data" / "tables"


def bundled(name, target, is_class=True):
    """A table of data/tables."""
    frame = pandas.read_csv(BUNDLED / f"{name}.csv")
    values = frame.pop(target)
    return frame, values.astype(str) if is_class else values.astype(float)


def generated(values, target):
    """The same of arrays; classes are whole numbers."""
    frame = pandas.DataFrame(values, columns=[f"x{column}" for column in range(values.shape[1])])
    is_class = numpy.issubdtype(target.dtype, numpy.integer)
    return frame, pandas.Series([f"class {label}" for label in target] if is_class else target)


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


def friedman():
    """10 columns, of which 5 tell about the value: waves, squares and products."""
    return generated(*make_friedman1(n_samples=2000, noise=1.0, random_state=3))


def cities():
    """A column of 60 categories with an effect each, one of 3, and a number whose effect is curved."""
    random = numpy.random.default_rng(4)
    effects, rows = random.normal(size=60), 3000
    city, kind, x = random.integers(60, size=rows), random.integers(3, size=rows), random.normal(size=rows)
    value = effects[city] * (1 + 0.5 * (kind == 1)) + 0.5 * x**2 + random.normal(scale=0.2, size=rows)
    names = {"city": [f"city {c}" for c in city], "kind": numpy.array(["a", "b", "c"])[kind], "x": x}
    return pandas.DataFrame(names), pandas.Series(value)


PROBLEMS = {
    "iris": lambda: bundled("iris", "species"),
    "wine": lambda: bundled("wine", "class"),
    "breast cancer": lambda: bundled("breast_cancer", "diagnosis"),
    "digits": lambda: bundled("digits", "digit"),
    "penguins": lambda: bundled("penguins", "species"),
    "diabetes": lambda: bundled("diabetes", "progression", is_class=False),
    "scales": scales,
    "imbalanced": imbalanced,
    "moons": moons,
    "friedman": friedman,
    "cities": cities,
    **mlbench.tables(),
    **small.tables(),
}
