"""Environment variables in a file of the user: `env: {OMP_NUM_THREADS: 4}`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def _as_text(value: object) -> object:
    """A mapping with its values as a shell would write them: `1` as "1", `true` as "true"."""
    return {key: _text(item) for key, item in value.items()} if isinstance(value, dict) else value


def _check_names(variables: dict[str, str]) -> dict[str, str]:
    """Raises ValueError for what is no name of a variable."""
    for name in variables:
        if not _NAME.match(name):
            raise ValueError(f"'{name}' is not the name of an environment variable")
    return variables


def _text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Variables = Annotated[dict[str, str], BeforeValidator(_as_text), AfterValidator(_check_names)]
