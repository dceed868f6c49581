"""What a training step of an image network computes in addition to the forward pass."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.models.optimizers import STATE_TENSORS
from hpcbench.predict.networks.images.workload import WITH_WEIGHTS, Workload
from hpcbench.predict.tables.element_bytes import element_bytes
from hpcbench.predict.tables.networks import TRAINING
from hpcbench.predict.tables.prediction import Floats

# Each product is computed three times: forward, and for the gradients of both operands (A. G. Baydin et al., "Automatic
# differentiation in machine learning: a survey", JMLR 18, 2018). Traffic and launches grow about as much.
_PASSES = 3.0
_WEIGHT_BYTES = element_bytes("float32")  # weights, their gradients and the states of the optimizer are in float32


def passes_of(networks: pd.DataFrame) -> Floats:
    """Return how often a step of each network computes as much as its forward pass."""
    return np.where(networks["phase"] == TRAINING, _PASSES, 1.0)


def calls_of_step(operators: pd.DataFrame, networks: pd.DataFrame) -> Floats:
    """Return the calls of each operator in a step, from those in the forward pass, as of `workload`.

    The first layer has no gradient of its input, which is the image: its product is computed once less.
    """
    place, calls = operators["place"].to_numpy(), operators["calls"].to_numpy(dtype="float64")
    products = operators["kind"].isin(WITH_WEIGHTS).to_numpy()
    first = np.zeros(len(operators))
    first[np.flatnonzero(products)[~pd.Series(place[products]).duplicated().to_numpy()]] = 1.0
    passes = passes_of(networks)[place]
    return np.asarray(passes * calls - np.where(passes > 1.0, first, 0.0), dtype=np.float64)


def optimizer_bytes(work: Workload, networks: pd.DataFrame) -> Floats:
    """Return the bytes that the optimizer of each network moves in a training step, otherwise 0; NaN if not in `work`.

    It reads each weight, its gradient and the states of the optimizer, and writes the weight and the states. An
    unknown optimizer does not count, because a measured step may end before it.
    """
    states = networks["optimizer"].map(STATE_TENSORS).to_numpy(dtype="float64")
    tensors = np.where(np.isfinite(states), 3.0 + 2.0 * states, 0.0)
    moved = work.parameters * _WEIGHT_BYTES * tensors
    return np.asarray(np.where(networks["phase"] == TRAINING, moved, 0.0), dtype=np.float64)
