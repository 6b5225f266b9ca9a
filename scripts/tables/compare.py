"""Trains tinytrain, models of scikit-learn, LightGBM and XGBoost on the same tables and writes docs/TABLES.md.

usage: compare.py TINYTRAIN [TABLE...]
"""

import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
import warnings

import lightgbm
import numpy
import pandas
import sklearn
import xgboost
from scipy.stats import rankdata
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, StandardScaler

from problems import PROBLEMS
from splits import SEEDS, VALIDATED, is_class, ours, parts

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "TABLES.md"
BEGIN, END = "<!-- bench tables: begin -->", "<!-- bench tables: end -->"
OURS = {
    "tinytrain": [],
    "held out": VALIDATED,
    "refit": [*VALIDATED, "--refit"],
    "all rows": ["--validation-fraction", "0"],
    "plain": ["--preset", "plain"],
}


def numbers(model):
    """A model that takes numbers only: text as one input a category, missing values as medians, all standardised."""
    text = make_column_selector(dtype_include=["object", "string", "category"])
    number = make_column_selector(dtype_exclude=["object", "string", "category"])
    prepared = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
        (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()), number),
    )
    return make_pipeline(prepared, model)


# For classes, and for values.
PEERS = {
    "MLP": (
        lambda seed: numbers(MLPClassifier(random_state=seed)),
        lambda seed: numbers(MLPRegressor(random_state=seed)),
    ),
    "linear": (
        lambda seed: numbers(LogisticRegression(max_iter=1000, random_state=seed)),
        lambda seed: numbers(RidgeCV()),
    ),
    "random forest": (
        lambda seed: numbers(RandomForestClassifier(random_state=seed)),
        lambda seed: numbers(RandomForestRegressor(random_state=seed)),
    ),
    "HistGB": (
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
        lambda seed: HistGradientBoostingRegressor(random_state=seed),
    ),
    "LightGBM": (
        lambda seed: lightgbm.LGBMClassifier(random_state=seed, verbose=-1),
        lambda seed: lightgbm.LGBMRegressor(random_state=seed, verbose=-1),
    ),
    "XGBoost": (
        lambda seed: xgboost.XGBClassifier(random_state=seed, enable_categorical=True),
        lambda seed: xgboost.XGBRegressor(random_state=seed, enable_categorical=True),
    ),
}
# Those that take text as categories themselves.
TREES = ["HistGB", "LightGBM", "XGBoost"]


def peer(name, seed, train, test):
    """Accuracy or R2 on the test rows, and seconds of `fit`."""
    (frame, target), (test_frame, test_target) = train, test
    model = PEERS[name][0 if is_class(target) else 1](seed)
    if name in TREES:
        text = [column for column in frame if not pandas.api.types.is_numeric_dtype(frame[column])]
        kinds = {column: pandas.CategoricalDtype(sorted(frame[column].dropna().unique())) for column in text}
        frame, test_frame = frame.astype(kinds), test_frame.astype(kinds)
    if is_class(target):
        names = LabelEncoder().fit(target)
        target, test_target = names.transform(target), names.transform(test_target)
    begun = time.perf_counter()
    with warnings.catch_warnings():
        # The defaults are what is compared, also where they end before convergence.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        model.fit(frame, target)
        seconds = time.perf_counter() - begun
        return model.score(test_frame, test_target), seconds


def measured(tinytrain, wanted):
    """For every problem and every program, the score and the seconds of every split."""
    results = {}
    for problem in wanted or PROBLEMS:
        for seed in SEEDS:
            train, test = parts(problem, seed)
            runs = {name: ours(tinytrain, options, seed, train, test) for name, options in OURS.items()}
            runs |= {name: peer(name, seed, train, test) for name in PEERS}
            for name, run in runs.items():
                results.setdefault(problem, {}).setdefault(name, []).append(run)
                print(f"{problem}, split {seed}, {name}: {run[0]:.4f} in {run[1]:.2f} s", file=sys.stderr, flush=True)
    return results


def rows(results, names, cell):
    lines = [f"| table | {' | '.join(names)} |", "|---|" + "--:|" * len(names)]
    lines += [f"| {problem} | {' | '.join(cell(runs[name]) for name in names)} |" for problem, runs in results.items()]
    return lines


def score(runs):
    shares = [100 * share for share, _ in runs]
    return f"{statistics.mean(shares):.1f} ± {statistics.stdev(shares):.1f}"


def seconds(runs):
    return f"{statistics.mean(seconds for _, seconds in runs):.2f}"


def ranks(results, names):
    """The mean over the tables of each program's place by its mean score; equal ones share a place."""
    places = []
    for runs in results.values():
        means = [round(statistics.mean(share for share, _ in runs[name]), 4) for name in names]
        places.append(rankdata([-mean for mean in means]))
    return numpy.mean(places, axis=0)


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main():
    tinytrain, *wanted = sys.argv[1:]
    version = subprocess.run([tinytrain, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    results = measured(tinytrain, wanted)
    names = [*OURS, *PEERS]
    mean_ranks = " | ".join(f"{rank:.1f}" for rank in ranks(results, names))
    section = [
        BEGIN,
        f"{time.strftime('%Y-%m-%d')}: {version}, scikit-learn {sklearn.__version__}, LightGBM {lightgbm.__version__},",
        f"XGBoost {xgboost.__version__}; {os.cpu_count()} cores of {processor()}.",
        "",
        "Accuracy, or of values R2, on the test rows in percent: mean and standard deviation of the five splits. The last",
        "line is the mean rank.",
        "",
        *rows(results, names, score),
        f"| mean rank | {mean_ranks} |",
        "",
        "Seconds for a fit: mean of the five splits.",
        "",
        *rows(results, names, seconds),
        END,
    ]
    if not wanted:
        text = DOCUMENT.read_text()
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        DOCUMENT.write_text(before + "\n".join(section) + after)
    print("\n".join(section[1:-1]))


main()
