"""Find a case by its id, or by its parameters as printed in reports."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.labels import cell, column_called, label, plain, telling_apart
from hpcbench.collect.table import identifying_columns
from hpcbench.errors import UserError, nearest

MAX_NAMED = 5
# A comma before a key, but not in parentheses: values such as adam(betas=[0.9,0.95],eps=0.1) contain both.
_PART = re.compile(r",(?=\w[\w.]*=)(?![^()]*\))")


def row_of_case(cases: pd.DataFrame, words: str, where: str) -> int:
    """Return the row of the case given by `words`: an id, a prefix of an id, or KEY=VALUE[,KEY=VALUE...].

    A key is a column or a user parameter, a value is as in reports. Raise UserError, located at `where`, unless exactly
    one case matches.
    """
    rows = _with_values(cases, words, where) if "=" in words else _with_id(cases, words, where)
    if len(rows) == 1:
        return int(rows[0])
    raise UserError(f"'{words}' matches {len(rows):,} cases", where=where, hint=any_of(cases.loc[rows]))


def any_of(cases: pd.DataFrame) -> str:
    """Return a hint that lists at most MAX_NAMED of these cases, with the parameters that identify them."""
    shown = telling_apart(cases, identifying_columns(cases))
    several_sweeps = cases["sweep"].nunique() > 1
    named = []
    for _, case in cases.head(MAX_NAMED).iterrows():
        name = f"sweep={case['sweep']},case={case['case']}" if several_sweeps else str(case["case"])
        named.append(f"{name} ({label(case, shown)})" if shown else name)
    more = f"; and {len(cases) - MAX_NAMED:,} more" if len(cases) > MAX_NAMED else ""
    return f"use one of: {'; '.join(named)}{more}"


def _with_id(cases: pd.DataFrame, words: str, where: str) -> pd.Index:
    found = cases.index[cases["case"].eq(words)]
    found = found if len(found) else cases.index[cases["case"].str.startswith(words)]
    if found.empty:
        hint = _near(words, list(dict.fromkeys(cases["case"]))) or any_of(cases)
        raise UserError(f"no case ID begins with '{words}'", where=where, hint=hint)
    return found


def _with_values(cases: pd.DataFrame, words: str, where: str) -> pd.Index:
    found = cases
    for part in _PART.split(words):
        key, _, value = part.partition("=")
        values = _values(found, key)
        if values is None:
            known = [plain(column) for column in map(str, cases)]
            raise UserError(f"unknown column '{key}'", where=where, hint=nearest(key, known))
        written = pd.Series([cell(each) for each in values], index=found.index, dtype=object)
        if not written.eq(value).any():
            among = "no case has" if found is cases else "none of the other matching cases has"
            present = list(dict.fromkeys(written))
            hint = _near(value, present) or f"use one of: {', '.join(present[:MAX_NAMED])}, ..."
            raise UserError(f"{among} {key}={value}", where=where, hint=hint)
        found = found[written == value]
    return found.index


def _values(cases: pd.DataFrame, key: str) -> list[Any] | None:
    """Return the values of a column, or of a key of its mappings: `model_options.width`."""
    name = column_called(key, cases)
    if name in cases:
        return list(cases[name])
    root, *path = key.split(".")
    if not path or root not in cases:
        return None
    found: list[Any] = [_parsed(text) for text in cases[root]]
    for part in path:
        found = [each.get(part) if isinstance(each, dict) else None for each in found]
    return found if any(each is not None for each in found) else None


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


def _near(word: str, known: Sequence[str]) -> str:
    """Return a hint with names similar to `word`, or with all names if they are few, otherwise an empty string."""
    hint = nearest(word, known)
    return hint if len(known) <= MAX_NAMED or hint.startswith("did you mean") else ""
