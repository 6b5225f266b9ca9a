"""What `to_onnx` gives predicts the same in onnxruntime (requirements.txt)."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from tinytrain import TinytrainClassifier, TinytrainEnsembleClassifier, TinytrainRegressor

onnxruntime = pytest.importorskip("onnxruntime")

# Far more than the rounding of 32-bit floats, far less than anything forgotten makes; of values by their largest.
BOUND = 1e-5


def ran(estimator, rows):
    """What the graph gives for rows of its columns, by name, and what its metadata say."""
    session = onnxruntime.InferenceSession(estimator.to_onnx())
    said = session.get_modelmeta().custom_metadata_map
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(names, {"columns": np.asarray(rows, dtype=np.float32)})))
    return found, {name: json.loads(said[name]) for name in said if name != "row"}


def differs(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


def columns(mixed, categories):
    """The rows of the frame as docs/EXPORT.md says: categories by their index, dates by their parts."""
    days = mixed["day"].astype("datetime64[D]")
    months = days.astype("datetime64[M]").astype(int) % 12 + 1
    day = days.astype(int)

    def index(name, texts):
        return [np.nan if text is None else float(categories[name].index(str(text))) for text in texts]

    # 1970 began on a Thursday.
    parts = [day, months, (day + 3) % 7]
    return np.array([mixed["number"], index("color", mixed["color"]), index("flag", mixed["flag"]), *parts], dtype=float).T


def test_a_plain_network(iris):
    X, y = iris
    classifier = TinytrainClassifier(hidden=(16,), epochs=20, random_state=0, preset="plain").fit(X, np.array(["b", "a10", "a2"])[y])
    found, said = ran(classifier, X)
    # The classes of a model are in natural order.
    assert said["classes"] == ["a2", "a10", "b"] and classifier.classes_.tolist() == ["a10", "a2", "b"]
    order = [said["classes"].index(name) for name in classifier.classes_]
    assert differs(found["probabilities"][:, order], classifier.predict_proba(X)) < BOUND
    assert (np.array(said["classes"])[found["class"]] == classifier.predict(X)).all()
    assert classifier.score(X, np.array(["b", "a10", "a2"])[y]) > 0.9


@pytest.mark.parametrize("preset", ["plain", "table"])
@pytest.mark.parametrize("estimator", [TinytrainClassifier, TinytrainEnsembleClassifier])
def test_a_table_with_categories_dates_and_missing_cells(mixed, preset, estimator):
    polars = pytest.importorskip("polars")
    X, answer = mixed
    frame = polars.DataFrame(X)
    several = {} if estimator is TinytrainClassifier else {"n_estimators": 3}
    classifier = estimator(preset=preset, hidden=(16,), epochs=20, random_state=0, **several).fit(frame, answer)
    categories = {"color": ["blue", "green", "red"], "flag": ["False", "True"]}
    rows = columns(X, categories)
    found, said = ran(classifier, rows)
    assert said["categories"] == categories and said["classes"] == classifier.classes_.tolist()
    assert said["columns"] == ["number", "color", "flag", "day.days", "day.month", "day.weekday"]
    expected = classifier.predict_proba(frame)
    assert np.isnan(rows).any() and np.ptp(expected[:, 0]) > 0.2
    assert differs(found["probabilities"], expected) < BOUND


@pytest.mark.parametrize("preset", ["plain", "table"])
def test_columns_by_name_with_categories_as_text(mixed, preset):
    pandas = pytest.importorskip("pandas")
    X, answer = mixed
    frame = pandas.DataFrame(X | {"year": np.arange(240) % 3 + 2000})
    classifier = TinytrainClassifier(preset=preset, hidden=(16,), epochs=20, random_state=0, categorical=["year"]).fit(frame, answer)
    new = frame.copy()
    new.loc[:9, "color"] = "unheard of"
    new.loc[5:14, "year"] = 1900
    session = onnxruntime.InferenceSession(classifier.to_onnx(named=True))
    days = X["day"].astype("datetime64[D]")
    dates = {
        "day.days": days.astype(int),
        "day.month": days.astype("datetime64[M]").astype(int) % 12 + 1,
        "day.weekday": (days.astype(int) + 3) % 7,
    }
    columns = {
        "number": new["number"].to_numpy(np.float32),
        "color": new["color"].fillna("").to_numpy(object),
        "flag": new["flag"].astype(str).to_numpy(object),
        "year": new["year"].astype(str).to_numpy(object),
    }
    columns |= {name: cells.astype(np.float32) for name, cells in dates.items()}
    assert {one.name: one.type for one in session.get_inputs()} == {
        name: "tensor(string)" if cells.dtype == object else "tensor(float)" for name, cells in columns.items()
    }
    (found, _) = session.run(["probabilities", "class"], {name: cells.reshape(-1, 1) for name, cells in columns.items()})
    with pytest.warns(UserWarning, match="no training row"):
        expected = classifier.predict_proba(new)
    assert np.ptp(expected[:, 0]) > 0.2 and differs(found, expected) < BOUND
    # Markers of missing values, and other ways to write a boolean and a number.
    columns["color"] = np.where(columns["color"] == "", "nA", columns["color"]).astype(object)
    columns["flag"] = np.where(new["flag"], "1", "false").astype(object)
    columns["year"] = new["year"].astype(float).astype(str).to_numpy(object)
    (again,) = session.run(["probabilities"], {name: cells.reshape(-1, 1) for name, cells in columns.items()})
    assert (again == found).all()


@pytest.mark.parametrize("scale_target", ["standard", "none"])
def test_values_in_their_own_units(scale_target):
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, 1000 - 3 * y])
    lr = 1e-6 if scale_target == "none" else None
    regressor = TinytrainRegressor(hidden=(16,), epochs=20, random_state=0, scale_target=scale_target, lr=lr).fit(X, Y)
    found, _ = ran(regressor, X)
    assert found["values"].shape == Y.shape and np.ptp(regressor.predict(X)[:, 0]) > 0
    assert differs(found["values"], regressor.predict(X)) < BOUND
