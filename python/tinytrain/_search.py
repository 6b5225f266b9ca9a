"""A search over settings whose candidates and folds are trained together."""

import copy
import time
import warnings
from numbers import Integral

import numpy as np
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics._scorer import _MultimetricScorer, _PassthroughScorer
from sklearn.model_selection import ParameterGrid, ParameterSampler, check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _insert_error_scores, _score
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _num_samples, check_consistent_length

from . import _cluster, _input, _settings, _threads
from ._estimators import _Bar, _Tinytrain
from ._tinytrain import search

# Parameters that are not settings of a network, and therefore the same for all candidates.
_FIXED = {"class_weight", "categorical", "missing", "device", "n_jobs", "warm_start", "verbose", "callbacks"}


def _accuracy(estimator, X, y):
    """What `ClassifierMixin.score` gives, without its checks of the same rows for each fit."""
    return float(np.mean(estimator.predict(X) == y))


def _rows(probe, X, y, sample_weight):
    """The rows as a table, their targets as given and for the library, and their weights."""
    table = _input.table(probe, X, reset=True)
    y, targets = probe._targets(y)
    check_consistent_length(range(table.shape[0]), y)
    return table, y, targets, probe._weights(sample_weight, table, y)


def _fold_weights(probe, sample_weight, table, y, train):
    """How much each row counts in a fold, with weights of the classes there; rows that do not train there have none."""
    weights = np.zeros(len(y))
    of_rows = _Tinytrain._weights(probe, sample_weight, table, y)
    fold = copy.copy(probe)
    fold.classes_ = np.unique(y[train])
    weights[train] = fold._of_classes(None if of_rows is None else of_rows[train], y[train])
    return weights


def _search(probe, rows, sample_weight, settings, training, n_jobs, bar=None):
    """Train a network with each of these settings on the training rows of each fold."""
    table, y, targets, weights = rows
    threads = _threads.threads(n_jobs)
    # Balanced class weights are computed in each fold.
    fold_weights = []
    if getattr(probe, "class_weight", None) == "balanced":
        fold_weights = [_fold_weights(probe, sample_weight, table, y, train) for train in training]
    return search(
        (table, targets, weights, None, None),
        [_settings.as_json({**own, "threads": threads}) for own in settings],
        training,
        fold_weights,
        device=str(probe.device),
        threads=threads,
        repeats=probe._repeats(sample_weight),
        names=probe._target_names,
        on_ended=bar.advance if bar else None,
    )


def _pack(estimator, X, y, sample_weight, settings, training, n_jobs, part):
    """Train some of the candidates on one fold, in a worker of a cluster."""
    chunk, fold = part
    probe = clone(estimator)
    rows = _rows(probe, X, y, sample_weight)
    return _search(probe, rows, sample_weight, [settings[index] for index in chunk], [training[fold]], n_jobs)


class TinytrainSearchCV(BaseSearchCV):
    """Search over settings with cross-validation.

    All candidates and all folds are trained together: rows are read once for many networks, and each core, or the GPU, has whole
    networks to train. The results are those of `GridSearchCV` on the same candidates, bit for bit.

    Parameters
    ----------
    estimator : TinytrainClassifier or TinytrainRegressor
        The estimator whose settings are tried.
    param_distributions : dict or list of dict
        Values to try by the names of parameters: lists, or distributions of `scipy.stats` where `n_iter` is given.
    n_iter : int, default=None
        How many candidates are drawn; None tries all combinations.
    scoring : str, callable, list, tuple or dict, default=None
        As in `GridSearchCV`.
    refit : bool, str or callable, default=True
        Whether the best candidate is trained on all rows, as in `GridSearchCV`.
    cv : int, cross-validation generator or iterable, default=None
        The folds; None are five.
    n_jobs : int, default=None
        Threads of the processor; None is one for each core. If a joblib backend of processes is active, such as Dask's or Ray's, its
        workers train, with as many threads each.
    verbose : bool, default=False
        Whether a bar shows the fits.
    error_score : 'raise' or float, default=nan
        The score of a candidate that cannot be trained.
    return_train_score : bool, default=False
        Whether `cv_results_` has scores of the training rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the candidates that are drawn.

    Attributes
    ----------
    cv_results_ : dict
        As of `GridSearchCV`. A fit takes its share of the time of training.
    best_estimator_ : estimator
        The best candidate, trained on all rows.
    best_params_ : dict
        Its settings.
    best_score_ : float
        Its mean score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tinytrain import TinytrainClassifier, TinytrainSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> base = TinytrainClassifier(hidden=(32,), epochs=30, random_state=1)
    >>> found = TinytrainSearchCV(base, {"lr": [0.001, 0.1]}, cv=3).fit(X, y)
    >>> found.best_params_
    {'lr': 0.1}
    """

    _parameter_constraints = {
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [dict, list],
        "n_iter": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": _threads.THREADS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_iter=None,
        scoring=None,
        refit=True,
        cv=None,
        n_jobs=None,
        verbose=False,
        error_score=np.nan,
        return_train_score=False,
        random_state=None,
    ):
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.random_state = random_state

    def _candidates(self):
        if self.n_iter is None:
            return list(ParameterGrid(self.param_distributions))
        return list(ParameterSampler(self.param_distributions, self.n_iter, random_state=self.random_state))

    def fit(self, X, y=None, *, sample_weight=None, groups=None):
        """Train all candidates on all folds.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            What they should give.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts in training.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter.

        Returns
        -------
        self
            The fitted search.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tinytrain import TinytrainClassifier, TinytrainSearchCV
        >>> X, y = load_iris(return_X_y=True)
        >>> base = TinytrainClassifier(hidden=(32,), epochs=30, random_state=1)
        >>> TinytrainSearchCV(base, {"lr": [0.01, 0.1]}, cv=3).fit(X, y).cv_results_["rank_test_score"].shape
        (2,)
        """
        if not isinstance(self.estimator, _Tinytrain) or hasattr(self.estimator, "n_estimators"):
            expected = "expected a TinytrainClassifier or a TinytrainRegressor"
            raise TypeError(f"estimator: {expected} (GridSearchCV takes a Pipeline that ends with one)")
        self._validate_params()
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = [
            # Also supports booleans and negative indices.
            tuple(np.arange(_num_samples(X))[np.asarray(rows, dtype=None if len(rows) else int)] for rows in fold)
            for fold in cv.split(X, y, groups)
        ]
        self.n_splits_ = len(folds)
        candidates = self._candidates()
        if not candidates or not folds:
            raise ValueError("No fits were performed. Was the CV iterator empty? Were there no candidates?")
        fitted = self._train(X, y, sample_weight, candidates, folds)
        out = self._scored(fitted, X, y, folds, scorers)
        if callable(self.scoring):
            # Names of scores are known after the first one.
            _insert_error_scores(out, self.error_score)
        results = self._format_results(candidates, len(folds), out)
        self.multimetric_ = isinstance(out[0]["test_scores"], dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(out[0]["test_scores"])
            refit_metric = self.refit
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, results)
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
            self.best_params_ = results["params"][self.best_index_]
        if self.refit:
            begin = time.perf_counter()
            self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_)
            self.best_estimator_.fit(X, y, sample_weight=sample_weight)
            self.refit_time_ = time.perf_counter() - begin
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        self.scorer_ = scorers._scorers if isinstance(scorers, _MultimetricScorer) else scorers
        self.cv_results_ = results
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _train(self, X, y, sample_weight, candidates, folds):
        """The estimator of each candidate on each fold, or why there is none, with its seconds of training."""
        made, settings = [], []
        for candidate in candidates:
            fixed = _FIXED.intersection(candidate)
            if fixed:
                raise ValueError(f"{min(fixed)} is the same for all candidates: set it on the estimator")
            estimator = clone(self.estimator).set_params(**candidate)
            estimator._validate_params()
            made.append(estimator)
            settings.append(estimator._settings(estimator._seed(), False))
        probe = clone(self.estimator)
        rows = _rows(probe, X, y, sample_weight)
        bar = _Bar(None, self.verbose, len(candidates) * len(folds))
        begin = time.perf_counter()
        training = [np.ascontiguousarray(train, dtype=np.uint32) for train, _ in folds]
        try:
            workers = _cluster.workers()
            if workers > 1:
                found = self._sent((X, y, sample_weight), settings, training, workers, bar)
            else:
                found = _search(probe, rows, sample_weight, settings, training, self.n_jobs, bar)
        finally:
            bar.close()
        late = sum(is_late for *_, is_late in found)
        if late:
            warnings.warn(f"max_time ended {late} of {len(found)} fits", ConvergenceWarning, stacklevel=4)
        # Members of a team share their time.
        seconds = sum(one[3] for one in found) or 1.0
        share = (time.perf_counter() - begin) / seconds
        fitted = []
        for number, (model, reason, epochs, own, _) in enumerate(found):
            if model is None:
                fitted.append((None, reason, own * share))
                continue
            estimator = probe._shared_with(copy.copy(made[number // len(folds)]), model)
            estimator.n_iter_ = epochs
            fitted.append((estimator, None, own * share))
        return fitted

    def _sent(self, rows, settings, training, workers, bar):
        """What `_search` gives, from packs of candidates that the workers of a cluster train on a fold each."""
        chunks = _cluster.chunks(len(settings), len(settings) * len(training), workers)
        parts = [(chunk, fold) for fold in range(len(training)) for chunk in chunks]
        found = [None] * (len(settings) * len(training))
        given = (clone(self.estimator), *rows, settings, training, self.n_jobs)
        for index, pack in _cluster.trained(_pack, given, parts, workers):
            chunk, fold = parts[index]
            for candidate, one in zip(chunk, pack):
                found[candidate * len(training) + fold] = one
            bar.advance(len(chunk))
        return found

    def _scored(self, fitted, X, y, folds, scorers):
        """What `GridSearchCV` has of each fit."""
        out, failed = [], []
        if isinstance(scorers, _PassthroughScorer) and type(self.estimator).score is ClassifierMixin.score and np.ndim(y) == 1:
            y, scorers = np.asarray(y), _accuracy
        test = [(_safe_indexing(X, rows), _safe_indexing(y, rows)) for _, rows in folds]
        train = [(_safe_indexing(X, rows), _safe_indexing(y, rows)) for rows, _ in folds] if self.return_train_score else None
        for number, (estimator, reason, seconds) in enumerate(fitted):
            fold = number % len(folds)
            begin = time.perf_counter()
            if estimator is None:
                if self.error_score == "raise":
                    raise ValueError(f"candidate {number // len(folds)}, fold {fold}: {reason}")
                failed.append(reason)
                names = scorers._scorers if isinstance(scorers, _MultimetricScorer) else None
                score = self.error_score if names is None else dict.fromkeys(names, self.error_score)
                scores = [score, score]
            else:
                scored = [test[fold]] if train is None else [test[fold], train[fold]]
                scores = [_score(estimator, *rows, scorers, None, self.error_score) for rows in scored]
            found = {
                "fit_error": reason,
                "test_scores": scores[0],
                "n_test_samples": len(folds[fold][1]),
                "fit_time": seconds,
                "score_time": time.perf_counter() - begin,
            }
            if train is not None:
                found["train_scores"] = scores[1]
            out.append(found)
        if len(failed) == len(fitted):
            raise ValueError(f"All the {len(fitted)} fits failed: {failed[0]}")
        if failed:
            warnings.warn(f"{len(failed)} of {len(fitted)} fits failed, the first one: {failed[0]}", FitFailedWarning, stacklevel=3)
        return out
