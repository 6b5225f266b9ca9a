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

SMALL = {"hidden": (16,), "epochs": 8, "preset": "plain"}


def fitted(X, y, seed):
    return TinytrainClassifier(**SMALL, random_state=seed).fit(X, y).predict_proba(X)


# Seconds in which Ctrl-C has ended everything, also where other work takes the processor; docs/PYTHON.md has how long it takes.
SOON = 2.0


def waits(work, delays):
    """Seconds from a Ctrl-C, which comes after so many seconds, to its exception, in order; other work takes the processor, too."""
    found = []
    for delay in delays:
        sent = []

        def send():
            sent.append(time.perf_counter())
            signal.raise_signal(signal.SIGINT)

        timer = threading.Timer(delay, send)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            work()
            # It was over too early to be interrupted.
            timer.join()
        found.append(time.perf_counter() - sent[0])
    return sorted(found)


def test_ctrl_c_ends_a_fit_and_leaves_the_estimator_as_it_was(iris):
    X, y = make_classification(4000, 40, random_state=0)
    classifier = TinytrainClassifier(hidden=(8,), epochs=2, preset="plain", random_state=0).fit(X, y)
    before = classifier.predict_proba(X)
    classifier.set_params(hidden=(400, 400), epochs=1000)
    assert waits(lambda: classifier.fit(X, y), [0.3, 0.4, 0.5])[1] < SOON
    assert (classifier.predict_proba(X) == before).all()
    assert classifier.set_params(hidden=(8,), epochs=2).fit(X, y).score(X, y) > 0.7


def test_ctrl_c_ends_passes_and_predictions():
    X = np.random.default_rng(0).normal(size=(400_000, 20)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    classifier = TinytrainClassifier(hidden=(200, 200), preset="plain", random_state=0, device="cpu").partial_fit(X[:1000], y[:1000], classes=[0, 1])
    before = classifier.predict_proba(X[:50])
    assert waits(lambda: classifier.partial_fit(X, y), [0.1, 0.3, 0.5])[1] < SOON
    assert waits(lambda: classifier.predict(X), [0.05, 0.1, 0.15])[1] < SOON
    assert (classifier.predict_proba(X[:50]) == before).all() and classifier.n_iter_ == 1


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
    classifier = TinytrainClassifier(hidden=(8,), epochs=100, preset="plain", random_state=0, device="cpu").fit(X[:1000], y[:1000])
    before = vars(classifier).copy()
    found = waits(lambda: classifier.fit(X, y), (0.02, 0.06, 0.1, 0.2, 0.4, 0.8))
    assert vars(classifier) == before
    assert found[-2] < SOON, found


def test_ctrl_c_ends_a_search():
    X, y = make_classification(4000, 40, random_state=0)
    search = TinytrainSearchCV(
        TinytrainClassifier(hidden=(200, 200), epochs=500, preset="plain", random_state=0), {"lr": [0.01, 0.02, 0.03]}, cv=2
    )
    assert waits(lambda: search.fit(X, y), [0.3, 0.5, 0.7])[1] < SOON
    assert not hasattr(search, "best_params_")


def test_the_lock_is_free_during_a_fit():
    X, y = make_classification(3000, 30, random_state=0)
    count = 0
    done = threading.Event()

    def work():
        TinytrainClassifier(hidden=(200, 100), epochs=20, n_jobs=1, preset="plain", random_state=0).fit(X, y)
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
        classifier = TinytrainClassifier(hidden=(16,), epochs=8, preset="plain", random_state=0).fit(X, y)
        expected = classifier.predict_proba(X)
        child = os.fork()
        if child == 0:
            same = (classifier.predict_proba(X) == expected).all()
            again = TinytrainClassifier(hidden=(16,), epochs=8, preset="plain", random_state=0).fit(X, y).predict_proba(X)
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


def test_nothing_is_left_in_the_process(iris, tmp_path, monkeypatch, capfd):
    X, y = iris
    monkeypatch.chdir(tmp_path)
    # The threads of a pool of numpy's are there from the first use.
    fitted(X, y, 0)

    def state():
        threads = len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 0
        return signal.getsignal(signal.SIGINT), dict(os.environ), np.random.get_state()[1].tolist(), threading.enumerate(), threads

    before = state()
    for device in ("cpu", "auto"):
        classifier = TinytrainClassifier(**SMALL, random_state=0, device=device, n_jobs=2).fit(X, y)
        classifier.predict(X)
    TinytrainSearchCV(classifier, {"lr": [0.1, 0.2]}, cv=2).fit(X, y)
    with pytest.raises(ValueError):
        classifier.set_params(lr=-1.0).fit(X, y)
    assert state()[:4] == before[:4]
    # What is kept for the next prediction may hold some.
    assert state()[4] <= before[4] + 4
    said = capfd.readouterr()
    assert said.out == said.err == "" and list(tmp_path.iterdir()) == []


FLOATS = "rng.random((250_000, 40), dtype=np.float32)"
# A date is three inputs.
MIXED = """polars.DataFrame(rng.random((250_000, 25))).with_columns(
            *(polars.Series(f"text {i}", rng.choice(["red", "green"], 250_000)) for i in range(6)),
            *(polars.Series(f"number {i}", rng.random(250_000).round(3).astype(str)) for i in range(6)),
            polars.Series("day", np.datetime64("2024-01-01") + rng.integers(0, 300, 250_000)),
        )"""


@pytest.mark.parametrize(
    "rows, weights",
    [
        (FLOATS, "None"),
        ("np.asfortranarray(rng.random((250_000, 40)))", "None"),
        ("polars.DataFrame(rng.random((250_000, 40)))", "None"),
        ("pandas.DataFrame({i: rng.random(250_000) if i % 2 else rng.integers(0, 9, 250_000) for i in range(40)})", "None"),
        (MIXED, "None"),
        # Some rows are left out, or come twice.
        (FLOATS, "rng.random(250_000) * (rng.random(250_000) < 0.9)"),
        (FLOATS, "1 + (rng.random(250_000) < 0.1)"),
    ],
    ids=["floats", "columns", "polars", "pandas", "mixed", "left out", "twice"],
)
def test_fits_copy_the_rows_once(rows, weights):
    code = f"""
        import gc
        import numpy as np, pandas, polars
        from tinytrain import TinytrainClassifier

        def memory(of):
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) * 1024 for line in file if line.startswith(of))

        rng = np.random.default_rng(0)
        X = {rows}
        y = rng.random(250_000) > 0.5
        weights = {weights}
        classifier = TinytrainClassifier(hidden=(4,), epochs=1, preset="plain", random_state=0, device="cpu", n_jobs=1).fit(X[:1000], y[:1000])
        gc.collect()
        # The peak so far is forgotten.
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before = memory("VmRSS")
        classifier.fit(X, y, sample_weight=weights)
        # Of what is trained: a row that comes twice is two.
        count = 250_000 if weights is None else max(250_000, weights.sum())
        more = (memory("VmHWM") - before) / (4 * count * 40)
        assert more < 1.5, more
        """
    if not os.path.exists("/proc/self/clear_refs"):
        pytest.skip("no /proc")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], timeout=600)
    assert done.returncode == 0


def test_large_predictions_copy_the_rows_once():
    code = """
        import threading, time
        import numpy as np
        from tinytrain import TinytrainClassifier

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        X = np.random.default_rng(0).random((1_000_000, 40), dtype=np.float32)
        y = X[:, 0] > 0.5
        classifier = TinytrainClassifier(hidden=(4,), epochs=1, preset="plain", random_state=0, device="cpu", n_jobs=1).fit(X[:1000], y[:1000])
        expected = classifier.predict(X[-1000:])
        before, most, is_over = resident(), [0], threading.Event()

        def watch():
            while not is_over.is_set():
                most[0] = max(most[0], resident())
                time.sleep(0.001)

        thread = threading.Thread(target=watch)
        thread.start()
        found = classifier.predict(X)
        is_over.set()
        thread.join()
        assert (found[-1000:] == expected).all()
        more = (most[0] - before) / X.nbytes
        assert more < 1.5, more
    """
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("no /proc")
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=600)
    assert done.returncode == 0
