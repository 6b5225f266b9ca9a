"""Fits on adapters, where the machine has one."""

import multiprocessing
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from tinytrain import TinytrainClassifier

SMALL = {"hidden": (16,), "epochs": 8, "random_state": 3}


def has_vulkan():
    done = subprocess.run([sys.executable, "-m", "tinytrain", "devices", "--format", "json"], capture_output=True, text=True)
    return '"vulkan"' in done.stdout


VULKAN = pytest.mark.skipif(not has_vulkan(), reason="no adapter of Vulkan")
FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


def test_importing_and_predicting_open_no_gpu(iris):
    X, y = iris
    fitted = TinytrainClassifier(**SMALL, device="cpu").fit(X, y)
    fitted.predict(X)
    with open("/proc/self/maps") as maps:
        assert "vulkan" not in maps.read()


@VULKAN
def test_an_adapter_trains_the_same_network(iris):
    X, y = iris
    here = TinytrainClassifier(**SMALL, device="cpu").fit(X, y)
    there = TinytrainClassifier(**SMALL, device="vulkan").fit(X, y)
    assert np.abs(there.predict_proba(X) - here.predict_proba(X)).max() < 1e-4
    assert there.loss_curve_ == pytest.approx(here.loss_curve_, rel=1e-4)


@VULKAN
@FORK
def test_a_fork_of_a_process_that_has_used_a_gpu_refuses_it():
    code = """
        import os, signal, sys
        import numpy as np
        from sklearn.datasets import load_iris
        from tinytrain import TinytrainClassifier

        X, y = load_iris(return_X_y=True)

        def fitted(device):
            return TinytrainClassifier(hidden=(16,), epochs=8, random_state=3, device=device).fit(X, y)

        # What the parent has not used, a child may.
        for uses, works in ((False, True), (True, False)):
            there = fitted("gpu") if uses else None
            child = os.fork()
            if child == 0:
                # Ends it where it hangs.
                signal.alarm(300)
                here = fitted("cpu")
                if there is not None:
                    assert np.abs(there.predict_proba(X) - here.predict_proba(X)).max() < 1e-4
                try:
                    fitted("vulkan")
                    did = True
                except ValueError as error:
                    did = "forked" not in str(error) or "device='cpu'" not in str(error)
                os._exit(0 if did == works else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        fitted("gpu")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=600)
    assert done.returncode == 0


def score(device):
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 2
    return TinytrainClassifier(**SMALL, device=device).fit(X, y).score(X, y)


@VULKAN
@FORK
def test_processes_of_multiprocessing_refuse_or_train():
    expected = score("gpu")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(score, ["cpu"] * 4).get(timeout=300) == [score("cpu")] * 4
        with pytest.raises(ValueError, match="forked from one that has used a GPU"):
            pool.map_async(score, ["gpu"]).get(timeout=300)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map_async(score, ["gpu"]).get(timeout=300) == [expected]
