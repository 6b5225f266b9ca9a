"""Frames of pandas, polars and pyarrow."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import tinytrain
from tinytrain import TinytrainClassifier, TinytrainRegressor

SMALL = {"hidden": (16,), "epochs": 60, "random_state": 3, "preset": "plain"}


def frames(columns):
    yield "pandas", pd.DataFrame(columns)
    yield "pandas with an index", pd.DataFrame(columns).set_index(np.arange(len(columns["number"])) * 3)
    yield "polars", pl.DataFrame({name: pl.Series(values) for name, values in columns.items()})
    yield "pyarrow", pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})


def test_all_frames_are_the_same_rows(mixed):
    columns, y = mixed
    seen = {}
    for name, frame in frames(columns):
        classifier = TinytrainClassifier(**SMALL).fit(frame, y)
        assert classifier.feature_names_in_.tolist() == list(columns), name
        assert classifier.n_features_in_ == 4
        seen[name] = classifier.predict_proba(frame)
        assert classifier.score(frame, y) > 0.9, name
    expected = seen["pandas"]
    for name, found in seen.items():
        assert (found == expected).all(), name


def test_categories_are_text(mixed):
    columns, y = mixed
    frame = pd.DataFrame(columns)
    expected = TinytrainClassifier(**SMALL).fit(frame, y).predict_proba(frame)
    for dtype in ("category", "string", pd.CategoricalDtype(["unused", "blue", "red", "green"])):
        other = frame.assign(color=frame["color"].astype(dtype))
        assert (TinytrainClassifier(**SMALL).fit(other, y).predict_proba(other) == expected).all(), dtype
    polars = pl.DataFrame(columns).with_columns(pl.col("color").cast(pl.String).cast(pl.Categorical))
    assert (TinytrainClassifier(**SMALL).fit(polars, y).predict_proba(polars) == expected).all()


def test_the_model_file_of_a_frame_reads_tables_by_their_names(mixed, tmp_path):
    import csv
    import subprocess
    import sys

    columns, y = mixed
    frame = pd.DataFrame(columns)
    classifier = TinytrainClassifier(**SMALL).fit(frame, pd.Series(y, name="answer"))
    classifier.save(tmp_path / "m.safetensors")
    # Columns stand elsewhere in the file.
    shown = frame[["day", "flag", "color", "number"]].assign(number=frame["number"].astype(np.float32))
    shown.to_csv(tmp_path / "x.csv", index=False)
    words = ["predict", "--model", tmp_path / "m.safetensors", tmp_path / "x.csv", "--out", tmp_path / "p.csv"]
    done = subprocess.run([sys.executable, "-m", "tinytrain", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["class"] for row in rows] == classifier.predict(frame).tolist()
    likely = [[float(row["p(no)"]), float(row["p(yes)"])] for row in rows]
    assert np.abs(np.array(likely) - classifier.predict_proba(frame)).max() <= 5e-7
    loaded = tinytrain.load(tmp_path / "m.safetensors")
    assert (loaded.predict_proba(frame) == classifier.predict_proba(frame)).all()


def test_columns_are_checked(mixed):
    columns, y = mixed
    frame = pd.DataFrame(columns)
    classifier = TinytrainClassifier(**SMALL).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame.rename(columns={"color": "colour"}))
    with pytest.raises(ValueError, match="same order"):
        classifier.predict(frame[["color", "number", "flag", "day"]])
    with pytest.raises(ValueError, match="feature|columns"):
        classifier.predict(frame.drop(columns="flag"))
    with pytest.raises(ValueError, match="row 1, column 1 .number.: expected a number, as in training, found .seven"):
        classifier.predict(frame.assign(number="seven"))
    with pytest.warns(UserWarning, match="no training row"):
        classifier.predict(frame.assign(color="violet"))


def test_numbers_of_any_type_and_batches():
    values = np.arange(200) % 11
    y = (values > 5).astype(int)
    expected = None
    for kind in (pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.int32()):
        column = pa.chunked_array([pa.array(values[:90].astype(kind.to_pandas_dtype()), kind), pa.array(values[90:].astype(kind.to_pandas_dtype()), kind)])
        found = TinytrainClassifier(**SMALL).fit(pa.table({"a": column}), y)
        probabilities = found.predict_proba(pa.table({"a": column}))
        assert expected is None or (probabilities == expected).all(), kind
        expected = probabilities
    with pytest.raises(TypeError, match="column a: expected numbers.*found"):
        TinytrainClassifier(**SMALL).fit(pa.table({"a": [[1, 2]] * 200}), y)
    large = pl.DataFrame({"a": pl.Series(values.tolist(), dtype=pl.Int128)})
    assert (TinytrainClassifier(**SMALL).fit(large, y).predict_proba(large) == expected).all()
    beside = large.with_columns(nothing=pl.lit(None))
    assert TinytrainClassifier(**SMALL).fit(beside, y).score(beside, y) > 0.9


def test_dates_have_hours_where_there_are_any():
    start = np.datetime64("2024-03-01T00:00:00")
    hours = start + np.arange(400).astype("timedelta64[h]")
    y = (np.arange(400) % 24 >= 12).astype(float)
    frame = pd.DataFrame({"at": hours})
    for series in (frame, frame.assign(at=frame["at"].dt.tz_localize("UTC").dt.tz_convert("Europe/Paris"))):
        regressor = TinytrainRegressor(hidden=(32,), epochs=150, random_state=0).fit(series, y)
        assert regressor.score(series, y) > 0.8


def test_types_of_pandas_that_arrow_does_not_have(iris):
    X, y = iris
    sparse = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(X))
    with pytest.warns(UserWarning, match="sparse columns"):
        found = TinytrainClassifier(**SMALL).fit(sparse, y).predict_proba(sparse)
    assert (found == TinytrainClassifier(**SMALL).fit(X, y).predict_proba(X)).all()
    beside = pd.get_dummies(pd.Series(list("ab") * 75), sparse=True).assign(text=np.array(["u", "v", "w"])[y])
    with pytest.warns(UserWarning, match="sparse columns"):
        assert TinytrainClassifier(**SMALL).fit(beside, y).score(beside, y) == 1.0
    assert isinstance(beside["a"].dtype, pd.SparseDtype)
    cut = pd.DataFrame({0: pd.cut(X[:, 2], 3), 1: X[:, 3]})
    texts = pd.DataFrame({0: cut[0].astype(str), 1: X[:, 3]})
    of_cut, of_texts = (TinytrainClassifier(**SMALL).fit(frame, y) for frame in (cut, texts))
    assert (of_cut.predict_proba(cut) == of_texts.predict_proba(texts)).all()
    for cells in ([1j] * 150, [object()] * 150):
        with pytest.raises(TypeError, match="Conversion failed for column a"):
            TinytrainClassifier(**SMALL).fit(pd.DataFrame({"a": cells}), y)


def test_categories_that_are_dates_are_text(mixed):
    columns, y = mixed
    days = pd.DataFrame({"day": columns["day"]})
    days.loc[7, "day"] = pd.NaT
    texts = days["day"].dt.strftime("%Y-%m-%d").astype("category")
    expected = TinytrainClassifier(**SMALL).fit(days.assign(day=texts), y).predict_proba(days.assign(day=texts))
    for frame in (days.astype("category"), pa.table({"day": pa.array(days["day"], from_pandas=True).dictionary_encode()})):
        assert (TinytrainClassifier(**SMALL).fit(frame, y).predict_proba(frame) == expected).all()


def test_batches_have_names_and_lazy_frames_no_rows(mixed):
    columns, y = mixed
    table = pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})
    (batch,) = table.to_batches()
    classifier = TinytrainClassifier(**SMALL).fit(batch, y)
    assert classifier.feature_names_in_.tolist() == list(columns)
    assert (classifier.predict_proba(batch) == TinytrainClassifier(**SMALL).fit(table, y).predict_proba(table)).all()
    with pytest.raises(TypeError, match="collect"):
        TinytrainClassifier(**SMALL).fit(pl.DataFrame(table).lazy(), y)


def test_frames_without_rows_are_refused_as_arrays_are(mixed):
    columns, y = mixed
    for _, frame in frames(columns):
        classifier = TinytrainClassifier(**SMALL).fit(frame, y)
        for method in (classifier.predict, classifier.predict_proba):
            with pytest.raises(ValueError, match="0 sample.*minimum of 1 is required by TinytrainClassifier"):
                method(frame[:0])
        with pytest.raises(ValueError, match="1 sample.*minimum of 2 is required by TinytrainClassifier"):
            classifier.fit(frame[:1], y[:1])


def test_names_of_numbers_are_remembered_and_what_is_predicted_has_them(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    targets = pd.DataFrame({"p": X[:, 0], "q": X[:, 1]})
    regressor = TinytrainRegressor(**SMALL).fit(frame, targets)
    assert regressor.predict(frame).shape == (150, 2)
    assert (regressor.predict(pl.from_pandas(frame)) == regressor.predict(frame)).all()


def test_pandas_without_pyarrow_hands_over_numbers():
    import subprocess
    import sys
    import textwrap

    code = """
        import sys
        sys.modules["pyarrow"] = None
        import numpy as np, pandas as pd
        from tinytrain import TinytrainClassifier
        frame = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40) % 3})
        y = np.arange(40) % 2
        fitted = TinytrainClassifier(hidden=(4,), epochs=2, random_state=0).fit(frame, y)
        assert fitted.feature_names_in_.tolist() == ["a", "b"] and len(fitted.predict(frame)) == 40
        try:
            TinytrainClassifier().fit(frame.assign(c="x"), y)
        except ImportError as error:
            assert "pip install pyarrow" in str(error)
        else:
            sys.exit("text went through")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_index_of_a_frame_is_not_looked_at():
    X = np.random.default_rng(1).standard_normal((60, 3))
    y = X[:, 0] > 0
    plain = TinytrainClassifier(hidden=(8,), epochs=2, random_state=1).fit(pd.DataFrame(X, columns=list("abc")), y)
    for index in ([1, "x"] * 30, [(1, 2), 3] * 30, [2**64] * 60):
        frame = pd.DataFrame(X, columns=list("abc"), index=pd.Index(index, dtype=object))
        fitted = TinytrainClassifier(hidden=(8,), epochs=2, random_state=1).fit(frame, y)
        assert (fitted.predict_proba(frame) == plain.predict_proba(frame)).all()
    with pytest.raises(ValueError, match="beyond 64 bits"):
        TinytrainClassifier().fit(pd.DataFrame({"a": [2**70 + row for row in range(60)]}), y)


def test_targets_of_arrow_have_their_names():
    X = np.random.default_rng(1).standard_normal((60, 3))
    table = pa.table({"u": X[:, 0], "v": X[:, 1]})
    fitted = TinytrainRegressor(hidden=(8,), epochs=2, random_state=1).fit(X, table)
    assert fitted._target_names == ["u", "v"]


def test_categories_are_told_apart_behind_load(tmp_path):
    y = np.arange(60) % 3
    spans = pd.to_timedelta(20_000_000 + y, "s")
    for ids in (2**24 + y, 100_000_001 + 2 * y, np.array([0.123456788, 0.123456789, 1.0])[y], spans, y):
        frame = pd.DataFrame({"a": np.ones(60), "id": ids, "b": np.arange(60.0)})
        fitted = TinytrainClassifier(hidden=(16,), epochs=100, random_state=1, categorical=["id"]).fit(frame, y)
        assert fitted.score(frame, y) > 0.95
        fitted.save(tmp_path / "model.safetensors")
        loaded = tinytrain.load(tmp_path / "model.safetensors")
        assert (loaded.predict_proba(frame) == fitted.predict_proba(frame)).all()
        # Models of arrays take frames as they take arrays.
        if ids is y:
            array = TinytrainClassifier(hidden=(16,), epochs=2, random_state=1, categorical=[1]).fit(frame.to_numpy(), y)
            with pytest.warns(UserWarning, match="fitted without feature names"):
                assert (array.predict_proba(frame) == array.predict_proba(frame.to_numpy())).all()
