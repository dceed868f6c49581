"""How well products fill a device: output tiles, waves of tiles over its units, and their losses.

A kernel computes a product in tiles of the output; each unit computes one tile at a time. Partly filled tiles, and a
last wave that occupies only some units, cost as much as full ones [1].

A core of a CPU keeps a much smaller tile in its registers. BLIS has tiles of 6 x 16 elements of float32 with AVX2 and
of 14 x 32 with AVX-512 [2].

[1] NVIDIA, "Matrix multiplication background user's guide" (2023), sections 2.2 and 3.
[2] F. G. Van Zee, R. A. van de Geijn, "BLIS: a framework for rapidly instantiating BLAS functionality", ACM TOMS 41(3),
2015.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcbench.predict.tables.prediction import Floats

TILE_OF_CORE = (8, 16)  # rows and columns that a core of a CPU computes at once: an assumption within those of BLIS


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
