"""The error for a file that is not a model file."""

from __future__ import annotations

from hpcbench.errors import UserError

FIT = "hpcbench predictor fit"
WRITE_ONE = f"write one: {FIT} SWEEP|FILE|FOLDER -o fleet.json"


def no_model_file(file: str, why: str = "") -> UserError:
    """Return the error for a file, or folder, that `hpcbench predictor fit` did not write, and how to write one."""
    what = f"not a model file written by {FIT}"
    return UserError(f"{what}: {why}" if why else what, where=file, hint=WRITE_ONE)
