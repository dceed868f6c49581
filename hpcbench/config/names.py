"""Names of experiments, cases, sweeps and user parameters."""

from __future__ import annotations

import re

USER_PARAMETER = "param_"  # prefix of the columns of user-defined parameters
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")


def check_name(value: str) -> str:
    """Return a name that is safe as a folder and in a shell. Raise ValueError if it is not."""
    if not NAME_PATTERN.match(value) or ".." in value:
        raise ValueError(
            "a name has at most 80 letters, digits, '.', '-' and '_', begins with a letter or digit, and has no '..'"
        )
    return value
