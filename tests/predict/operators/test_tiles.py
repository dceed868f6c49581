"""Tiles of products and their waves."""

import numpy as np
import pytest

from hpcbench.predict.operators.tiles import tiling


def test_tiles_fill_waves() -> None:
    one = np.array([1.0])
    found = tiling(one, np.array([192.0]), np.array([128.0]), np.array([4.0]), (128, 64))
    # 2 x 2 tiles on 4 units: one full wave; 192 of 256 rows are used.
    assert found.waves[0] == pytest.approx(1.0)
    assert found.wave_fill[0] == pytest.approx(1.0)
    assert found.tile_fill[0] == pytest.approx(0.75)
    assert found.fill[0] == pytest.approx(0.75)


def test_a_last_wave_leaves_units_idle() -> None:
    found = tiling(np.array([5.0]), np.array([64.0]), np.array([64.0]), np.array([4.0]), (64, 64))
    assert found.waves[0] == pytest.approx(1.25)
    assert found.wave_fill[0] == pytest.approx(0.625)
