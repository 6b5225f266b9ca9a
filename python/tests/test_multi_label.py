"""Several labels of 0 or 1 a row, and quantiles."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, d2_pinball_score
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPClassifier

from tinytrain import TinytrainClassifier, TinytrainEnsembleClassifier, TinytrainRegressor, TinytrainSearchCV, load

SETTINGS = {"hidden": (16,), "epochs": 40, "lr": 0.01, "optimizer": "adam", "preset": "plain", "random_state": 0}


@pytest.fixture
def rows():
    X = np.random.default_rng(0).normal(size=(400, 4))
    return X, np.column_stack([X[:, 0] + X[:, 1] > 0.5, X[:, 2] > 0, X[:, 3] < -0.5]).astype(int)


@pytest.mark.parametrize("kind", [TinytrainClassifier, TinytrainEnsembleClassifier])
def test_labels_are_those_of_scikit_learn(rows, kind, tmp_path):
    X, y = rows
    settings = SETTINGS | ({"n_estimators": 2} if "Ensemble" in kind.__name__ else {})
    classifier = kind(**settings).fit(X[:300], y[:300])
    like = MLPClassifier(max_iter=5, random_state=0).fit(X[:300], y[:300])
    predicted, shares = classifier.predict(X), classifier.predict_proba(X)
    assert predicted.dtype == like.predict(X).dtype and (classifier.classes_ == like.classes_).all()
    assert predicted.shape == shares.shape == (400, 3) and (predicted == (shares > 0.5)).all()
    assert classifier.score(X[300:], y[300:]) == accuracy_score(y[300:], predicted[300:]) > 0.8
    assert (predicted[300:] == y[300:]).mean() > 0.93
    path = tmp_path / "labels.safetensors"
    classifier.save(path)
    for same in (load(path), pickle.loads(pickle.dumps(classifier))):
        assert type(same) is kind and (same.predict_proba(X) == shares).all() and (same.predict(X) == predicted).all()


def test_labels_of_every_form(rows):
    pandas = pytest.importorskip("pandas")
    from scipy.sparse import csr_array

    X, y = rows
    expected = TinytrainClassifier(**SETTINGS).fit(X, y)
    frame = pandas.DataFrame(y, columns=["wet", "hot", "old"])
    for form in (y.astype(bool), y.astype(float), y.tolist(), csr_array(y), frame):
        assert (TinytrainClassifier(**SETTINGS).fit(X, form).predict_proba(X) == expected.predict_proba(X)).all()
    for wrong in (y + 1, np.where(y, 2, 0)):
        with pytest.raises(ValueError, match="y: expected labels of 0 or 1"):
            TinytrainClassifier(**SETTINGS).fit(X, wrong)
    with pytest.raises(ValueError, match="class_weight"):
        TinytrainClassifier(class_weight="balanced").fit(X, y)
    with pytest.raises(ValueError, match="expected 3 labels"):
        TinytrainClassifier(**SETTINGS).fit(X, y, eval_set=(X, y[:, :2]))
    with pytest.raises(ValueError, match="loss: expected binary-cross-entropy"):
        TinytrainClassifier(**SETTINGS, loss="cross-entropy").fit(X, y)
    # One class a row again.
    assert expected.fit(X, y[:, 0]).predict(X).shape == (400,)


def test_labels_in_tools(rows):
    X, y = rows
    validated = TinytrainClassifier(**SETTINGS).fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    assert len(validated.validation_scores_) == 40 and max(validated.validation_scores_) > 0.93
    assert cross_val_score(TinytrainClassifier(**SETTINGS), X, y, cv=3).min() > 0.7
    found = TinytrainSearchCV(TinytrainClassifier(**SETTINGS), {"lr": [1e-5, 0.01]}, cv=2).fit(X, y)
    assert found.best_params_ == {"lr": 0.01} and found.predict(X).shape == y.shape
    going = TinytrainClassifier(**SETTINGS | {"epochs": 1})
    for _ in range(40):
        going.partial_fit(X, y)
    assert going.score(X, y) > 0.8
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(validated.to_onnx())
    (shares,) = session.run(["probabilities"], {"columns": X.astype(np.float32)})
    assert np.abs(shares - validated.predict_proba(X)).max() < 1e-5


def test_quantiles(tmp_path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1000, 3))
    y = 50 + 10 * X[:, 0] + generator.uniform(-5, 5, size=1000)
    settings = SETTINGS | {"loss": "quantile", "quantiles": [0.1, 0.5, 0.75]}
    regressor = TinytrainRegressor(**settings).fit(X[:800], y[:800])
    found = regressor.predict(X)
    assert found.shape == (1000, 3) and (np.diff(found, axis=1) >= 0).all() and regressor.n_outputs_ == 1
    below = (y[800:, None] <= found[800:]).mean(axis=0)
    assert (np.abs(below - [0.1, 0.5, 0.75]) < 0.1).all()
    scores = [d2_pinball_score(y, own, alpha=level) for own, level in zip(found.T, [0.1, 0.5, 0.75])]
    assert regressor.score(X, y) == pytest.approx(np.mean(scores)) and min(scores) > 0.4
    path = tmp_path / "quantiles.safetensors"
    regressor.save(path)
    assert (load(path).predict(X) == found).all() and load(path).score(X, y) == regressor.score(X, y)
    assert TinytrainRegressor(**settings | {"quantiles": [0.5]}).fit(X, y).predict(X).shape == (1000,)
    going = TinytrainRegressor(**settings | {"epochs": 1})
    for _ in range(20):
        going.partial_fit(X, y)
    assert going.predict(X).shape == (1000, 3) and going.score(X, y) > 0.3
    with pytest.raises(ValueError, match="quantiles: expected up to 16 ascending"):
        TinytrainRegressor(**settings | {"quantiles": [0.5, 0.1]}).fit(X, y)
    with pytest.raises(ValueError, match="several targets"):
        TinytrainRegressor(**settings).fit(X, np.column_stack([y, y]))
    onnxruntime = pytest.importorskip("onnxruntime")
    (values,) = onnxruntime.InferenceSession(regressor.to_onnx()).run(["values"], {"columns": X.astype(np.float32)})
    assert np.abs(values - found).max() < 1e-3
