"""Files of data that are not what they should be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpcbench.node.errors import BadData
from hpcbench.node.workload import data


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.npz"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_file_that_was_cut_off_anywhere_is_bad_data(path: Path, save: object) -> None:
    save(path, x=np.arange(400, dtype=np.float32).reshape(100, 4), y=np.zeros(100, int))  # type: ignore[operator]
    whole = path.read_bytes()
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(BadData, match="is not an npz file of plain arrays"):
            data.load({"npz": str(path)}, (4,), 0, 10)


def test_a_file_that_was_damaged_is_bad_data(path: Path) -> None:
    np.savez_compressed(path, x=np.random.default_rng(1).random((100, 4), np.float32), y=np.zeros(100, int))
    whole = bytearray(path.read_bytes())
    whole[100:140] = bytes(40)
    path.write_bytes(whole)
    with pytest.raises(BadData):
        data.load({"npz": str(path)}, (4,), 0, 10)


@pytest.mark.parametrize(("dtype", "tokens"), [(np.int32, 9), (np.float32, 0)])
def test_a_file_without_items_is_bad_data(path: Path, dtype: type, tokens: int) -> None:
    np.savez(path, x=np.zeros((0, 4), dtype), y=np.zeros(0, int))
    with pytest.raises(BadData, match="has no items"):
        data.load({"npz": str(path)}, (4,), tokens, 10)


def test_files_are_decoded_beside_the_cpu_that_trains() -> None:
    labels = np.zeros(1, np.int32)
    assert data.Items(["a.png"], labels).loaders([0, 1, 2]) == 2
    assert data.Items(["a.png"], labels).loaders([0]) == 0
    assert data.Items(np.zeros((1, 4)), labels).loaders([0, 1, 2]) == 0
