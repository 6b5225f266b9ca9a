"""Training that goes on: `partial_fit` and `warm_start`."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_classification

import tinytrain
from tinytrain import TinytrainClassifier, TinytrainRegressor

ADAM = {"hidden": (16,), "optimizer": "adam", "lr": 0.01, "random_state": 3, "batch_size": 32}


def parts(rows, count=4):
    return np.array_split(np.random.default_rng(0).permutation(rows), count)


def test_passes_learn_and_go_on_as_one(iris):
    X, y = iris
    whole = TinytrainClassifier(**ADAM)
    stopped = TinytrainClassifier(**ADAM)
    for _ in range(10):
        for rows in parts(len(y)):
            whole.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
            # The moments of Adam and the number of steps are in the pickle, and in a copy.
            stopped = pickle.loads(pickle.dumps(stopped)).partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert whole.score(X, y) > 0.93 and whole.n_iter_ == 40 == len(whole.loss_curve_)
    assert whole.loss_curve_[-1] < whole.loss_curve_[0] / 3
    assert (whole.predict_proba(X) == stopped.predict_proba(X)).all() and whole.loss_curve_ == stopped.loss_curve_
    other = copy.deepcopy(whole).partial_fit(X, y)
    # A model file has no moments: what goes on from there takes other steps.
    fresh = copy.deepcopy(whole)
    fresh._model = type(fresh._model).from_bytes(fresh._model.to_bytes())
    assert (fresh.predict_proba(X) == whole.predict_proba(X)).all()
    assert (fresh.partial_fit(X, y).predict_proba(X) != other.predict_proba(X)).any()


def test_classes_without_rows_come_later(iris):
    X, y = iris
    labels = np.array(["b", "a10", "a2"])[y]
    first = np.concatenate([np.arange(40), np.arange(50, 90)])
    classifier = TinytrainClassifier(**ADAM).partial_fit(X[first], labels[first], classes=["a2", "b", "a10"])
    assert classifier.classes_.tolist() == ["a10", "a2", "b"] and classifier.predict_proba(X).shape == (150, 3)
    # A call may have one class alone.
    for _ in range(60):
        for rows in parts(len(y)):
            classifier.partial_fit(X[rows], labels[rows])
        classifier.partial_fit(X[100:], labels[100:])
    assert classifier.score(X, labels) > 0.85
    with pytest.raises(ValueError, match="is not the same as on last call"):
        classifier.partial_fit(X, labels, classes=["a2", "b"])
    with pytest.raises(ValueError, match="not among those of the first call"):
        classifier.partial_fit(X, np.where(labels == "b", "c", labels))
    with pytest.raises(ValueError, match="classes must be passed"):
        TinytrainClassifier(**ADAM).partial_fit(X, labels)
    with pytest.raises(ValueError, match="two classes or more"):
        TinytrainClassifier(**ADAM).partial_fit(X, labels, classes=["b"])


def test_many_classes_of_few_rows():
    X = np.random.default_rng(0).normal(size=(60, 5))
    y = np.arange(60) % 30
    classifier = TinytrainClassifier(**ADAM).partial_fit(X, y, classes=np.arange(2000))
    assert classifier.predict_proba(X).shape == (60, 2000)
    # What a classifier gets are classes, also where they look like values to predict.
    assert TinytrainClassifier(**ADAM, epochs=3).fit(X, np.arange(60)).classes_.shape == (60,)


def test_encodings_are_those_of_the_first_call(mixed):
    polars = pytest.importorskip("polars")
    columns, answer = mixed
    frame = polars.DataFrame({name: list(values) if values.dtype == object else values for name, values in columns.items()})
    classifier = TinytrainClassifier(**ADAM)
    for _ in range(60):
        for rows in parts(len(answer), 2):
            classifier.partial_fit(frame[np.sort(rows)], answer[np.sort(rows)], classes=["no", "yes"])
    assert classifier.score(frame, answer) > 0.9
    strange = frame.with_columns(polars.lit("violet").alias("color"))
    with pytest.warns(UserWarning, match="no row of the first call"):
        classifier.partial_fit(strange, answer)
    with pytest.raises(ValueError, match="feature names should match|X has 3 features"):
        classifier.partial_fit(frame.select("number", "color", "flag"), answer)


def test_values_are_learnt_in_the_unit_of_the_first_call():
    X, y = load_diabetes(return_X_y=True)
    regressor = TinytrainRegressor(**ADAM)
    for _ in range(20):
        for rows in parts(len(y)):
            regressor.partial_fit(X[rows], y[rows])
    assert regressor.score(X, y) > 0.45
    two = TinytrainRegressor(**ADAM)
    for rows in parts(len(y)):
        two.partial_fit(X[rows], np.column_stack([y, X[:, 0]])[rows])
    assert two.predict(X).shape == (len(y), 2)
    with pytest.raises(ValueError, match="expected 2 values a row, found 1"):
        two.partial_fit(X, y)


def test_weights_multiply_the_loss(iris):
    X, y = iris

    def passed(**parameters):
        classifier = TinytrainClassifier(**ADAM, **{"class_weight": parameters.pop("class_weight", None)})
        for _ in range(30):
            classifier.partial_fit(X, y, classes=[0, 1, 2], **parameters)
        return classifier.predict_proba(X)

    plain = passed()
    assert (passed(sample_weight=np.ones(len(y))) == plain).mean() > 0.99 or np.allclose(passed(sample_weight=np.ones(len(y))), plain, atol=1e-4)
    heavy = np.where(y == 2, 50.0, 1.0)
    assert np.allclose(passed(sample_weight=heavy), passed(class_weight={2: 50.0}))
    assert (passed(sample_weight=heavy).argmax(1) == 2).sum() > (plain.argmax(1) == 2).sum()
    # Of steps of gradient descent, half a weight is half a step.
    sgd = {"hidden": (), "optimizer": "sgd", "batch_size": 150, "random_state": 0}
    half = TinytrainClassifier(**sgd, lr=0.2).partial_fit(X, y, classes=[0, 1, 2], sample_weight=np.full(len(y), 0.5))
    assert np.allclose(half.predict_proba(X), TinytrainClassifier(**sgd, lr=0.1).partial_fit(X, y, classes=[0, 1, 2]).predict_proba(X), atol=1e-6)


def test_it_goes_on_from_a_fit_and_from_a_file(iris, tmp_path):
    X, y = iris
    fitted = TinytrainClassifier(**ADAM, epochs=5).fit(X, y)
    before = fitted.loss_curve_[-1]
    fitted.save(tmp_path / "m.safetensors")
    for _ in range(10):
        fitted.partial_fit(X, y)
    assert fitted.n_iter_ == 15 and fitted.loss_curve_[-1] < before
    loaded = tinytrain.load(tmp_path / "m.safetensors").set_params(**ADAM)
    for _ in range(10):
        loaded.partial_fit(X, y)
    assert (loaded.classes_ == [0, 1, 2]).all() and loaded.score(X, y) > 0.9


def test_what_cannot_go_on_is_said(iris):
    X, y = iris
    for parameters, message in [
        ({"early_stopping": True}, "early_stopping"),
        ({"validation_fraction": 0.2}, "validation_fraction"),
        ({"lr_schedule": "cosine"}, "lr_schedule: expected constant"),
        ({"class_weight": "balanced"}, "class_weight"),
        ({"lr": 1e38}, "smaller lr"),
    ]:
        classifier = TinytrainClassifier(**ADAM | parameters)
        with pytest.raises(ValueError, match=message):
            for _ in range(3):
                classifier.partial_fit(X, y, classes=[0, 1, 2])
    # A call that fails leaves the estimator as it was.
    classifier = TinytrainClassifier(**ADAM).partial_fit(X, y, classes=[0, 1, 2])
    state = pickle.dumps(classifier)
    with pytest.raises(ValueError):
        classifier.partial_fit(X, np.full(len(y), 7))
    with pytest.raises(ValueError):
        classifier.fit(X[:, :2], np.full(len(y), "x"))
    assert pickle.dumps(classifier) == state


def test_parameters_are_checked_in_the_first_call(iris, monkeypatch):
    checked = []
    monkeypatch.setattr(TinytrainClassifier, "_validate_params", lambda self: checked.append(self))
    classifier = TinytrainClassifier(**ADAM)
    for _ in range(3):
        classifier.partial_fit(*iris, classes=[0, 1, 2])
    assert checked == [classifier]
    assert classifier.fit(*iris) is classifier and len(checked) == 2


def test_a_warm_start_takes_the_moments_along():
    X, y = make_classification(400, 10, random_state=0)

    def again(warm):
        classifier = TinytrainClassifier(**ADAM, epochs=3, warm_start=True, lr_schedule="constant", early_stopping=False).fit(X, y)
        if not warm:
            classifier._model = type(classifier._model).from_bytes(classifier._model.to_bytes())
        return classifier.fit(X, y).predict_proba(X)

    assert (again(True) == again(True)).all() and (again(True) != again(False)).any()
    # A rate that depends on the steps begins anew.
    ADAM_COSINE = {**ADAM, "lr_schedule": "cosine", "epochs": 3, "warm_start": True}
    first = TinytrainClassifier(**ADAM_COSINE).fit(X, y)
    loss = first.loss_curve_[-1]
    assert first.fit(X, y).loss_curve_[-1] < loss
