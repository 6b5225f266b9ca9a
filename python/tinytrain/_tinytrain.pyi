from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__version__: str
VALIDATION_FRACTION: float

_Targets = tuple[list[str], NDArray[np.uint32], str] | NDArray[np.float32]
# Unseen cells by column.
_Unknown = list[tuple[str, int]]

def settings() -> list[tuple[str, str]]: ...
def main(words: Sequence[str]) -> int: ...

@final
class Table:
    def __new__(cls, x: NDArray[np.float32] | NDArray[np.float64], categorical: Sequence[int] = ...) -> Table: ...
    @classmethod
    def of_arrow(
        cls,
        frame: Any,
        columns: Sequence[str] | None = None,
        categorical: Sequence[str] = ...,
        exact: Sequence[str] | None = None,
        zones: Sequence[tuple[str, str]] = ...,
    ) -> Table: ...
    @property
    def categorical(self) -> list[int]: ...
    @property
    def exact(self) -> list[str]: ...
    @property
    def zones(self) -> list[tuple[str, str | None]]: ...
    def like(self, training: Table) -> Table: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def names(self) -> list[str] | None: ...
    @property
    def flaws(self) -> tuple[bool, bool]: ...

@final
class Model:
    def __new__(cls, bytes: bytes, is_checkpoint: bool) -> Model: ...
    def predict(
        self, rows: Table | NDArray[np.float32], threads: int | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float32], _Unknown]: ...
    def importances(self, threads: int | None = None) -> list[float] | None: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def is_classifier(self) -> bool: ...
    @property
    def is_multi_label(self) -> bool: ...
    @property
    def quantiles(self) -> list[float]: ...
    @property
    def is_ensemble(self) -> bool: ...
    def members(self) -> list[tuple[Model, int]]: ...
    @property
    def outputs_of_row(self) -> int: ...
    @property
    def columns(self) -> list[str] | None: ...
    @property
    def column_count(self) -> int: ...
    @property
    def categorical(self) -> list[int]: ...
    @property
    def exact(self) -> list[int]: ...
    @property
    def zones(self) -> list[tuple[str, str | None]]: ...
    @property
    def label_type(self) -> str: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_checkpoint(self) -> bytes: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Model: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def to_onnx(self, named: bool = False) -> bytes: ...

def fit(
    rows: _Rows,
    settings: str,
    *,
    device: str = "auto",
    repeats: bool = True,
    validation: _Rows | None = None,
    names: Sequence[str] = ...,
    first: Model | None = None,
    keeps_state: bool = False,
    on_epoch: Callable[[dict[str, Any]], object] | None = None,
) -> tuple[Model, dict[str, Any]]: ...
def partial_fit(
    rows: _Rows,
    settings: str,
    *,
    device: str = "auto",
    names: Sequence[str] = ...,
    first: Model | None = None,
) -> tuple[Model, float, _Unknown]: ...
def ensemble(
    rows: _Rows,
    settings: Sequence[str],
    *,
    device: str = "auto",
    threads: int | None = None,
    repeats: bool = True,
    validation: _Rows | None = None,
    names: Sequence[str] = ...,
    picks: int | None = None,
    seed: int = 0,
    trained: Sequence[tuple[Model | None, str | None, int, int, bool]] | None = None,
    on_ended: Callable[[], object] | None = None,
) -> tuple[list[tuple[Model | None, str | None, int, int, bool]], Model | None, bool]: ...
def search(
    rows: _Rows,
    candidates: Sequence[str],
    folds: Sequence[NDArray[np.uint32]],
    weights: Sequence[NDArray[np.float64]],
    *,
    device: str = "auto",
    threads: int | None = None,
    repeats: bool = True,
    names: Sequence[str] = ...,
    on_ended: Callable[[], object] | None = None,
) -> list[tuple[Model | None, str | None, int, float, bool]]: ...

# Rows, what they should give, weights, groups and times.
_Rows = tuple[
    Table, _Targets, NDArray[np.float64] | None, NDArray[np.uint32] | None, NDArray[np.float64] | None
]
