"""Tables of the R package mlbench (F. Leisch, E. Dimitriadou; GPL-2), fetched as Debian's r-cran-mlbench.

They are not stored in this repository. Where Debian's packages cannot be had, there are none of them.
"""

import pathlib
import subprocess
import sys
import warnings

import pandas
import rdata

PLACE = pathlib.Path(__file__).resolve().parents[2] / "target" / "tables" / "mlbench"
FOLDER = PLACE / "usr/lib/R/site-library/mlbench/data"
# The column to predict of each, and the most rows that are taken.
TABLES = {
    "LetterRecognition": "lettr",
    "Satellite": "classes",
    "Shuttle": "Class",
    "PimaIndiansDiabetes2": "diabetes",
    "BostonHousing2": "cmedv",
    "Soybean": "Class",
    "Vehicle": "Class",
    "Vowel": "Class",
    "HouseVotes84": "Class",
    "Ozone": "V4",
}
MOST_ROWS = 5000
# What gives the target away, and names.
DROPPED = {"BostonHousing2": ["medv", "town", "tract"]}


def fetch():
    """Whether the package is here, after it was asked for."""
    if FOLDER.is_dir():
        return True
    PLACE.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(["apt-get", "download", "r-cran-mlbench"], cwd=PLACE, check=True, capture_output=True)
        [package] = PLACE.glob("r-cran-mlbench_*.deb")
        subprocess.run(["dpkg-deb", "-x", package, PLACE], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError, ValueError):
        print("no tables of r-cran-mlbench: apt-get cannot download it", file=sys.stderr)
        return False
    return True


def tables():
    """(name, function that gives a data frame and the name of its target) for each table."""
    return {name: (lambda name=name: table(name)) for name in TABLES} if fetch() else {}


def table(name):
    with warnings.catch_warnings():
        # Of an encoding that the file does not name; all is ASCII.
        warnings.simplefilter("ignore")
        frame = rdata.read_rda(FOLDER / f"{name}.rda")[name].drop(columns=DROPPED.get(name, []))
    frame.columns = [str(column) for column in frame.columns]
    frame = frame.dropna(subset=[TABLES[name]])
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    target = frame.pop(TABLES[name])
    is_number = pandas.api.types.is_numeric_dtype(target)
    target = target.astype(float if is_number else str)
    for column in frame.select_dtypes("category"):
        frame[column] = frame[column].astype(object)
    # A class of one row or a few can be on one side of a split only.
    counts = target.map(target.value_counts())
    common = target.notna() if is_number else counts >= 10
    return frame[common].reset_index(drop=True), target[common].reset_index(drop=True)
