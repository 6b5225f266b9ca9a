"""Measures the Python package and scikit-learn: the tables of docs/PYTHON.md, one run."""

import os
import subprocess
import sys
import time
import warnings

import common

# The environment of the wheel, entered outside the sources.
PLACE = common.ROOT / "target/releasing"
if sys.prefix != str(PLACE / "wheel"):
    subprocess.run([common.ROOT / "scripts/release-python"], check=True)
    subprocess.run([PLACE / "wheel/bin/pip", "install", "-q", "joblib==1.6.0"], check=True)
    os.chdir(PLACE)
    python = str(PLACE / "wheel/bin/python")
    os.execv(python, [python, str(common.ROOT / "scripts/bench"), "python"])

import numpy as np
from sklearn import datasets, ensemble, neural_network
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tinytrain

warnings.simplefilter("ignore")
EPOCHS = 200
IMPORT = """
import numpy, sklearn.base, sklearn.utils.validation, sklearn.utils.multiclass, sklearn.exceptions, time
begin = time.perf_counter(); import tinytrain; print(time.perf_counter() - begin)
"""


def median_seconds(work):
    """The median of as many calls as fit into a second, three at least: those right behind scikit-learn's share a processor
    with OpenBLAS, whose threads go on for some 25 ms."""
    taken = []
    while len(taken) < 3 or sum(taken) < 1:
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken))


def kind(library, name, is_classes):
    """The classifier or the regressor of this name."""
    return getattr(library, name + ("Classifier" if is_classes else "Regressor"))


def networks(X, y, is_classes, seed=0):
    """The same network, optimizer, batches and epochs: scikit-learn's and ours."""
    rows = min(200, len(X))
    settings = {"hidden": (100,), "optimizer": "adam", "lr": 0.001, "batch_size": rows, "epochs": EPOCHS}
    settings |= {"preset": "plain", "init": "xavier-uniform"}
    if not is_classes:
        settings["scale_target"] = "none"
    network = kind(neural_network, "MLP", is_classes)(
        max_iter=EPOCHS, tol=0, n_iter_no_change=EPOCHS, alpha=0, batch_size=rows, random_state=seed
    )
    ours = kind(tinytrain, "Tinytrain", is_classes)(**settings, random_state=seed)
    return make_pipeline(StandardScaler(), network), ours


def fits():
    columns = ["rows", "scikit-learn, s", "tinytrain, s", "times as fast", "score, scikit-learn", "score, tinytrain"]
    print(common.head("data", *columns, "`preset='table'`", "boosting"))
    ratios = []
    for name in ["iris", "wine", "breast_cancer", "digits", "diabetes"]:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        is_classes = name != "diabetes"
        seconds = [median_seconds(lambda: model.fit(X, y)) for model in networks(X, y, is_classes)]
        ratios.append(seconds[0] / seconds[1])

        def score(make):
            folds = StratifiedKFold if is_classes else KFold
            splits = [folds(5, shuffle=True, random_state=seed) for seed in range(2)]
            return np.mean([cross_val_score(make(seed), X, y, cv=splits[seed]).mean() for seed in range(2)])

        scores = [
            score(lambda seed: networks(X, y, is_classes, seed)[0]),
            score(lambda seed: networks(X, y, is_classes, seed)[1]),
            score(lambda seed: kind(tinytrain, "Tinytrain", is_classes)(random_state=seed)),
            score(lambda seed: kind(ensemble, "HistGradientBoosting", is_classes)(random_state=seed)),
        ]
        cells = [f"{it:.3f}" for it in seconds] + [f"{ratios[-1]:.1f}"] + [f"{it:.3f}" for it in scores]
        print(common.row(name, len(X), *cells), flush=True)
    print(f"\nMedian: {np.median(ratios):.1f} times as fast.\n", flush=True)


def search():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    theirs, ours = networks(X, y, True)
    rates = np.geomspace(1e-4, 1e-1, 16).tolist()
    sizes = [(16,), (32,), (64,), (100,)]
    found = tinytrain.TinytrainSearchCV(ours, {"lr": rates, "hidden": sizes}, cv=5, refit=False)
    grid = {"mlpclassifier__learning_rate_init": rates, "mlpclassifier__hidden_layer_sizes": sizes}
    others = GridSearchCV(theirs, grid, cv=5, refit=False, n_jobs=-1)
    seconds = [median_seconds(lambda search=search: search.fit(X, y)) for search in (others, found)]
    best = [max(search.cv_results_["mean_test_score"]) for search in (others, found)]
    print(
        f"64 candidates x 5 folds on breast_cancer: scikit-learn {seconds[0]:.1f} s (best {best[0]:.3f}), "
        f"tinytrain {seconds[1]:.2f} s (best {best[1]:.3f}), {seconds[0] / seconds[1]:.1f} times as fast.\n",
        flush=True,
    )


def python():
    taken = [float(common.measured([sys.executable, "-c", IMPORT]).output) for _ in range(5)]
    print(f"Import beyond numpy and scikit-learn: {np.median(taken) * 1e3:.0f} ms", flush=True)
    X, y = datasets.load_breast_cancer(return_X_y=True)
    theirs, ours = networks(X, y, True)
    for name, model in (("scikit-learn's network alone", theirs[-1]), ("tinytrain", ours)):
        model.fit(X, y)
        print(f"One row predicted by {name}: {median_seconds(lambda: model.predict(X[:1])) * 1e6:.0f} us")
    fits()
    search()
