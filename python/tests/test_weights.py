"""Weights of rows: a common factor counts for nothing, and integers repeat rows."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from tinytrain import TinytrainClassifier, TinytrainEnsembleClassifier, TinytrainRegressor, TinytrainSearchCV

SMALL = {"hidden": (8,), "epochs": 10, "random_state": 0, "device": "cpu"}


def fitted(iris, weights, **parameters):
    return TinytrainClassifier(**SMALL, **parameters).fit(*iris, sample_weight=weights).predict_proba(iris[0])


@pytest.mark.parametrize("weight", [1, 7, 16, 2**60, 7.0, 16.0, 16.5, 0.1, 1e30, 1e-30, 1e300, 1e-300, np.float32(0.3)])
@pytest.mark.parametrize("held", [{}, {"early_stopping": True}])
def test_equal_weights_are_none(iris, weight, held):
    weights = np.full(len(iris[1]), weight)
    assert (fitted(iris, weights, **held) == fitted(iris, None, **held)).all()


def test_equal_weights_of_classes_ensembles_and_rows_that_validate_are_none(iris):
    X, y = iris
    weights = np.full(len(y), 7)
    plain = fitted(iris, None)
    for of_class in ({0: 7, 1: 7, 2: 7}, {0: 0.1, 1: 0.1, 2: 0.1}, "balanced"):
        assert (fitted(iris, None, class_weight=of_class) == plain).all()
    assert (fitted(iris, weights * 1.5, class_weight={0: 3, 1: 3, 2: 3}) == plain).all()
    alone, weighted = (TinytrainEnsembleClassifier(n_estimators=2, **SMALL).fit(X, y, sample_weight=of) for of in (None, weights))
    assert (alone.predict_proba(X) == weighted.predict_proba(X)).all()
    alone, weighted = (TinytrainClassifier(**SMALL).fit(X, y, eval_set=rows).validation_scores_ for rows in ((X, y), (X, y, weights)))
    assert alone == weighted
    values = X[:, 0]
    alone, weighted = (TinytrainRegressor(**SMALL).fit(X, values, sample_weight=of).predict(X) for of in (None, weights))
    assert (alone == weighted).all()


def test_rows_without_weight_are_left_out_beside_equal_weights(iris):
    X, y = iris
    weights = np.where(np.arange(len(y)) % 5, 7, 0)
    expected = TinytrainClassifier(**SMALL).fit(X[weights > 0], y[weights > 0]).predict_proba(X)
    for of_rows in (weights, weights / 3):
        assert (fitted(iris, of_rows) == expected).all()


@pytest.mark.parametrize("factor", [2, 7, 16, 0.1, 0.3, 1e-3, 1e20])
def test_a_common_factor_is_divided_out(iris, factor):
    generator = np.random.default_rng(0)
    counts = generator.integers(1, 4, len(iris[1]))
    if isinstance(factor, int):
        assert (fitted(iris, counts * factor) == fitted(iris, counts)).all()
    assert (fitted(iris, counts * float(factor)) == fitted(iris, counts.astype(float))).all()


def test_whole_numbers_of_a_floating_type_repeat_nothing(iris):
    counts = np.random.default_rng(0).integers(1, 17, len(iris[1]))
    rows = {}
    for kind in (int, float):
        seen = []
        TinytrainClassifier(**SMALL, early_stopping=False, callbacks=lambda epoch: seen.append(epoch["rows"])).fit(*iris, sample_weight=counts.astype(kind))
        rows[kind] = seen[0]
    assert rows == {int: counts.sum(), float: len(counts)}


def test_folds_of_a_search_divide_out_what_a_grid_search_does(iris):
    X, y = iris
    weights = np.where(np.arange(len(y)) < 75, 7, 14)
    folds = [(np.arange(75), np.arange(75, 150)), (np.arange(150)[::2], np.arange(150)[1::2])]
    y = np.arange(150) % 3
    base = TinytrainClassifier(**SMALL)
    for of_rows in (weights, weights / 2):
        ours, theirs = (kind(base, {"lr": [0.01, 0.1]}, cv=folds, refit=False).fit(X, y, sample_weight=of_rows) for kind in (TinytrainSearchCV, GridSearchCV))
        for fold in range(2):
            fitted = [TinytrainClassifier(**SMALL, lr=lr).fit(X[folds[fold][0]], y[folds[fold][0]], sample_weight=of_rows[folds[fold][0]]) for lr in (0.01, 0.1)]
            expected = [one.score(X[folds[fold][1]], y[folds[fold][1]]) for one in fitted]
            assert ours.cv_results_[f"split{fold}_test_score"].tolist() == expected
        assert ours.cv_results_["params"] == theirs.cv_results_["params"]
