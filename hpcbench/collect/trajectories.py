"""Read the weights of trajectories, which nodes have written. Another user may have changed the files."""

from __future__ import annotations

import hashlib
import io
import re

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
    path = paths.trajectories / file_of(str(trajectory.sha256))
    try:
        found = content(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    if hashlib.sha256(found).hexdigest() != trajectory.sha256:
        raise ValueError(f"{path} does not have the checksum in its name")
    weights = np.load(io.BytesIO(found), allow_pickle=False)  # a pickle could run any code
    if weights.dtype != np.float32 or weights.shape != (len(trajectory.steps), trajectory.stored):
        raise ValueError(f"{path} has {weights.dtype} of shape {weights.shape}, unlike its record")
    return np.asarray(weights)
