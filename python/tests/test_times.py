"""Times with time zones, in columns and as `times`."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning

import tinytrain
from tinytrain import TinytrainClassifier

SMALL = {"hidden": (16,), "epochs": 20, "random_state": 1, "device": "cpu", "preset": "plain"}
UTC = pd.date_range("2024-01-01", periods=2000, freq="h", tz="UTC")
BERLIN = UTC.tz_convert("Europe/Berlin")
LOCAL = BERLIN.tz_localize(None)
AFTERNOON = np.asarray(BERLIN.hour >= 12)


def zoned(times):
    """The same times in each library."""
    frame = pd.DataFrame({"at": times})
    yield "pandas", frame
    yield "objects", pd.DataFrame({"at": pd.Series(times.to_pydatetime(), dtype=object)})
    yield "polars", pl.from_pandas(frame)
    yield "pyarrow", pa.table(frame)
    yield "pandas by pyarrow", frame.astype(pd.ArrowDtype(pa.timestamp("us", str(times.tz))))


def test_hours_are_those_of_the_zone(tmp_path):
    naive = pd.DataFrame({"at": LOCAL})
    expected = TinytrainClassifier(**SMALL).fit(naive, AFTERNOON).predict_proba(naive)
    frames = dict(zoned(BERLIN))
    for name, frame in frames.items():
        model = TinytrainClassifier(**SMALL).fit(frame, AFTERNOON)
        assert (model.predict_proba(frame) == expected).all(), name
    model.save(tmp_path / "m.safetensors")
    for other in (model, tinytrain.load(tmp_path / "m.safetensors"), pickle.loads(pickle.dumps(model))):
        for name, frame in frames.items():
            assert (other.predict_proba(frame) == expected).all(), name


BERLINS = "times of the zone Europe/Berlin"
NAIVE = "times without a time zone"


@pytest.mark.parametrize(
    "trained, other, expected, found",
    [
        (BERLIN, LOCAL, BERLINS, NAIVE),
        (BERLIN, UTC, BERLINS, "times of the zone UTC"),
        (BERLIN, BERLIN.astype(str), BERLINS, '"2024-01-01 01:00:00.01:00"'),
        (BERLIN, LOCAL.astype(str), BERLINS, '"2024-01-01 01:00:00"'),
        (LOCAL, BERLIN, NAIVE, BERLINS),
        (LOCAL, UTC, NAIVE, "times of the zone UTC"),
        (LOCAL, BERLIN.astype(str), NAIVE, '"2024-01-01 01:00:00.01:00"'),
        (UTC, BERLIN, "times of the zone UTC", BERLINS),
        (UTC, LOCAL, "times of the zone UTC", NAIVE),
        (BERLIN.astype(str), LOCAL, "times of the zone UTC", NAIVE),
        (LOCAL.astype(str), BERLIN, NAIVE, BERLINS),
    ],
)
def test_a_change_of_zone_is_an_error(trained, other, expected, found):
    X, Z = pd.DataFrame({"at": trained}), pd.DataFrame({"at": other})
    text = rf"\(at\): expected {expected}, as in training, found {found}$"
    model = TinytrainClassifier(**SMALL | {"epochs": 1}).fit(X, AFTERNOON)
    with pytest.raises(ValueError, match=text):
        model.predict(Z)
    with pytest.raises(ValueError, match=text):
        TinytrainClassifier(**SMALL | {"epochs": 1}).fit(X, AFTERNOON, eval_set=(Z, AFTERNOON))
    with pytest.raises(ValueError, match=text):
        TinytrainClassifier(**SMALL).partial_fit(X, AFTERNOON, classes=[False, True]).partial_fit(Z, AFTERNOON)
    with pytest.raises(ValueError, match="warm_start: times have another time zone"):
        TinytrainClassifier(**SMALL | {"epochs": 1}, warm_start=True).fit(X, AFTERNOON).fit(Z, AFTERNOON)


def test_names_of_utc_are_one_zone():
    model = TinytrainClassifier(**SMALL | {"epochs": 1}).fit(pd.DataFrame({"at": UTC}), AFTERNOON)
    expected = model.predict_proba(pd.DataFrame({"at": UTC}))
    for zone in ("Etc/UTC", "+00:00", "GMT"):
        table = pa.table({"at": pa.array(UTC.tz_localize(None)).cast(pa.timestamp("us")).cast(pa.timestamp("us", zone))})
        assert (model.predict_proba(table) == expected).all(), zone
    texts = pd.DataFrame({"at": UTC.strftime("%Y-%m-%dT%H:%M:%SZ")})
    assert (model.predict_proba(texts) == expected).all()
    mixed = texts.assign(at=np.where(np.arange(len(UTC)) % 2, texts["at"], UTC.strftime("%Y-%m-%d %H:%M:%S")))
    with pytest.raises(ValueError, match="expected times of the zone UTC, found"):
        TinytrainClassifier(**SMALL).fit(mixed, AFTERNOON)


def test_the_program_refuses_models_of_local_times(tmp_path):
    import subprocess
    import sys

    frame = pd.DataFrame({"at": BERLIN})
    TinytrainClassifier(**SMALL | {"epochs": 1}).fit(frame, AFTERNOON).save(tmp_path / "m.safetensors")
    frame.to_csv(tmp_path / "x.csv", index=False)
    words = ["predict", "--model", tmp_path / "m.safetensors", tmp_path / "x.csv"]
    done = subprocess.run([sys.executable, "-m", "tinytrain", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 2 and 'expected times of the zone Europe/Berlin in the column "at"' in done.stderr


def test_times_of_all_types_with_zones():
    few = BERLIN[:150]
    X, y = np.random.default_rng(0).normal(size=(150, 2)), np.arange(150) % 2
    settings = SMALL | {"epochs": 2, "validation_fraction": 0.2}
    expected = TinytrainClassifier(**settings).fit(X, y, times=np.arange(150)).predict_proba(X)
    series = pd.Series(few)
    kinds = {
        "index": few,
        "series": series,
        "array": few.array,
        "list": list(few),
        "datetimes": list(few.to_pydatetime()),
        "objects": series.astype(object),
        "text": few.astype(str),
        "polars": pl.from_pandas(series),
        "pyarrow": pa.array(series),
        "pandas by pyarrow": series.astype(pd.ArrowDtype(pa.timestamp("us", "Europe/Berlin"))),
        "naive": few.tz_localize(None).to_numpy(),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, times in kinds.items():
            found = TinytrainClassifier(**settings).fit(X, y, times=times).predict_proba(X)
            assert (found == expected).all(), name
    mixed = [time if row % 2 else time.replace(tzinfo=None) for row, time in enumerate(few.to_pydatetime())]
    for times in (mixed, [str(time) for time in mixed]):
        with pytest.raises(ValueError, match="^times: some have a time zone and others have none$"):
            TinytrainClassifier(**settings).fit(X, y, times=times)


def test_columns_have_one_zone():
    times = BERLIN.to_pydatetime()
    for other, text in ((LOCAL.to_pydatetime(), "some times have a time zone and others have none"), (UTC.to_pydatetime(), "expected times of one")):
        cells = [one if row % 2 else two for row, (one, two) in enumerate(zip(times, other, strict=True))]
        for cells in (cells, cells[1:] + cells[:1]):
            with pytest.raises(ValueError, match=f"^column at: {text}"):
                TinytrainClassifier(**SMALL | {"epochs": 1}).fit(pd.DataFrame({"at": pd.Series(cells, dtype=object)}), AFTERNOON)
