"""Predicts from what `tinytrain export --json` or `--numpy` has written, in f64."""

import json
import math
import statistics

import numpy

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def elu(z):
    return numpy.where(z > 0, z, numpy.expm1(numpy.minimum(z, 0)))


def sigmoid(z):
    return 1 / (1 + numpy.exp(-z))


ACTIVATIONS = {
    "relu": lambda z: numpy.maximum(z, 0),
    "leaky-relu": lambda z: numpy.where(z > 0, z, 0.01 * z),
    "elu": elu,
    "selu": lambda z: SELU_SCALE * numpy.where(z > 0, z, SELU_ALPHA * elu(z)),
    "gelu-exact": lambda z: 0.5 * z * (1 + numpy.vectorize(math.erf)(z / 2**0.5)),
    "gelu-tanh": lambda z: 0.5 * z * (1 + numpy.tanh((2 / numpy.pi) ** 0.5 * (z + 0.044715 * z**3))),
    "silu": lambda z: z * sigmoid(z),
    "mish": lambda z: z * numpy.tanh(numpy.logaddexp(0, z)),
    "tanh": numpy.tanh,
    "sigmoid": sigmoid,
    "identity": lambda z: z,
}


def normal_score(quantiles, value):
    """The quantile of the normal distribution at the value's rank: the middle of those that equal it."""
    equal = numpy.flatnonzero(quantiles == value)
    if len(equal):
        place = (equal[0] + equal[-1]) / 2
    else:
        place = numpy.interp(value, quantiles, numpy.arange(len(quantiles)))
    rank = min(max(place / (len(quantiles) - 1), 1e-7), 1 - 1e-7)
    return statistics.NormalDist().inv_cdf(rank)


def coded(column, values):
    """The numbers that a column becomes, a list for each."""
    missing = numpy.isnan(values)
    coding = column["coding"]
    if coding == "byte":
        return [values / 255]
    if coding == "plain":
        return [values]
    if coding in ("affine", "clipped", "normal"):
        known = numpy.where(missing, column["fill"], values)
        if coding == "normal":
            quantiles = numpy.array(column["quantiles"])
            number = numpy.array([normal_score(quantiles, value) for value in known])
        else:
            number = (known - column["center"]) / column["width"] if column["width"] else 0 * known
            if coding == "clipped":
                number = number / numpy.sqrt(1 + (number / 3) ** 2)
        return [number, missing.astype("f8")] if column["missing"] else [number]
    count = len(column["categories"])
    category = numpy.where((values >= 0) & (values < count) & (values == numpy.floor(values)), values, -1)
    if coding == "sign":
        return [numpy.where(category < 0, 0, 2 * category - 1)]
    if column["missing"]:
        category = numpy.where(missing, count, category)
    if coding == "index":
        return [category]
    places = max(count + column["missing"], 1)
    return [(category == place).astype("f8") for place in range(places)]


def made(column, values):
    """The inputs that an input layer makes of a number."""
    if column["kind"] == "number":
        return [values]
    if column["kind"] == "periodic":
        turns = numpy.outer(values, column["frequencies"]) + numpy.array(column["phases"])
        mixed = numpy.cos(2 * numpy.pi * turns) @ numpy.array(column["mixing"]).T + numpy.array(column["bias"])
        return [values, *mixed.T]
    if column["kind"] == "one-hot":
        return [(values == place).astype("f8") for place in range(column["categories"])]
    rows = numpy.array(column["rows"])
    return list((rows[numpy.maximum(values, 0).astype(int)] * (values >= 0)[:, None]).T)


def predict(model, columns):
    """Probabilities or values of rows [rows, columns] of a model as JSON holds it."""
    row = [number for column, values in zip(model["columns"], columns.T) for number in coded(column, values)]
    # Inputs are 32-bit floats.
    row = numpy.array(row, "f4").astype("f8")
    total = 0
    for network in model["networks"]:
        x = row
        if "input_layer" in network:
            x = numpy.array([it for column, values in zip(network["input_layer"], row) for it in made(column, values)])
        x = x.T * numpy.array(network.get("input_scale", 1.0))
        for layer in network["layers"]:
            x = ACTIVATIONS[layer["activation"]](x @ numpy.array(layer["weights"]) + numpy.array(layer["bias"]))
        if model["output"]["kind"] == "probabilities":
            powers = numpy.exp(x - x.max(axis=1, keepdims=True))
            x = powers / powers.sum(axis=1, keepdims=True)
        total = total + network["share"] * x
    if "width" in model["output"]:
        total = total * numpy.array(model["output"]["width"]) + numpy.array(model["output"]["center"])
    return total


def from_npz(path):
    """The arrays of an NPZ file as JSON would hold them."""
    arrays = dict(numpy.load(path))
    columns = []
    for index, (name, coding) in enumerate(zip(arrays["columns"], arrays["columns.coding"])):
        column = {"name": name, "coding": coding}
        for part in ("center", "width", "fill", "missing"):
            column[part] = arrays[f"columns.{part}"][index]
        for part in ("quantiles", "categories"):
            if f"column{index + 1}.{part}" in arrays:
                column[part] = arrays[f"column{index + 1}.{part}"]
        columns.append(column)
    networks = []
    while f"network{len(networks) + 1}.share" in arrays:
        networks.append(network_of(arrays, f"network{len(networks) + 1}."))
    if "classes" in arrays:
        output = {"kind": "probabilities", "classes": arrays["classes"]}
    else:
        output = {"kind": "values", "names": arrays["values"]}
        output.update({part: arrays[f"values.{part}"] for part in ("center", "width") if f"values.{part}" in arrays})
    return {"columns": columns, "networks": networks, "output": output}


def network_of(arrays, prefix):
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    network = {"share": own["share"][0], "layers": []}
    for number, activation in enumerate(own["activations"], 1):
        weights, bias = own[f"layer{number}.weights"].astype("f8"), own[f"layer{number}.bias"].astype("f8")
        network["layers"].append({"activation": activation, "weights": weights, "bias": bias})
    if "input_scale" in own:
        network["input_scale"] = own["input_scale"].astype("f8")
    if "input_layer" in own:
        network["input_layer"] = []
        for number, text in enumerate(own["input_layer"], 1):
            kind, *sizes = text.split()
            column = {"kind": str(kind)}
            if kind == "one-hot":
                column["categories"] = int(sizes[0])
            if kind == "embedding":
                column["rows"] = own[f"input{number}.embedding"].astype("f8")
            if kind == "periodic":
                parts = ("frequencies", "phases", "mixing", "bias")
                column.update({part: own[f"input{number}.{part}"].astype("f8") for part in parts})
            network["input_layer"].append(column)
    return network


def from_json(path):
    return json.loads(path.read_text())
