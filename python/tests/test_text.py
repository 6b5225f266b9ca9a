"""Columns of text in frames, which are what they would be in a file for the program."""

import datetime
import decimal
import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tinytrain
from tinytrain import TinytrainClassifier, TinytrainEnsembleClassifier, TinytrainRegressor

SMALL = {"hidden": (8,), "epochs": 4, "random_state": 3, "device": "cpu", "preset": "plain"}
ROWS = 240


@pytest.fixture
def texts():
    """Columns of nothing but text, as files hold them; missing cells are empty."""
    generator = np.random.default_rng(8)
    number = generator.normal(size=ROWS).round(4)
    columns = {
        "number": [str(value) for value in number],
        "marked": ["?" if row % 31 == 7 else str(row % 13) for row in range(ROWS)],
        "drive": [["4", "f", "r", "4"][row] for row in generator.integers(0, 4, ROWS)],
        "color": [["red", "green", "blue", ""][row] for row in generator.integers(0, 4, ROWS)],
        "day": [str(np.datetime64("2024-01-01") + int(day)) for day in generator.integers(0, 300, ROWS)],
        "at": [f"2024-03-{day:02} {day % 24:02}:30:00" for day in generator.integers(1, 28, ROWS)],
        "flag": [["True", "False"][row] for row in generator.integers(0, 2, ROWS)],
    }
    return columns, np.where(number > 0, "yes", "no")


def frames(columns):
    """The same table in each library and type of text."""
    missing = {name: [cell or None for cell in cells] for name, cells in columns.items()}
    yield "object", pd.DataFrame(missing, dtype=object)
    yield "string", pd.DataFrame(missing).astype("string")
    yield "pyarrow strings", pd.DataFrame(missing).astype("string[pyarrow]")
    yield "polars", pl.DataFrame(missing)
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        yield str(kind), pa.table({name: pa.array(cells, kind) for name, cells in missing.items()})


def program(*words):
    done = subprocess.run([sys.executable, "-m", "tinytrain", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def understood(path):
    """What a model file says of its columns: what they hold, how they are encoded and scaled."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    metadata = json.loads(header["__metadata__"]["tinytrain"])

    def rounded(entry):
        """Numbers of sums of the rows in another order."""
        if isinstance(entry, dict):
            return {name: rounded(of_name) for name, of_name in entry.items()}
        if isinstance(entry, list):
            return [rounded(item) for item in entry]
        return float(f"{entry:.12g}") if isinstance(entry, float) else entry

    schema = metadata["data"]["schema"]
    of_table = [schema["columns"], schema["inputs"], schema["target"]["position"], schema["dates"]]
    return rounded([metadata["data"]["classes"]["names"], of_table, metadata["transform"]])


def test_text_is_what_it_is_in_a_file(texts, tmp_path):
    columns, y = texts
    pd.DataFrame(columns).assign(label=y).to_csv(tmp_path / "x.csv", index=False)
    said = program(
        "train", "--data", tmp_path / "x.csv", "--preset", "plain", "--epochs", 4, "--hidden", 8, "--validation-fraction", 0,
        "--device", "cpu", "--out", tmp_path / "program.safetensors",
    )
    assert "drive holds numbers and text" in said.stderr
    program("predict", "--model", tmp_path / "program.safetensors", tmp_path / "x.csv", "--out", tmp_path / "p.csv")
    shown = pd.read_csv(tmp_path / "p.csv")[["p(no)", "p(yes)"]].to_numpy()
    of_program = tinytrain.load(tmp_path / "program.safetensors")
    assert of_program.feature_names_in_.tolist() == list(columns)
    seen, predicted = [], []
    for name, frame in frames(columns):
        with pytest.warns(UserWarning, match="column drive holds numbers and text") as told:
            classifier = TinytrainClassifier(**SMALL).fit(frame, pd.Series(y, name="label"))
        assert len(told) == 1, [str(warning.message) for warning in told]
        classifier.save(tmp_path / "frame.safetensors")
        of_frame, of_file = (understood(tmp_path / f"{name}.safetensors") for name in ("frame", "program"))
        assert of_frame == of_file, name
        seen.append(classifier.predict_proba(frame))
        predicted.append(of_program.predict_proba(frame))
        assert np.abs(predicted[-1] - shown).max() <= 5e-7, name
        loaded = tinytrain.load(tmp_path / "frame.safetensors")
        assert (loaded.predict_proba(frame) == seen[-1]).all(), name
    assert all((one == seen[0]).all() for one in seen) and all((one == predicted[0]).all() for one in predicted)
    # Columns of other types that hold the same.
    frame = pd.DataFrame(columns).replace({"": None})
    typed = frame.assign(
        number=frame["number"].astype(float),
        marked=pd.to_numeric(frame["marked"], errors="coerce"),
        drive=frame["drive"].astype("category"),
        day=pd.to_datetime(frame["day"]),
        at=pd.to_datetime(frame["at"]),
        flag=frame["flag"] == "True",
        color=frame["color"].astype("category"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (TinytrainClassifier(**SMALL).fit(typed, y).predict_proba(typed) == seen[0]).all()
        assert (of_program.predict_proba(typed) == predicted[0]).all()
        # What is typed as categories is no number.
        told = TinytrainClassifier(**SMALL).fit(frame[["marked"]].astype("category"), y)
        named = TinytrainClassifier(**SMALL, categorical=["marked"]).fit(frame[["marked"]], y)
    assert (told.predict_proba(frame[["marked"]]) == named.predict_proba(frame[["marked"]])).all()


def typed_columns(columns):
    """Decimals and times of day, as each library and type has them."""
    yield "pandas", pd.DataFrame(columns)
    yield "polars", pl.DataFrame(columns)
    decimals = [kind(9, 2) for kind in (getattr(pa, f"decimal{bits}", pa.decimal128) for bits in (32, 64, 128, 256))]
    for kind, hour in zip(decimals, (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")), strict=True):
        arrays = {"price": pa.array(columns["price"], kind), "hour": pa.array(columns["hour"], hour), "day": pa.array(columns["day"])}
        yield f"{kind}, {hour}", pa.table(arrays)


@pytest.mark.parametrize("categorical", [None, ["price"]])
def test_decimals_and_times_of_day_are_what_they_are_in_a_file(tmp_path, categorical):
    prices = [None if row % 17 == 3 else decimal.Decimal(row * 7 % 40 * 25) / 100 for row in range(ROWS)]
    prices = [price if price is None else price.quantize(decimal.Decimal("0.01")) for price in prices]
    hours = [None if row % 23 == 5 else datetime.time(row * 5 % 12, row % 2 * 30) for row in range(ROWS)]
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=row * 11 % 300) for row in range(ROWS)]
    columns = {"price": prices, "hour": hours, "day": days}
    y = np.array(["yes" if row * 7 % 40 > 20 else "no" for row in range(ROWS)])
    pd.DataFrame(columns).assign(label=y).to_csv(tmp_path / "x.csv", index=False)
    told = ["--categorical", *categorical] if categorical else []
    program(
        "train", "--data", tmp_path / "x.csv", "--preset", "plain", "--epochs", 4, "--hidden", 8, "--validation-fraction", 0,
        "--device", "cpu", "--out", tmp_path / "program.safetensors", *told,
    )
    of_program = tinytrain.load(tmp_path / "program.safetensors")
    seen = []
    for name, frame in typed_columns(columns):
        classifier = TinytrainClassifier(**SMALL, categorical=categorical).fit(frame, pd.Series(y, name="label"))
        classifier.save(tmp_path / "frame.safetensors")
        of_frame, of_file = (understood(tmp_path / f"{name}.safetensors") for name in ("frame", "program"))
        assert of_frame == of_file, name
        seen.append((classifier.predict_proba(frame), of_program.predict_proba(frame)))
    assert all((found == expected).all() for one in seen for found, expected in zip(one, seen[0], strict=True))


def test_slips_are_an_error(texts):
    columns, y = texts
    frame = pd.DataFrame(columns)[["number"]]
    frame.loc[17, "number"] = "seven"
    line = r'row 18, column 1 \(number\): expected a number, as in 239 other rows, found "seven"'
    for other in (frame, pl.from_pandas(frame)):
        with pytest.raises(ValueError, match=line):
            TinytrainClassifier(**SMALL).fit(other, y)
    frame.loc[17, "number"] = "inf"
    with pytest.raises(ValueError, match=r'column 1 \(number\): expected a finite number, found "inf"'):
        TinytrainClassifier(**SMALL).fit(frame, y)
    frame.loc[17, "number"] = "seven"
    days = pd.DataFrame(columns)[["day"]]
    days.loc[3, "day"] = "soon"
    with pytest.raises(ValueError, match=r"row 4, column 1 \(day\): expected a date .*as in 239 other rows, found .soon"):
        TinytrainClassifier(**SMALL).fit(days, y)
    fitted = TinytrainClassifier(**SMALL).fit(pd.DataFrame(columns)[["number", "day"]], y)
    with pytest.raises(ValueError, match=r"row 18, column 1 \(number\): expected a number, as in training, found .seven"):
        fitted.predict(frame.assign(day=columns["day"]))


def test_numbers_with_units_and_different_texts_are_told(texts):
    columns, y = texts
    frame = pd.DataFrame({"price": [f"${row % 9},500" for row in range(ROWS)], "number": columns["number"]})
    with pytest.warns(UserWarning, match="column price holds numbers with a sign.*0,500"):
        TinytrainClassifier(**SMALL).fit(frame, y)
    with pytest.warns(UserWarning, match="column who holds text that differs in nearly all rows"):
        TinytrainClassifier(**SMALL).fit(frame[["number"]].assign(who=[f"Person {row}" for row in range(ROWS)]), y)


def test_columns_of_text_and_numbers_of_pandas(texts):
    columns, y = texts
    # As `read_csv` gives them of long files.
    cells = [int(cell) if cell == "4" and row % 2 else cell for row, cell in enumerate(columns["drive"])]
    frame = pd.DataFrame({"drive": pd.Series(cells, dtype=object), "number": columns["number"]})
    with pytest.warns(UserWarning, match="column drive holds numbers and text"):
        expected = TinytrainClassifier(**SMALL).fit(pd.DataFrame(columns)[["drive", "number"]], y)
        found = TinytrainClassifier(**SMALL).fit(frame, y)
    assert (found.predict_proba(frame) == expected.predict_proba(frame)).all()
    with pytest.raises(TypeError, match="Conversion failed for column drive with type object"):
        TinytrainClassifier(**SMALL).fit(frame.assign(drive=[{"a": 1}, "b"] * (ROWS // 2)), y)


def test_rows_that_validate_are_like_those_that_train(texts):
    columns, y = texts
    frame = pd.DataFrame(columns)[["number", "color", "day"]]
    # Alone, its colors would be numbers, and its times have hours.
    held = frame[:40].assign(color="7", day="2024-01-01 10:00")
    with pytest.warns(UserWarning, match="40 cells of the validation rows"):
        classifier = TinytrainClassifier(**SMALL).fit(frame, y, eval_set=(held, y[:40]))
    assert len(classifier.validation_scores_) == 4
    with pytest.warns(UserWarning, match="40 cells"):
        ensemble = TinytrainEnsembleClassifier(n_estimators=2, **SMALL).fit(frame, y, eval_set=(held, y[:40]))
        assert ensemble.predict(held).shape == (40,)
    values = np.arange(ROWS) / 7
    partial = TinytrainRegressor(**SMALL).partial_fit(frame, values)
    assert partial.partial_fit(frame[:20].assign(number="3"), values[:20]).n_iter_ == 2


def test_categories_that_are_large_numbers_are_told_apart():
    large = 2**53 + np.arange(ROWS) % 2
    y = np.arange(ROWS) % 2
    for column in (pa.array(large), pa.array(large).dictionary_encode(), pa.array(large.astype(np.uint64))):
        table = pa.table({"id": column})
        classifier = TinytrainClassifier(**SMALL | {"epochs": 60, "categorical": ["id"]}).fit(table, y)
        assert classifier.score(table, y) == 1.0
