"""JSON by a parser four times as fast as Python's: a sweep is read as tens of thousands of lines."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json


def decoded(text: bytes | str) -> Any:
    """What a line or a file says. Python's parser takes what the fast one refuses: half a surrogate pair, as output
    that is no UTF-8 leaves it in a message. Raises ValueError for what is no JSON, or is nested too deeply."""
    try:
        return from_json(text)
    except ValueError:
        pass
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
