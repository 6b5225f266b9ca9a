"""Threads, processes, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification

from tinytrain import TinytrainClassifier, TinytrainSearchCV

SMALL = {"hidden": (16,), "epochs": 8}


def fitted(X, y, seed):
    return TinytrainClassifier(**SMALL, random_state=seed).fit(X, y).predict_proba(X)


def test_ctrl_c_ends_a_fit_and_leaves_the_estimator_as_it_was(iris):
    X, y = make_classification(4000, 40, random_state=0)
    classifier = TinytrainClassifier(hidden=(8,), epochs=2, random_state=0).fit(X, y)
    before = classifier.predict_proba(X)
    classifier.set_params(hidden=(400, 400), epochs=1000)
    sent = []

    def send():
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.5, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(X, y)
    assert time.perf_counter() - sent[0] < 2.0
    assert (classifier.predict_proba(X) == before).all()
    assert classifier.set_params(hidden=(8,), epochs=2).fit(X, y).score(X, y) > 0.7


@pytest.mark.parametrize("kind", ["array", "columns", "frame"])
def test_ctrl_c_ends_a_fit_while_rows_are_prepared(kind):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1_000_000, 20))
    y = X[:, 0] > 0
    if kind == "columns":
        X = np.asfortranarray(X)
    if kind == "frame":
        polars = pytest.importorskip("polars")
        texts = np.array([f"t{i}" for i in range(300)])[generator.integers(0, 300, size=len(X))]
        X = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": texts, "d": texts[::-1]})
    classifier = TinytrainClassifier(hidden=(8,), epochs=100, random_state=0, device="cpu").fit(X[:1000], y[:1000])
    before, waits = vars(classifier).copy(), []
    for delay in (0.02, 0.06, 0.1, 0.2, 0.4, 0.8):
        sent = []

        def send():
            sent.append(time.perf_counter())
            signal.raise_signal(signal.SIGINT)

        threading.Timer(delay, send).start()
        with pytest.raises(KeyboardInterrupt):
            classifier.fit(X, y)
        waits.append(time.perf_counter() - sent[0])
        assert vars(classifier) == before
    # Other work takes the processor, too.
    assert sorted(waits)[-2] < 0.2, waits


def test_ctrl_c_ends_a_search():
    X, y = make_classification(4000, 40, random_state=0)
    search = TinytrainSearchCV(
        TinytrainClassifier(hidden=(200, 200), epochs=500, random_state=0), {"lr": [0.01, 0.02, 0.03]}, cv=2
    )
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert time.perf_counter() - begin < 5.0 and not hasattr(search, "best_params_")


def test_the_lock_is_free_during_a_fit():
    X, y = make_classification(3000, 30, random_state=0)
    count = 0
    done = threading.Event()

    def work():
        TinytrainClassifier(hidden=(200, 100), epochs=20, n_jobs=1, random_state=0).fit(X, y)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        count += 1
        time.sleep(0.001)
    thread.join()
    assert count > 20


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_fits_at_once_are_those_one_by_one(iris, backend):
    X, y = iris
    expected = [fitted(X, y, seed) for seed in range(4)]
    found = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(fitted)(X, y, seed) for seed in range(4))
    assert all((one == other).all() for one, other in zip(found, expected))


def test_threads_share_a_model(iris):
    X, y = iris
    classifier = TinytrainClassifier(**SMALL, random_state=0).fit(X, y)
    expected = classifier.predict_proba(X)
    found = joblib.Parallel(n_jobs=4, backend="threading")(joblib.delayed(classifier.predict_proba)(X) for _ in range(40))
    assert all((one == expected).all() for one in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_goes_on(tmp_path):
    code = """
        import os, sys
        import numpy as np
        from sklearn.datasets import load_iris
        from tinytrain import TinytrainClassifier, TinytrainSearchCV
        X, y = load_iris(return_X_y=True)
        classifier = TinytrainClassifier(hidden=(16,), epochs=8, random_state=0).fit(X, y)
        expected = classifier.predict_proba(X)
        child = os.fork()
        if child == 0:
            same = (classifier.predict_proba(X) == expected).all()
            again = TinytrainClassifier(hidden=(16,), epochs=8, random_state=0).fit(X, y).predict_proba(X)
            os._exit(0 if same and (again == expected).all() else 1)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=60)
    assert done.returncode == 0


def test_models_are_kept_by_joblib(iris, tmp_path):
    X, y = iris
    classifier = TinytrainClassifier(**SMALL, random_state=0).fit(X, y)
    joblib.dump(classifier, tmp_path / "m.joblib")
    assert (joblib.load(tmp_path / "m.joblib").predict_proba(X) == classifier.predict_proba(X)).all()
