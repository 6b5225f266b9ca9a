from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection._search import BaseSearchCV

from ._estimators import TinytrainClassifier, TinytrainRegressor

class TinytrainSearchCV(BaseSearchCV):
    cv_results_: dict[str, Any]
    best_estimator_: TinytrainClassifier | TinytrainRegressor
    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    n_splits_: int
    def __init__(
        self,
        estimator: TinytrainClassifier | TinytrainRegressor,
        param_distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        n_iter: int | None = None,
        scoring: Any = None,
        refit: bool | str | Callable[[dict[str, Any]], int] = True,
        cv: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        error_score: float | str = ...,
        return_train_score: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None: ...
    def fit(
        self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self: ...
    def __sklearn_tags__(self) -> Any: ...
    def predict(self, X: Any) -> NDArray[Any]: ...
    def predict_proba(self, X: Any) -> NDArray[np.float64]: ...
