"""What `fit` and `predict` take, as tables and targets of the library."""

import importlib
import warnings
from numbers import Real

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_feature_names,
    _get_feature_names,
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from . import _times
from ._tinytrain import Table


def is_frame(X):
    """Whether it is a table of pandas, polars, pyarrow or whatever else gives Arrow."""
    # A series has one dimension.
    is_table = len(getattr(X, "shape", ())) == 2
    return is_table and hasattr(X, "__arrow_c_stream__") and not isinstance(X, np.ndarray)


def names_of(X):
    """The names of a frame's columns, as text."""
    columns = getattr(X, "column_names", None)
    return [str(name) for name in (X.columns if columns is None else columns)]


class _Names:
    """The names of a frame's columns, by the protocol by which older versions of scikit-learn ask for them."""

    def __init__(self, names):
        self._names = names

    def __dataframe__(self):
        return self

    def column_names(self):
        return self._names


def _named(X):
    """What scikit-learn reads the names of columns from: version 1.6 asks frames by ``__dataframe__``, which polars 2 has no more."""
    has_pandas_names = hasattr(X, "iloc")
    if has_pandas_names or _get_feature_names(X) is not None:
        return X
    return _Names(names_of(X))


def check_names(estimator, X):
    """Check that columns have the names of the previous fit, with scikit-learn's errors."""
    _check_feature_names(estimator, _named(X) if is_frame(X) else X, reset=False)


def _are_numbers_of_pandas(X):
    """Whether it is a pandas frame of numbers, which is an array, too."""
    dtypes = getattr(X, "dtypes", None)
    if not hasattr(dtypes, "items") or not hasattr(X, "to_numpy"):
        return False
    return all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in dtypes)


def table(estimator, X, reset, model=None, training=None):
    """Rows as a `Table`, for this model or like the training rows, if there are any; checks or remembers the columns."""
    if is_frame(X):
        X = _of_known_types(X)
    elif type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, which has no rows yet: collect() gives them")
    are_numbers = is_frame(X) and _are_numbers_of_pandas(X)
    if not is_frame(X) or (are_numbers and 0 in X.shape):
        return _of_array(estimator, X, reset)
    _check_feature_names(estimator, _named(X), reset=reset)
    names, count = names_of(X), X.shape[1]
    if reset:
        estimator.n_features_in_ = count
    elif count != estimator.n_features_in_:
        raise ValueError(
            f"X has {count} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features as input."
        )
    least = 2 if reset else 1
    if X.shape[0] < least:
        found = f"Found array with {X.shape[0]} sample(s) (shape={X.shape})"
        raise ValueError(f"{found} while a minimum of {least} is required by {type(estimator).__name__}.")
    categorical = categories(estimator, names)
    exact, like = None, None
    if model is not None:
        exact, like = [names[column] for column in model.exact], dict(model.zones)
    elif training is not None:
        exact, like = training.exact, dict(training.zones)
    if exact is not None:
        # Also for a loaded model: 32-bit floats cannot represent all numeric categories.
        categorical = sorted({*categorical, *(model or training).categorical})
    try:
        X, zones = _times.local(X, names, like)
        rows = _of_frame(X, names, [names[column] for column in categorical], exact, zones)
    except ImportError as error:
        if not are_numbers:
            raise ImportError("pandas hands over text, categories and dates by pyarrow: pip install pyarrow") from error
        return _of_array(estimator, X, reset)
    for note in rows.notes:
        warnings.warn(note, UserWarning, stacklevel=6)
    has_infinite, has_missing = rows.flaws
    if has_infinite:
        raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
    if estimator.missing == "error" and has_missing:
        raise ValueError("Input X contains NaN: missing='fill' puts medians in the place of missing values.")
    return rows


def _of_frame(X, names, categorical, exact, zones):
    """A frame as a `Table`."""
    try:
        return Table.of_arrow(X, names, categorical, exact, zones)
    except OverflowError as error:
        raise ValueError(f"X holds whole numbers beyond 64 bits: {error}") from error
    except Exception as error:
        if type(error).__module__ != "pyarrow.lib" or isinstance(error, MemoryError):
            raise
        # Arrow has no type for columns of both text and numbers.
        with_texts = _with_texts(X)
        if with_texts is X:
            raise TypeError("; ".join(str(text) for text in error.args)) from error
        return _of_frame(with_texts, names, categorical, exact, zones)


def _with_texts(X):
    """A frame of pandas whose columns of texts and numbers are texts, as they would be written in a file."""
    def text(cell):
        if cell is None or cell is missing or cell != cell:
            return None
        is_whole = isinstance(cell, Real) and not isinstance(cell, (bool, np.bool_)) and np.isfinite(cell) and cell == int(cell)
        return str(int(cell)) if is_whole else str(cell)

    from pandas import NA as missing

    mixed = {}
    for place, dtype in enumerate(X.dtypes):
        cells = X.iloc[:, place]
        if hasattr(dtype, "categories"):
            texts = [text(category) for category in dtype.categories]
            # Categories stay different.
            if any(isinstance(category, str) for category in dtype.categories) and len(set(texts)) == len(texts):
                mixed[place] = cells.cat.rename_categories(texts)
            continue
        types = {type(cell) for cell in cells.dropna()} if dtype == object else ()
        if len(types) > 1 and str in types and all(issubclass(found, (str, Real)) for found in types):
            mixed[place] = [text(cell) for cell in cells]
    return _with_columns(X, mixed)


def _with_columns(X, cells):
    """A frame of pandas with other cells in the columns at these places; itself if there are none."""
    if not cells:
        return X
    X = X.copy(deep=False)
    for place, column in cells.items():
        X.isetitem(place, column)
    return X


def _of_known_types(X):
    """A frame without types that Arrow, scikit-learn or the library do not have; itself if it has none."""
    library = type(X).__module__.partition(".")[0]
    if library == "polars":
        unknown = [name for name, dtype in X.schema.items() if str(dtype) in ("Null", "Int128", "UInt128")]
        return X.with_columns([X[name].cast(float) for name in unknown]) if unknown else X
    if type(X).__name__ == "RecordBatch":
        return importlib.import_module(library).Table.from_batches([X])
    return _of_known_types_of_pandas(X) if hasattr(getattr(X, "dtypes", None), "items") else X


def _of_known_types_of_pandas(X):
    """A frame of pandas whose sparse columns are dense, and whose categories that are intervals or times with a zone are text."""
    import pandas

    # Otherwise Arrow would convert the index, too.
    if not isinstance(X.index, pandas.RangeIndex):
        X = X.reset_index(drop=True)
    is_sparse = [isinstance(dtype, pandas.SparseDtype) for dtype in X.dtypes]
    if any(is_sparse):
        # The warning of scikit-learn.
        warnings.warn("pandas.DataFrame with sparse columns found. It will be converted to a dense numpy array.", UserWarning, stacklevel=8)
    columns = {place: X.iloc[:, place].sparse.to_dense() for place in np.flatnonzero(is_sparse)}
    for place, dtype in enumerate(X.dtypes):
        is_unknown = isinstance(dtype, pandas.CategoricalDtype) and isinstance(
            dtype.categories.dtype, (pandas.IntervalDtype, pandas.DatetimeTZDtype)
        )
        if is_unknown:
            columns[place] = X.iloc[:, place].cat.rename_categories(str)
    return _with_columns(X, columns)


# Most bytes of a sparse matrix as a dense one of 32-bit floats.
_DENSE = 2 << 30


def pieces(X):
    """A sparse matrix in pieces of rows that fit into memory as dense ones; other rows as they are."""
    if not issparse(X) or X.ndim != 2 or 4 * X.shape[0] * X.shape[1] <= _DENSE:
        return [X]
    step = max(1, _DENSE // (4 * X.shape[1]))
    X = X.tocsr()
    return (X[first : first + step] for first in range(0, X.shape[0], step))


def _dense(X, dtype):
    """A sparse matrix as an array, of this type if it holds numbers."""
    size = 4 * np.prod(X.shape, dtype=float)
    if size > _DENSE:
        raise ValueError(
            f"X is a sparse matrix that needs {size / 2**30:.1f} GiB as a dense array, more than {_DENSE >> 30} GiB: use fewer columns,"
            " for example by sklearn.decomposition.TruncatedSVD, or fewer rows"
        )
    return (X.astype(dtype or X.dtype) if X.dtype.kind in "biuf" else X).toarray()


def eval_set(given, X, y, sample_weight):
    """The validation rows, from either form of the arguments of `fit`."""
    if X is None and y is None and sample_weight is None:
        return given
    if X is None or y is None:
        raise ValueError("expected both X_val and y_val, found only one")
    if given is not None:
        raise ValueError("expected either eval_set or X_val and y_val, found both")
    return (X, y) if sample_weight is None else (X, y, sample_weight)


def _of_array(estimator, X, reset):
    if issparse(X):
        X = _dense(X, np.float32 if estimator.categorical is None else None)
    finite = True if estimator.missing == "error" else "allow-nan"
    given = X
    X = validate_data(
        estimator, _in_pieces(X), dtype=[np.float32, np.float64], ensure_all_finite=finite, ensure_min_samples=2 if reset else 1, reset=reset
    )
    names = getattr(estimator, "feature_names_in_", None)
    categorical = categories(estimator, list(names) if names is not None else [str(i) for i in range(X.shape[1])])
    # 32-bit floats cannot represent all larger numbers.
    kind = getattr(getattr(given, "dtype", None), "kind", "")
    if categorical and kind in "iuO" and (np.abs(X[:, categorical]) >= 2**24).any():
        raise ValueError("categorical: expected whole numbers below 2^24, found larger ones; a frame can hold them")
    if X.dtype == np.float64 and any(len(np.unique(column)) != len(np.unique(column.astype(np.float32))) for column in X[:, categorical].T):
        raise ValueError("categorical: expected numbers that 32-bit floats can distinguish; a frame can hold others")
    if reset:
        _check_small(X, "X", names, categorical)
    rows = Table(np.require(X, requirements="A") if X.flags.forc else np.ascontiguousarray(X), categorical)
    if X.dtype == np.float64 and rows.flaws[0]:
        raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
    return rows


# Differences below this are lost in 32-bit floats.
_SMALL = 1e-36


def _check_small(X, called, names=None, categorical=()):
    """Refuses columns whose values differ by so little that 32-bit floats lose it."""
    if X.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        # Only a small number of columns is constant in the first rows.
        alike = np.fmax.reduce(X[:64], axis=0) - np.fmin.reduce(X[:64], axis=0) < _SMALL
        for place in np.flatnonzero(alike):
            least, greatest = np.fmin.reduce(X[:, place]), np.fmax.reduce(X[:, place])
            if 0 < greatest - least < _SMALL and place not in categorical:
                name = f" ({names[place]})" if names is not None else ""
                text = "expected values that 32-bit floats can distinguish (multiply them by a factor)"
                raise ValueError(f"{called}, column {place + 1}{name}: {text}, found values from {least:g} to {greatest:g}")


def _in_pieces(X):
    """A large array of numbers that are no floats as `validate_data` would make it, between whose pieces signals are answered."""
    is_number = type(X) is np.ndarray and X.ndim == 2 and X.size > 1 << 21 and X.dtype.kind in "iuf"
    if not is_number or X.dtype in (np.float32, np.float64):
        return X
    rows = np.empty(X.shape, dtype=np.float32)
    step = max(1, (1 << 20) // X.shape[1])
    with np.errstate(over="ignore"):
        for first in range(0, len(X), step):
            rows[first : first + step] = X[first : first + step]
    return rows


def categories(estimator, names):
    """Return the positions of the columns given as categories."""
    if estimator.categorical is None:
        return []
    wanted = np.asarray(estimator.categorical)
    if wanted.dtype == bool:
        if wanted.shape != (len(names),):
            raise ValueError(f"categorical: expected {len(names)} booleans, one for each column, found {wanted.size}")
        return np.flatnonzero(wanted).tolist()
    found = []
    for column in np.atleast_1d(wanted).tolist():
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"categorical: expected names of columns, found {column!r}")
            column = names.index(column)
        if column not in range(len(names)):
            raise ValueError(f"categorical: expected columns below {len(names)}, counted from 0, found {column}")
        found.append(int(column))
    return found


def kept_together(groups, times, count):
    """The number of each row's group, and when each row is of; one of them or neither."""
    if groups is not None and times is not None:
        raise ValueError("expected groups or times, found both")
    if groups is not None:
        check_consistent_length(range(count), groups)
        groups = column_or_1d(groups, warn=True)
        # Objects, such as text with missing cells, are compared as text.
        _, groups = np.unique(groups.astype(str) if groups.dtype == object else groups, return_inverse=True)
        return np.ascontiguousarray(groups.ravel(), dtype=np.uint32), None
    if times is None:
        return None, None
    check_consistent_length(range(count), times)
    return None, _times.seconds(times)


def labels_of_numpy(y):
    """Convert labels of nullable pandas types without missing values to numpy types; return others unchanged."""
    dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if dtype is not None and dtype.kind in "biu" and hasattr(y, "isna") and not y.isna().any():
        return y.to_numpy(dtype)
    return y


def are_multi_label(y):
    """Whether `y` has several labels a row."""
    is_list = isinstance(y, (list, tuple)) and len(y) > 0 and isinstance(y[0], (list, tuple, np.ndarray))
    return (is_list or len(getattr(y, "shape", ())) == 2) and type_of_target(_array(y)) == "multilabel-indicator"


def multi_label(y):
    """The labels of 0 or 1, [rows, labels], as booleans."""
    y = _array(y)
    labels = np.ascontiguousarray(y, dtype=bool)
    if (labels != y).any():
        raise ValueError("y: expected labels of 0 or 1, several a row")
    return labels


def _array(y):
    """Targets as an array."""
    return y.toarray() if issparse(y) else np.asarray(y)


def check_labels(y):
    """Refuses labels that are missing."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity.")
    if y.dtype == object and any(label is None or label != label for label in y):
        raise ValueError("Input y contains missing labels (None or NaN).")


def labels(y):
    """The classes, and the number of each row's class."""
    classes, numbers = np.unique(y, return_inverse=True)
    return classes, np.ascontiguousarray(numbers.ravel(), dtype=np.uint32)


# Label types of model files, by the kinds of numpy.
_LABEL_TYPES = {"b": "boolean", "i": "integer", "u": "integer", "f": "float", "O": "text", "U": "text", "T": "text"}


def label_type(classes):
    """The type of labels, as model files call it."""
    if classes.dtype.kind not in _LABEL_TYPES:
        raise ValueError(f"y: expected labels that are text, booleans or numbers, found {classes.dtype}; astype(str) gives text")
    return _LABEL_TYPES[classes.dtype.kind]


def texts_of(classes):
    """The texts by which a model file knows classes."""
    return [str(int(label)) if isinstance(label, (float, np.floating)) else str(label) for label in classes]


def labels_of(model):
    """The labels of the classes of a model that was loaded, in its order."""
    names, kind = model.classes, model.label_type
    if kind == "text":
        return np.asarray(names)
    if kind == "boolean":
        return np.asarray([name == "True" for name in names])
    if kind == "float":
        return np.asarray([float(name) for name in names])
    for dtype in (np.int64, np.uint64):
        try:
            return np.asarray([int(name) for name in names], dtype=dtype)
        except OverflowError:
            continue
    return np.asarray(names)


def values(estimator, y):
    """Values to predict, [rows, values], and whether there is one a row."""
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y", estimator=estimator)
    if y.dtype.kind in "OSU":
        y = y.astype(np.float64)
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    exact = y.reshape(len(y), -1)
    _check_small(exact, "y")
    y = check_array(y, ensure_2d=False, dtype=np.float32, input_name="y", estimator=estimator)
    values = np.ascontiguousarray(y.reshape(len(y), -1))
    if ((values == values[0]).all(axis=0) & (exact != exact[0]).any(axis=0)).any():
        raise ValueError("y: expected values that 32-bit floats can distinguish: subtract an offset, or multiply by a factor")
    return values, y.ndim == 1
