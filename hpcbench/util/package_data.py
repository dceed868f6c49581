"""Where the shipped templates, experiments and sites lie: beside the code in a wheel, at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def shipped(kind: str) -> Path:
    """The shipped folder `kind` ("templates" or "configs")."""
    installed = PACKAGE / kind
    return installed if installed.is_dir() else PACKAGE.parent / kind
