"""Metrics from the values that a program logged with hpcbench_probe: `log: loss`."""

import math
import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from .value import KEPT, REDUCTIONS, Spec, better, not_found

Values = List[Tuple[int, float]]  # with the number of completed steps at each
LAST = "last"
PHASE = "phase_"  # prefix of the metrics of phases
_ONE_VALUE = {"first": slice(1), LAST: slice(-1, None)}
_LONGEST = 60  # characters of a name


def identifier(name: str) -> str:
    """Return the name of a metric for a name in a program: `train_loss` for `train/loss`."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:_LONGEST]
    return plain if plain[:1].isalpha() and not plain.startswith(PHASE) else ("value_" + plain).rstrip("_")


def identifiers(names: Iterable[str]) -> Dict[str, str]:
    """Return the identifier of each name; equal ones are numbered from the second on: `loss`, `loss_2`."""
    found: Dict[str, str] = {}
    for name in names:
        plain = chosen = identifier(name)
        number = 1
        while chosen in found.values():
            number += 1
            chosen = "%s_%d" % (plain, number)
        found[name] = chosen
    return found


def measured(metrics: Mapping[str, Spec], logged: Mapping[str, Values]) -> Dict[str, Dict[str, Any]]:
    """Return those of the metrics that have the option `log`, as a record holds them.

    `logged` are the values by their identifiers. A metric without a finite value has a reason.
    """
    return {name: _measured(spec, logged) for name, spec in metrics.items() if spec.get("log") is not None}


def of_values(values: Values, unit: str, way: Optional[str], reduce: str) -> Dict[str, Any]:
    """Return a metric as a record holds it, with at most KEPT of its values, evenly spaced, and their steps.

    `way` is the better direction, if it is known. A metric whose values are not finite has no value, and a reason.
    """
    value, reason = _reduced([each for _, each in values], reduce)
    finite = [(step, each) for step, each in values if math.isfinite(each)]
    if len(finite) > KEPT:
        finite = [finite[(len(finite) - 1) * place // (KEPT - 1)] for place in range(KEPT)]
    found = {
        "value": value,
        "unit": unit,
        "better": way,
        "reduce": reduce,
        "count": len(values),
        "values": [each for _, each in finite],
        "steps": [step for step, _ in finite],
    }
    return {**found, "reason": reason} if reason else found


def _reduced(values: List[float], reduce: str) -> Tuple[Optional[float], str]:
    """Return the reduced value, or None with the reason."""
    used = values[_ONE_VALUE.get(reduce, slice(None))]
    if not all(map(math.isfinite, used)):
        return None, "a logged value is not finite"
    try:
        value = REDUCTIONS[reduce](used)
    except OverflowError as error:  # for numbers near the largest float
        return None, "`reduce: %s` is impossible: %s" % (reduce, error)
    return (value, "") if math.isfinite(value) else (None, "`reduce: %s` exceeds the largest number" % reduce)


def _measured(spec: Spec, logged: Mapping[str, Values]) -> Dict[str, Any]:
    values = logged.get(identifier(spec["log"]))
    if values:
        return of_values(values, spec["unit"], better(spec), spec["reduce"] or LAST)
    known = ", ".join(sorted(logged))
    return not_found(
        spec, "logged value '%s' not found%s" % (spec["log"], known and "; the program logged: %s" % known)
    )
