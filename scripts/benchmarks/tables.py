"""Trains tinytrain, models of scikit-learn, LightGBM and XGBoost on the same tables and writes docs/TABLES.md."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import lightgbm
import numpy
import pandas
import sklearn
import xgboost
from scipy.stats import rankdata
from sklearn import ensemble, linear_model, neural_network
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, StandardScaler

import common
from benchmarks.problems import PROBLEMS

SEEDS = range(5)
OURS = {
    "tinytrain": "",
    "held out": "--validation-fraction 0.2",
    "refit": "--validation-fraction 0.2 --refit",
    "all rows": "--validation-fraction 0",
    "plain": "--preset plain",
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


def linear(is_class, seed):
    return linear_model.LogisticRegression(max_iter=1000, random_state=seed) if is_class else linear_model.RidgeCV()


def either(library, name, **options):
    """A function that makes the classifier or the regressor of this name."""
    return lambda is_class, seed: getattr(library, name + ("Classifier" if is_class else "Regressor"))(
        random_state=seed, **options
    )


PEERS = {
    "MLP": either(neural_network, "MLP"),
    "linear": linear,
    "random forest": either(ensemble, "RandomForest"),
    "HistGB": either(ensemble, "HistGradientBoosting"),
    "LightGBM": either(lightgbm, "LGBM", verbose=-1),
    "XGBoost": either(xgboost, "XGB", enable_categorical=True),
}
# Models that support text categories themselves.
TREES = ["HistGB", "LightGBM", "XGBoost"]


def is_class(target):
    return not pandas.api.types.is_numeric_dtype(target)


def parts(problem, seed):
    """Rows to train on and rows to test on, each with their targets."""
    frame, target = PROBLEMS[problem]()
    classes = target if is_class(target) else None
    divided = train_test_split(frame, target, test_size=0.2, stratify=classes, random_state=seed)
    return (divided[0], divided[2]), (divided[1], divided[3])


def ours(program, options, seed, train, test):
    """Accuracy or R2 on the test rows, and seconds of the whole process."""
    task, measure = ("classification", "test_accuracy") if is_class(train[1]) else ("regression", "test_r2")
    with tempfile.TemporaryDirectory() as folder:
        for name, (frame, target) in (("train", train), ("test", test)):
            frame.assign(target=target).to_csv(f"{folder}/{name}.csv", index=False)
        command = [program, "train", "--data", f"{folder}/train.csv", "--test", f"{folder}/test.csv", "--target", "target"]
        command += ["--task", task, "--seed", seed, "--device", "cpu", "--format", "json"]
        run = common.measured([*command, "--out", f"{folder}/model.safetensors", *options.split()])
    return json.loads(run.output.splitlines()[-1])[measure], run.seconds


def peer(name, seed, train, test):
    """Accuracy or R2 on the test rows, and seconds of `fit`."""
    (frame, target), (test_frame, test_target) = train, test
    model = PEERS[name](is_class(target), seed)
    if name not in TREES:
        model = numbers(model)
    else:
        text = [column for column in frame if not pandas.api.types.is_numeric_dtype(frame[column])]
        kinds = {column: pandas.CategoricalDtype(sorted(frame[column].dropna().unique())) for column in text}
        frame, test_frame = frame.astype(kinds), test_frame.astype(kinds)
    if is_class(target):
        names = LabelEncoder().fit(target)
        target, test_target = names.transform(target), names.transform(test_target)
    begun = time.perf_counter()
    with warnings.catch_warnings():
        # The comparison uses defaults, even if they end before convergence.
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


def rows(results, cell):
    lines = [common.row(problem, *map(cell, runs.values())) for problem, runs in results.items()]
    return [common.head("table", *OURS, *PEERS), *lines]


def score(runs):
    shares = [100 * share for share, _ in runs]
    return f"{statistics.mean(shares):.1f} ± {statistics.stdev(shares):.1f}"


def seconds(runs):
    return f"{statistics.mean(seconds for _, seconds in runs):.2f}"


def ranks(results):
    """The mean over the tables of each program's place by its mean score; equal ones share a place."""
    places = []
    for runs in results.values():
        means = [round(statistics.mean(share for share, _ in run), 4) for run in runs.values()]
        places.append(rankdata([-mean for mean in means]))
    return numpy.mean(places, axis=0)


def tables(*wanted):
    tinytrain = common.program()
    version = subprocess.run([tinytrain, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    results = measured(tinytrain, wanted)
    mean_ranks = [f"{rank:.1f}" for rank in ranks(results)]
    section = [
        f"{time.strftime('%Y-%m-%d')}: {version}, scikit-learn {sklearn.__version__}, LightGBM {lightgbm.__version__},",
        f"XGBoost {xgboost.__version__}; {common.processor()}.",
        "",
        "Accuracy, or of values R2, on the test rows in percent: mean and standard deviation of the five splits. The last",
        "line is the mean rank.",
        "",
        *rows(results, score),
        common.row("mean rank", *mean_ranks),
        "",
        "Seconds for a fit: mean of the five splits.",
        "",
        *rows(results, seconds),
    ]
    if not wanted:
        common.replace_section("TABLES.md", "bench tables", section)
    print("\n".join(section))
