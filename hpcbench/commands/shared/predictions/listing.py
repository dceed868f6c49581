"""The message that operators are being listed, which starts a framework and takes seconds."""

from __future__ import annotations

from hpcbench.util.console import err
from hpcbench.util.text import plural


def print_listing(environment: str, count: int) -> None:
    """Print that the operators of so many networks are listed in an environment."""
    what = f"listing the operators of {plural(count, 'network')} in the environment {environment}"
    err.print(what, markup=False, soft_wrap=True)
