"""A converter for skl2onnx, which makes one ONNX graph of a pipeline."""

import numpy as np

from ._ensemble import TinytrainEnsembleClassifier, TinytrainEnsembleRegressor
from ._estimators import TinytrainClassifier, TinytrainRegressor


def register_skl2onnx():
    """Register the estimators of this package with skl2onnx.

    Afterwards `skl2onnx.to_onnx` takes them, also as steps of a pipeline, from opset 17 on. Columns of categories and dates need
    `to_onnx` of the estimator.

    Examples
    --------
    >>> import tinytrain
    >>> tinytrain.register_skl2onnx()
    """
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    options = {"zipmap": [True, False, "columns"], "output_class_labels": [False, True], "nocl": [True, False]}
    for one in (TinytrainClassifier, TinytrainEnsembleClassifier):
        update_registered_converter(one, one.__name__, calculate_linear_classifier_output_shapes, _classes, options=options)
    for one in (TinytrainRegressor, TinytrainEnsembleRegressor):
        update_registered_converter(one, one.__name__, _shape_of_values, _values)


def _shape_of_values(operator):
    from skl2onnx.common.data_types import FloatTensorType

    operator.outputs[0].set_type(FloatTensorType([operator.inputs[0].get_first_dimension(), operator.raw_operator.n_outputs_]))


def _added(scope, container, kind, inputs, output=None, **attributes):
    """The name of the value of a node that is added."""
    output = output or scope.get_unique_variable_name(kind.lower())
    container.add_node(kind, inputs, [output], op_version=17, name=scope.get_unique_operator_name(kind), **attributes)
    return output


def _constant(scope, container, *tensor):
    name = scope.get_unique_variable_name("constant")
    container.add_initializer(name, *tensor)
    return name


def _graph(scope, operator, container):
    """Adds the graph of the estimator, and gives the names of its values."""
    import onnx

    graph = onnx.load_from_string(operator.raw_operator.to_onnx()).graph
    count = operator.raw_operator.n_features_in_
    if operator.raw_operator._model.categorical or graph.input[0].type.tensor_type.shape.dim[1].dim_value != count:
        raise ValueError("skl2onnx: expected columns of numbers; to_onnx(named=True) of the estimator exports categories and dates")
    if container.target_opset < 17:
        raise ValueError(f"target_opset: expected 17 or more, found {container.target_opset}")
    names = {"columns": _added(scope, container, "Cast", [operator.inputs[0].full_name], to=onnx.TensorProto.FLOAT)}
    names.update((constant.name, _constant(scope, container, None, None, constant)) for constant in graph.initializer)
    for node in graph.node:
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        names[node.output[0]] = _added(scope, container, node.op_type, [names[name] for name in node.input], **attributes)
    return names


def _classes(scope, operator, container):
    from onnx import TensorProto
    from skl2onnx.common.data_types import guess_proto_type
    from skl2onnx.common.utils_classifier import get_label_classes

    names, estimator = _graph(scope, operator, container), operator.raw_operator
    # A model has its classes in another order.
    labels = np.asarray(get_label_classes(scope, estimator))[estimator._inverse]
    if labels.dtype.kind in "biuf":
        labels = (TensorProto.INT64, [len(labels)], labels.astype(np.int64))
    else:
        labels = (TensorProto.STRING, [len(labels)], [str(label).encode() for label in labels])
    _added(scope, container, "Gather", [_constant(scope, container, *labels), names["class"]], operator.outputs[0].full_name)
    order = _constant(scope, container, TensorProto.INT64, [len(estimator._order)], estimator._order)
    probabilities = _added(scope, container, "Gather", [names["probabilities"], order], axis=1)
    _added(scope, container, "Cast", [probabilities], operator.outputs[1].full_name, to=guess_proto_type(operator.outputs[1].type))


def _values(scope, operator, container):
    _added(scope, container, "Identity", [_graph(scope, operator, container)["values"]], operator.outputs[0].full_name)
