"""Compares the preset for tables with RealMLP-TD-S in PyTorch (pytabkit), HistGradientBoosting and LightGBM: a table of docs/PYTHON.md.

Needs `pip install tinytrain torch pytabkit==1.7.3 lightgbm pandas pyarrow`. All train on two threads and see the same rows; the networks hold out a
fifth of them to choose their best epoch, and train 256 epochs.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from lightgbm import LGBMClassifier, LGBMRegressor
from pytabkit import RealMLP_TD_S_Classifier, RealMLP_TD_S_Regressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from tinytrain import TinytrainClassifier, TinytrainRegressor

warnings.simplefilter("ignore")
torch.set_num_threads(2)
TABLES = Path(__file__).parents[2] / "data" / "tables"
SEEDS = range(3)


def models(is_classes, seed):
    """Who is compared, by name."""
    ours, realmlp, boosting, lightgbm = (
        (TinytrainClassifier, RealMLP_TD_S_Classifier, HistGradientBoostingClassifier, LGBMClassifier)
        if is_classes
        else (TinytrainRegressor, RealMLP_TD_S_Regressor, HistGradientBoostingRegressor, LGBMRegressor)
    )
    preset = {"preset": "table", "validation_fraction": 0.2, "random_state": seed, "n_jobs": 2}
    return {
        "tinytrain": ours(**preset),
        "tinytrain, the same recipe": ours(**preset, embeddings="none", patience="none"),
        "RealMLP-TD-S": realmlp(device="cpu", random_state=seed, n_cv=1, n_refit=0, n_repeats=1, val_fraction=0.2, n_threads=2, verbosity=0),
        "HistGradientBoosting": boosting(random_state=seed),
        "LightGBM": lightgbm(random_state=seed, n_jobs=2, verbose=-1),
    }


def main():
    print("| table | " + " | ".join(models(True, 0)) + " |\n|---|" + "--:|" * len(models(True, 0)))
    for name in sys.argv[1:] or ["breast_cancer", "digits", "diabetes"]:
        rows = pd.read_csv(TABLES / f"{name}.csv")
        y, X = rows.pop("target" if "target" in rows else rows.columns[-1]), rows
        is_classes = name != "diabetes"
        seconds, scores = {}, {}
        for seed in SEEDS:
            parts = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y if is_classes else None)
            train, test, y_train, y_test = parts
            for who, model in models(is_classes, seed).items():
                begin = time.perf_counter()
                model.fit(train.to_numpy(np.float32), y_train.to_numpy())
                seconds.setdefault(who, []).append(time.perf_counter() - begin)
                scores.setdefault(who, []).append(model.score(test.to_numpy(np.float32), y_test.to_numpy()))
        shown = [f"{np.mean(scores[who]):.3f}, {np.median(seconds[who]):.2f} s" for who in seconds]
        print(f"| {name}, {len(rows):,} rows | " + " | ".join(shown) + " |", flush=True)


if __name__ == "__main__":
    main()
