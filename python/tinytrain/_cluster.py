"""Training by the workers of an active joblib backend, such as those of Dask or Ray."""

import warnings

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

# Number of times that packs of lost workers are tried again.
_TRIES = 3
# Networks of a team, which train faster together than separately.
_TEAM = 16


class _Shared:
    """What all packs share, sent once to each worker."""

    def __init__(self, given):
        self.given = given

    def __sizeof__(self):
        # joblib's Dask backend scatters objects of more than 1 kB, and sends others with each task.
        return 1 << 20


class _OfRay:
    """What all packs share, in Ray's object store."""

    def __init__(self, given):
        import ray

        self.reference = ray.put(given)

    @property
    def given(self):
        import ray

        return ray.get(self.reference)


def workers():
    """Return the number of tasks that the active backend of joblib runs at once; 1 without an active backend of processes."""
    # With this preference, the backend has threads unless a context has set another one.
    backend, count = get_active_backend(prefer="threads")
    if getattr(backend, "supports_sharedmem", False):
        return 1
    return backend.effective_n_jobs(-1 if count is None else count)


def chunks(count, networks, workers):
    """Return ranges of `count` numbers, so that all workers have packs of `networks` networks in all."""
    size = max(1, min(_TEAM, -(-networks // (2 * workers))))
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


def trained(pack, given, parts, workers):
    """Yield the index of each part and `pack(*given, part)`, in any order; packs of lost workers are tried again."""
    left = dict(enumerate(parts))
    for tries in range(_TRIES, -1, -1):
        backend, _ = get_active_backend()
        shared = (_OfRay if type(backend).__module__.startswith("ray.") else _Shared)(given)
        form = "generator_unordered" if backend.supports_return_generator else "list"
        calls = [delayed(_called)(pack, shared, index, part) for index, part in left.items()]
        try:
            for index, found, error in Parallel(n_jobs=workers, batch_size=1, pre_dispatch="all", return_as=form)(calls):
                if error is not None:
                    break
                yield index, found
                del left[index]
            else:
                return
        except Exception as lost:
            if not tries:
                raise
            warnings.warn(f"{len(left)} of {len(parts)} packs are tried again: {type(lost).__name__}: {lost}", UserWarning, stacklevel=6)
            continue
        raise error


def _called(pack, shared, index, part):
    """Return a result or an error of the pack: other errors are failures of a worker."""
    try:
        with warnings.catch_warnings():
            # The main process warns of the same rows.
            warnings.simplefilter("ignore")
            return index, pack(*shared.given, part), None
    except Exception as error:
        return index, None, error
