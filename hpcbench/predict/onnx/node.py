"""The tensors and attributes of a node of an ONNX graph."""

from __future__ import annotations

from typing import Any

from hpcbench.predict.aten.call import Call, Tensor


def read(call: Call, place: int) -> Tensor:
    """Return an input. Raise IndexError or TypeError if the node does not have it, or if its shape is unknown."""
    return _tensor(call.arguments["inputs"][place])


def optional(call: Call, place: int) -> Tensor | None:
    """Return an input; None if the node does not have it. Raise TypeError if its shape is unknown."""
    inputs = call.arguments["inputs"]
    return None if place >= len(inputs) or inputs[place] is None else _tensor(inputs[place])


def written(call: Call) -> Tensor:
    """Return the first output. Raise IndexError or TypeError if its shape is unknown."""
    return _tensor(call.arguments["outputs"][0])


def attribute(call: Call, name: str, default: Any = None) -> Any:
    """Return an attribute, or `default` if the node does not set it."""
    return call.arguments["attributes"].get(name, default)


def known_inputs(call: Call) -> list[Tensor]:
    """Return the inputs whose shapes are known."""
    return [each for each in call.arguments["inputs"] if isinstance(each, Tensor)]


def _tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError("the shape of a tensor is unknown")
    return value
