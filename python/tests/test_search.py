"""Searches, compared with scikit-learn's."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, GroupKFold, RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tinytrain import TinytrainClassifier, TinytrainRegressor, TinytrainSearchCV

GRID = {"lr": [0.003, 0.05, 0.2], "hidden": [(8,), (24, 8)]}


# The checks set the seed of the search, not that of its estimator.
@parametrize_with_checks([TinytrainSearchCV(of(hidden=(32,), random_state=0), {"lr": [0.01, 0.02]}, cv=2) for of in (TinytrainClassifier, TinytrainRegressor)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss", ["accuracy", "neg_log_loss"]])
def test_results_are_those_of_a_grid_search(iris, scoring):
    X, y = iris
    base = TinytrainClassifier(epochs=12, random_state=5)
    refit = "accuracy" if isinstance(scoring, list) else True
    ours = TinytrainSearchCV(base, GRID, cv=3, scoring=scoring, refit=refit, return_train_score=True).fit(X, y)
    theirs = GridSearchCV(base, GRID, cv=3, scoring=scoring, refit=refit, return_train_score=True).fit(X, y)
    assert ours.best_params_ == theirs.best_params_ and ours.best_score_ == theirs.best_score_
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for key, expected in theirs.cv_results_.items():
        if "score" in key and "time" not in key:
            assert (ours.cv_results_[key] == expected).all(), key
    assert (ours.predict_proba(X) == theirs.predict_proba(X)).all()
    assert ours.score(X, y) == theirs.score(X, y) and (ours.classes_ == theirs.classes_).all()


def test_candidates_are_drawn_and_groups_are_kept_together():
    X, y = load_diabetes(return_X_y=True)
    base = TinytrainRegressor(epochs=5, random_state=5)
    given = {"n_iter": 4, "cv": GroupKFold(3), "random_state": 1}
    lists = {"lr": [0.001, 0.01, 0.03], "hidden": [(8,), (16,), (32,)]}
    groups = np.arange(len(y)) // 10
    ours = TinytrainSearchCV(base, lists, **given).fit(X, y, groups=groups)
    theirs = RandomizedSearchCV(base, lists, **given).fit(X, y, groups=groups)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert (ours.cv_results_["mean_test_score"] == theirs.cv_results_["mean_test_score"]).all()


def test_a_pipeline_is_searched_by_scikit_learn(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), TinytrainClassifier(random_state=5, epochs=20))
    with pytest.raises(TypeError, match=r"^estimator: expected .* \(GridSearchCV takes a Pipeline that ends with one\)$"):
        TinytrainSearchCV(pipeline, {"tinytrainclassifier__lr": [0.01]}).fit(X, y)
    grid = {"tinytrainclassifier__lr": [0.0001, 0.1], "tinytrainclassifier__hidden": [(8,), (16, 8)]}
    found = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    best = found.best_estimator_[-1]
    assert found.best_score_ > 0.9 and best.lr == found.best_params_["tinytrainclassifier__lr"] == 0.1
    scores = [
        clone(pipeline).set_params(**found.best_params_).fit(X[train], y[train]).score(X[test], y[test])
        for train, test in StratifiedKFold(3).split(X, y)
    ]
    assert np.mean(scores) == pytest.approx(found.best_score_, rel=1e-12)


def test_weights_train(iris):
    X, y = iris
    weights = np.random.default_rng(0).random(len(y))
    base = TinytrainClassifier(epochs=6, hidden=(8,), random_state=5)
    ours = TinytrainSearchCV(base, {"lr": [0.01, 0.1]}, cv=3, scoring="neg_log_loss").fit(X, y, sample_weight=weights)
    scores = []
    from sklearn.metrics import log_loss

    for train, test in StratifiedKFold(3).split(X, y):
        fitted = TinytrainClassifier(epochs=6, hidden=(8,), random_state=5, lr=0.1).fit(X[train], y[train], sample_weight=weights[train])
        scores.append(-log_loss(y[test], fitted.predict_proba(X[test])))
    assert np.mean(scores) == pytest.approx(ours.cv_results_["mean_test_score"][1], rel=1e-12)


def test_what_cannot_be_trained_has_an_error_score():
    X, y = load_diabetes(return_X_y=True)
    base = TinytrainRegressor(epochs=3, hidden=(8,), random_state=5)
    with pytest.warns(Warning, match="failed"):
        search = TinytrainSearchCV(base, {"lr": [0.01, 1e30]}, cv=2).fit(X, y)
    assert search.best_params_ == {"lr": 0.01} and np.isnan(search.cv_results_["mean_test_score"][1])
    with pytest.raises(ValueError):
        TinytrainSearchCV(base, {"lr": [0.01, 1e30]}, cv=2, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match="device is the same"):
        TinytrainSearchCV(base, {"device": ["cpu", "gpu"]}).fit(X, y)
    with pytest.raises(TypeError, match="estimator"):
        TinytrainSearchCV(GridSearchCV(base, {}), {"lr": [0.1]}).fit(X, y)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_rows_that_validate_are_those_of_each_fit_alone(iris, is_weighted):
    from sklearn.base import clone
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedKFold

    X, y = iris
    # Rows that the weights repeat, and one of iris that comes twice.
    weights = np.random.default_rng(1).integers(0, 4, size=len(y)) if is_weighted else np.ones(len(y))
    base = TinytrainClassifier(epochs=6, hidden=(8,), random_state=5, preset="plain")
    space = {"lr": [0.01, 0.1], "validation_fraction": [0.2, 0.3]}
    given = {"sample_weight": weights} if is_weighted else {}
    ours = TinytrainSearchCV(base, space, cv=3, scoring="neg_log_loss").fit(X, y, **given)
    for params, found in zip(ours.cv_results_["params"], ours.cv_results_["mean_test_score"]):
        scores = []
        for train, test in StratifiedKFold(3).split(X, y):
            own = {"sample_weight": weights[train]} if is_weighted else {}
            fitted = clone(base).set_params(**params).fit(X[train], y[train], **own)
            scores.append(-log_loss(y[test], fitted.predict_proba(X[test])))
        assert np.mean(scores) == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("sample_weight", [None, np.arange(150) % 3])
def test_classes_are_balanced_in_each_fold(iris, sample_weight):
    X, y = iris
    base = TinytrainClassifier(hidden=(8,), epochs=8, random_state=1, class_weight="balanced")
    folds = [(np.arange(-150, -40), np.arange(110, 150)), (np.arange(150) % 4 > 0, np.arange(0, 150, 4))]
    # GridSearchCV gives the weights to the scorer, too; those of other rows do not change how it trains.
    ours, theirs = (of(base, {"lr": [0.01, 0.1]}, cv=folds, scoring=_log_loss) for of in (TinytrainSearchCV, GridSearchCV))
    fitted = [search.fit(X, y, sample_weight=sample_weight).cv_results_["mean_test_score"] for search in (ours, theirs)]
    np.testing.assert_array_equal(*fitted)


def _log_loss(estimator, X, y, sample_weight=None):
    return -np.log(estimator.predict_proba(X)[np.arange(len(X)), y]).mean()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scoring", ["roc_auc", ["accuracy", "roc_auc"], lambda estimator, X, y: {"accuracy": estimator.score(X, y)}])
def test_scores_that_cannot_be_made_are_those_of_a_grid_search(iris, scoring):
    X, y = iris
    base = TinytrainClassifier(hidden=(8,), epochs=8, random_state=1)
    refit = False if scoring == "roc_auc" else "accuracy"
    fitted = [of(base, {"lr": [1e38, 0.1]}, cv=3, scoring=scoring, refit=refit).fit(X, y) for of in (TinytrainSearchCV, GridSearchCV)]
    for key in fitted[1].cv_results_:
        if "_test_" in key:
            np.testing.assert_array_equal(*(search.cv_results_[key] for search in fitted), err_msg=key)
