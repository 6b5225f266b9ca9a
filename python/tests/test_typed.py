"""Typed cells and labels: categories, labels, booleans, codes, and names of dates."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import cross_val_score

import tinytrain
from tinytrain import TinytrainClassifier, TinytrainEnsembleClassifier

SMALL = {"hidden": (16,), "epochs": 60, "random_state": 1, "device": "cpu", "preset": "plain"}
ROWS = 240
CLASS = np.arange(ROWS) % 3


def loaded(model, path):
    model.save(path / "model.safetensors")
    return tinytrain.load(path / "model.safetensors")


def check_loaded(model, X, path):
    """Checks that it predicts the same after `save`, `pickle` and `copy`."""
    expected = model.predict_proba(X)
    for other in (loaded(model, path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert (other.predict_proba(X) == expected).all()


def typed(cells):
    """Cells as categories of all libraries, and the parameters that say so where the type does not."""
    different = list(dict.fromkeys(cell for cell in cells if cell is not None))
    yield "pandas", pd.DataFrame({"v": pd.Categorical(cells)}), {}
    yield "Enum", pl.DataFrame({"v": pl.Series(cells, dtype=pl.Enum(different))}), {}
    yield "Categorical", pl.DataFrame({"v": pl.Series(cells, dtype=pl.Categorical)}), {}
    yield "dictionary", pa.table({"v": pa.array(cells).dictionary_encode()}), {}
    yield "text", pd.DataFrame({"v": pd.Series(cells, dtype=object)}), {"categorical": ["v"]}
    yield "polars text", pl.DataFrame({"v": pl.Series(cells, dtype=pl.String)}), {"categorical": [0]}


@pytest.mark.parametrize(
    "three",
    [
        ["3.1", "3.10", "3.9"],
        [" a", "a", "a "],
        ["NA", "null", ""],
        ["?", "-", "None"],
        ["nan", "NaN", "N/A"],
        ["1", "01", "1.0"],
        ["1e2", "100", "+100"],
        ["True", "true", "1"],
        ["2024-01-01", "2024/01/01", "2024-1-1"],
        ["\u00a0x", "x", "\tx"],
    ],
)
def test_typed_categories_are_kept_byte_for_byte(three, tmp_path):
    cells = [three[number] for number in CLASS]
    for name, X, parameters in typed(cells):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = TinytrainClassifier(**SMALL, **parameters).fit(X, CLASS)
            assert model.score(X, CLASS) == 1.0, name
            check_loaded(model, X, tmp_path)
            # The model knows how its cells are compared, also where the type of a frame does not say it.
            assert model.score(pd.DataFrame({"v": cells}), CLASS) == 1.0, name
            validated = TinytrainClassifier(**SMALL, **parameters).fit(X, CLASS, eval_set=(pd.DataFrame({"v": cells}), CLASS))
        assert validated.validation_scores_[-1] == 1.0, name
        with pytest.warns(UserWarning, match=r"^1 cells of X hold what no training row held, in v \(1\)$"):
            model.predict(pd.DataFrame({"v": [three[0] + " "]}))


def test_a_missing_typed_category_is_a_null(tmp_path):
    cells = [["NA", "x", None][number] for number in CLASS]
    for name, X, parameters in typed(cells):
        model = TinytrainClassifier(**SMALL, **parameters).fit(X, CLASS)
        assert model.score(X, CLASS) == 1.0, name
        check_loaded(model, X, tmp_path)
    ensemble = TinytrainEnsembleClassifier(n_estimators=2, **SMALL).fit(pd.DataFrame({"v": pd.Categorical(cells)}), CLASS)
    check_loaded(ensemble, pd.DataFrame({"v": pd.Categorical(cells)}), tmp_path)


def test_text_without_a_type_is_as_in_a_file():
    X = pd.DataFrame({"v": [[" a", "a", "b", "NA"][number % 4] for number in range(ROWS)]})
    same = pd.DataFrame({"v": [["a", "a", "b", None][number % 4] for number in range(ROWS)]})
    y = np.arange(ROWS) % 4 // 2
    expected = TinytrainClassifier(**SMALL).fit(same, y).predict_proba(same)
    model = TinytrainClassifier(**SMALL).fit(X, y)
    for frame in (X, same, same.astype("category"), X.astype("category")):
        assert (model.predict_proba(frame) == expected).all()


@pytest.mark.parametrize(
    "three",
    [
        ["01", "02", "1"],
        ["True", "False", "true"],
        ["1e5", "100000", "1e05"],
        [" a", "a", ""],
        ["7", "8", "9"],
        ["NA", "None", "nan"],
        ["1.0", "1", "01"],
        ["a\0b", "a", "b"],
        ["a10", "a2", "a1"],
    ],
)
def test_labels_of_text_are_kept_byte_for_byte(three, tmp_path):
    y = np.array(three, dtype=object)[CLASS]
    X = np.eye(3)[CLASS]
    for labels in (y, y.astype(str), pd.Series(y, dtype="string"), pd.Series(pd.Categorical(y))):
        model = TinytrainClassifier(**SMALL).fit(X, labels)
        for other in (model, loaded(model, tmp_path), pickle.loads(pickle.dumps(model))):
            assert [str(label) for label in other.predict(X)] == y.tolist()
            assert other.classes_.dtype.kind in "OU" and sorted(other.classes_) == sorted(three)
            assert (other.predict_proba(X) == model.predict_proba(X)).all()
    ensemble = loaded(TinytrainEnsembleClassifier(n_estimators=2, **SMALL).fit(X, y), tmp_path)
    assert ensemble.predict(X).tolist() == y.tolist() and ensemble.estimators_[1].predict(X).tolist() == y.tolist()
    part = TinytrainClassifier(**SMALL).partial_fit(X, y, classes=three)
    assert loaded(part, tmp_path).classes_.tolist() == sorted(three)


@pytest.mark.parametrize(
    "labels, kind",
    [([True, False], "b"), ([1, 2], "i"), ([-1, 1], "i"), ([0, 1], "i"), ([1.0, 2.0], "f"), ([0.0, 1.0], "f"), ([2**53, 2**53 + 1], "i")],
)
def test_labels_of_other_types_are_kept(labels, kind, tmp_path):
    y = np.array(labels)[np.arange(ROWS) % 2]
    X = np.eye(2)[np.arange(ROWS) % 2]
    model = TinytrainClassifier(**SMALL).fit(X, y)
    for other in (model, loaded(model, tmp_path)):
        assert other.classes_.dtype.kind == kind
        assert other.classes_.tolist() == sorted(labels) and (other.predict(X) == y).all()


@pytest.mark.parametrize("dtype, kind", [("boolean", "b"), ("Int64", "i"), ("UInt8", "u"), ("bool[pyarrow]", "b"), ("int32[pyarrow]", "i"), ("int8", "i")])
def test_labels_of_types_of_pandas_are_those_of_numpy(dtype, kind, tmp_path):
    y = pd.Series(np.arange(ROWS) % 2).astype(dtype)
    X = np.eye(2)[np.arange(ROWS) % 2]
    model = TinytrainClassifier(**SMALL).fit(X, y, eval_set=(X, y))
    assert model.classes_.dtype.kind == kind and (model.predict(X) == np.arange(ROWS) % 2).all()
    assert loaded(model, tmp_path).classes_.dtype.kind == ("i" if kind == "u" else kind)


def test_categories_of_text_and_numbers_are_told_apart(tmp_path):
    X = pd.DataFrame({"v": pd.Categorical([[1.5, "x", 2][number] for number in CLASS])})
    model = TinytrainClassifier(**SMALL).fit(X, CLASS)
    assert model.score(X, CLASS) == 1.0
    check_loaded(model, X, tmp_path)
    with pytest.raises(TypeError, match="column v"):
        TinytrainClassifier(**SMALL).fit(pd.DataFrame({"v": pd.Categorical([[1, "1", 2][number] for number in CLASS])}), CLASS)


def test_labels_that_are_dates_are_refused():
    with pytest.raises((ValueError, TypeError), match="astype|type of y|label"):
        TinytrainClassifier(**SMALL).fit(np.eye(3)[CLASS], np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "datetime64[D]")[CLASS])


def dummies(kind):
    """A frame of get_dummies as another type."""
    frame = pd.get_dummies(pd.Series(np.array(["a", "b", "c"])[CLASS]))
    return {
        "bool": lambda: frame,
        "int": lambda: frame.astype(int),
        "float": lambda: frame.astype(float),
        "uint8": lambda: frame.astype("uint8"),
        "Int64": lambda: frame.astype("Int64"),
        "boolean": lambda: frame.astype("boolean"),
        "objects": lambda: frame.astype(object),
        "text": lambda: frame.astype(str),
        "lower": lambda: frame.astype(str).apply(lambda cells: cells.str.lower()),
        "text of numbers": lambda: frame.astype(int).astype(str),
        "categories": lambda: frame.astype("category"),
        "polars": lambda: pl.from_pandas(frame),
        "pyarrow": lambda: pa.table(frame),
    }[kind]()


KINDS = ["bool", "int", "float", "uint8", "Int64", "boolean", "objects", "text", "lower", "categories", "polars", "pyarrow"]


@pytest.mark.parametrize("fitted", ["bool", "int", "float", "text", "lower", "boolean"])
def test_a_boolean_is_0_and_1_wherever_it_comes_from(fitted, tmp_path):
    X = dummies(fitted)
    model = TinytrainClassifier(**SMALL).fit(X, CLASS)
    expected = model.predict_proba(X)
    assert model.score(X, CLASS) == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in KINDS + ["text of numbers"]:
            assert (model.predict_proba(dummies(kind)) == expected).all(), kind
            assert (loaded(model, tmp_path).predict_proba(dummies(kind)) == expected).all(), kind
        held = TinytrainClassifier(**SMALL).fit(X, CLASS, eval_set=(dummies("float"), CLASS))
    assert held.validation_scores_[-1] == 1.0
    with pytest.warns(UserWarning, match="valid feature names"):
        assert (model.predict_proba(dummies("bool").to_numpy()) == expected).all()


def test_missing_booleans_are_missing(tmp_path):
    X = pd.DataFrame({"f": pd.array([[True, False, None][number] for number in CLASS], dtype="boolean")})
    model = TinytrainClassifier(**SMALL).fit(X, CLASS)
    assert model.score(X, CLASS) == 1.0 and model.score(X.astype("Float64").astype(float), CLASS) == 1.0
    check_loaded(model, X, tmp_path)


def test_the_warning_of_unknown_cells_names_columns(iris):
    X = pd.DataFrame({"color": np.array(["red", "blue"])[np.arange(ROWS) % 2], "size": np.arange(ROWS) / 7, "flag": np.arange(ROWS) % 4 < 2})
    model = TinytrainClassifier(**SMALL).fit(X, CLASS)
    other = X.assign(color="green", size=X["size"].where(X["size"] > 3), flag=0.5)
    text = r"^501 cells of X hold what no training row held, in color \(240\), size \(21\), flag \(240\)$"
    with pytest.warns(UserWarning, match=text.replace("501", "50[12]").replace("21", "2[12]")):
        model.predict(other)
    with pytest.warns(UserWarning, match=r"^240 cells of the validation rows hold what no training row held, in color \(240\)$"):
        TinytrainClassifier(**SMALL).fit(X, CLASS, eval_set=(X.assign(color="green"), CLASS))
    with pytest.warns(UserWarning, match=r"^240 cells of X hold what no row of the first call held, in color \(240\)$"):
        TinytrainClassifier(**SMALL).partial_fit(X, CLASS, classes=[0, 1, 2]).partial_fit(X.assign(color="green"), CLASS)
    array, y = iris
    plain = TinytrainClassifier(**SMALL | {"epochs": 2}).fit(array, y)
    array = array.copy()
    array[:3, 1] = np.nan
    with pytest.warns(UserWarning, match=r"^3 cells of X hold what no training row held, in column 2 \(3\)$"):
        plain.predict(array)


@pytest.mark.parametrize("codes", [["01234", "1234", "00501", "90210"], ["00", "0", "000", "1"], ["-01", "1", "-1", "7"], ["007", "NA", "7", "07"]])
def test_text_with_leading_zeros_is_categories(codes, tmp_path):
    answers = np.arange(ROWS) % 4
    cells = [codes[answer] for answer in answers]
    for X in (pd.DataFrame({"zip": cells}), pd.DataFrame({"zip": pd.Series(cells, dtype=object)}), pl.DataFrame({"zip": cells}), pa.table({"zip": cells})):
        model = TinytrainClassifier(**SMALL).fit(X, answers)
        assert model.score(X, answers) == 1.0
        check_loaded(model, X, tmp_path)
    with pytest.warns(UserWarning, match=r"in zip \(1\)"):
        model.predict(pa.table({"zip": ["0000501"]}))


def test_numbers_as_text_stay_numbers():
    X = pd.DataFrame({"v": [str(value) for value in np.arange(ROWS) / 8]})
    model = TinytrainClassifier(**SMALL | {"epochs": 1}).fit(X, CLASS)
    assert (model.predict_proba(X.astype(float)) == model.predict_proba(X)).all()
    assert model._model.categorical == []


def test_columns_may_be_called_as_parts_of_dates(tmp_path):
    at = pd.date_range("2024-01-01", periods=ROWS, freq="7h")
    X = pd.DataFrame(
        {
            "date": at,
            "date.month": np.arange(ROWS) % 7,
            "date.days": np.arange(ROWS) % 5,
            "date.hour": pd.Categorical(at.hour.astype(str)),
            "date.days.days": at + pd.Timedelta("3h"),
        }
    )
    y = at.hour >= 12
    model = TinytrainClassifier(**SMALL).fit(X, y)
    check_loaded(model, X, tmp_path)
    assert loaded(model, tmp_path).feature_names_in_.tolist() == list(X.columns)
    assert cross_val_score(model, X, y, cv=2, n_jobs=2).shape == (2,)
    assert len(model.to_onnx()) > 1000
