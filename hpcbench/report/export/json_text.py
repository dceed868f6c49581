"""JSON for programs, with null for values that are missing, NaN or infinite."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd


def json_text(document: dict[str, Any]) -> str:
    """Return a document as JSON, with null for values that are missing, NaN or infinite."""
    return json.dumps(_finite(document), indent=1, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if value is pd.NA or (isinstance(value, float) and not math.isfinite(value)) else value
