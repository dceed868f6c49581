"""How to install the extras of hpcbench, which is not on PyPI: from its checkout."""

from __future__ import annotations


def install_hint(extra: str) -> str:
    """Return the command that adds an extra to an installation by pip or uv, for a hint."""
    return f"in the checkout of hpcbench: pip install '.[{extra}]', or uv tool install '.[{extra}]'"
