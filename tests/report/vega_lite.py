"""Whether a specification is valid Vega-Lite and its data have what it draws: much quicker than drawing it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from altair.vegalite.schema import load_schema
from jsonschema import Draft7Validator
from jsonschema.exceptions import best_match


@cache
def _validator() -> Draft7Validator:
    return Draft7Validator(load_schema())


def parts(spec: Any) -> Iterator[dict[str, Any]]:
    """Every object of a specification, but not its data."""
    if isinstance(spec, dict):
        yield spec
        for key, value in spec.items():
            if key != "datasets":
                yield from parts(value)
    elif isinstance(spec, list):
        for each in spec:
            yield from parts(each)


def encodings(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The channels that show a field."""
    for part in parts(spec):
        for channel, encoding in part.get("encoding", {}).items():
            if isinstance(encoding, dict) and "field" in encoding:
                yield channel, encoding


def check(spec: dict[str, Any]) -> None:
    """Fail unless it is valid, without infinities, and shows only fields that its data have."""
    error = best_match(_validator().iter_errors({**spec, "datasets": {}}))
    assert error is None, error.message
    json.dumps(spec, allow_nan=False)
    known = {field for rows in spec["datasets"].values() for row in rows for field in row}
    assert {encoding["field"] for _, encoding in encodings(spec)} <= known
