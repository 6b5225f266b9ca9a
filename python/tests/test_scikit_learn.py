"""What scikit-learn's own tools do with the estimators, and what its users hand them."""

import datetime
import decimal

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score, cross_validate, learning_curve
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tinytrain import TinytrainClassifier, TinytrainRegressor

SMALL = {"hidden": (16,), "epochs": 10, "random_state": 0, "preset": "plain"}


@pytest.fixture
def frame():
    pandas = pytest.importorskip("pandas")
    generator = np.random.default_rng(0)
    rows = 200
    frame = pandas.DataFrame(
        {
            "number": generator.normal(size=rows),
            "category": pandas.Categorical(generator.choice(list("abc"), rows)),
            "text": generator.choice(["x", "y"], rows),
            "flag": generator.random(rows) < 0.5,
            "day": pandas.date_range("2024-01-01", periods=rows),
            "wait": pandas.to_timedelta(generator.integers(0, 1000, rows), "min"),
            "price": [decimal.Decimal(int(cents)) / 100 for cents in generator.integers(0, 10000, rows)],
        }
    )
    answer = np.where((frame["number"] > 0) ^ (frame["category"] == "a"), "yes", "no")
    frame.loc[3, "number"] = np.nan
    frame.loc[5, "category"] = np.nan
    return frame, answer


def test_frames_of_all_types_in_tools(frame):
    X, y = frame
    classifier = TinytrainClassifier(hidden=(32,), epochs=60, lr=0.3, preset="plain", random_state=0)
    assert classifier.fit(X, y).score(X, y) > 0.8
    assert cross_val_score(TinytrainClassifier(**SMALL), X, y, cv=3).shape == (3,)
    calibrated = CalibratedClassifierCV(TinytrainClassifier(**SMALL), cv=3, method="isotonic").fit(X, y)
    assert calibrated.predict_proba(X).shape == (200, 2)
    importances = permutation_importance(classifier, X, y, n_repeats=3, random_state=0).importances_mean
    assert importances.argmax() == 0 and importances[0] > 0.1
    assert partial_dependence(classifier, X, ["number"]).average.shape[0] == 1
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["number"]),
            ("categories", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["category", "text"]),
        ]
    )
    # scikit-learn 1.6 does not know the newest polars.
    forms = ("default", "pandas") if sklearn.__version__ < "1.7" else ("default", "pandas", "polars")
    for form in forms:
        pipeline = make_pipeline(columns.set_output(transform=form), TinytrainClassifier(**SMALL | {"epochs": 40}))
        assert pipeline.fit(X, y).score(X, y) > 0.8
    found = GridSearchCV(pipeline, {"tinytrainclassifier__lr": [0.01, 0.2]}, cv=2).fit(X, y)
    assert found.best_params_ == {"tinytrainclassifier__lr": 0.2}


def test_arrays_in_tools(iris):
    X, y = iris
    one = TinytrainClassifier(**SMALL)
    assert GridSearchCV(one, {"hidden": [(8,), (16, 8)], "lr": [0.01, 0.1]}, cv=3, n_jobs=2).fit(X, y).best_params_["lr"] == 0.1
    scores = cross_validate(one, X, y, scoring=["accuracy", "neg_log_loss", "roc_auc_ovr"])
    assert scores["test_roc_auc_ovr"].min() > 0.8
    assert cross_val_predict(one, X, y, method="predict_proba").shape == (150, 3)
    assert learning_curve(one, X, y, cv=3, train_sizes=[0.5, 1.0], shuffle=True, random_state=0)[2].shape == (2, 3)
    assert cross_val_score(one, X, y, groups=np.arange(150) // 5, cv=GroupKFold(3)).min() > 0.6
    assert cross_val_score(one, X, y, params={"sample_weight": np.ones(150)}).min() > 0.6
    for whole in [
        StackingClassifier([("net", one), ("forest", RandomForestClassifier(5, random_state=0))], cv=3),
        VotingClassifier([("net", one), ("forest", RandomForestClassifier(5, random_state=0))], voting="soft"),
        BaggingClassifier(one, 3, random_state=0),
        OneVsRestClassifier(one),
    ]:
        assert whole.fit(X, y).score(X, y) > 0.85, whole
    assert MultiOutputClassifier(one).fit(X, np.column_stack([y, y == 1])).predict(X).shape == (150, 2)
    assert ClassifierChain(one).fit(X, np.column_stack([y == 0, y == 1]).astype(int)).predict(X).shape == (150, 2)
    target = TransformedTargetRegressor(TinytrainRegressor(**SMALL), func=np.log1p, inverse_func=np.expm1)
    assert target.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.8
    wide = np.random.default_rng(0).normal(size=(60, 4000))
    assert TinytrainClassifier(**SMALL).fit(wide, y[:60]).predict(wide).shape == (60,)


def test_what_is_missing_or_of_another_shape_is_said(iris, frame):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    for labels in [np.where(y == 1, None, "a"), np.where(y == 1, np.nan, np.array("a", dtype=object)), np.where(y == 1, np.nan, y)]:
        with pytest.raises(ValueError, match="Input y contains"):
            TinytrainClassifier(**SMALL).fit(X, labels)
    objects = np.array(["a", "b", None], dtype=object)[y]
    with pytest.raises(ValueError, match="missing labels"):
        TinytrainClassifier(**SMALL).partial_fit(X, objects, classes=["a", "b"])
    with pytest.raises(ValueError, match="Expected 2D array|Expected a 2-dimensional"):
        TinytrainClassifier(**SMALL).fit(pandas.Series(X[:, 0]), y)
    with pytest.raises(ValueError, match="infinity"):
        TinytrainClassifier(**SMALL).fit(np.where(X > 7, np.inf, X), y)
    with pytest.raises(ValueError, match="1d array"):
        TinytrainClassifier(**SMALL).fit(X, np.column_stack([y, X[:, 0]]))
    seen = []
    TinytrainClassifier(**SMALL, callbacks=seen.append).fit(X, y)
    assert len(seen) == 10


@pytest.mark.filterwarnings("error")
def test_times_with_zones_are_those_of_utc(frame):
    pandas = pytest.importorskip("pandas")
    X, y = frame
    numbers = X[["number"]].fillna(0.0)
    settings = SMALL | {"validation_fraction": 0.3}

    def scores(times):
        return TinytrainClassifier(**settings).fit(numbers, y, times=times).validation_scores_

    hours = pandas.Series(pandas.date_range("2024-01-01", periods=200, freq="h"))
    zoned = hours.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    plain = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=hour) for hour in range(200)]
    assert scores(zoned) == scores(hours) == scores(plain)
