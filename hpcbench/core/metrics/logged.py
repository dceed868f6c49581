"""Metrics from the values that a program logged with hpcbench_probe: `log: loss`."""

import math
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .value import KEPT, REDUCTIONS, Spec, better

Values = List[Tuple[int, float]]  # with the number of completed steps at each
LAST = "last"
PHASE = "phase_"  # prefix of the metrics of phases
_LONGEST = 60  # characters of a name


def identifier(name: str) -> str:
    """Return the name of a metric for a name in a program: `train_loss` for `train/loss`."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:_LONGEST]
    return plain if plain[:1].isalpha() else "value_" + plain


def measured(metrics: Mapping[str, Spec], logged: Mapping[str, Values]) -> Dict[str, Dict[str, Any]]:
    """Return those of the metrics that have the option `log`, as a record holds them.

    `logged` are the values by their identifiers. A metric without a finite value has a reason.
    """
    return {name: _measured(spec, logged) for name, spec in metrics.items() if spec.get("log") is not None}


def of_values(values: Values, unit: str, way: Optional[str], reduce: str) -> Dict[str, Any]:
    """Return a metric as a record holds it, with at most KEPT of its values, evenly spaced, and their steps."""
    value = REDUCTIONS[reduce]([each for _, each in values])
    finite = [(step, each) for step, each in values if math.isfinite(each)]
    if len(finite) > KEPT:
        finite = [finite[(len(finite) - 1) * place // (KEPT - 1)] for place in range(KEPT)]
    found = {
        "value": value if math.isfinite(value) else None,
        "unit": unit,
        "better": way,
        "reduce": reduce,
        "count": len(values),
        "values": [each for _, each in finite],
        "steps": [step for step, _ in finite],
    }
    return found if math.isfinite(value) else {**found, "reason": "the %s logged value is %s" % (reduce, value)}


def _measured(spec: Spec, logged: Mapping[str, Values]) -> Dict[str, Any]:
    values = logged.get(identifier(spec["log"]))
    reduce = spec["reduce"] or LAST
    if values:
        return of_values(values, spec["unit"], better(spec), reduce)
    known = ", ".join(sorted(logged))
    reason = "logged value '%s' not found%s" % (spec["log"], known and "; the program logged: %s" % known)
    return {"value": None, "unit": spec["unit"], "better": better(spec), "reduce": reduce, "reason": reason}
