"""Settings proposed by Optuna, in batches of 16 that are trained together.

    pip install optuna
    python optuna_search.py [STORAGE [BATCHES]]

Processes with the same storage share one study. SQLite, the default, is for one machine; several machines need a
database server, such as postgresql://host/study: on NFS, Optuna's JournalStorage loses lines.
"""

import sys

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution
from sklearn.datasets import load_breast_cancer

from tinytrain import TinytrainClassifier, TinytrainSearchCV

SPACE = {
    "lr": FloatDistribution(0.001, 0.03, log=True),
    "hidden": CategoricalDistribution(["64", "128,64", "256,256"]),
    "dropout": FloatDistribution(0.0, 0.3),
}


def main(storage="sqlite:///optuna.db", batches="4"):
    X, y = load_breast_cancer(return_X_y=True)
    base = TinytrainClassifier(epochs=30, random_state=1)
    # With constant_liar, trials of a batch differ although none of them has a score yet.
    sampler = optuna.samplers.TPESampler(constant_liar=True)
    study = optuna.create_study(
        storage=storage, study_name="breast_cancer", direction="maximize", sampler=sampler, load_if_exists=True
    )
    for _ in range(int(batches)):
        trials = [study.ask(SPACE) for _ in range(16)]
        candidates = [{name: [value] for name, value in trial.params.items()} for trial in trials]
        search = TinytrainSearchCV(base, candidates, cv=3, scoring="neg_log_loss", refit=False).fit(X, y)
        for trial, score in zip(trials, search.cv_results_["mean_test_score"]):
            study.tell(trial, score)
    print(f"{len(study.trials)} trials, best {study.best_value:.4f}: {study.best_params}")


if __name__ == "__main__":
    main(*sys.argv[1:])
