from ._ensemble import TinytrainEnsembleClassifier as TinytrainEnsembleClassifier
from ._ensemble import TinytrainEnsembleRegressor as TinytrainEnsembleRegressor
from ._estimators import TinytrainClassifier as TinytrainClassifier
from ._estimators import TinytrainRegressor as TinytrainRegressor
from ._estimators import load as load
from ._search import TinytrainSearchCV as TinytrainSearchCV
from ._skl2onnx import register_skl2onnx as register_skl2onnx

__version__: str
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
