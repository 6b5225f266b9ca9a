"""Trains tinytrain, models of scikit-learn, LightGBM and XGBoost on the same tables, and writes docs/TABLES.md and
benches/results/tables.csv."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import lightgbm
import numpy
import pandas
import sklearn
import xgboost
from sklearn import ensemble, linear_model, metrics, neural_network
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, StandardScaler

import common
from benchmarks.problems import PROBLEMS

SEEDS = range(2)
# Options of `tinytrain train`.
OURS = {
    "tinytrain": "",
    "refit": "--validation-fraction 0.2 --refit",
    "all rows": "--validation-fraction 0",
    "plain": "--preset plain",
}
# Metrics of classes and of values, and whether smaller values are better.
METRICS = {True: {"log_loss": True, "auc": False, "accuracy": False}, False: {"rmse": True, "r2": False}}
RESULTS = common.ROOT / "benches/results/tables.csv"


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


def ours(program, options, seed, train, test, command="train"):
    """Metrics on the test rows, and seconds of the training process."""
    of_classes = is_class(train[1])
    task = "classification" if of_classes else "regression"
    with tempfile.TemporaryDirectory() as folder:
        for name, (frame, target) in (("train", train), ("test", test)):
            frame.assign(target=target).to_csv(f"{folder}/{name}.csv", index=False)
        data = ["--data", f"{folder}/train.csv", "--target", "target", "--task", task, "--seed", seed]
        out = f"{folder}/{'model.safetensors' if command == 'train' else command}"
        run = common.measured([program, command, *data, "--device", "cpu", "--quiet", "--out", out, *options.split()])
        ensemble = Path(out, "ensemble.safetensors")
        model = ensemble if ensemble.exists() else out
        test = ["--model", model, "--data", f"{folder}/test.csv", "--format", "json", "--device", "cpu"]
        found = json.loads(common.measured([program, "eval", *test]).output)
        trials = Path(out, "results.jsonl")
        trials = {"trials": len(trials.read_text().splitlines())} if trials.exists() else {}
    return {name: found[name] for name in METRICS[of_classes]} | {"seconds": run.seconds} | trials


def text_columns(frame):
    return [column for column in frame if not pandas.api.types.is_numeric_dtype(frame[column])]


def categories(*frames):
    """The frames with the text of the first one as categories."""
    kinds = {name: pandas.CategoricalDtype(sorted(frames[0][name].dropna().unique())) for name in text_columns(frames[0])}
    return [frame.astype(kinds) for frame in frames]


def labels(*targets):
    """Classes as numbers."""
    return map(LabelEncoder().fit(targets[0]).transform, targets) if is_class(targets[0]) else targets


def peer(name, seed, train, test):
    """Metrics on the test rows, and seconds of `fit`."""
    (frame, target), (test_frame, test_target) = train, test
    of_classes = is_class(target)
    model = PEERS[name](of_classes, seed)
    if name not in TREES:
        model = numbers(model)
    else:
        frame, test_frame = categories(frame, test_frame)
    target, test_target = labels(target, test_target)
    begun = time.perf_counter()
    with warnings.catch_warnings():
        # The defaults are what is compared, also where they end before convergence.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        model.fit(frame, target)
        seconds = time.perf_counter() - begun
        return scores(of_classes, model, test_frame, test_target) | {"seconds": seconds}


def scores(of_classes, model, frame, target):
    """The metrics of a model on rows."""
    if not of_classes:
        predicted = model.predict(frame)
        return {"rmse": metrics.root_mean_squared_error(target, predicted), "r2": metrics.r2_score(target, predicted)}
    shares = model.predict_proba(frame).astype(float)
    shares /= shares.sum(axis=1, keepdims=True)
    areas = [metrics.roc_auc_score(target == label, shares[:, label]) for label in numpy.unique(target)]
    return {
        "log_loss": metrics.log_loss(target, shares, labels=numpy.arange(shares.shape[1])),
        "auc": statistics.mean(areas),
        "accuracy": metrics.accuracy_score(target, shares.argmax(axis=1)),
    }


def measured(tinytrain, wanted):
    """The metrics of each program on each split of each table, as rows of a frame."""
    found = []
    for seed in SEEDS:
        for problem in wanted or PROBLEMS:
            train, test = parts(problem, seed)
            runs = {name: ours(tinytrain, options, seed, train, test) for name, options in OURS.items()}
            runs |= {name: peer(name, seed, train, test) for name in PEERS}
            for name, run in runs.items():
                found.append({"table": problem, "split": seed, "program": name, **run})
                print(found[-1], file=sys.stderr, flush=True)
    return pandas.DataFrame(found)


def ranks(found, metric, is_error):
    """The mean over the tables of each program's rank by its mean metric; equal programs share a rank, failed ones are last."""
    means = found.dropna(subset=[metric]).groupby(["table", "program"])[metric].mean().round(4).unstack()
    return means.rank(axis=1, ascending=is_error, na_option="bottom").mean()


def summary(found):
    """A row per program: mean ranks, and seconds of a fit."""
    columns = {metric: ranks(found, metric, is_error) for of in METRICS.values() for metric, is_error in of.items()}
    frame = pandas.DataFrame(columns)
    frame["all"] = frame.mean(axis=1)
    frame["seconds"] = found.groupby("program")["seconds"].mean()
    frame = frame.sort_values("all")
    titles = ["log loss", "AUC", "accuracy", "RMSE", "R2", "mean", "seconds"]
    lines = [common.row(name, *(f"{value:.1f}" for value in row)) for name, row in zip(frame.index, frame.values)]
    return [common.head("program", *titles), *lines]


def details(found):
    """A row per table: log loss, or R2, of each program."""
    lines = []
    programs = list(dict.fromkeys(found["program"]))
    for table, rows in found.groupby("table", sort=False):
        of_classes = not rows["log_loss"].isna().all() if "log_loss" in rows else False
        means = rows.groupby("program")["log_loss" if of_classes else "r2"].mean()
        lines.append(common.row(f"{table}, {'log loss' if of_classes else 'R2'}", *(f"{means[name]:.3f}" for name in programs)))
    return [common.head("table", *programs), *lines]


def tables(*wanted):
    tinytrain = common.program()
    version = subprocess.run([tinytrain, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    found = measured(tinytrain, wanted)
    section = [
        f"{time.strftime('%Y-%m-%d')}: {version}, scikit-learn {sklearn.__version__}, LightGBM {lightgbm.__version__},",
        f"XGBoost {xgboost.__version__}; {common.processor()}; {len(SEEDS)} splits. Mean ranks of {len(OURS) + len(PEERS)} programs",
        "(1 is best), and mean seconds of a fit:",
        "",
        *summary(found),
    ]
    if not wanted:
        RESULTS.parent.mkdir(exist_ok=True)
        found.round(5).to_csv(RESULTS, index=False)
        common.replace_section("TABLES.md", "bench tables", section)
    print("\n".join([*section, "", *details(found)]))
