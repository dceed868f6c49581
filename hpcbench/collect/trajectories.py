"""Read the weights of trajectories, which nodes have written. Another user may have changed the files."""

from __future__ import annotations

import hashlib
import io
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcbench.core.training.trajectory import Trajectory, file_of
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.bounded_read import content

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


def weights_of(paths: SweepPaths, trajectory: Trajectory) -> NDArray[np.float32]:
    """Return the weights of a trajectory, float32, (recorded steps, stored weights).

    Raise ValueError if there are none, or if the file is missing, damaged, or not of this trajectory.
    """
    if trajectory.reason is not None:
        raise ValueError(trajectory.reason)
    if not _SHA256.match(trajectory.sha256 or ""):  # records are untrusted: no path outside
        raise ValueError("its record has no checksum of the weights")
    if not trajectory.steps:
        raise ValueError("its record has no steps with weights")
    path = paths.trajectories / file_of(str(trajectory.sha256))
    try:
        found = content(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    if hashlib.sha256(found).hexdigest() != trajectory.sha256:
        raise ValueError(f"{path} does not have the checksum in its name")
    try:
        shape, dtype, start = _header(found)
    except Exception as error:  # Python parses the header, which can also exhaust memory or recursion
        raise ValueError(f"{path} is not an array of NumPy: {error or type(error).__name__}") from error
    if dtype != np.float32 or shape != (len(trajectory.steps), trajectory.stored):
        raise ValueError(f"{path} has {dtype} of shape {shape}, unlike its record")
    if len(found) - start != dtype.itemsize * math.prod(shape):
        raise ValueError(f"{path} has {len(found) - start:,} bytes of weights, unlike its header")
    return np.frombuffer(found, np.float32, offset=start).reshape(shape)


def _header(found: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return shape, data type, and the position of the first value. It allocates nothing, and unpickles nothing."""
    file = io.BytesIO(found)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):  # of all short headers
        raise ValueError(f"format {version} instead of (1, 0)")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if is_fortran:
        raise ValueError("its order is that of Fortran")
    return shape, dtype, file.tell()
