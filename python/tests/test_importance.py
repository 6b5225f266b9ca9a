"""`feature_importances_`, compared with scikit-learn's permutation importance."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from tinytrain import TinytrainClassifier, TinytrainEnsembleClassifier, TinytrainRegressor

SMALL = {"hidden": (16,), "epochs": 40, "random_state": 0}


@pytest.fixture(scope="module")
def split():
    # The first three of eight columns matter.
    X = np.random.default_rng(0).normal(size=(1200, 8))
    return train_test_split(X, X[:, 0] + X[:, 1] > 1.5 * X[:, 2], random_state=0)


@pytest.mark.parametrize("of", [TinytrainClassifier, TinytrainEnsembleClassifier])
def test_importances_are_those_of_scikit_learn(split, of):
    X, X_val, y, y_val = split
    several = {"n_estimators": 3} if of is TinytrainEnsembleClassifier else {}
    classifier = of(**SMALL, **several).fit(X, y, eval_set=(X_val, y_val))
    found = classifier.feature_importances_
    expected = permutation_importance(classifier, X_val, y_val, n_repeats=20, random_state=0).importances_mean
    # Three standard deviations of five shuffles of 300 rows.
    assert found.shape == (8,) and np.abs(found - expected).max() < 0.03
    assert found[:3].min() > 0.05 and np.abs(found[3:]).max() < 0.03
    assert (of(**SMALL, **several).fit(X, y, eval_set=(X_val, y_val)).feature_importances_ == found).all()
    selected = SelectFromModel(classifier, prefit=True, threshold=0.04).transform(X)
    assert (selected == X[:, :3]).all()


def test_importances_of_values_are_decreases_of_r2():
    X, X_val, y, y_val = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
    regressor = TinytrainRegressor(**SMALL).fit(X, y, eval_set=(X_val, y_val))
    expected = permutation_importance(regressor, X_val, y_val, n_repeats=30, random_state=0).importances_mean
    assert expected.max() > 0.1 and np.abs(regressor.feature_importances_ - expected).max() < 0.1


def test_a_date_is_one_column(mixed):
    polars = pytest.importorskip("polars")
    X, answer = mixed
    found = TinytrainClassifier(**SMALL, validation_fraction=0.3).fit(polars.DataFrame(X), answer).feature_importances_
    # The number and the color decide.
    assert found.shape == (4,) and set(np.argsort(found)[2:]) == {0, 1}


def test_they_are_computed_on_first_use_and_kept_with_the_estimator(split):
    X, _, y, _ = split
    classifier = TinytrainClassifier(**SMALL, early_stopping=True).fit(X, y)
    size = len(pickle.dumps(classifier))
    with pytest.raises(AttributeError, match="sklearn.inspection.permutation_importance takes other rows"):
        pickle.loads(pickle.dumps(classifier)).feature_importances_
    # The display of notebooks computes none.
    classifier._repr_html_()
    assert "feature_importances_" not in vars(classifier)
    found = classifier.feature_importances_
    assert classifier.feature_importances_ is found and len(pickle.dumps(classifier)) < size + 1000
    assert (pickle.loads(pickle.dumps(classifier)).feature_importances_ == found).all()
    # Those of another fit are others.
    classifier.set_params(random_state=3).fit(X, y)
    assert "feature_importances_" not in vars(classifier) and (classifier.feature_importances_ != found).any()
    with pytest.raises(NotFittedError):
        clone(classifier).feature_importances_


def test_without_validation_rows_there_are_none(split):
    X, _, y, _ = split
    classifier = TinytrainClassifier(**SMALL, early_stopping=False).fit(X, y)
    assert not hasattr(classifier, "feature_importances_")
    with pytest.raises(AttributeError, match=r"needs validation rows of fit \(validation_fraction, early_stopping or eval_set\)"):
        classifier.feature_importances_
