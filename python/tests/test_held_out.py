"""Which rows validate: groups, times, and copies of rows."""

import datetime

import numpy as np
import pytest
from sklearn.datasets import make_classification

from tinytrain import TinytrainClassifier, TinytrainRegressor

SMALL = {"hidden": (4,), "epochs": 3, "random_state": 3, "validation_fraction": 0.3}




def test_groups_are_held_out_together():
    # What a row gives is known by its group alone: nobody can learn it of groups that do not train.
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 10)
    X = np.eye(60)[groups]
    y = generator.integers(0, 2, size=60)[groups]
    settings = {"hidden": (32,), "epochs": 30, "random_state": 3, "validation_fraction": 0.3, "preset": "plain", "lr": 0.5}
    alone = TinytrainClassifier(**settings).fit(X + generator.normal(scale=1e-3, size=X.shape), y)
    assert max(alone.validation_scores_) > 0.95
    together = TinytrainClassifier(**settings).fit(X, y, groups=groups)
    assert max(together.validation_scores_) < 0.8
    # Names of any kind, and any order of rows.
    order = generator.permutation(len(y))
    for named in (groups.astype(float), np.array([f"g{group:02}" for group in groups]), groups.astype(object)):
        scores = TinytrainClassifier(**settings).fit(X[order], y[order], groups=named[order]).validation_scores_
        assert len(scores) == together.n_iter_
    again = TinytrainClassifier(**settings).fit(X[order], y[order], groups=groups[order])
    assert again.validation_scores_ == together.validation_scores_
    with pytest.raises(ValueError, match="leaves others to train"):
        TinytrainClassifier(**settings).fit(X, y, groups=np.zeros(len(y)))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        TinytrainClassifier(**settings).fit(X, y, groups=groups[1:])


def test_later_rows_are_held_out():
    # Until row 700 the answer is the sign, then its opposite: only a split by time holds out the later rows.
    generator = np.random.default_rng(1)
    X = generator.normal(size=(1000, 3))
    y = (X[:, 0] > 0) ^ (np.arange(1000) >= 700)
    days = np.datetime64("2024-01-01") + np.arange(1000)
    order = generator.permutation(1000)
    for times in [
        np.arange(1000),
        days,
        days.astype("datetime64[ns]"),
        [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=row) for row in range(1000)],
    ]:
        times = np.asarray(times)
        fitted = TinytrainClassifier(**SMALL | {"epochs": 10}).fit(X[order], y[order], times=times[order])
        assert max(fitted.validation_scores_[3:]) < 0.3
    assert max(TinytrainClassifier(**SMALL | {"epochs": 10}).fit(X, y).validation_scores_) > 0.55
    regressor = TinytrainRegressor(**SMALL).fit(X, X[:, 0] * np.where(np.arange(1000) < 700, 1, -1), times=days)
    assert regressor.validation_scores_[-1] < 0
    for times, message in [
        (np.full(1000, np.nan), "NaN"),
        (np.full(1000, np.datetime64("NaT")), "missing"),
        (np.full(1000, "soon"), "numbers or dates"),
        (np.zeros(1000), "leaves others to train"),
    ]:
        with pytest.raises(ValueError, match=message):
            TinytrainClassifier(**SMALL).fit(X, y, times=times)
    with pytest.raises(ValueError, match="found both"):
        TinytrainClassifier(**SMALL).fit(X, y, times=days, groups=days)


def test_copies_of_a_row_are_on_one_side():
    # The answers are drawn by lot and each row comes five times: only copies that train tell those that validate.
    generator = np.random.default_rng(2)
    X = np.repeat(generator.normal(size=(200, 40)), 5, axis=0)
    y = np.repeat(generator.integers(0, 2, size=200), 5)
    settings = {"hidden": (64,), "epochs": 40, "random_state": 3, "validation_fraction": 0.3, "preset": "plain"}
    assert max(TinytrainClassifier(**settings).fit(X, y).validation_scores_) < 0.8
    nearly = X + generator.normal(scale=1e-3, size=X.shape)
    assert max(TinytrainClassifier(**settings).fit(nearly, y).validation_scores_) > 0.95


@pytest.mark.parametrize("held", [{}, {"groups": True}, {"times": True}])
def test_weights_are_copies_where_rows_validate(held):
    X, y = make_classification(300, 6, flip_y=0.2, random_state=0)
    weights = np.random.default_rng(0).integers(0, 4, size=len(y))
    rows = {name: np.arange(len(y)) // 3 for name in held}
    weighted = TinytrainClassifier(**SMALL).fit(X, y, sample_weight=weights, **rows)
    repeated = TinytrainClassifier(**SMALL).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights), **{name: np.repeat(of, weights) for name, of in rows.items()}
    )
    assert weighted.validation_scores_ == repeated.validation_scores_
    assert (weighted.predict_proba(X) == repeated.predict_proba(X)).all()
