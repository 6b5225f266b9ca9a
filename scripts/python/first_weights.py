"""Compares the first weights of the estimators with those of scikit-learn's networks, on tables of few rows: the table of docs/PYTHON.md.

The network is the same, with 100 hidden units, Adam, batches of 200, 200 epochs and standardised columns and values; a score (accuracy,
or R2) is the mean of 5-fold cross-validation with ten seeds.
"""

import csv
import pathlib
import warnings

import numpy as np
from measure import networks
from sklearn import datasets
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler

INITS = ["he", "he-uniform", "xavier", "xavier-uniform"]
SEEDS = 10


def penguins():
    """The measures of `data/tables/penguins.csv`, without birds that miss one."""
    with open(pathlib.Path(__file__).parents[2] / "data/tables/penguins.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["bill_length_mm"] != "NA"]
    measures = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    return np.array([[float(row[name]) for name in measures] for row in rows]), np.array([row["species"] for row in rows])


def tables():
    for name in ["iris", "wine", "breast_cancer", "digits"]:
        yield name, True, getattr(datasets, f"load_{name}")(return_X_y=True)
    yield "penguins", True, penguins()
    yield "make_moons", True, datasets.make_moons(200, noise=0.3, random_state=0)
    yield "diabetes", False, datasets.load_diabetes(return_X_y=True)
    yield "make_friedman1", False, datasets.make_friedman1(200, noise=1.0, random_state=0)


def score(make, X, y, is_classes):
    folds = StratifiedKFold if is_classes else KFold
    return np.mean([cross_val_score(make(seed), X, y, cv=folds(5, shuffle=True, random_state=seed)) for seed in range(SEEDS)])


def main():
    warnings.simplefilter("ignore")
    print(f"| data | scikit-learn | {' | '.join(f'`{init}`' for init in INITS)} |")
    print("|---" + "|--:" * (1 + len(INITS)) + "|")
    all_scores = []
    for name, is_classes, (X, y) in tables():
        def theirs(seed):
            network = networks(X, y, is_classes, seed)[1]
            return network if is_classes else TransformedTargetRegressor(network, transformer=StandardScaler())

        def ours(init, seed):
            estimator = networks(X, y, is_classes, seed)[0].set_params(init=init, n_jobs=1)
            return estimator if is_classes else estimator.set_params(scale_target="standard")

        scores = [score(theirs, X, y, is_classes)]
        scores += [score(lambda seed: ours(init, seed), X, y, is_classes) for init in INITS]
        all_scores.append(scores)
        print(f"| {name} | {' | '.join(f'{found:.4f}' for found in scores)} |", flush=True)
    print(f"| mean | {' | '.join(f'{found:.4f}' for found in np.mean(all_scores, axis=0))} |")


if __name__ == "__main__":
    main()
