"""List the operators of a forward pass of an exported program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hpcbench.collect.operator_lists.exported.composite import VIEWS, launched
from hpcbench.collect.operator_lists.exported.graph import Node, Tensor, tensors_in
from hpcbench.core.profiling.operator_list import ListedOperator
from hpcbench.core.profiling.operator_row import FORWARD, OTHER

_VIEW = "view"
_TORCH = "torch.ops."
_ATEN = "aten"
_LOOKUPS = ("embedding",)  # of these tables, a call reads as many rows as it returns
_NOT_OF_ARGUMENTS = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError)


def operators_of(nodes: Iterable[Node]) -> list[ListedOperator]:
    """Return the operators of calls, in the order of the first calls; equal ones have one row with their number.

    Operators outside of aten have their whole name. Their kind is unknown to the predictor.
    """
    found: dict[tuple[str, str], ListedOperator] = {}
    for node in nodes:
        each = _operator(node)
        if each is not None:
            key = (each.operator, each.arguments)
            found[key] = replace(found[key], calls=found[key].calls + 1) if key in found else each
    return list(found.values())


def _operator(node: Node) -> ListedOperator | None:
    """Return the operator that a call launches; None for arithmetic of the host, and for calls without work."""
    if not node.target.startswith(_TORCH):
        return None
    library, _, rest = node.target.removeprefix(_TORCH).partition(".")
    name = rest.partition(".")[0]
    if library != _ATEN:
        return _listed(f"{library}.{rest}", node.arguments, node.outputs, is_view=False)
    try:
        found = launched(name, node)
    except _NOT_OF_ARGUMENTS:  # of another version of PyTorch
        return _listed(f"{_ATEN}.{rest}", node.arguments, node.outputs, is_view=False)
    if found is None:
        return None
    name, arguments = found
    return _listed(f"{_ATEN}.{name}.default", arguments, node.outputs, is_view=name in VIEWS)


def _listed(
    operator: str, arguments: Mapping[str, Any], outputs: tuple[Tensor, ...], *, is_view: bool
) -> ListedOperator:
    inputs = [each for value in arguments.values() for each in tensors_in(value)]
    written = sum(each.bytes for each in outputs)
    is_lookup = operator.split(".")[1] in _LOOKUPS
    read = written if is_lookup else sum(each.bytes for each in inputs)
    return ListedOperator(
        kind=_VIEW if is_view else OTHER,
        operator=operator,
        phase=FORWARD,
        arguments=json.dumps(_described(dict(arguments)), separators=(",", ":"), sort_keys=True),
        calls=1,
        bytes_moved=0 if is_view else read + written,
        weight_bytes=sum(each.bytes for each in inputs if each.is_weight),
        output_bytes=written,
        is_view=is_view,
        dtype=outputs[0].dtype if outputs else None,
    )


def _described(value: Any) -> Any:
    """Return arguments for JSON: tensors by shape, strides and dtype, other arguments by value."""
    if isinstance(value, Tensor):
        found = {"shape": list(value.shape), "strides": list(value.strides), "dtype": value.dtype}
        return {**found, "weight": True} if value.is_weight else found
    if isinstance(value, dict):
        return {name: _described(each) for name, each in value.items()}
    return [_described(each) for each in value] if isinstance(value, list) else value
