"""Messages are in the words of Python: they name parameters, not options of the program."""

import warnings

import numpy as np
import pytest

from tinytrain import TinytrainClassifier, TinytrainEnsembleClassifier, TinytrainRegressor, TinytrainSearchCV, _settings, load

SMALL = {"hidden": (4,), "epochs": 2, "random_state": 0}
# Each is wrong with classes, but for those that need others beside them.
WRONG = [
    {name: value}
    for name in _settings.NAMES
    for value in ("nonsense", -1, [-1, 2, 3], {}, 1e300, 0)
] + [
    {"momentum": 0.9},
    {"betas": [0.9, 0.99]},
    {"betas": [0.9], "optimizer": "adam"},
    {"eps": 1e-8},
    {"lr_gamma": 0.5},
    {"lr_every": 2},
    {"lr_every": 2, "lr_schedule": "exponential"},
    {"patience": 3},
    {"keep": "best"},
    {"clip": "smooth", "scale": "quantile"},
    {"clip": "smooth", "scale": "none"},
    {"dropout": [0.1, 0.2]},
    {"lr_factors": {"layers": [1, 1, 1, 1]}},
    {"loss": "mse"},
    {"validation_fraction": 1e-9},
    {"validation_fraction": 0.999},
    {"target_accuracy": 7},
    {"device": "no such card"},
    {"device": "99"},
    {"device": 99},
    {"device": "metal"},
    {"random_state": -1},
    {"n_jobs": 0},
    {"n_jobs": "many"},
    {"categorical": [9]},
    {"categorical": ["a"]},
    {"missing": "drop"},
    {"lr": 1e30, "epochs": 30},
    {"embeddings": "pbld", "scale": "none"},
    {"lr_factors": {"embeddings": 0.5}},
    {"warmup": -1},
    {"max_time": "long"},
    {"max_time": "1ns"},
]


def check(text, what):
    assert "--" not in text and "`train" not in text and "`tinytrain train" not in text, (what, text)
    # A setting stands under its name here.
    for name in _settings.NAMES + ("class_weight", "random_state", "n_jobs"):
        assert name == name.replace("_", "-") or name.replace("_", "-") not in text, (what, text)
    assert "threads:" not in text and not text.startswith("seed:"), (what, text)


def said(estimator, X, y, **rows):
    """What a fit says, be it an error or warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            estimator.fit(X, y, **rows)
        except Exception as error:
            return [str(error)]
    return [str(warning.message) for warning in found]


@pytest.mark.parametrize("of", [TinytrainClassifier, TinytrainRegressor])
def test_wrong_parameters(of, iris):
    X, y = iris
    errors = 0
    for parameters in WRONG:
        if set(parameters) <= set(of().get_params()):
            for text in said(of(**SMALL | parameters), X, y):
                check(text, parameters)
                errors += 1
    assert errors > 120


# None of these is a value of any of those parameters.
STRANGE = ["all", "", np.nan, -(10**30), [-1.5], -0.5, 2.5, np.float32(2.5), np.array(-0.5), np.array([1, 2]), object(), b"x"]
KINDS = {
    TinytrainClassifier: ["early_stopping", "missing", "random_state", "n_jobs", "warm_start", "callbacks", "batch_size", "epochs", "patience"],
    TinytrainEnsembleClassifier: ["early_stopping", "n_estimators", "n_picks"],
    TinytrainSearchCV: ["n_iter", "return_train_score", "random_state", "n_jobs"],
}


@pytest.mark.parametrize("of, name", [(of, name) for of, names in KINDS.items() for name in names])
def test_values_of_other_types(of, name, iris):
    X, y = iris
    given = {"estimator": TinytrainClassifier(**SMALL), "param_distributions": {"lr": [0.1]}, "cv": 2} if of is TinytrainSearchCV else SMALL
    for value in STRANGE:
        with pytest.raises((ValueError, TypeError), match=name):
            of(**given | {name: value}).fit(X, y)


@pytest.mark.parametrize("name", _settings.NAMES)
def test_settings_that_are_no_number(name, iris):
    X, y = iris
    of = TinytrainClassifier if name in TinytrainClassifier().get_params() else TinytrainRegressor
    for value in (np.nan, -np.inf, np.float32(np.nan), np.array(np.inf), [0.5, np.nan]):
        with pytest.raises(ValueError, match=f"^{name}: expected"):
            of(**SMALL | {name: value}).fit(X, y)


@pytest.mark.parametrize("optimizer", [None, "adam", "nesterov"])
def test_momentum_is_called_by_its_name(optimizer, iris):
    with pytest.raises(ValueError, match="^momentum: expected"):
        TinytrainClassifier(**SMALL, optimizer=optimizer, momentum=-1).fit(*iris)


def test_a_candidate_is_checked_as_an_estimator(iris):
    with pytest.raises(ValueError, match="early_stopping"):
        TinytrainSearchCV(TinytrainClassifier(**SMALL), {"early_stopping": ["yes"]}, cv=2).fit(*iris)


def test_numbers_of_numpy_are_numbers(iris):
    X, y = iris
    expected = TinytrainClassifier(hidden=(4,), lr=0.5, epochs=2, random_state=0, n_jobs=1).fit(X, y).predict_proba(X)
    same = {"hidden": np.array(4), "lr": np.float32(0.5), "epochs": np.array(2), "random_state": np.int64(0), "n_jobs": np.int32(1)}
    assert (TinytrainClassifier(**same).fit(X, y).predict_proba(X) == expected).all()


def test_wrong_rows(iris):
    X, y = iris
    far = X.copy()
    far[:, 0] = 1e9 + 64 * (np.arange(len(y)) % 2)
    named = pytest.importorskip("pandas").DataFrame(far, columns=list("abcd"))
    holed = np.where(X > 5, np.nan, X)
    found = [
        said(TinytrainClassifier(**SMALL), far, y),
        said(TinytrainClassifier(**SMALL), named, y),
        said(TinytrainClassifier(**SMALL, scale="none"), far * 1e30, y),
        said(TinytrainClassifier(**SMALL, scale="none"), holed, y),
        said(TinytrainClassifier(**SMALL, missing="error"), holed, y),
        said(TinytrainClassifier(**SMALL, validation_fraction=0.3), X, y, eval_set=(X, y)),
        said(TinytrainClassifier(**SMALL), X, y, eval_set=(X[:50], y[:50])),
        said(TinytrainClassifier(**SMALL), X, y, eval_set=(X[:, :2], y)),
        said(TinytrainClassifier(**SMALL, validation_fraction=0.3), X, y, groups=np.zeros(len(y))),
        said(TinytrainRegressor(**SMALL), X, 1e9 + y),
        said(TinytrainRegressor(**SMALL), X, far[:, 0]),
        said(TinytrainRegressor(**SMALL), X, y * 1e-42),
        said(TinytrainRegressor(**SMALL), X, y, sample_weight=-np.ones(len(y))),
    ]
    for number, texts in enumerate(found):
        assert texts or number in (3, 5), number
        for text in texts:
            check(text, number)
    assert "StandardScaler in a pipeline subtracts the mean of 64-bit floats, or leave the column out" in found[1][0] and "(a)" in found[1][0]


def test_wrong_searches_and_files(iris, tmp_path):
    X, y = iris
    base = TinytrainClassifier(**SMALL)
    for space in [{"lr": [-1.0]}, {"optimizer": ["x"]}, {"momentum": [0.5]}, {"lr_gamma": [2.0]}, {"lr": [1e30], "epochs": [40]}]:
        for text in said(TinytrainSearchCV(base, space, cv=2), X, y):
            check(text, space)
    for name, contents in [("a", b""), ("b", b"text"), ("c", b"\x10" + b"\0" * 30)]:
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(ValueError) as error:
            load(tmp_path / name)
        check(str(error.value), name)
