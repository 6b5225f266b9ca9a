"""Measures the Python package beside scikit-learn: the tables of docs/PYTHON.md, one run. `scripts/bench python` calls it."""

import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tinytrain import TinytrainClassifier, TinytrainRegressor, TinytrainSearchCV

warnings.simplefilter("ignore")
EPOCHS = 200


def median_seconds(work):
    """The median of as many calls as fit into a second, three at least: those right behind scikit-learn's share a processor with OpenBLAS, whose
    threads go on for some 25 ms."""
    taken = []
    while len(taken) < 3 or sum(taken) < 1:
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken))


def networks(X, y, is_classes, seed):
    """The same network, optimizer, batches and epochs: ours and scikit-learn's."""
    rows = min(200, len(X))
    ours, theirs = (TinytrainClassifier, MLPClassifier) if is_classes else (TinytrainRegressor, MLPRegressor)
    settings = {"hidden": (100,), "optimizer": "adam", "lr": 0.001, "batch_size": rows, "epochs": EPOCHS, "init": "xavier-uniform"}
    if not is_classes:
        settings["scale_target"] = "none"
    network = theirs(max_iter=EPOCHS, tol=0, n_iter_no_change=EPOCHS, alpha=0, batch_size=rows, random_state=seed)
    return ours(**settings, random_state=seed), make_pipeline(StandardScaler(), network)


def fits():
    print("| data | rows | scikit-learn, s | tinytrain, s | times as fast | score, scikit-learn | score, tinytrain | `preset='table'` | boosting |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    ratios = []
    for name in ["iris", "wine", "breast_cancer", "digits", "diabetes"]:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        is_classes = name != "diabetes"
        ours, theirs = networks(X, y, is_classes, 0)
        seconds = [median_seconds(lambda: model.fit(X, y)) for model in (theirs, ours)]
        ratios.append(seconds[0] / seconds[1])

        def score(make):
            folds = StratifiedKFold if is_classes else KFold
            scores = [cross_val_score(make(seed), X, y, cv=folds(5, shuffle=True, random_state=seed)).mean() for seed in range(2)]
            return np.mean(scores)

        table = TinytrainClassifier if is_classes else TinytrainRegressor
        trees = HistGradientBoostingClassifier if is_classes else HistGradientBoostingRegressor
        scores = [
            score(lambda seed: networks(X, y, is_classes, seed)[1]),
            score(lambda seed: networks(X, y, is_classes, seed)[0]),
            score(lambda seed: table(early_stopping=True, random_state=seed)),
            score(lambda seed: trees(random_state=seed)),
        ]
        shown = " | ".join(f"{score:.3f}" for score in scores)
        print(f"| {name} | {len(X)} | {seconds[0]:.3f} | {seconds[1]:.3f} | {ratios[-1]:.1f} | {shown} |", flush=True)
    print(f"\nMedian: {np.median(ratios):.1f} times as fast.\n", flush=True)


def search():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    ours, theirs = networks(X, y, True, 0)
    rates = np.geomspace(1e-4, 1e-1, 16).tolist()
    sizes = [(16,), (32,), (64,), (100,)]
    found = TinytrainSearchCV(ours, {"lr": rates, "hidden": sizes}, cv=5, refit=False)
    grid = {"mlp__learning_rate_init": rates, "mlp__hidden_layer_sizes": sizes}
    theirs = type(theirs)([("scale", theirs[0]), ("mlp", theirs[1])])
    others = GridSearchCV(theirs, grid, cv=5, refit=False, n_jobs=-1)
    seconds = [median_seconds(lambda search=search: search.fit(X, y)) for search in (others, found)]
    best = [max(search.cv_results_["mean_test_score"]) for search in (others, found)]
    print(
        f"64 candidates x 5 folds on breast_cancer: scikit-learn {seconds[0]:.1f} s (best {best[0]:.3f}), "
        f"tinytrain {seconds[1]:.2f} s (best {best[1]:.3f}), {seconds[0] / seconds[1]:.1f} times as fast.\n",
        flush=True,
    )


def single_rows():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    ours, theirs = networks(X, y, True, 0)
    row = X[:1]
    for name, model in (("scikit-learn's network alone", theirs[-1]), ("tinytrain", ours)):
        model.fit(X, y)
        taken = median_seconds(lambda: model.predict(row))
        print(f"One row predicted by {name}: {taken * 1e6:.0f} us")


def importing():
    code = (
        "import numpy, sklearn.base, sklearn.utils.validation, sklearn.utils.multiclass, sklearn.exceptions, time\n"
        "begin = time.perf_counter(); import tinytrain; print(time.perf_counter() - begin)"
    )
    run = lambda: float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    print(f"Import beyond numpy and scikit-learn: {np.median([run() for _ in range(5)]) * 1e3:.0f} ms", flush=True)


if __name__ == "__main__":
    importing()
    single_rows()
    fits()
    search()
