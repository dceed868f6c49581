"""The option `--extract NAME[:higher|:lower]=REGEX`, which defines a metric on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from hpcbench.config.metrics import Metric
from hpcbench.config.validation.findings import first_message
from hpcbench.errors import UserError

METAVAR = "NAME[:higher|:lower]=REGEX"
HELP = (
    "REGEX captures the number in its only group, or in a group named `value`; the last match counts. `higher` or "
    "`lower` is the better direction."
)
_EXAMPLE = "for example: --extract 'rate:higher=rate: ([0-9.]+)'"
_IN_FILE = "define the metric in an experiment file, with `regex` and `unit`"
_FORM = re.compile(r"(?P<name>[^:=]*)(?::(?P<better>[^=]*))?=(?P<regex>.*)\Z", re.DOTALL)


def metrics_of(options: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the definitions of metrics by name. Raise UserError for an invalid one, or a name that is given twice."""
    metrics: dict[str, dict[str, Any]] = {}
    for option in options:
        name, definition = metric_of(option)
        if name in metrics:
            what = f"the metric '{name}' is also defined by another --extract"
            raise UserError(what, where=f"--extract {option}", hint="rename one of them")
        metrics[name] = definition
    return metrics


def metric_of(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a metric, and its definition as in the section `metrics` of an experiment.

    If the output has several numbers, the metric is the last one. Raise UserError if the text is not of the form, or if
    its pattern has neither exactly one group nor a group `value`.
    """
    form = _FORM.match(text)
    where = f"--extract {text}"
    if form is None or not form["regex"]:
        raise UserError(f"write --extract as {METAVAR}", where=where, hint=_EXAMPLE)
    name, better = form["name"], form["better"]
    if not name.isidentifier() or not name.isascii():
        raise UserError(f"the metric {name!r} must be a plain word, e.g. step_rate", where=where, hint=_EXAMPLE)
    if better not in (None, "higher", "lower"):
        raise UserError(f"'{better}' is neither higher nor lower", where=where, hint=_EXAMPLE)
    definition = {"regex": form["regex"], "reduce": "last", **({"better": better} if better else {})}
    try:
        Metric.model_validate(definition)
    except ValidationError as error:
        hint = _IN_FILE if "(?P<unit>" in form["regex"] else _EXAMPLE
        raise UserError(first_message(error), where=where, hint=hint) from error
    return name, definition
