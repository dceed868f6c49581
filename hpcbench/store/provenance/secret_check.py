"""Keep secrets of the user's environment out of a sweep, which other users may read later."""

from __future__ import annotations

import os
from typing import Any

from hpcbench.core.redaction import is_secret, redacted
from hpcbench.errors import UserError


def refuse_secrets(value: Any, where: str) -> None:
    """Raise UserError if a text, or any text inside `value`, contains the value of a secret environment variable."""
    for name in filter(is_secret, os.environ):
        if redacted(value, {name: os.environ[name]}) != value:
            raise UserError(
                f"the file contains the value of your environment variable {name}, which the sweep would store",
                where=where,
                hint=f"write ${{{name}}} in the command instead: jobs have your environment",
            )
