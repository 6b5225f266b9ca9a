"""Messages in the words of Python: names of parameters, arguments without effect, and ends of fits."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning

from tinytrain import TinytrainClassifier, TinytrainEnsembleClassifier, TinytrainEnsembleRegressor, TinytrainRegressor, TinytrainSearchCV

SMALL = {"hidden": (4,), "epochs": 2, "random_state": 0, "device": "cpu"}
ENDLESS = SMALL | {"epochs": 10**6, "max_time": 0.2}


@pytest.mark.parametrize(
    "name, here",
    {
        "hidden_layer_sizes": "hidden",
        "max_iter": "epochs",
        "n_iter_no_change": "patience",
        "learning_rate_init": "lr",
        "alpha": "weight_decay",
        "solver": "optimizer",
        "beta_1": "betas",
        "epsilon": "eps",
        "units": "hidden",
        "validation_split": "validation_fraction",
        "dropout_rate": "dropout",
        "batchsize": "batch_size",
        "seed": "random_state",
        "n_epochs": "epochs",
        "clipnorm": "clip_norm",
        "class_weights": "class_weight",
        "cat_features": "categorical",
        "kernel_initializer": "init",
        "Hidden": "hidden",
        "optimiser": "optimizer",
    }.items(),
)
def test_names_of_other_libraries_get_hints(name, here):
    for of in (TinytrainClassifier, TinytrainEnsembleClassifier):
        text = f"{of.__name__}.__init__() got an unexpected keyword argument {name!r}: did you mean {here}?"
        with pytest.raises(TypeError, match=f"^{re.escape(text)}$"):
            of(**{name: 1})
        with pytest.raises(ValueError, match=rf"^Invalid parameter '{name}' for estimator .*: did you mean {here}\?$"):
            of().set_params(**{name: 1})


def test_hints_for_names_that_are_no_parameters():
    for name, text in {
        "learning_rate": "lr is the rate, lr_schedule says how it changes",
        "validation_data": "validation rows are eval_set, or X_val and y_val, of fit",
        "sample_weight": "that is an argument of fit",
        "shuffle": "rows are always shuffled, by random_state",
    }.items():
        with pytest.raises(TypeError, match=f"{name}': {text}$"):
            TinytrainRegressor(**{name: 1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'xyzzy'$"):
        TinytrainRegressor(xyzzy=1)
    # Only parameters of this estimator.
    with pytest.raises(TypeError, match="'class_weights'$"):
        TinytrainRegressor(class_weights=1)


@pytest.mark.parametrize("of", [TinytrainClassifier, TinytrainRegressor, TinytrainEnsembleClassifier, TinytrainEnsembleRegressor])
def test_parameters_have_names(of):
    text = f"{of.__name__} takes parameters by their names alone, such as hidden=(64, 64): found (100,) without a name"
    with pytest.raises(TypeError, match=f"^{re.escape(text)}$"):
        of((100,))


@pytest.mark.parametrize("name", ["groups", "times"])
@pytest.mark.parametrize("of", [TinytrainClassifier, TinytrainEnsembleClassifier])
def test_groups_and_times_without_held_out_rows_get_a_warning(iris, name, of):
    X, y = iris
    text = f"^{name} has no effect, as no rows of X are held out: early_stopping or validation_fraction holds some out$"
    given = {name: np.arange(len(y)) % 50}
    settings = SMALL | ({"n_estimators": 2} if of is TinytrainEnsembleClassifier else {})
    for rows in ({}, {"eval_set": (X, y)}):
        with pytest.warns(UserWarning, match=text):
            of(**settings).fit(X, y, **given, **rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        of(**settings, early_stopping=True).fit(X, y, **given)


def test_max_time_gets_a_warning(iris):
    X, y = iris
    with pytest.warns(ConvergenceWarning, match=r"^max_time ended the fit in epoch \d+ of 1000000$"):
        TinytrainClassifier(**ENDLESS).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="^max_time ended the training of 2 of 2 networks$"):
        TinytrainEnsembleClassifier(n_estimators=2, **ENDLESS).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="^max_time ended 4 of 4 fits$"):
        TinytrainSearchCV(TinytrainClassifier(**ENDLESS), {"lr": [0.01, 0.1]}, cv=2).fit(X, y)
    for ends in ({"epochs": 2, "max_time": 100}, {"epochs": 10**5, "max_time": 100, "early_stopping": True, "patience": 3}):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "max_time")
            TinytrainClassifier(**SMALL | ends).fit(X, y)
            TinytrainEnsembleClassifier(n_estimators=2, **SMALL | ends).fit(X, y)


@pytest.mark.parametrize("seed", [2**63, 2**64, 2**65, -1])
def test_random_states_are_numbers_below_2_to_the_63(iris, seed):
    text = r"^The 'random_state' parameter of TinytrainClassifier must be an int in the range \[0, 9223372036854775807\]"
    with pytest.raises(ValueError, match=text):
        TinytrainClassifier(**SMALL | {"random_state": seed}).fit(*iris)
    if seed > 0:
        with pytest.raises(ValueError, match=rf"^init_seed: expected a number below 2\^63, found {seed}$"):
            TinytrainClassifier(**SMALL, init_seed=seed).fit(*iris)
    TinytrainClassifier(**SMALL | {"random_state": 2**63 - 1}).fit(*iris)


@pytest.mark.parametrize("name, value", [("hidden", "64;32"), ("hidden", ["a"]), ("activation", "relu tanh"), ("dropout", "0.1;0.2"), ("betas", "x")])
def test_several_values_are_a_list(iris, name, value):
    with pytest.raises(ValueError, match=f"^{name}: expected .*; pass several as a list$"):
        TinytrainClassifier(**SMALL | {name: value}).fit(*iris)


@pytest.mark.parametrize("factor", [1e-37, 1e-38, 1e-39, 1e-44, 1e-46, 1e-60, 1e-300])
def test_values_that_floats_do_not_tell_apart_are_refused(iris, factor):
    X, y = iris
    small = X.copy()
    small[:, 1] *= factor
    text = "expected values that 32-bit floats can distinguish \\(multiply them by a factor\\), found values from 2e-.* to 4.4"
    with pytest.raises(ValueError, match=f"^X, column 2: {text}"):
        TinytrainClassifier(**SMALL).fit(small, y)
    frame = pd.DataFrame(small, columns=list("abcd"))
    for other in (frame, frame.assign(text="x"), pl.from_pandas(frame)):
        with pytest.raises(ValueError, match=rf"^X, column 2 \(b\): {text}"):
            TinytrainClassifier(**SMALL).fit(other, y)
    with pytest.raises(ValueError, match="^y, column 1: expected values that 32-bit floats can distinguish"):
        TinytrainRegressor(**SMALL).fit(X, small[:, 1])


def test_small_values_that_floats_tell_apart_are_taken(iris):
    X, y = iris
    expected = TinytrainClassifier(**SMALL).fit(X, y).score(X, y)
    for factor in (1e-35, 1e-20):
        assert abs(TinytrainClassifier(**SMALL).fit(X * factor, y).score(X * factor, y) - expected) < 0.05
    # Values that are all the same have nothing to tell apart.
    same = np.column_stack([X, np.full(len(y), 1e-40), np.zeros(len(y))])
    TinytrainClassifier(**SMALL).fit(same, y)
