"""Models in files, for the program and from it."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_classification

import tinytrain
from tinytrain import TinytrainClassifier, TinytrainRegressor


def program(*words):
    done = subprocess.run([sys.executable, "-m", "tinytrain", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(path, X, y=None):
    """Writes rows, with a header if they have classes: a model of an array knows no names."""
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        if y is not None:
            rows.writerow([*[f"x{i}" for i in range(X.shape[1])], "class"])
        for index, row in enumerate(X.tolist()):
            rows.writerow([*row, *([] if y is None else [y[index]])])


def table(text):
    rows = list(csv.reader(text.strip().splitlines()))
    return rows[0], rows[1:]


def settings_of(path):
    contents = path.read_bytes()
    end = 8 + int.from_bytes(contents[:8], "little")
    return json.loads(json.loads(contents[8:end])["__metadata__"]["tinytrain"])["settings"]


@pytest.mark.parametrize("rows", [199, 200])
def test_defaults_are_those_of_the_program(tmp_path, rows):
    X, y = make_classification(rows, 6, random_state=0)
    X = X.astype(np.float32)
    TinytrainClassifier(hidden=(8,), random_state=0, device="cpu").fit(X, y).save(tmp_path / "m")
    write(tmp_path / "rows.csv", X, y)
    words = ["--target", "class", "--hidden", 8, "--seed", 0, "--device", "cpu"]
    program("train", "--data", tmp_path / "rows.csv", *words, "--out", tmp_path / "run")
    found, expected = (settings_of(path) for path in (tmp_path / "m", tmp_path / "run" / "model.safetensors"))
    # The rows have another order.
    for of_run in ("data", "rows", "epoch", "temperature", "threads"):
        found.pop(of_run, None), expected.pop(of_run, None)
    assert found == expected and found["epochs"] == ("256" if rows == 200 else "64")


def test_the_program_comes_with_the_package():
    assert "train" in program("--help")
    done = subprocess.run([sys.executable, "-m", "tinytrain", "nonsense"], capture_output=True, text=True)
    assert done.returncode == 2 and "nonsense" in done.stderr


def test_a_model_predicts_the_same_in_the_program(iris, tmp_path):
    X, y = iris
    X = X.astype(np.float32)
    classifier = TinytrainClassifier(hidden=(16,), epochs=10, random_state=2).fit(X, y)
    classifier.save(tmp_path / "m.safetensors")
    write(tmp_path / "x.csv", X)
    program("predict", "--model", tmp_path / "m.safetensors", tmp_path / "x.csv", "--out", tmp_path / "p.csv")
    header, rows = table((tmp_path / "p.csv").read_text())
    assert header == ["class", "p(0)", "p(1)", "p(2)"]
    assert [int(row[0]) for row in rows] == classifier.predict(X).tolist()
    shown = np.array([[float(cell) for cell in row[1:]] for row in rows])
    assert np.abs(shown - classifier.predict_proba(X)).max() <= 5e-7
    again = tinytrain.load(tmp_path / "m.safetensors")
    assert isinstance(again, TinytrainClassifier)
    assert (again.predict_proba(X) == classifier.predict_proba(X)).all() and (again.classes_ == [0, 1, 2]).all()


def test_a_model_of_the_program_loads_here(iris, tmp_path):
    X, y = iris
    X = X.astype(np.float32)
    names = np.array(["setosa", "versicolor", "virginica"])
    write(tmp_path / "iris.csv", X, y=names[y])
    program("train", "--data", tmp_path / "iris.csv", "--target", "class", "--epochs", "30", "--out", tmp_path / "run")
    program("predict", "--model", tmp_path / "run", tmp_path / "iris.csv", "--out", tmp_path / "p.csv")
    _, rows = table((tmp_path / "p.csv").read_text())
    loaded = TinytrainClassifier.load(tmp_path / "run")
    assert loaded.n_features_in_ == 4 and list(loaded.feature_names_in_) == ["x0", "x1", "x2", "x3"]
    with pytest.warns(UserWarning, match="feature names"):
        assert loaded.predict(X).tolist() == [row[0] for row in rows]
    with pytest.raises(ValueError, match="predicts classes"):
        TinytrainRegressor.load(tmp_path / "run")


def test_values_are_the_same_to_the_last_bit(tmp_path):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(80, 3)).astype(np.float32)
    regressor = TinytrainRegressor(hidden=(8,), epochs=5, random_state=2).fit(X, X @ [1.0, 2.0, 3.0])
    regressor.save(tmp_path / "m.safetensors")
    write(tmp_path / "x.csv", X)
    program("predict", "--model", tmp_path / "m.safetensors", tmp_path / "x.csv", "--out", tmp_path / "p.csv")
    _, rows = table((tmp_path / "p.csv").read_text())
    # Values are written with as many digits as they need.
    assert np.array([np.float32(row[0]) for row in rows]).tolist() == regressor.predict(X).tolist()


def test_onnx_is_written(iris):
    X, y = iris
    onnx = TinytrainClassifier(hidden=(4,), epochs=2, random_state=0).fit(X, y).to_onnx()
    assert isinstance(onnx, bytes) and b"tinytrain" in onnx


def test_files_that_are_none_are_said(tmp_path):
    with pytest.raises(FileNotFoundError):
        tinytrain.load(tmp_path / "none")
    (tmp_path / "text").write_text("text")
    with pytest.raises(ValueError, match="text"):
        tinytrain.load(tmp_path / "text")


def test_classes_and_values_are_loaded_in_the_order_of_scikit_learn(iris, tmp_path):
    X, y = iris
    labels = np.array(["b", "a10", "a2"])[y]
    classifier = TinytrainClassifier(hidden=(16,), epochs=20, random_state=2, preset="plain").fit(X, labels)
    classifier.save(tmp_path / "c.safetensors")
    loaded = tinytrain.load(tmp_path / "c.safetensors")
    assert loaded.classes_.tolist() == ["a10", "a2", "b"]
    assert (loaded.predict(X) == classifier.predict(X)).all()
    assert (loaded.predict_proba(X) == classifier.predict_proba(X)).all()
    regressor = TinytrainRegressor(hidden=(16,), epochs=3, random_state=2).fit(X, X[:, :2])
    regressor.save(tmp_path / "r.safetensors")
    loaded = tinytrain.load(tmp_path / "r.safetensors")
    assert isinstance(loaded, TinytrainRegressor) and loaded.n_outputs_ == 2
    assert (loaded.predict(X) == regressor.predict(X)).all()


def test_booleans_are_loaded_as_booleans(iris, tmp_path):
    X, y = iris
    classifier = TinytrainClassifier(hidden=(16,), epochs=20, random_state=2, preset="plain").fit(X, y == 0)
    classifier.save(tmp_path / "m.safetensors")
    loaded = tinytrain.load(tmp_path / "m.safetensors")
    assert loaded.classes_.dtype == bool and loaded.score(X, y == 0) == classifier.score(X, y == 0) > 0.9
    assert (loaded.predict_proba(X) == classifier.predict_proba(X)).all()


def test_whole_numbers_beyond_64_bits_are_loaded_as_text(iris, tmp_path):
    X, y = iris
    labels = np.array(["30000000000000000000", "20000000000000000000", "1"])[y]
    classifier = TinytrainClassifier(hidden=(16,), epochs=20, random_state=2, preset="plain").fit(X, labels)
    classifier.save(tmp_path / "m.safetensors")
    loaded = tinytrain.load(tmp_path / "m.safetensors")
    assert loaded.score(X, labels) == classifier.score(X, labels) > 0.9
    assert (loaded.predict_proba(X) == classifier.predict_proba(X)).all()
