"""Kinds of rows of the table of networks: what one row is, and thereby which model predicts it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.tables import networks as table

IMAGE = "image network"  # known by its name
LISTED = "listed network"  # known by its operator list
CLOCKED = "network at a clock"  # listed, with a clock
JOB = "training job"  # one epoch, under a power limit
REQUEST = "language model"  # a batch of requests


def network_kinds(networks: pd.DataFrame) -> pd.Series:
    """Return the kind of each row."""
    listed = networks["list_id"] != ""
    clocked = networks["clock_mhz"].notna()
    conditions = [networks["unit"] == table.EPOCH, networks["unit"] == table.REQUEST, listed & clocked, listed]
    kinds = np.select(conditions, [JOB, REQUEST, CLOCKED, LISTED], IMAGE)
    return pd.Series(kinds, index=networks.index, dtype="object")
