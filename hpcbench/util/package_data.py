"""The folders of the shipped templates, experiments and sites, and of the probe for programs of users.

They are in the package of a wheel, or at the top of a checkout.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def shipped(kind: str) -> Path:
    """Return the shipped folder `kind`: "templates", "configs" or "probe"."""
    installed = PACKAGE / kind
    return installed if installed.is_dir() else PACKAGE.parent / kind
