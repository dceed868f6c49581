"""Updates of lists of weights, by a fused optimizer or by one elementwise operator on all of them.

`rows` is the number of weights, `columns` their mean number of elements, and `inputs` the number of lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcbench.predict.aten import pointwise
from hpcbench.predict.aten.call import Call, Tensor, Tensors, Work
from hpcbench.predict.aten.converter import Converter, function_of
from hpcbench.predict.tables import operators as table


def _update(call: Call) -> list[Work]:
    count, elements = _totals(call.arguments["self"])
    inputs = sum(_is_list(value) for value in call.arguments.values())
    sizes = {"rows": count, "columns": elements / max(count, 1), "inputs": inputs, "flops": float(elements)}
    return [{"kind": table.OPTIMIZER, "function": function_of(call.name), **sizes}]


def _totals(weights: Any) -> tuple[int, int]:
    """Return the number of weights in a list, and of their elements. Raise TypeError for another argument."""
    if isinstance(weights, Tensors):
        return weights.count, weights.elements
    return len(weights), sum(each.elements for each in weights)


def _is_list(value: Any) -> bool:
    return isinstance(value, Tensors) or (isinstance(value, list) and bool(value) and isinstance(value[0], Tensor))


_FUSED = ("_fused_adamw_", "_fused_adam_", "_fused_sgd_", "_fused_adagrad_", "_fused_adamw", "_fused_adam")
_OTHERS = ("_amp_foreach_non_finite_check_and_unscale_", "_foreach_copy_", "_foreach_zero_", "_foreach_copy")
CONVERTERS: Mapping[str, Converter] = {
    **{f"_foreach_{name}": _update for name in pointwise.CONVERTERS if not name.startswith("_")},
    **dict.fromkeys((*_FUSED, *_OTHERS), _update),
}
