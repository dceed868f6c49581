"""Keep a sweep under hidden names while another sweep is created in its place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from hpcbench.errors import UserError
from hpcbench.store.removal import discard
from hpcbench.store.workspace import SweepPaths


@contextmanager
def set_aside(paths: SweepPaths) -> Iterator[None]:
    """Move a sweep aside, and delete it after the block has created another one in its place.

    If the block fails, the sweep is back in its place. Raise UserError if it cannot be moved.
    """
    kept = _kept(paths)
    discard(kept)  # it is of a process that was killed before it deleted an earlier sweep
    try:
        # The folder of jobs goes first and comes back last: a sweep exists if and only if it is there.
        paths.jobs.rename(kept.jobs)
        if paths.results.exists():
            paths.results.rename(kept.results)
    except OSError as error:
        restore(paths)
        raise UserError(f"cannot be replaced: {error.strerror}", where=str(error.filename)) from error
    try:
        yield
    except BaseException:
        restore(paths)
        raise
    discard(kept)


def restore(paths: SweepPaths) -> None:
    """Move a sweep that was set aside back into its place, unless another sweep is there."""
    kept = _kept(paths)
    if not kept.jobs.exists() or paths.jobs.exists():
        return
    if kept.results.exists():
        shutil.rmtree(paths.results, ignore_errors=True)  # of a sweep that was not completely created
        kept.results.rename(paths.results)
    kept.jobs.rename(paths.jobs)


def _kept(paths: SweepPaths) -> SweepPaths:
    jobs, results = (folder.with_name(f".{paths.name}.replaced") for folder in (paths.jobs, paths.results))
    return SweepPaths(paths.name, jobs, results)
