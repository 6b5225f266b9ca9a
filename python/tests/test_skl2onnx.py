"""Pipelines as ONNX by skl2onnx (requirements.txt)."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import tinytrain
from tinytrain import TinytrainClassifier, TinytrainEnsembleClassifier, TinytrainEnsembleRegressor, TinytrainRegressor

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")
tinytrain.register_skl2onnx()

SMALL = {"hidden": (16,), "epochs": 60, "random_state": 0}


def ran(pipeline, X, **options):
    graph = skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False} if hasattr(pipeline, "classes_") else None, **options)
    return onnxruntime.InferenceSession(graph.SerializeToString()).run(None, {"X": X})


@pytest.mark.parametrize("of", [TinytrainClassifier, TinytrainEnsembleClassifier])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("names", [np.array(["b", "a10", "a2"]), np.array([5, 7, -3]), None])
def test_a_pipeline_of_classes(iris, of, dtype, names):
    X, y = iris[0].astype(dtype), iris[1]
    y = y == 1 if names is None else names[y]
    several = {"n_estimators": 3} if of is TinytrainEnsembleClassifier else {}
    pipeline = make_pipeline(StandardScaler(), of(**SMALL, **several)).fit(X, y)
    classes, probabilities = ran(pipeline, X)
    assert (classes == pipeline.predict(X)).all() and np.ptp(probabilities) > 0.5
    assert probabilities.dtype == dtype and np.abs(probabilities - pipeline.predict_proba(X)).max() < 1e-5


@pytest.mark.parametrize("of", [TinytrainRegressor, TinytrainEnsembleRegressor])
def test_a_pipeline_of_values(of):
    X, y = load_diabetes(return_X_y=True)
    several = {"n_estimators": 3} if of is TinytrainEnsembleRegressor else {}
    for answers in (y, np.column_stack([y, 1000 - 3 * y])):
        pipeline = make_pipeline(StandardScaler(), of(**SMALL, **several)).fit(X, answers)
        (values,) = ran(pipeline, X.astype(np.float32))
        expected = pipeline.predict(X).reshape(len(X), -1)
        assert values.shape == expected.shape and np.ptp(expected) > 10
        assert np.abs(values - expected).max() / np.abs(expected).max() < 1e-5


def test_columns_that_other_steps_prepare(iris):
    X = np.column_stack([iris[0], np.arange(150) % 3]).astype(np.float32)
    X[::7, 1] = np.nan
    steps = make_column_transformer((SimpleImputer(), [0, 1]), (OneHotEncoder(), [4]), remainder="passthrough", sparse_threshold=0)
    pipeline = make_pipeline(steps, TinytrainClassifier(**SMALL)).fit(X, iris[1])
    assert np.abs(ran(pipeline, X, target_opset=17)[1] - pipeline.predict_proba(X)).max() < 1e-5


def test_what_cannot_be_converted_is_an_error(iris):
    X = np.column_stack([iris[0], np.arange(150) % 3]).astype(np.float32)
    classifier = TinytrainClassifier(**SMALL, categorical=[4]).fit(X, iris[1])
    with pytest.raises(ValueError, match=r"expected columns of numbers; to_onnx\(named=True\)"):
        skl2onnx.to_onnx(classifier, X[:1])
    with pytest.raises(ValueError, match="target_opset: expected 17 or more, found 15"):
        skl2onnx.to_onnx(TinytrainClassifier(**SMALL).fit(X, iris[1]), X[:1], target_opset=15)
