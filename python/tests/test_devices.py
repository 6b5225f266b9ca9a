"""Fits on adapters, where the machine has one."""

import subprocess
import sys

import numpy as np
import pytest

from tinytrain import TinytrainClassifier

SMALL = {"hidden": (16,), "epochs": 8, "random_state": 3}


def backends():
    done = subprocess.run([sys.executable, "-m", "tinytrain", "devices", "--format", "json"], capture_output=True, text=True)
    return done.stdout


def test_importing_and_predicting_open_no_gpu(iris):
    X, y = iris
    fitted = TinytrainClassifier(**SMALL, device="cpu").fit(X, y)
    fitted.predict(X)
    with open("/proc/self/maps") as maps:
        assert "vulkan" not in maps.read()


@pytest.mark.skipif('"vulkan"' not in backends(), reason="no adapter of Vulkan")
def test_an_adapter_trains_the_same_network(iris):
    X, y = iris
    here = TinytrainClassifier(**SMALL, device="cpu").fit(X, y)
    there = TinytrainClassifier(**SMALL, device="vulkan").fit(X, y)
    assert np.abs(there.predict_proba(X) - here.predict_proba(X)).max() < 1e-4
    assert there.loss_curve_ == pytest.approx(here.loss_curve_, rel=1e-4)
