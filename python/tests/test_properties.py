"""Rows of any kind: what they are does not depend on how they come, and what is wrong is an exception of Python."""

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tinytrain import TinytrainClassifier, TinytrainRegressor

TINY = {"hidden": (4,), "epochs": 1, "random_state": 0, "n_jobs": 1, "device": "cpu"}
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

cells = st.sampled_from(["numbers", "text", "flags", "times"])


@st.composite
def frames(draw):
    rows = draw(st.integers(6, 30))
    columns = {}
    for index in range(draw(st.integers(1, 4))):
        kind = draw(cells)
        if kind == "numbers":
            values = draw(st.lists(st.none() | st.integers(-8000, 8000).map(lambda eighths: eighths / 8), min_size=rows, max_size=rows))
            columns[f"c{index}"] = pa.array(values, pa.float32())
        elif kind == "text":
            values = draw(st.lists(st.none() | st.sampled_from(["a", "b ", "c", "NA", "ü"]), min_size=rows, max_size=rows))
            columns[f"c{index}"] = pa.array(values, pa.string())
        elif kind == "flags":
            values = draw(st.lists(st.none() | st.booleans(), min_size=rows, max_size=rows))
            columns[f"c{index}"] = pa.array(values, pa.bool_())
        else:
            values = draw(st.lists(st.none() | st.integers(0, 2**31), min_size=rows, max_size=rows))
            columns[f"c{index}"] = pa.array(values, pa.timestamp("s"))
    labels = draw(st.lists(st.sampled_from(["x", "y"]), min_size=rows - 4, max_size=rows - 4))
    return pa.table(columns), np.array([*labels, "x", "y", "x", "y"])


@quick
@given(frames(), st.randoms(use_true_random=False))
def test_rows_of_frames_are_predicted_one_by_one_as_together(made, random):
    table, y = made
    classifier = TinytrainClassifier(**TINY).fit(table, y)
    expected = classifier.predict_proba(table)
    assert np.allclose(expected.sum(axis=1), 1.0)
    row = random.randrange(len(y))
    alone = classifier.predict_proba(table.slice(row, 1))
    assert (alone[0] == expected[row]).all()
    order = random.sample(range(len(y)), len(y))
    again = TinytrainClassifier(**TINY).fit(table.take(pa.array(order)), y[order])
    assert (again.predict_proba(table) == expected).all()


@quick
@given(st.data())
def test_whole_weights_are_repeated_rows(data):
    rows = data.draw(st.integers(6, 20))
    number = st.integers(-3, 3).map(float)
    X = data.draw(arrays.arrays(np.float64, (rows, 2), elements=number))
    y = data.draw(arrays.arrays(np.float64, rows, elements=number))
    y[:2] = [0.0, 1.0]
    weights = data.draw(arrays.arrays(np.int64, rows, elements=st.integers(0, 3)))
    weights[:2] = 1
    weighted = TinytrainRegressor(**TINY).fit(X, y, sample_weight=weights)
    repeated = TinytrainRegressor(**TINY).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert (weighted.predict(X) == repeated.predict(X)).all()


@quick
@given(
    arrays.arrays(np.float32, arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)),
    st.lists(st.sampled_from([0, 1, 2]), max_size=6),
    st.sampled_from([TinytrainClassifier, TinytrainRegressor]),
)
def test_arrays_of_any_shape_and_value_fit_or_are_refused(X, y, kind):
    try:
        fitted = kind(**TINY).fit(X, y)
    except (ValueError, TypeError) as error:
        assert str(error)
    else:
        assert len(fitted.predict(X)) == len(y)


@quick
@given(st.dictionaries(st.sampled_from(sorted(TinytrainClassifier().get_params())), st.none() | st.integers(-2, 3) | st.text(max_size=3), max_size=3))
def test_parameters_of_any_value_train_or_are_refused(parameters):
    X = np.arange(24.0).reshape(12, 2) % 7
    y = np.arange(12) % 2
    given = {**TINY, **parameters}
    # An integer is a length here.
    if isinstance(given.get("max_time"), int) or isinstance(given.get("random_state"), str):
        return
    try:
        TinytrainClassifier(**given).fit(X, y)
    except (ValueError, TypeError) as error:
        assert str(error)


def test_frames_of_pandas_keep_their_numbers():
    frame = pd.DataFrame({"a": np.arange(40.0), "b": pd.array([1, None] * 20, dtype="Int64")})
    y = (np.arange(40) > 20).astype(int)
    assert TinytrainClassifier(**TINY | {"epochs": 200}).fit(frame, y).score(frame, y) > 0.9
