"""Secrets of the user's environment must not be written into a sweep, where others read them one day."""

from __future__ import annotations

import os
from typing import Any

from hpcbench.core.redaction import is_secret, redacted
from hpcbench.errors import UserError


def refuse_secrets(value: Any, where: str) -> None:
    """Raises UserError where a text, or anything inside a value, contains what a variable of a secret holds."""
    for name in filter(is_secret, os.environ):
        if redacted(value, {name: os.environ[name]}) != value:
            raise UserError(
                f"the value of your environment variable {name} stands in it, and would be written into the sweep",
                where=where,
                hint=f"write ${{{name}}} in the command instead: jobs have your environment",
            )
