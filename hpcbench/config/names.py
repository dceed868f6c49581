"""Names of experiments, cases and sweeps, and of a user's own parameters."""

from __future__ import annotations

import re

TAG = "tag_"  # before the names of a user's own parameters, in tables
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")


def check_name(value: str) -> str:
    """Return a name that becomes a folder. Raises ValueError if it could leave its parent or confuse a shell."""
    if not NAME_PATTERN.match(value) or ".." in value:
        raise ValueError(
            "a name has only letters, digits, '.', '-' and '_', begins with a letter or digit, and has no '..'"
        )
    return value
