"""Reverse-mode differentiation of variables, with bounds of the errors of the gradients."""

from typing import Dict, List, Sequence

from .products import sum_of_shares
from .variable import Share, Variable


def gradients(output: Variable, cotangent: Variable, sources: Sequence[Variable]) -> List[Variable]:
    """Return the gradient of each source, by reverse-mode differentiation of `output` with a cotangent of its shape.

    Raise ValueError if the output does not depend on a source.
    """
    order = _in_reverse(output)
    leading = {id(source) for source in sources}  # to a source
    for variable in reversed(order):
        if any(id(parent) in leading for parent, _ in variable.parents):
            leading.add(id(variable))
    shares: Dict[int, List[Share]] = {id(output): [cotangent]}
    collected: Dict[int, Variable] = {}
    for variable in order:
        if id(variable) not in shares:
            continue
        own = collected[id(variable)] = sum_of_shares(shares.pop(id(variable)))
        for parent, pullback in variable.parents:
            if id(parent) not in leading:
                continue
            shares.setdefault(id(parent), []).append(pullback(own))
    missing = [number for number, source in enumerate(sources) if id(source) not in collected]
    if missing:
        raise ValueError("the output does not depend on source %d" % missing[0])
    return [collected[id(source)] for source in sources]


def _in_reverse(output: Variable) -> List[Variable]:
    """Return all variables that the output depends on, each before its parents."""
    order: List[Variable] = []
    seen = {id(output)}
    stack = [(output, iter(output.parents))]
    while stack:
        variable, rest = stack[-1]
        following = next(rest, None)
        if following is None:
            order.append(variable)
            stack.pop()
        elif id(following[0]) not in seen:
            seen.add(id(following[0]))
            stack.append((following[0], iter(following[0].parents)))
    return order[::-1]
