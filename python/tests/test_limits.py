"""Signals while a network predicts, limits of threads, and files of skops."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
import threadpoolctl
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tinytrain import TinytrainClassifier, TinytrainEnsembleClassifier, TinytrainRegressor, TinytrainSearchCV, _threads

SMALL = {"hidden": (8,), "epochs": 2, "random_state": 0, "device": "cpu"}


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent by os.kill")
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_ctrl_c_ends_predict_of_a_large_network(method):
    code = f"""
        import os, signal, sys, threading, time
        import numpy as np
        from tinytrain import TinytrainClassifier
        X = np.random.default_rng(0).normal(size=(2000, 1000)).astype(np.float32)
        y = np.arange(2000) % 2
        model = TinytrainClassifier(hidden=(3000, 3000), epochs=1, preset="plain", random_state=0, device="cpu").fit(X[:20], y[:20])
        expected = model.predict_proba(X[:300])
        X = np.tile(X, (20, 1))
        def interrupt():
            global at
            time.sleep(0.4)
            at = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            model.{method}(X)
        except KeyboardInterrupt:
            print(time.perf_counter() - at)
        else:
            sys.exit("it was not interrupted")
        assert (model.predict_proba(X[:300]) == expected).all()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.2


def test_pieces_of_large_networks_predict_the_same():
    X = np.random.default_rng(0).normal(size=(600, 500)).astype(np.float32)
    model = TinytrainRegressor(hidden=(4000, 4000), epochs=1, preset="plain", random_state=0, device="cpu").fit(X[:20], X[:20, 0])
    assert (model.predict(X) == np.concatenate([model.predict(X[:7]), model.predict(X[7:])])).all()


@pytest.mark.parametrize("limits", [{"limits": 1}, {"limits": 1, "user_api": "openmp"}, {"limits": {"openmp": 1}}])
def test_limits_of_threadpoolctl_are_obeyed(monkeypatch, limits):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert [_threads.threads(jobs) for jobs in (None, 3, -1)] == [None, 3, 4]
    with threadpoolctl.threadpool_limits(**limits):
        assert [_threads.threads(jobs) for jobs in (None, 3, -1)] == [1, 1, 1]
        (info,) = [info for info in threadpoolctl.threadpool_info() if info["internal_api"] == "tinytrain"]
        assert info["num_threads"] == 1
        with threadpoolctl.threadpool_limits(2):
            assert [_threads.threads(jobs) for jobs in (None, 1, -1)] == [2, 1, 2]
        assert _threads.threads(None) == 1
    assert [_threads.threads(jobs) for jobs in (None, 8, -1)] == [None, 8, 4]


def test_a_limit_leaves_one_thread():
    code = """
        import time
        import numpy as np, threadpoolctl
        from tinytrain import TinytrainClassifier
        X = np.random.default_rng(0).normal(size=(5000, 100)).astype(np.float32)
        y = np.arange(5000) % 2
        begin, cpu = time.perf_counter(), time.process_time()
        with threadpoolctl.threadpool_limits(1):
            TinytrainClassifier(hidden=(300,), epochs=20, preset="plain", random_state=0, device="cpu", n_jobs=4).fit(X, y)
        wall, used = time.perf_counter() - begin, time.process_time() - cpu
        assert used < 1.3 * wall, (used, wall)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_skops_loads_what_it_writes(iris):
    skops = pytest.importorskip("skops.io")
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=pd.Categorical(np.array(["3.1", "3.10", "3.9"])[y]))
    text = np.array(["01", "02", "1"])[y]
    for model, rows in [
        (TinytrainClassifier(**SMALL).fit(X, y), X),
        (TinytrainClassifier(**SMALL).fit(frame, text), frame),
        (TinytrainRegressor(**SMALL).fit(X, y.astype(float)), X),
        (TinytrainEnsembleClassifier(n_estimators=2, **SMALL).fit(X, y), X),
        (TinytrainClassifier(**SMALL).partial_fit(X, y, classes=[0, 1, 2]), X),
        (make_pipeline(StandardScaler(), TinytrainClassifier(**SMALL)).fit(X, y), X),
        (TinytrainSearchCV(TinytrainClassifier(**SMALL), {"lr": [0.1]}, cv=2).fit(X, y), X),
    ]:
        contents = skops.dumps(model)
        trusted = skops.get_untrusted_types(data=contents)
        loaded = skops.loads(contents, trusted=trusted)
        assert "tinytrain._tinytrain.Model" in trusted
        assert (loaded.predict(rows) == model.predict(rows)).all()
    first, again = TinytrainClassifier(**SMALL).partial_fit(X, y, classes=[0, 1, 2]), None
    contents = skops.dumps(first)
    again = skops.loads(contents, trusted=skops.get_untrusted_types(data=contents))
    assert (again.partial_fit(X, y).predict_proba(X) == first.partial_fit(X, y).predict_proba(X)).all()


def test_a_model_is_made_of_its_bytes(iris):
    model = TinytrainClassifier(**SMALL).fit(*iris)._model
    kind, arguments = model.__reduce__()
    assert kind is type(model) and arguments == (model.to_bytes(), False)
    with pytest.raises(ValueError):
        kind(b"nonsense", False)


def test_columns_far_from_0_are_centred_by_a_pipeline():
    # Seconds since 1970 within ten minutes: 32-bit floats hold every 128th.
    seconds = 1.7e9 + np.random.default_rng(0).uniform(0, 600, size=400)
    X, y = seconds[:, np.newaxis], seconds - 1.7e9 > 300
    small = {"hidden": (16,), "epochs": 40, "random_state": 0}
    with pytest.raises(ValueError, match="StandardScaler in a pipeline subtracts the mean of 64-bit floats"):
        TinytrainClassifier(**small).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), TinytrainClassifier(**small)).fit(X[::2], y[::2])
    assert pipeline.score(X[1::2], y[1::2]) > 0.97
