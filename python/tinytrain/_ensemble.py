"""Ensembles: networks that are trained together and predict together."""

import warnings
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.utils._param_validation import Interval

from . import _cluster, _settings, _threads
from ._estimators import TinytrainClassifier, TinytrainRegressor, _Bar, _Tinytrain
from ._tinytrain import ensemble

# Parameters only of ensembles.
_OWN = {"n_estimators": 8, "n_picks": None, "param_distributions": None}
# Parameters only of single networks.
_NOT_HERE = ("warm_start", "callbacks")
# Parameters shared by all members, since they determine the rows, the meaning of scores, or the device.
_FIXED = {
    *("class_weight", "categorical", "missing", "device", "random_state", "n_jobs", "verbose"),
    *("early_stopping", "validation_fraction", "loss", "scale_target"),
}

_PARAMETERS = """\
n_estimators : int, default=8
    Networks that are trained. They differ in their initial weights, and in what `param_distributions` says.
n_picks : int, default=None
    How often networks are picked by the rows that validate, each time the one that helps most, and as often as it does; None takes each
    network once. Without rows that validate it must be None.
param_distributions : dict or list of dict, default=None
    Values of parameters, lists or distributions of `scipy.stats`, from which each network draws its own. Parameters that decide how
    columns become inputs are the same for all.
"""


def _pack(ensemble, X, y, sample_weight, eval_set, groups, times, settings, chunk):
    """Train some of the networks, in a worker of a cluster."""
    rows, validation = ensemble._given(X, y, sample_weight, eval_set, groups, times)
    return ensemble._trained(rows, validation, sample_weight, settings[chunk.start : chunk.stop])[0]


class _Ensemble:
    """What both ensembles do."""

    _member = None
    _parameter_constraints = {
        **_Tinytrain._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_picks": [Interval(Integral, 1, None, closed="left"), None],
        "param_distributions": [dict, list, None],
    }

    @property
    def partial_fit(self):
        raise AttributeError("the networks of an ensemble are trained from the start")

    def _candidates(self, seed):
        """What each network has of its own."""
        if not self.param_distributions:
            return [{}] * self.n_estimators
        from sklearn.model_selection import ParameterSampler

        # A grid that is too small is repeated, with other initial weights.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            drawn = list(ParameterSampler(self.param_distributions, self.n_estimators, random_state=seed % 2**32))
        for candidate in drawn:
            fixed = _FIXED.union(_NOT_HERE, _OWN).intersection(candidate)
            if fixed:
                raise ValueError(f"{min(fixed)} is the same for all networks of an ensemble")
        return [drawn[number % len(drawn)] for number in range(self.n_estimators)]

    def _fit(self, X, y, sample_weight, eval_set, groups, times):
        self._validate_params()
        rows, validation = self._given(X, y, sample_weight, eval_set, groups, times)
        seed = self._seed()
        common = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        made, settings = [], []
        for number, candidate in enumerate(self._candidates(seed)):
            member = self._member(**common).set_params(**candidate)
            own = member._settings(seed, validation is not None)
            own["init_seed"] = (seed if member.init_seed is None else int(member.init_seed)) + number
            # Parameters that train this network separately.
            made.append(member.set_params(init_seed=own["init_seed"], random_state=seed))
            settings.append(own)
        bar = _Bar(None, self.verbose, len(settings))
        try:
            workers = _cluster.workers()
            sent = self._sent((X, y, sample_weight, eval_set, groups, times), settings, workers, bar) if workers > 1 else None
            given = {"picks": self.n_picks, "seed": seed, "trained": sent, "on_ended": bar.advance}
            found, model, validates = self._trained(rows, validation, sample_weight, settings, **given)
        finally:
            bar.close()
        failed = [reason for one, reason, *_ in found if one is None]
        if model is None:
            raise ValueError(failed[0])
        self._say_unused(validates and validation is None, groups, times)
        late = sum(is_late for *_, is_late in found)
        if late:
            warnings.warn(f"max_time ended the training of {late} of {len(found)} networks", ConvergenceWarning, stacklevel=4)
        if failed:
            warnings.warn(f"{len(failed)} of {len(found)} networks failed, the first one: {failed[0]}", FitFailedWarning, stacklevel=4)
        trained = [(member, *one[:4]) for member, one in zip(made, found) if one[0] is not None]
        self.estimators_ = [self._shared_with(member, one) for member, one, *_ in trained]
        for member, (_, _, _, epochs, _) in zip(self.estimators_, trained):
            member.n_iter_ = epochs
        self._counted([picks for *_, picks in trained])
        self._take(model)
        self.n_iter_ = max(epochs for _, _, _, epochs, _ in trained)
        return self

    def _trained(self, rows, validation, sample_weight, settings, **given):
        """Train a network with each of these settings."""
        threads = _threads.threads(self.n_jobs)
        return ensemble(
            rows,
            [_settings.as_json({**own, "threads": threads}) for own in settings],
            device=str(self.device),
            threads=threads,
            repeats=self._repeats(sample_weight),
            validation=validation,
            names=self._target_names,
            **given,
        )

    def _sent(self, rows, settings, workers, bar):
        """The networks, which the workers of a cluster train in packs."""
        chunks = _cluster.chunks(len(settings), len(settings), workers)
        found = [None] * len(settings)
        for index, pack in _cluster.trained(_pack, (clone(self), *rows, settings), chunks, workers):
            found[chunks[index].start : chunks[index].stop] = pack
            bar.advance(len(pack))
        return found

    def _counted(self, picks):
        self.estimator_weights_ = np.asarray(picks, dtype=np.float64) / sum(picks)

    def _loaded(self, model):
        super()._loaded(model)
        members = model.members()
        self.estimators_ = [self._shared_with(self._member(), member) for member, _ in members]
        self._counted([picks for _, picks in members])


class TinytrainEnsembleClassifier(_Ensemble, TinytrainClassifier):
    _member = TinytrainClassifier
    __init__ = _settings.init(of_classes=True, own=_OWN, without=_NOT_HERE)


class TinytrainEnsembleRegressor(_Ensemble, TinytrainRegressor):
    _member = TinytrainRegressor
    __init__ = _settings.init(of_classes=False, own=_OWN, without=_NOT_HERE)


_DOC = """{title} of networks that are trained together and predict together.

The networks are trained as a sweep of the program ``tinytrain``, on the same rows, with initial weights of their own, and
{averaged} are averaged. Each is the same, bit for bit, as `estimators_[i]` fitted alone. A file of `save` is a model like any
other.

Parameters
----------
{own}{parameters}
Attributes
----------
estimators_ : list of {member}
    The networks. One that could not be trained is left out, with a warning.
estimator_weights_ : ndarray of shape (len(estimators_),)
    The share of each network.
{attributes}n_features_in_ : int
    Columns of a row.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where the training rows have names that are all text.
n_iter_ : int
    Most epochs of a network.
feature_importances_ : ndarray of shape (n_features_in_,)
    Mean decrease of {score} on the rows that validate when a column is shuffled, computed on first use.

Examples
--------
{example}"""

TinytrainEnsembleClassifier.__doc__ = _DOC.format(
    title="Classifier",
    averaged="their probabilities",
    score="accuracy",
    own=_PARAMETERS,
    parameters=_settings.explained(of_classes=True, without=_NOT_HERE),
    member="TinytrainClassifier",
    attributes="classes_ : ndarray of shape (n_classes,)\n    The classes, sorted.\n",
    example="""\
>>> from sklearn.datasets import load_iris
>>> from tinytrain import TinytrainEnsembleClassifier
>>> X, y = load_iris(return_X_y=True)
>>> ensemble = TinytrainEnsembleClassifier(n_estimators=4, hidden=(64,), random_state=1).fit(X, y)
>>> ensemble.estimator_weights_
array([0.25, 0.25, 0.25, 0.25])
>>> ensemble.score(X, y) > 0.95
True
""",
)

TinytrainEnsembleRegressor.__doc__ = _DOC.format(
    title="Regressor",
    averaged="the values they predict",
    score="R2",
    own=_PARAMETERS,
    parameters=_settings.explained(of_classes=False, without=_NOT_HERE),
    member="TinytrainRegressor",
    attributes="n_outputs_ : int\n    Values of a row.\n",
    example="""\
>>> from sklearn.datasets import load_diabetes
>>> from tinytrain import TinytrainEnsembleRegressor
>>> X, y = load_diabetes(return_X_y=True)
>>> space = {"hidden": [(32,), (64,)], "lr": [0.01, 0.02]}
>>> ensemble = TinytrainEnsembleRegressor(
...     n_estimators=6, n_picks=8, param_distributions=space, validation_fraction=0.2, preset="plain", epochs=30, random_state=1
... ).fit(X, y)
>>> ensemble.score(X, y) > 0.4
True
""",
)
