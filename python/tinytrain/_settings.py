"""Parameters of the estimators: settings of the library, and their documentation."""

import inspect
import json
import math
import re

from . import _names
from ._tinytrain import settings

# Settings of the library with another name here, or with none.
_RENAMED = {"threads", "seed", "class_weights", "test_fraction"}
OF_CLASSES = {"label_smoothing", "no_temperature", "target_accuracy"}
OF_VALUES = {"quantiles", "scale_target"}

_TYPES = {
    "preset": "{'table', 'digits', 'plain'}",
    "hidden": "int or sequence of int",
    "activation": "str or sequence of str",
    "dropout": "float or sequence of float",
    "betas": "sequence of float",
    "quantiles": "sequence of float",
    "lr_factors": "dict or str",
    "no_temperature": "bool",
    "input_scaling": "bool",
    "max_time": "float or str",
    "keep": "{'best', 'last'}",
    **dict.fromkeys(["batch_size", "epochs", "init_seed", "lr_every", "warmup", "one_hot", "patience"], "int"),
    **dict.fromkeys(
        ["schedule", "init", "loss", "augment", "metric", "optimizer", "lr_schedule", "parametrization", "scale_target", "scale", "clip", "embeddings"],
        "str",
    ),
}

_OTHERS = """
early_stopping : bool or 'auto', default='auto'
    Whether `fit` holds out `validation_fraction` of the rows (default 0.2) for validation, keeps the model of the best epoch, and stops
    after `patience` epochs without a better one. `auto` does so as ``tinytrain train``: for `preset='table'` with 200 rows or more, or
    if `validation_fraction` is given. False ignores `validation_fraction`. Rows of an `eval_set` always validate instead.
{class_weight}categorical : sequence of int or str, default=None
    Columns that hold categories, whatever numbers stand there: their positions, or their names in a frame. Columns of text, booleans
    and pandas or polars categories always do. Text that is said to be categories is kept byte for byte: ` a` is not `a`, and `NA` is not
    missing.
missing : {{'fill', 'error'}}, default='fill'
    What becomes of NaN and of missing cells: `fill` puts the median of the training rows in their place, with one more input that
    says so; a missing category is one more category.
device : str or int, default='auto'
    What trains: `auto` (a GPU if there is one, but the processor where that is done sooner), `cpu`, `gpu`, or a name or
    number that ``tinytrain devices`` prints. Models always predict on the processor.
random_state : int, RandomState instance or None, default=None
    Seed of the initial weights, of the order of the rows and of the rows that validate.
n_jobs : int, default=None
    Threads of the processor. None is one for each core, or what `OMP_NUM_THREADS` says, as joblib sets it in its processes. The
    number does not change results.
warm_start : bool, default=False
    Whether `fit` begins with the weights of the fit before it, which must have made the same network of the same columns and categories.
    The schedule of the learning rate begins again; if it is constant and no rows validate, the state of the optimizer is kept, too.
verbose : bool or int, default=False
    Whether a bar shows the epochs.
callbacks : callable or list of callables, default=None
    `fit` calls them after each epoch with a dict: `epoch`, `epochs` (at most), `loss`, {accuracy}`seconds`, `rows`, `is_kept`, and
    `validation_loss` and `validation_score` where rows validate. One that returns something true ends the fit. `partial_fit` calls
    none, and shows no bar: whoever calls it has the loop, and finds the loss of the pass at the end of `loss_curve_`.
"""

_CLASS_WEIGHT = """class_weight : dict or 'balanced', default=None
    Factors of the loss of the rows of each class, as in scikit-learn.
"""


_EXPLAINED = {name: text for name, text in settings() if name not in _RENAMED}
NAMES = tuple(_EXPLAINED)
_DEFAULTS = {
    **dict.fromkeys(NAMES),
    "no_temperature": False,
    "early_stopping": "auto",
    "class_weight": None,
    "categorical": None,
    "missing": "fill",
    "device": "auto",
    "random_state": None,
    "n_jobs": None,
    "warm_start": False,
    "verbose": False,
    "callbacks": None,
}


def init(of_classes, own=(), without=()):
    """Return `__init__` with an estimator's own parameters, and the parameters of a network except some."""
    left_out = {*without, *(OF_VALUES if of_classes else {*OF_CLASSES, "class_weight"})}
    defaults = dict(own) | {name: default for name, default in _DEFAULTS.items() if name not in left_out}

    def __init__(self, *unnamed, **given):
        kind = type(self).__name__
        if unnamed:
            raise TypeError(f"{kind} takes parameters by their names alone, such as hidden=(64, 64): found {unnamed[0]!r} without a name")
        unknown = [name for name in given if name not in defaults]
        if unknown:
            raise TypeError(f"{kind}.__init__() got an unexpected keyword argument {unknown[0]!r}{_names.hint(unknown[0], defaults)}")
        for name, default in defaults.items():
            setattr(self, name, given.get(name, default))

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default) for name, default in defaults.items()]
    __init__.__signature__ = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *parameters])
    return __init__


def explained(of_classes, without=()):
    """Return the parameter section of an estimator's documentation, except some parameters."""
    lines = []
    for name, text in _EXPLAINED.items():
        if name in (OF_VALUES if of_classes else OF_CLASSES):
            continue
        lines.append(f"{name} : {_TYPES.get(name, 'float')}, default={_DEFAULTS[name]}")
        lines += [f"    {line}" if line else "" for line in _in_python(text).splitlines()]
    text = "\n".join(lines) + _OTHERS.format(class_weight=_CLASS_WEIGHT if of_classes else "", accuracy="`accuracy`, " if of_classes else "")
    entries = re.split(r"\n(?=\S)", text)
    return "\n".join(entry.rstrip() for entry in entries if entry.split(" : ")[0] not in without) + "\n"


def _in_python(text):
    """An explanation of an option in the words of Python."""
    for option in ("preset", "loss", "keep", "task", "seed", "scale", "input-scaling", "scale-target"):
        text = text.replace(f"--{option}", f"`{option.replace('-', '_')}`")
    # All rows are tables here.
    text = re.sub(r"\[default: table for tables [^]]*\]", "[default: table]", text)
    text = re.sub(r"\[default: 0; in `tinytrain\s+train` 0.2 for tables of", "[default: 0.2 for", text)
    text = text.replace(", by `task`", "").replace("a comma-separated list", "a list, one each")
    text = text.replace("`seed`", "`random_state`").replace("`--verbose`", "``tinytrain train --verbose``")
    return text.removesuffix(".") + "."


def _plain(value):
    """What JSON does not know: numbers and arrays of numpy."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def checked(name, value):
    """Convert a setting from numpy types, if JSON and the library can represent it unambiguously."""
    value = value.tolist() if hasattr(value, "tolist") else value
    kind = _TYPES.get(name, "float")
    is_sequence = isinstance(value, (list, tuple))
    numbers = value.values() if isinstance(value, dict) else value if is_sequence else [value]
    is_finite = all(math.isfinite(one) for one in numbers if isinstance(one, float))
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{name}: expected a number below 2^63, found {value}")
    if not is_finite or (is_sequence and "sequence" not in kind):
        raise ValueError(f"{name}: expected {kind}{'' if is_finite else ', finite'}, found {value!r}")
    return value


def as_json(values):
    """Settings for the library."""
    return json.dumps(values, default=_plain)
