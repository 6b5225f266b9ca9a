"""Fits in the processes of Dask and Ray, where these are installed: `scripts/test-python --clusters`."""

import pytest

@pytest.fixture
def expected(iris):
    return [_shipped()(*iris, seed) for seed in range(3)]


def test_dask(iris, expected):
    distributed = pytest.importorskip("dask.distributed")
    options = {"n_workers": 2, "threads_per_worker": 2, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        # The processes need not find this file.
        found = client.gather([client.submit(_shipped(), *iris, seed) for seed in range(3)])
    assert all((one == other).all() for one, other in zip(found, expected))


def test_ray(iris, expected, monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        work = ray.remote(_shipped())
        found = ray.get([work.remote(*iris, seed) for seed in range(3)])
    finally:
        ray.shutdown()
    assert all((one == other).all() for one, other in zip(found, expected))


def _shipped():
    """The function by its code, not by its module."""

    def fitted(X, y, seed):
        from tinytrain import TinytrainClassifier

        return TinytrainClassifier(hidden=(16,), epochs=8, random_state=seed).fit(X, y).predict_proba(X)

    return fitted
