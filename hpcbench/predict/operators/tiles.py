"""How well products fill a device: output tiles, waves of tiles over its units, and their losses.

A kernel computes a product in tiles of the output; each unit computes one tile at a time. Partly filled tiles, and a
last wave that occupies only some units, cost as much as full ones [1].

[1] NVIDIA, "Matrix multiplication background user's guide" (2023), sections 2.2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcbench.predict.tables.prediction import Floats


@dataclass(frozen=True)
class Tiling:
    """The tiles of products, per row: waves, and the fractions of tiles and of waves that do useful work."""

    waves: Floats
    tile_fill: Floats
    wave_fill: Floats

    @property
    def fill(self) -> Floats:
        """Return the fraction of the units' work that is useful."""
        return self.tile_fill * self.wave_fill


def tiling(batch: Floats, m: Floats, n: Floats, units: Floats, tile: tuple[int, int]) -> Tiling:
    """Return the tiling of `batch` outputs of m x n elements with tiles of this size on so many units."""
    down, across = np.ceil(m / tile[0]), np.ceil(n / tile[1])
    waves = batch * down * across / units
    return Tiling(
        waves=waves,
        tile_fill=(m / (down * tile[0])) * (n / (across * tile[1])),
        wave_fill=waves / np.ceil(waves),
    )
