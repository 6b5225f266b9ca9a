"""Fits in the processes of Dask, Ray and loky: `scripts/test-python --clusters` installs the first two."""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest

from tinytrain import TinytrainClassifier, TinytrainEnsembleClassifier, TinytrainSearchCV, _cluster

BACKENDS = ["dask", "loky", "ray"]
# Marks the processes of this file's clusters.
MARK = "TINYTRAIN_TEST_CLUSTER"


@contextlib.contextmanager
def cluster(backend, monkeypatch):
    """Two workers of one thread each; gives the numbers of their processes, or None where they are not known."""
    if backend == "dask":
        distributed = pytest.importorskip("dask.distributed")
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
        with distributed.LocalCluster(**options) as local, distributed.Client(local) as client, joblib.parallel_config("dask"):
            yield lambda: list(client.run(os.getpid).values())
    elif backend == "loky":
        from joblib.externals.loky import get_reusable_executor

        # Workers of other tests do not have the mark.
        get_reusable_executor().shutdown()
        monkeypatch.setenv(MARK, str(os.getpid()))
        with joblib.parallel_config("loky", n_jobs=2):
            yield lambda: _marked(b"popen_loky")
        get_reusable_executor().shutdown()
    else:
        ray = pytest.importorskip("ray")
        from ray.util.joblib import register_ray

        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        # Other programs would otherwise stop the workers, on a busy machine.
        monkeypatch.setenv("RAY_worker_niceness", "0")
        monkeypatch.setenv(MARK, str(os.getpid()))
        register_ray()
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        try:
            with joblib.parallel_config("ray"):
                yield None
        finally:
            ray.shutdown()


def fits(X, y):
    """Scores and predictions of a search and an ensemble."""
    given = {"epochs": 4, "random_state": 1, "device": "cpu"}
    grid = {"lr": [0.003, 0.01, 0.03], "hidden": [(16,), (32, 16)]}
    search = TinytrainSearchCV(TinytrainClassifier(**given, class_weight="balanced"), grid, cv=2).fit(X, y)
    ensemble = TinytrainEnsembleClassifier(**given, n_estimators=5, n_picks=4, validation_fraction=0.3).fit(X, y)
    scores = [search.cv_results_[name] for name in ("split0_test_score", "split1_test_score")]
    return [*scores, search.predict_proba(X), ensemble.predict_proba(X), ensemble.estimator_weights_]


def packs(monkeypatch, after=lambda index: None):
    """The numbers of finished packs, which `after` gets, too."""
    done, trained = [], _cluster.trained

    def watched(*given):
        for index, pack in trained(*given):
            done.append(index)
            after(len(done))
            yield index, pack

    monkeypatch.setattr(_cluster, "trained", watched)
    return done


@pytest.mark.parametrize("backend", BACKENDS)
def test_packs_are_the_same_as_in_one_process(backend, iris, monkeypatch):
    pandas = pytest.importorskip("pandas")
    X, y = pandas.DataFrame(iris[0], columns=list("abcd")).assign(e=np.arange(150).astype(str)), iris[1]
    expected = fits(X, y)
    done = packs(monkeypatch)
    with cluster(backend, monkeypatch):
        assert _cluster.workers() == 2
        found = fits(X, y)
    # 6 candidates on 2 folds, and 5 networks.
    assert sorted(done) == [0, 0, 1, 1, 2, 2, 3]
    assert all((one == other).all() for one, other in zip(found, expected, strict=True))
    assert _cluster.workers() == 1 and len(fits(X, y)) == 5 and len(done) == 7


@pytest.mark.parametrize("backend", BACKENDS)
def test_packs_of_a_lost_worker_are_tried_again(backend, iris, monkeypatch):
    X, y = iris
    expected = fits(X, y)
    with cluster(backend, monkeypatch) as processes:
        if processes:
            packs(monkeypatch, lambda count: count == 1 and os.kill(processes()[0], signal.SIGKILL))
            found = fits(X, y)
        else:
            killed = threading.Thread(target=_kill_actor, daemon=True)
            killed.start()
            with pytest.warns(UserWarning, match="packs are tried again"):
                found = fits(X, y)
            killed.join()
    assert all((one == other).all() for one, other in zip(found, expected, strict=True))


def _marked(command):
    """The numbers of this file's processes with this text in their command."""
    found, mark = [], f"{MARK}={os.getpid()}\0".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if command in (folder / "cmdline").read_bytes() and mark in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def _kill_actor():
    """Kills a process of Ray in the middle of a pack."""
    while not (actors := _marked(b"PoolActor.run_batch")):
        time.sleep(0.001)
    os.kill(actors[0], signal.SIGKILL)


class Counted(np.ndarray):
    """Rows that write a line into a file where a process receives them."""

    def __reduce__(self):
        return _received, (np.asarray(self), self.path)


def _received(rows, path):
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\n")
    return rows


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_rows_are_sent_once_to_each_worker(backend, iris, monkeypatch, tmp_path):
    X = iris[0].view(Counted)
    X.path = tmp_path / "received"
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    done = packs(monkeypatch)
    with cluster(backend, monkeypatch):
        TinytrainEnsembleClassifier(epochs=2, n_estimators=12, device="cpu").fit(X, iris[1])
    received = X.path.read_text().split()
    assert len(done) == 4
    if backend == "dask":
        assert len(received) == len(set(received)) <= 2
    else:
        # Each pack reads the shared memory of its machine.
        assert len(received) == 4


def test_errors_of_packs_are_those_of_one_process(iris):
    with joblib.parallel_config("loky", n_jobs=2):
        with pytest.raises(ValueError, match="lr: expected a finite number above 0, found -1$"):
            TinytrainSearchCV(TinytrainClassifier(epochs=1), {"lr": [-1.0, 0.1]}, cv=2).fit(*iris)
        with pytest.raises(ValueError, match="n_picks"):
            TinytrainEnsembleClassifier(epochs=1, n_estimators=2, n_picks=2, early_stopping=False).fit(*iris)
    # Threads train in this process.
    with joblib.parallel_config("threading", n_jobs=2):
        assert _cluster.workers() == 1


def test_the_optuna_example_runs(tmp_path):
    if importlib.util.find_spec("optuna") is None:
        pytest.skip("no optuna")
    example = Path(__file__).parents[2] / "examples" / "python" / "optuna_search.py"
    command = [sys.executable, example, f"sqlite:///{tmp_path}/study.db", "1"]
    for trials in (16, 32):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.startswith(f"{trials} trials, best -0."), done.stdout
