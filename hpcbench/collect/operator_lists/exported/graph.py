"""An exported graph: its calls of operators with tensors of known sizes.

The keys are those of torch/_export/serde/schema.py, schema version 8.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hpcbench.collect.operator_lists.exported.sizes import Symbols, TooLargeError, size

_TYPES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz",
    34: "uint32",
}
_BYTES = {"bool": 1, "bfloat16": 2}
_BITS = 8
_MOST_ELEMENTS = 2**53  # tables count in float64
_UNCHANGED = ("as_int", "as_float", "as_bool", "as_string", "as_ints", "as_floats", "as_bools", "as_strings")
HIGHER_ORDER = "torch.ops.higher_order."
_WRAPPERS = ("wrap_with_set_grad_enabled", "wrap_with_autocast", "invoke_subgraph")  # they run their graph once


@dataclass(frozen=True)
class Tensor:
    """A tensor of a graph."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    is_weight: bool = False

    @property
    def elements(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Return the bytes of the elements; elements that share memory, as in `expand`, count once."""
        extent = 1 + sum((each - 1) * stride for each, stride in zip(self.shape, self.strides, strict=True))
        return min(self.elements, extent) * bytes_of(self.dtype)

    @property
    def is_contiguous(self) -> bool:
        """Return whether the elements are in memory in the order of the dimensions, without gaps."""
        expected = 1
        for each, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if each != 1 and stride != expected:
                return False
            expected *= each
        return True


@dataclass(frozen=True)
class Node:
    """A call of an operator: its whole name, such as `torch.ops.aten.relu.default`, arguments by name, and results."""

    target: str
    arguments: Mapping[str, Any]  # with tensors as Tensor
    outputs: tuple[Tensor, ...]


def bytes_of(dtype: str) -> int:
    """Return the bytes of an element."""
    digits = "".join(filter(str.isdigit, dtype.partition("_")[0]))
    return _BYTES.get(dtype) or max(int(digits or 32) // _BITS, 1)


def nodes_of(graph: Mapping[str, Any], symbols: Symbols, weights: frozenset[str] = frozenset()) -> Iterator[Node]:
    """Yield the calls of a graph and of the graphs that its wrappers run, in their order.

    `weights` are the names of tensors that are weights. Raise KeyError for a size with an unknown symbol, and KeyError,
    TypeError, ValueError or AttributeError if it is not a graph.
    """
    tensors = {name: tensor_of(each, symbols, name in weights) for name, each in graph["tensor_values"].items()}
    values = _Values(tensors, graph.get("sym_int_values") or {}, symbols)
    for node in graph["nodes"]:
        target = node["target"]
        inner = [each["arg"]["as_graph"]["graph"] for each in node["inputs"] if "as_graph" in each["arg"]]
        if inner and target.startswith(HIGHER_ORDER) and target.rpartition(".")[2] in _WRAPPERS:
            yield from nodes_of(inner[0], symbols)
            continue
        arguments = {each["name"] or str(place): values.of(each["arg"]) for place, each in enumerate(node["inputs"])}
        outputs = tuple(each for output in node["outputs"] for each in tensors_in(values.of(output)))
        yield Node(target, arguments, outputs)


def tensor_of(data: Mapping[str, Any], symbols: Symbols, is_weight: bool = False) -> Tensor:
    """Return a tensor from its description, with the errors of `nodes_of`."""
    shape, strides = (tuple(size(each, symbols) for each in data[name]) for name in ("sizes", "strides"))
    if min((*shape, *strides), default=0) < 0:
        raise ValueError("a tensor has a size below 0")
    if math.prod(shape) > _MOST_ELEMENTS:
        raise TooLargeError("a tensor has more than 2^53 elements")
    return Tensor(shape, strides, _TYPES.get(data["dtype"], "unknown"), is_weight)


def tensors_in(value: Any) -> list[Tensor]:
    """Return the tensors of an argument or result: a tensor, or a list with tensors."""
    several = value if isinstance(value, list) else [value]
    return [each for each in several if isinstance(each, Tensor)]


@dataclass(frozen=True)
class _Values:
    """What the arguments of a graph refer to."""

    tensors: Mapping[str, Tensor]
    integers: Mapping[str, Any]
    symbols: Symbols

    def of(self, argument: Mapping[str, Any]) -> Any:
        """Return the value of an argument; None for a kind that does not matter to what is computed."""
        ((kind, value),) = argument.items()
        if kind in _UNCHANGED:
            return value
        if kind in ("as_tensor", "as_optional_tensor"):
            return self._tensor(value)
        if kind in ("as_tensors", "as_optional_tensors"):
            return [self._tensor(each) for each in value]
        if kind == "as_sym_int":
            return self._integer(value)
        if kind == "as_sym_ints":
            return [self._integer(each) for each in value]
        return _TYPES.get(value) if kind == "as_scalar_type" else None

    def _tensor(self, reference: Mapping[str, Any]) -> Tensor | None:
        if "as_none" in reference:
            return None
        return self.tensors[reference.get("as_tensor", reference)["name"]]

    def _integer(self, reference: Mapping[str, Any]) -> int:
        return (
            int(reference["as_int"])
            if "as_int" in reference
            else size(self.integers[reference["as_name"]], self.symbols)
        )
