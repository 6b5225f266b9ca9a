"""How many threads train and predict."""

import os
from numbers import Integral

import threadpoolctl
from sklearn.utils._param_validation import Interval

from ._tinytrain import __version__

# Values of `n_jobs`.
THREADS = [Interval(Integral, -(1 << 31), 1 << 31, closed="neither"), None]
# Maximum number of threads set by `threadpoolctl`, or None.
_most = None


def _usual():
    """The default number of threads."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isdigit() and int(text) > 0 else None


def threads(n_jobs):
    """How many threads `n_jobs` means; None is one for each core."""
    if n_jobs is None:
        return _usual() if _most is None else _most
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning")
    if n_jobs not in THREADS[0]:
        raise ValueError(f"n_jobs: expected {THREADS[0]}, found {n_jobs!r}")
    wanted = int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    return wanted if _most is None else min(wanted, _most)


class _Controller(threadpoolctl.LibController):
    """Lets `threadpoolctl` limit the threads of this package, as it limits OpenMP's threads."""

    user_api = "openmp"
    internal_api = "tinytrain"
    filename_prefixes = ("_tinytrain",)

    def get_num_threads(self):
        return _most or _usual() or os.cpu_count() or 1

    def set_num_threads(self, num_threads):
        global _most
        usual = _usual() or os.cpu_count() or 1
        _most = num_threads if num_threads < usual else None

    def get_version(self):
        return __version__


threadpoolctl.register(_Controller)
