"""Estimators of scikit-learn."""

import contextlib
import warnings
from functools import cached_property
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import d2_pinball_score
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from . import _input, _names, _settings, _threads
from ._tinytrain import VALIDATION_FRACTION, Model, fit, partial_fit


class _Bar:
    """A bar of epochs, and whether a callback ends the fit."""

    def __init__(self, callbacks, verbose, total):
        self.callbacks = [callbacks] if callable(callbacks) else () if callbacks is None else callbacks
        if not isinstance(self.callbacks, (list, tuple)) or not all(map(callable, self.callbacks)):
            raise ValueError(f"callbacks: expected a callable or a list of callables, found {callbacks!r}")
        self.bar = None
        if verbose:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=total, unit="epoch")

    def __call__(self, epoch):
        if self.bar is not None:
            shown = {name: epoch[name] for name in ("loss", "validation_score") if name in epoch}
            self.bar.total = epoch["epochs"]
            self.bar.set_postfix(shown, refresh=False)
            self.bar.update()
        return any([callback(epoch) for callback in self.callbacks])

    def advance(self, count=1):
        if self.bar is not None:
            self.bar.update(count)

    def close(self):
        if self.bar is not None:
            self.bar.close()


def _unknown(cells, rows, known):
    """The warning of unseen cells, which are counted by column."""
    shown = ", ".join(f"{column} ({count})" for column, count in cells[:8])
    more = f" and {len(cells) - 8} more columns" if len(cells) > 8 else ""
    return f"{sum(count for _, count in cells)} cells of {rows} hold what {known} held, in {shown}{more}"


class _Tinytrain(BaseEstimator):
    """What both estimators do."""

    # Constraints of parameters that are not settings of the library, which checks its settings.
    _parameter_constraints = {
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "missing": [StrOptions({"fill", "error"})],
        "device": [str, Integral],
        "random_state": [Interval(Integral, 0, 2**63 - 1, closed="both"), np.random.RandomState, None],
        "n_jobs": _threads.THREADS,
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def _settings(self, seed, validates):
        """Return the settings of a fit; `validates` states whether there are separate validation rows."""
        given = {name: _settings.checked(name, getattr(self, name)) for name in _settings.NAMES if hasattr(self, name)}
        if validates or not self.early_stopping:
            given["validation_fraction"] = 0.0
        elif self.early_stopping != "auto" and given["validation_fraction"] is None:
            given["validation_fraction"] = VALIDATION_FRACTION
        given["threads"] = _threads.threads(self.n_jobs)
        given["seed"] = seed
        return given

    def set_params(self, **params):
        """Set parameters.

        Parameters
        ----------
        **params : dict
            Values by the names of parameters.

        Returns
        -------
        self
            The estimator.

        Examples
        --------
        >>> from tinytrain import TinytrainRegressor
        >>> TinytrainRegressor().set_params(epochs=5)
        TinytrainRegressor(epochs=5)
        """
        try:
            return super().set_params(**params)
        except ValueError as error:
            known = self.get_params()
            unknown = [name for name in params if name.partition("__")[0] not in known]
            if not unknown:
                raise
            raise ValueError(f"{error}{_names.hint(unknown[0], known)}") from None

    def _seed(self):
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(1 << 31))

    def _rows(self, X, y, reset):
        """The rows as a `Table`, and a look at `y`."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        # Errors of X come first, as in scikit-learn.
        table = _input.table(self, X, reset=reset, model=None if reset else self._model)
        check_consistent_length(range(table.shape[0]), y)
        return table

    def _shared_with(self, estimator, model):
        """An estimator with this model, of the same rows as this one."""
        for name in ("n_features_in_", "feature_names_in_", "classes_", "_texts", "_label_type", "_target_names", "n_outputs_", "_is_flat", "_is_multi_label"):
            if hasattr(self, name):
                setattr(estimator, name, getattr(self, name))
        estimator._take(model)
        return estimator

    def _given(self, X, y, sample_weight, eval_set, groups, times):
        """Return the training rows for the library, and the validation rows or None."""
        goes_on = getattr(self, "warm_start", False) and self.__sklearn_is_fitted__()
        before = {name: getattr(self, name) for name in ("n_features_in_", "classes_") if goes_on and hasattr(self, name)}
        if goes_on:
            _input.check_names(self, X)
        table = self._rows(X, y, reset=True)
        if goes_on and dict(self._model.zones).items() ^ dict(table.zones).items():
            raise ValueError("warm_start: times have another time zone than in the fit before")
        count = before.get("n_features_in_", self.n_features_in_)
        if count != self.n_features_in_:
            raise ValueError(f"X has {self.n_features_in_} features, but {type(self).__name__} is expecting {count} features as input.")
        y, targets = self._targets(y)
        weights = self._weights(sample_weight, table, y)
        if "classes_" in before:
            present = self.classes_ if weights is None else np.unique(y[weights > 0])
            if not np.array_equal(before["classes_"], present):
                raise ValueError(
                    "warm_start can only be used where `self.classes_` has the same classes as in the previous call to fit. "
                    f"Previously got {before['classes_']}, `y` has {present}"
                )
        rows = (table, targets, weights, *_input.kept_together(groups, times, table.shape[0]))
        return rows, self._validation(eval_set, table)

    def _fit(self, X, y, sample_weight, eval_set, groups, times):
        self._validate_params()
        rows, validation = self._given(X, y, sample_weight, eval_set, groups, times)
        settings = self._settings(self._seed(), validation is not None)
        bar = _Bar(self.callbacks, self.verbose, None)
        try:
            model, summary = fit(
                rows,
                _settings.as_json(settings),
                device=str(self.device),
                repeats=self._repeats(sample_weight),
                validation=validation,
                names=self._target_names,
                first=getattr(self, "_model", None) if self.warm_start else None,
                keeps_state=bool(self.warm_start),
                on_epoch=bar if self.callbacks or self.verbose else None,
            )
        finally:
            bar.close()
        self._say_unused(validation is None and len(summary["validation_scores"]) > 0, groups, times)
        for rows, cells in summary["unknown"]:
            warnings.warn(_unknown(cells, f"the {rows} rows", "no training row"), UserWarning, stacklevel=4)
        for text in summary["warnings"]:
            warnings.warn(text, UserWarning, stacklevel=4)
        if summary["warning"]:
            warnings.warn(summary["warning"], ConvergenceWarning, stacklevel=4)
        if summary["is_late"]:
            text = f"max_time ended the fit in epoch {len(summary['loss_curve'])} of {summary['total']}"
            warnings.warn(text, ConvergenceWarning, stacklevel=4)
        self._take(model)
        self.loss_curve_ = summary["loss_curve"].tolist()
        self.n_iter_ = len(self.loss_curve_)
        self.best_iteration_ = summary["kept"]
        self.validation_scores_ = summary["validation_scores"].tolist() if len(summary["validation_scores"]) else None
        return self

    @staticmethod
    def _say_unused(are_held_out, groups, times):
        """Warns of arguments without effect where no rows are held out."""
        for name, given in (("groups", groups), ("times", times)):
            if given is not None and not are_held_out:
                text = f"{name} has no effect, as no rows of X are held out: early_stopping or validation_fraction holds some out"
                warnings.warn(text, UserWarning, stacklevel=5)

    def _partial_fit(self, X, y, sample_weight, classes):
        is_first = not self.__sklearn_is_fitted__()
        # As in scikit-learn, parameters are checked only in the first call.
        if is_first:
            self._validate_params()
        if self.early_stopping not in (False, "auto") or self.validation_fraction is not None:
            raise ValueError("partial_fit holds no rows out: early_stopping and validation_fraction are for fit")
        table = self._rows(X, y, reset=is_first)
        y, targets = self._partial_targets(y, classes, is_first)
        weights = self._partial_weights(sample_weight, table, y)
        model, loss, unknown = partial_fit(
            (table, targets, weights, None, None),
            _settings.as_json(self._settings(self._seed(), False)),
            device=str(self.device),
            names=self._target_names,
            first=None if is_first else self._model,
        )
        if unknown:
            warnings.warn(_unknown(unknown, "X", "no row of the first call"), UserWarning, stacklevel=4)
        self._take(model)
        self.loss_curve_ = [*getattr(self, "loss_curve_", []), loss]
        self.n_iter_ = self.best_iteration_ = len(self.loss_curve_)
        self.validation_scores_ = None
        return self

    @contextlib.contextmanager
    def _wholly(self):
        """Leaves the estimator as it was where a fit fails, or is interrupted."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self.__dict__.pop("feature_importances_", None)

    def __dir__(self):
        # Notebooks read all attributes, as scikit-learn does here: importances are computed only if asked for by name.
        names = object.__dir__(self)
        return [name for name in names if name in self.__dict__ or (name != "feature_importances_" and hasattr(self, name))]

    @cached_property
    def feature_importances_(self):
        check_is_fitted(self, "_model")
        found = self._model.importances(_threads.threads(self.n_jobs))
        if found is None:
            raise AttributeError(
                "feature_importances_ needs validation rows of fit (validation_fraction, early_stopping or eval_set), which load and pickle"
                " do not keep: sklearn.inspection.permutation_importance takes other rows"
            )
        return np.asarray(found)

    def _weights(self, sample_weight, table, y):
        if sample_weight is None:
            return None
        X = np.broadcast_to(np.float32(0), table.shape)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weights < 0).any():
            raise ValueError("Negative values in data passed to `sample_weight`")
        if not weights.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return weights

    def _repeats(self, sample_weight):
        """Whether weights ask for rows that come so often: whole numbers of a type for them do."""
        return getattr(self, "class_weight", None) is None and np.asarray(sample_weight).dtype.kind in "iu"

    def _validation(self, eval_set, training):
        """Rows of their own to validate on."""
        if eval_set is None:
            return None
        if isinstance(eval_set, list) and len(eval_set) == 1:
            eval_set = eval_set[0]
        if not isinstance(eval_set, tuple) or len(eval_set) not in (2, 3):
            raise ValueError("eval_set: expected a tuple (X, y) or (X, y, sample_weight)")
        table = _input.table(self, eval_set[0], reset=False, training=training).like(training)
        check_consistent_length(range(table.shape[0]), eval_set[1])
        targets = self._targets_like(eval_set[1])
        weights = self._weights(eval_set[2], table, None) if len(eval_set) == 3 else None
        return table, targets, weights, None, None

    def _outputs(self, X):
        check_is_fitted(self, "_model")
        # One row more or less: an array like the previous ones needs only a quick check.
        if (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype.char in "fd"
            and X.shape[1] == self.n_features_in_
            and X.size < 4096
            and self.categorical is None
            and not hasattr(self, "feature_names_in_")
        ):
            rows = np.ascontiguousarray(X, dtype=np.float32)
            if len(rows) and np.isfinite(rows).all():
                return self._warned(self._model.predict(rows, 1))
        found = []
        for piece in _input.pieces(X):
            rows = _input.table(self, piece, reset=False, model=self._model)
            found.append(self._warned(self._model.predict(rows, _threads.threads(self.n_jobs))))
        return found[0] if len(found) == 1 else [np.concatenate(parts) for parts in zip(*found)]

    @staticmethod
    def _warned(predicted):
        """Return predictions, with a warning if rows have values that no training row has."""
        *found, unknown = predicted
        if unknown:
            warnings.warn(_unknown(unknown, "X", "no training row"), UserWarning, stacklevel=4)
        return found

    def save(self, path):
        """Write the model file, which the program ``tinytrain`` and `load` read.

        Parameters
        ----------
        path : path-like
            Where to; what is there is replaced as a whole.

        Examples
        --------
        >>> import os, tempfile
        >>> from sklearn.datasets import load_iris
        >>> from tinytrain import TinytrainClassifier
        >>> classifier = TinytrainClassifier(epochs=5).fit(*load_iris(return_X_y=True))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     classifier.save(os.path.join(folder, "iris.safetensors"))
        ...     os.listdir(folder)
        ['iris.safetensors']
        """
        check_is_fitted(self, "_model")
        self._model.save(path)

    @classmethod
    def load(cls, path):
        """Read a model file, of this package or of the program ``tinytrain``.

        Parameters
        ----------
        path : path-like
            The file, or the folder of a run.

        Returns
        -------
        estimator
            A fitted one. Its parameters are the defaults: a file has the model alone.

        Examples
        --------
        >>> import os, tempfile
        >>> from sklearn.datasets import load_iris
        >>> from tinytrain import TinytrainClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = TinytrainClassifier(epochs=5).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "iris.safetensors")
        ...     classifier.save(path)
        ...     loaded = TinytrainClassifier.load(path)
        >>> bool((loaded.predict(X) == classifier.predict(X)).all())
        True
        """
        estimator = cls()
        model = Model.load(path)
        if model.is_classifier != isinstance(estimator, ClassifierMixin):
            found = "classes" if model.is_classifier else "values"
            raise ValueError(f"{path}: the model predicts {found}")
        estimator._loaded(model)
        return estimator

    def to_onnx(self, named=False):
        """Give the model as ONNX, with all of its preprocessing.

        The input `columns` takes rows of 32-bit floats; a category is its number in the list that the metadata have. The metadata also
        name the classes, in the order of the probabilities, which is another one than that of `classes_` for names such as a2 and a10.

        Parameters
        ----------
        named : bool, default=False
            Whether each column is a separate input, of shape (n_samples, 1), by its name: 32-bit floats, or text for categories.

        Returns
        -------
        bytes
            The contents of an ONNX file of opset 17.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tinytrain import TinytrainClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = TinytrainClassifier(hidden=(16,), epochs=5, random_state=1).fit(X, y)
        >>> len(classifier.to_onnx()) > 1000
        True
        """
        check_is_fitted(self, "_model")
        return self._model.to_onnx(named)

    def _loaded(self, model):
        self.n_features_in_ = model.column_count
        if model.columns:
            self.feature_names_in_ = np.asarray(model.columns, dtype=object)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "fill"
        tags.input_tags.sparse = True
        return tags


def _name(y):
    name = getattr(y, "name", None)
    return [name] if isinstance(name, str) and name else []


class TinytrainClassifier(ClassifierMixin, _Tinytrain):
    __init__ = _settings.init(of_classes=True)

    def fit(self, X, y, sample_weight=None, eval_set=None, groups=None, times=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Train a network.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Training rows: numbers, or a frame of pandas, polars or pyarrow.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            The class of each row; or several labels of 0 or 1 for each row, of which each is predicted by itself.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; a factor that all have in common changes nothing. Integers are the same as rows that come so
            often, floats multiply the loss.
        eval_set : tuple (X, y) or (X, y, sample_weight), default=None
            Rows to validate on: the model that is best on them is kept.
        groups : array-like of shape (n_samples,), default=None
            Rows of a group are held out together, where rows are held out for validation.
        times : array-like of shape (n_samples,), default=None
            When each row is of, as numbers or dates: the last rows are held out, where rows are held out for validation, and rows of
            one time together.
        X_val : array-like or frame of shape (n_samples, n_features), default=None
            Validation rows with `y_val`, as `eval_set=(X_val, y_val)`. A pipeline with `transform_input=["X_val"]` transforms them.
        y_val : array-like, default=None
            Targets of `X_val`.
        sample_weight_val : array-like of shape (n_samples,), default=None
            Weights of `X_val`.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tinytrain import TinytrainClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = TinytrainClassifier(random_state=1).fit(X[::2], y[::2], eval_set=(X[1::2], y[1::2]))
        >>> len(classifier.validation_scores_) == classifier.n_iter_
        True
        """
        with self._wholly():
            return self._fit(X, y, sample_weight, _input.eval_set(eval_set, X_val, y_val, sample_weight_val), groups, times)

    def _targets(self, y):
        self._is_multi_label = _input.are_multi_label(y)
        if self._is_multi_label:
            self._target_names = _input.names_of(y) if hasattr(y, "columns") else []
            y = _input.multi_label(y)
            self.classes_ = np.arange(y.shape[1])
            if len(self._target_names) != y.shape[1]:
                self._target_names = []
            return y, y
        self._target_names = _name(y)
        y = column_or_1d(_input.labels_of_numpy(y), warn=True)
        _input.check_labels(y)
        check_classification_targets(y)
        self.classes_, numbers = _input.labels(y)
        self._texts, self._label_type = _input.texts_of(self.classes_), _input.label_type(self.classes_)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of two classes or more; the data contains only one class: {self.classes_[0]!r}"
            )
        return y, (self._texts, numbers, self._label_type)

    def _targets_like(self, y, of="eval_set"):
        if self._is_multi_label:
            if not _input.are_multi_label(y) or _input.multi_label(y).shape[1] != len(self.classes_):
                raise ValueError(f"{of}: expected {len(self.classes_)} labels of 0 or 1 a row")
            return _input.multi_label(y)
        return self._known(column_or_1d(_input.labels_of_numpy(y)), "eval_set: y contains classes that no training row has")

    def _known(self, y, wrong):
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"{wrong}: {unknown}")
        return self._texts, np.searchsorted(self.classes_, y).astype(np.uint32), self._label_type

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Train on each row once, on from the fit or the call before.

        The optimizer goes on, too: its moments and the number of steps are kept, also by `pickle`. Scaling, categories and the values
        that stand for missing ones are those of the rows of the first call, or of `fit`, which should be like those to come. The
        learning rate is constant by default, and must not depend on the number of epochs.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            The class of each row.
        classes : array-like of shape (n_classes,), default=None
            All classes that there will be; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            By what the loss of each row is multiplied.

        Returns
        -------
        self
            The estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tinytrain import TinytrainClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = TinytrainClassifier(random_state=1)
        >>> for start in range(3):
        ...     _ = classifier.partial_fit(X[start::3], y[start::3], classes=[0, 1, 2])
        >>> classifier.n_iter_
        3
        """
        with self._wholly():
            return self._partial_fit(X, y, sample_weight, classes)

    def _partial_targets(self, y, classes, is_first):
        if is_first and _input.are_multi_label(y):
            return self._targets(y)
        if not is_first and self._is_multi_label:
            y = self._targets_like(y, "y")
            return y, y
        self._is_multi_label = False
        target_names = _name(y)
        y = column_or_1d(_input.labels_of_numpy(y), warn=True)
        _input.check_labels(y)
        check_classification_targets(y)
        _check_partial_fit_first_call(self, classes)
        if is_first:
            self._target_names = target_names
            self._texts, self._label_type = _input.texts_of(self.classes_), _input.label_type(self.classes_)
            if len(self.classes_) < 2:
                raise ValueError(f"{type(self).__name__} needs two classes or more, found only {self.classes_[0]!r}")
        return y, self._known(y, "y contains classes that are not among those of the first call")

    def _partial_weights(self, sample_weight, table, y):
        if isinstance(self.class_weight, str):
            raise ValueError("class_weight='balanced' is not known to partial_fit: give a dict of the weights")
        return self._of_classes(super()._weights(sample_weight, table, y), y)

    def _weights(self, sample_weight, table, y):
        weights = super()._weights(sample_weight, table, y)
        # Validation rows have no `y` here.
        if y is None:
            return weights
        if self._is_multi_label:
            return self._of_classes(weights, y)
        if weights is not None and len(np.unique(y[weights > 0])) < 2:
            raise ValueError("rows with a weight are of one class only")
        return self._of_classes(weights, y)

    def _of_classes(self, weights, y):
        """Return the weights multiplied by the class weights."""
        if self.class_weight is None:
            return weights
        if self._is_multi_label:
            raise ValueError("class_weight: expected None with several labels of 0 or 1 a row")
        from sklearn.utils.class_weight import compute_class_weight

        of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        if not (np.isfinite(of_class).all() and (of_class >= 0).all()):
            raise ValueError("class_weight: expected finite numbers of 0 or more")
        factors = of_class[np.searchsorted(self.classes_, y)]
        return np.asarray(factors if weights is None else weights * factors, dtype=np.float64)

    def _take(self, model):
        self._model = model
        if self._is_multi_label:
            return
        # A model has its classes in natural order, and only classes of rows with a weight.
        known = {text: number for number, text in enumerate(model.classes)}
        places = [known.get(text) for text in self._texts]
        self.classes_ = self.classes_[[place is not None for place in places]]
        self._arrange([place for place in places if place is not None])

    def _loaded(self, model):
        super()._loaded(model)
        self._is_multi_label = model.is_multi_label
        if self._is_multi_label:
            self.classes_, self._target_names, self._model = np.arange(model.outputs_of_row), [], model
            return
        classes = _input.labels_of(model)
        self._label_type = model.label_type
        self.classes_, order = np.unique(classes, return_index=True)
        self._model = model
        self._arrange(order)
        self._texts = [model.classes[place] for place in self._order]
        self._target_names = []

    def _arrange(self, order):
        """Return the index of each of `classes_` in the model."""
        self._order = np.asarray(order)
        self._inverse = np.argsort(self._order)
        self._sorted = bool((self._order == np.arange(len(self._order))).all())

    def predict(self, X):
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Rows like those of training.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            The most probable class; or labels, 1 above a probability of a half.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tinytrain import TinytrainClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> TinytrainClassifier(random_state=1).fit(X, y == 0).predict(X[[0, 50, 100]])
        array([ True, False, False])
        """
        classes = self._outputs(X)[0]
        if self._is_multi_label:
            return classes.reshape(-1, len(self.classes_)).astype(np.int64)
        return self.classes_[classes if self._sorted else self._inverse[classes]]

    def predict_proba(self, X):
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Rows like those of training.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            In the order of `classes_`; of labels the probability that each is 1.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tinytrain import TinytrainClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> TinytrainClassifier(random_state=1).fit(X, y).predict_proba(X[:2]).round()
        array([[1., 0., 0.],
               [1., 0., 0.]])
        """
        probabilities = self._outputs(X)[1]
        return probabilities if self._is_multi_label or self._sorted else probabilities[:, self._order]

    def predict_log_proba(self, X):
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Rows like those of training.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tinytrain import TinytrainClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> TinytrainClassifier(random_state=1).fit(X, y).predict_log_proba(X).shape
        (150, 3)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class TinytrainRegressor(RegressorMixin, _Tinytrain):
    __init__ = _settings.init(of_classes=False)

    def fit(self, X, y, sample_weight=None, eval_set=None, groups=None, times=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Train a network.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Training rows: numbers, or a frame of pandas, polars or pyarrow.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The values to predict.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; a factor that all have in common changes nothing. Integers are the same as rows that come so
            often, floats multiply the loss.
        eval_set : tuple (X, y) or (X, y, sample_weight), default=None
            Rows to validate on: the model that is best on them is kept.
        groups : array-like of shape (n_samples,), default=None
            Rows of a group are held out together, where rows are held out for validation.
        times : array-like of shape (n_samples,), default=None
            When each row is of, as numbers or dates: the last rows are held out, where rows are held out for validation, and rows of
            one time together.
        X_val : array-like or frame of shape (n_samples, n_features), default=None
            Validation rows with `y_val`, as `eval_set=(X_val, y_val)`. A pipeline with `transform_input=["X_val"]` transforms them.
        y_val : array-like, default=None
            Targets of `X_val`.
        sample_weight_val : array-like of shape (n_samples,), default=None
            Weights of `X_val`.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tinytrain import TinytrainRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> regressor = TinytrainRegressor(early_stopping=True, random_state=1).fit(X, y)
        >>> regressor.best_iteration_ < regressor.n_iter_
        True
        """
        with self._wholly():
            return self._fit(X, y, sample_weight, _input.eval_set(eval_set, X_val, y_val, sample_weight_val), groups, times)

    def _targets(self, y):
        self._target_names = _input.names_of(y) if hasattr(y, "columns") else _name(y)
        y, self._is_flat = _input.values(self, y)
        self.n_outputs_ = y.shape[1]
        if len(self._target_names) != self.n_outputs_:
            self._target_names = []
        return y, y

    def _targets_like(self, y, of="eval_set"):
        y, _ = _input.values(self, y)
        if y.shape[1] != self.n_outputs_:
            raise ValueError(f"{of}: expected {self.n_outputs_} values a row, found {y.shape[1]}")
        return y

    def partial_fit(self, X, y, sample_weight=None):
        """Train on each row once, on from the fit or the call before.

        The optimizer goes on, too: its moments and the number of steps are kept, also by `pickle`. Scaling, of what is predicted, too,
        categories and the values that stand for missing ones are those of the rows of the first call, or of `fit`, which should be like
        those to come. The learning rate is constant by default, and must not depend on the number of epochs.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The values to predict.
        sample_weight : array-like of shape (n_samples,), default=None
            By what the loss of each row is multiplied.

        Returns
        -------
        self
            The estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tinytrain import TinytrainRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> regressor = TinytrainRegressor(random_state=1)
        >>> for start in range(3):
        ...     _ = regressor.partial_fit(X[start::3], y[start::3])
        >>> regressor.n_iter_
        3
        """
        with self._wholly():
            return self._partial_fit(X, y, sample_weight, None)

    def _partial_targets(self, y, classes, is_first):
        if is_first:
            return self._targets(y)
        y = self._targets_like(y, "y")
        return y, y

    def _partial_weights(self, sample_weight, table, y):
        return self._weights(sample_weight, table, y)

    def _take(self, model):
        self._model = model

    def _loaded(self, model):
        super()._loaded(model)
        self._model = model
        self._target_names = []
        self.n_outputs_ = 1 if model.quantiles else model.outputs_of_row
        self._is_flat = self.n_outputs_ == 1

    def predict(self, X):
        """Predict the values of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Rows like those of training.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_outputs) or (n_samples, n_quantiles)
            The values, or the quantiles in ascending order.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tinytrain import TinytrainRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> TinytrainRegressor(epochs=30, random_state=1).fit(X, y).predict(X).shape
        (442,)
        """
        values = self._outputs(X)[2].astype(np.float64)
        return values.ravel() if self._is_flat and values.shape[1] == 1 else values

    def score(self, X, y, sample_weight=None):
        """Compute R2; of quantiles the mean over the levels of D2, the share of the pinball loss of constant quantiles that is saved.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Rows like those of training.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The true values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            The score, at most 1.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from tinytrain import TinytrainRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> TinytrainRegressor(loss="quantile", quantiles=[0.1, 0.9], epochs=30, random_state=1).fit(X, y).score(X, y) > 0.2
        True
        """
        check_is_fitted(self, "_model")
        levels = self._model.quantiles
        if not levels:
            return super().score(X, y, sample_weight)
        y, found = column_or_1d(y), self.predict(X).reshape(-1, len(levels)).T
        scores = [d2_pinball_score(y, own, sample_weight=sample_weight, alpha=level) for own, level in zip(found, levels)]
        return float(np.mean(scores))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


_DOC = """{title}

A multi-layer perceptron with the preprocessing of the program ``tinytrain``: numbers are scaled, categories become inputs or
embeddings, missing values are filled in. Rows are put in an order of their content first: a fit depends on `random_state` and on the
rows, not on how they are sorted.

Parameters
----------
{parameters}
Attributes
----------
{attributes}n_features_in_ : int
    Columns of a row.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where the training rows have names that are all text.
n_iter_ : int
    Epochs that were trained.
loss_curve_ : list of float
    Mean loss over the training rows of each epoch.
validation_scores_ : list of float or None
    {score} over the rows that validate after each epoch, if any do.
best_iteration_ : int
    The epoch whose model was kept, counted from 1.
feature_importances_ : ndarray of shape (n_features_in_,)
    Mean decrease of {score} on the rows that validate when a column is shuffled, computed on first use.

Examples
--------
{example}"""

TinytrainClassifier.__doc__ = _DOC.format(
    title="Classifier.",
    parameters=_settings.explained(of_classes=True),
    attributes="classes_ : ndarray of shape (n_classes,)\n    The classes, sorted; with several labels a row the numbers of the labels.\n",
    score="Accuracy",
    example="""\
>>> from sklearn.datasets import load_iris
>>> from tinytrain import TinytrainClassifier
>>> X, y = load_iris(return_X_y=True)
>>> classifier = TinytrainClassifier(hidden=(64,), random_state=1).fit(X, y)
>>> classifier.predict(X[:2])
array([0, 0])
>>> classifier.score(X, y) > 0.95
True
""",
)

TinytrainRegressor.__doc__ = _DOC.format(
    title="Regressor, of one or of several values a row.",
    parameters=_settings.explained(of_classes=False),
    attributes="n_outputs_ : int\n    Values of a row.\n",
    score="R2",
    example="""\
>>> from sklearn.datasets import load_diabetes
>>> from tinytrain import TinytrainRegressor
>>> X, y = load_diabetes(return_X_y=True)
>>> regressor = TinytrainRegressor(hidden=(64,), epochs=30, random_state=1).fit(X, y)
>>> regressor.score(X, y) > 0.5
True
""",
)


def load(path):
    """Read a model file, of this package or of the program ``tinytrain``.

    Parameters
    ----------
    path : path-like
        The file, or the folder of a run.

    Returns
    -------
    TinytrainClassifier, TinytrainRegressor, or an ensemble of them
        A fitted estimator.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from tinytrain import TinytrainClassifier, load
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = TinytrainClassifier(hidden=(16,), epochs=5, random_state=1).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.safetensors")
    ...     classifier.save(path)
    ...     loaded = load(path)
    >>> bool((loaded.predict_proba(X) == classifier.predict_proba(X)).all())
    True
    """
    model = Model.load(path)
    if model.is_ensemble:
        from ._ensemble import TinytrainEnsembleClassifier, TinytrainEnsembleRegressor

        estimator = TinytrainEnsembleClassifier() if model.is_classifier else TinytrainEnsembleRegressor()
    else:
        estimator = TinytrainClassifier() if model.is_classifier else TinytrainRegressor()
    estimator._loaded(model)
    return estimator
