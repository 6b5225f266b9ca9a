"""Small neural networks for tables, as scikit-learn estimators.

`TinytrainClassifier` and `TinytrainRegressor` train multi-layer perceptrons on the processor, or on a GPU through wgpu.
`TinytrainSearchCV` trains the candidates and folds of a search together, `TinytrainEnsembleClassifier` and
`TinytrainEnsembleRegressor` networks that predict together. `load` reads a model file, also one of the program
``tinytrain``, which comes with this package.
"""

from ._estimators import TinytrainClassifier, TinytrainRegressor, load
from ._tinytrain import __version__

__all__ = [
    "TinytrainClassifier",
    "TinytrainRegressor",
    "TinytrainEnsembleClassifier",
    "TinytrainEnsembleRegressor",
    "TinytrainSearchCV",
    "load",
    "register_skl2onnx",
    "__version__",
]


def __getattr__(name):
    # It needs more of scikit-learn than an estimator does.
    if name == "TinytrainSearchCV":
        from ._search import TinytrainSearchCV

        return TinytrainSearchCV
    if name == "register_skl2onnx":
        from ._skl2onnx import register_skl2onnx

        return register_skl2onnx
    if name in ("TinytrainEnsembleClassifier", "TinytrainEnsembleRegressor"):
        from . import _ensemble

        return getattr(_ensemble, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return __all__
