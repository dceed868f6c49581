"""Decode JSON with pydantic's parser, four times as fast as Python's: a sweep has tens of thousands of lines."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json


def decoded(text: bytes | str) -> Any:
    """Return the value of a JSON text.

    Python's parser decodes what the fast one refuses, for example half a surrogate pair, which a message has after
    output that is not UTF-8. Raise ValueError if the text is not JSON or is nested too deeply.
    """
    try:
        return from_json(text)
    except ValueError:
        pass
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
