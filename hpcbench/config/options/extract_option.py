"""The option `--extract NAME[:higher|:lower]=REGEX`, which defines a metric on the command line."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from hpcbench.config.metrics import Metric
from hpcbench.config.validation.findings import first_message
from hpcbench.errors import UserError

_NAME = re.compile(r"(?P<name>[A-Za-z_]\w*)(?::(?P<better>higher|lower))?\Z", re.ASCII)
_EXAMPLE = r"e.g. --extract 'rate:higher=samples/s=([0-9.]+)'"


def metric_of(option: str) -> tuple[str, dict[str, Any]]:
    """Return name and definition of a metric, as in the `metrics` of an experiment file. The last match counts.

    Raise UserError if the option is not written as NAME[:higher|:lower]=REGEX, or if REGEX is not a regular expression
    with one group or a group `value`.
    """
    name, equals, pattern = option.partition("=")
    where = f"--extract {option}"
    found = _NAME.match(name)
    if not equals or not pattern or found is None:
        raise UserError("write --extract as NAME[:higher|:lower]=REGEX", where=where, hint=_EXAMPLE)
    definition = {"regex": pattern, "reduce": "last", **({"better": found["better"]} if found["better"] else {})}
    try:
        Metric.model_validate(definition)
    except ValidationError as error:
        raise UserError(first_message(error), where=where, hint=_EXAMPLE) from error
    return found["name"], definition
