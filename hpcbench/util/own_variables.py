"""Keep the environment variables of this process unchanged by libraries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def variables_restored() -> Iterator[None]:
    """Restore the environment variables after the block.

    scikit-learn, which LightGBM imports, sets variables of OpenMP. Programs that this process starts later would
    inherit them.
    """
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)
