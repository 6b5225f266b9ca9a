from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

class _Tinytrain(BaseEstimator):
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    n_iter_: int
    loss_curve_: list[float]
    validation_scores_: list[float] | None
    best_iteration_: int
    @cached_property
    def feature_importances_(self) -> NDArray[np.float64]: ...
    def set_params(self, **params: Any) -> Self: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self: ...
    def to_onnx(self, named: bool = False) -> bytes: ...
    def __sklearn_is_fitted__(self) -> bool: ...
    def __sklearn_tags__(self) -> Any: ...

class TinytrainClassifier(ClassifierMixin, _Tinytrain):
    classes_: NDArray[Any]
    def __init__(
        self,
        *,
        preset: str | None = None,
        batch_size: int | None = None,
        hidden: int | Sequence[int] | str | None = None,
        init_seed: int | None = None,
        schedule: str | None = None,
        epochs: int | None = None,
        target_accuracy: float | None = None,
        max_time: float | str | None = None,
        activation: str | Sequence[str] | None = None,
        dropout: float | Sequence[float] | None = None,
        init: str | None = None,
        loss: str | None = None,
        label_smoothing: float | None = None,
        augment: str | None = None,
        no_temperature: bool = False,
        optimizer: str | None = None,
        lr: float | None = None,
        momentum: float | None = None,
        betas: float | Sequence[float] | None = None,
        eps: float | None = None,
        weight_decay: float | None = None,
        clip_norm: float | None = None,
        lr_schedule: str | None = None,
        lr_gamma: float | None = None,
        lr_every: int | None = None,
        warmup: int | None = None,
        lr_factors: Mapping[str, float | Sequence[float]] | str | None = None,
        parametrization: str | None = None,
        scale: str | None = None,
        clip: str | None = None,
        embeddings: str | None = None,
        one_hot: int | None = None,
        input_scaling: bool | None = None,
        validation_fraction: float | None = None,
        patience: int | str | None = None,
        metric: str | None = None,
        keep: str | None = None,
        early_stopping: bool | str = "auto",
        class_weight: Mapping[Any, float] | str | None = None,
        categorical: Sequence[int] | Sequence[str] | None = None,
        missing: str = "fill",
        device: str | int = "auto",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: bool | int = False,
        callbacks: Callable[[dict[str, Any]], object] | Sequence[Callable[[dict[str, Any]], object]] | None = None,
    ) -> None: ...
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        eval_set: tuple[Any, Any] | tuple[Any, Any, ArrayLike] | list[tuple[Any, Any]] | None = None,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self: ...
    def predict(self, X: Any) -> NDArray[Any]: ...
    def predict_proba(self, X: Any) -> NDArray[np.float64]: ...
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]: ...

class TinytrainRegressor(RegressorMixin, _Tinytrain):
    n_outputs_: int
    def __init__(
        self,
        *,
        preset: str | None = None,
        batch_size: int | None = None,
        hidden: int | Sequence[int] | str | None = None,
        init_seed: int | None = None,
        schedule: str | None = None,
        epochs: int | None = None,
        max_time: float | str | None = None,
        activation: str | Sequence[str] | None = None,
        dropout: float | Sequence[float] | None = None,
        init: str | None = None,
        loss: str | None = None,
        quantiles: float | Sequence[float] | None = None,
        augment: str | None = None,
        optimizer: str | None = None,
        lr: float | None = None,
        momentum: float | None = None,
        betas: float | Sequence[float] | None = None,
        eps: float | None = None,
        weight_decay: float | None = None,
        clip_norm: float | None = None,
        lr_schedule: str | None = None,
        lr_gamma: float | None = None,
        lr_every: int | None = None,
        warmup: int | None = None,
        lr_factors: Mapping[str, float | Sequence[float]] | str | None = None,
        parametrization: str | None = None,
        scale_target: str | None = None,
        scale: str | None = None,
        clip: str | None = None,
        embeddings: str | None = None,
        one_hot: int | None = None,
        input_scaling: bool | None = None,
        validation_fraction: float | None = None,
        patience: int | str | None = None,
        metric: str | None = None,
        keep: str | None = None,
        early_stopping: bool | str = "auto",
        categorical: Sequence[int] | Sequence[str] | None = None,
        missing: str = "fill",
        device: str | int = "auto",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: bool | int = False,
        callbacks: Callable[[dict[str, Any]], object] | Sequence[Callable[[dict[str, Any]], object]] | None = None,
    ) -> None: ...
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        eval_set: tuple[Any, Any] | tuple[Any, Any, ArrayLike] | list[tuple[Any, Any]] | None = None,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self: ...
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self: ...
    def predict(self, X: Any) -> NDArray[np.float64]: ...
    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float: ...
    def __sklearn_tags__(self) -> Any: ...

def load(path: str | PathLike[str]) -> TinytrainClassifier | TinytrainRegressor: ...
