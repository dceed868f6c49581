"""The operators by name, and their sizes."""

from dataclasses import MISSING, fields
from typing import Any, Dict, List, Mapping, Sequence, Type

from . import collective, movement, normalization, pointwise, products, recurrent, reductions
from .operator import Operator, title

_KINDS: Sequence[Type[Operator]] = (
    *(products.Conv2d, products.Gemm, products.Bmm, products.SparseGemm, products.Linear, products.Attention),
    *(recurrent.Lstm, recurrent.LstmCell, recurrent.GruCell, recurrent.RnnCell),
    *(normalization.Softmax, normalization.LayerNorm, normalization.BatchNorm),
    *(reductions.Pooling, reductions.Sum, reductions.CrossEntropy, reductions.Mse),
    *(pointwise.Relu, pointwise.Gelu, pointwise.Tanh, pointwise.Add, pointwise.Dropout),
    *(movement.Embedding, movement.Transpose, movement.Concat, movement.Flatten),
    collective.AllReduce,
)
OPERATORS: Dict[str, Type[Operator]] = {title(kind): kind for kind in _KINDS}
MOST = 10**9  # of a size
_FROM_ZERO = ("pad",)  # prefixes of sizes that may be 0


def sizes_of(operator: str) -> Dict[str, Any]:
    """Return the sizes and attributes of an operator with their defaults."""
    return {field.name: field.default for field in fields(OPERATORS[operator]) if field.default is not MISSING}


def description_of(operator: str) -> str:
    """Return the description of an operator in one or more sentences."""
    return " ".join((OPERATORS[operator].__doc__ or "").split())


def phases_of(operator: str) -> List[str]:
    """Return the phases that an operator has."""
    return OPERATORS[operator]().known_phases()


def operator_of(operator: str, sizes: Mapping[str, Any]) -> Operator:
    """Return an operator with the given sizes; the others have their defaults.

    Raise ValueError if a size is unknown, has the wrong type, or if the sizes do not fit together.
    """
    known = sizes_of(operator)
    for name, value in sizes.items():
        if name not in known:
            values = (operator, name, ", ".join(known))
            raise ValueError("the operator %s has no size '%s'; it has: %s" % values)
        _check(operator, name, value, known[name])
    try:
        return OPERATORS[operator](**sizes)
    except ValueError as error:
        raise ValueError("%s: %s" % (operator, error)) from None


def _check(operator: str, name: str, value: Any, default: Any) -> None:
    choices = getattr(OPERATORS[operator], "choices", {}).get(name)
    least = 0 if name.startswith(_FROM_ZERO) else 1
    if choices is not None:
        expected, is_valid = "one of: %s" % ", ".join(choices), value in choices
    elif isinstance(default, bool):
        expected, is_valid = "true or false", isinstance(value, bool)
    elif isinstance(default, float):
        expected, is_valid = "a number from 0 to below 1", type(value) in (int, float) and 0 <= value < 1
    else:
        expected, is_valid = "an integer from %d to %d" % (least, MOST), type(value) is int and least <= value <= MOST
    if not is_valid:
        raise ValueError("the size '%s' of %s must be %s, not %r" % (name, operator, expected, value))
